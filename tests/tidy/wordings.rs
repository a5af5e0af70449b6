//! Tests that hold the wording of an output, which every rewording breaks: a test asserts keys, numbers, variants and
//! names, and each text is held once, by the `wording` test of the crate that makes it. And the names of tests: the
//! subject, then the case.

use std::str::FromStr;
use std::sync::LazyLock;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::Lit;

use super::comments::CLAUSES;
use super::{assert_none, read, rust_files};

/// How many tests may hold a sentence of an output. It only ever goes down.
const TESTS_WITH_SENTENCES_MAX: usize = 45;

/// How many patterns of the situations whose sentences are tested may hold one. It only ever goes down.
const PATTERNS_WITH_SENTENCES_MAX: usize = 18;

/// Files of situations, and their methods that are given patterns.
const SITUATIONS: &str = "tests/alone/sentences/";
const PATTERNS: &[&str] = &["how_much", "breaks", "trust", "says", "never", "refused"];

/// Words in a row that make a sentence. Names, paths, commands and most data of protocols have fewer.
const SENTENCE_WORDS: usize = 5;

/// Words of a test's name: more of them are a sentence that nobody types.
const NAME_WORDS_MAX: usize = 8;

/// Macros whose further arguments are the test's own words, and the number of arguments before them.
const ASSERTIONS: &[(&str, usize)] = &[
    ("assert", 1),
    ("assert_eq", 2),
    ("assert_ne", 2),
    ("prop_assert", 1),
    ("prop_assert_eq", 2),
    ("panic", 0),
    ("unreachable", 0),
    ("println", 0),
    ("eprintln", 0),
];

/// Methods and functions that are given the test's own words.
const EXPLAINED: &[&str] = &["expect", "expect_err", "skip", "retry", "assert_none"];

/// The tests of all files, each beside its file, read once for both rules.
static TESTS: LazyLock<Vec<(String, Test)>> = LazyLock::new(|| {
    let tests = rust_files().into_iter().flat_map(|file| {
        let tests = tests_of(&read(&file));
        tests.into_iter().map(move |test| (file.clone(), test))
    });
    tests.collect()
});

#[test]
fn few_tests_hold_sentences() {
    let of_output: Vec<String> = TESTS.iter().filter_map(|(file, test)| test.line(file)).collect();
    let of_any = TESTS.iter().filter(|(_, test)| !(test.sentences.is_empty() && test.messages.is_empty()));
    println!(
        "{} of {} tests hold a sentence of an output, {} any sentence",
        of_output.len(),
        TESTS.len(),
        of_any.count()
    );
    assert!(
        of_output.len() <= TESTS_WITH_SENTENCES_MAX,
        "{} tests hold a sentence, {TESTS_WITH_SENTENCES_MAX} may; assert its key and its numbers:\n  {}\n",
        of_output.len(),
        of_output.join("\n  ")
    );
}

#[test]
fn few_patterns_hold_sentences() {
    let held = |file: String| {
        let patterns = patterns_of(&read(&file));
        patterns.into_iter().map(move |pattern| format!("{file}: {pattern:?}"))
    };
    let files = rust_files().into_iter().filter(|file| file.starts_with(SITUATIONS));
    let held: Vec<String> = files.flat_map(held).collect();
    assert!(
        held.len() <= PATTERNS_WITH_SENTENCES_MAX,
        "{} patterns hold a sentence, {PATTERNS_WITH_SENTENCES_MAX} may; say what is lost by its key:\n  {}\n",
        held.len(),
        held.join("\n  ")
    );
}

#[test]
fn patterns_are_told_from_other_texts() {
    let code =
        "fn all() { one(\"there is no such room here\").never(&[\"there is no such room here\", \"room\"]) }";
    assert_eq!(patterns_of(code).len(), 1);
}

#[test]
fn tests_are_named_by_subject_and_case() {
    let misnamed = TESTS.iter().filter(|(_, test)| !is_subject_and_case(&test.name));
    let misnamed = misnamed.map(|(file, test)| format!("{file}: {}", test.name));
    assert_none("tests with long names or clauses", misnamed.collect());
}

#[test]
fn names_are_told_from_clauses() {
    for (name, expected) in [
        ("lost_messages_are_counted", true),
        ("one_two_three_four_five_six_seven_eight", true),
        ("one_two_three_four_five_six_seven_eight_nine", false),
        ("who_leaves_is_counted", false),
        ("offsets", true),
    ] {
        assert_eq!(is_subject_and_case(name), expected, "{name}");
    }
}

#[test]
fn sentences_are_told_from_messages_and_data() {
    for (body, is_held) in [
        ("assert_eq!(error.to_string(), \"there is no such room here\");", true),
        ("assert!(line.contains(\"there is no such room here\"));", true),
        ("let check = |x: &str| x == \"there is no such room here\";", true),
        ("insta::assert_snapshot!(text, @\"well, there's no other-worldly room: here\");", true),
        ("assert!(is_there(room), \"there is no such room here\");", false),
        ("assert_eq!(rooms, [1, 2], \"{rooms:?}: there is no such room here\");", false),
        ("rooms.next().expect(\"there is no such room here\");", false),
        ("rooms.unwrap_or_else(|| panic!(\"there is no such room here\"));", false),
        ("assert_eq!(line, \"join room 1 of 2\");", false),
        ("assert_eq!(text, \"room  p50  p95  p99  max\");", false),
        ("let path = \"there/is/no/such/room\"; let key = \"room.is.not_there\";", false),
        ("/// There is no such room here.\nstruct Room;", false),
        ("let code = \"mod one; mod two; use one;\";", false),
        ("let toml = \"[room]\\nname = 'hall'\\nsize = 10\";", false),
    ] {
        let tests = tests_of(&format!("mod tests {{ #[test] fn holds() {{ {body} }} }}"));
        let [test] = &tests[..] else { panic!("one test: {body}") };
        assert_eq!((test.name.as_str(), !test.sentences.is_empty()), ("holds", is_held), "{body}");
    }
    assert!(tests_of("fn no_test() { say(\"there is no such room here\") }").is_empty());
}

/// A test, and the sentences in its body.
pub(super) struct Test {
    pub(super) name: String,
    /// In what it compares and does.
    sentences: Vec<String>,
    /// In the messages of its assertions.
    messages: Vec<String>,
}

impl Test {
    /// Names the test and its first sentence, if it holds one of an output.
    fn line(&self, file: &str) -> Option<String> {
        let sentence = self.sentences.first()?;
        Some(format!("{file}: {}: {sentence:?}", self.name))
    }

    /// Notes the sentences among these tokens; `is_message` tells whose they are.
    fn note(&mut self, tokens: &[TokenTree], is_message: bool) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some((arguments, compared)) = explained(&tokens[at..]) {
                let before = tokens[at..].iter().take_while(|token| !matches!(token, TokenTree::Group(_)));
                at += before.count();
                for (number, argument) in arguments_of(&arguments).iter().enumerate() {
                    self.note(argument, is_message || number >= compared);
                }
            } else if let TokenTree::Group(group) = token
                && !is_attribute(group)
            {
                self.note(&tokens_of(group), is_message);
            } else if let TokenTree::Literal(literal) = token
                && let Lit::Str(text) = Lit::new(literal.clone())
                && holds_sentence(&text.value())
            {
                let to = if is_message { &mut self.messages } else { &mut self.sentences };
                to.push(text.value());
            }
            at += 1;
        }
    }
}

/// Returns whether a test's name is short, and begins with no clause.
fn is_subject_and_case(name: &str) -> bool {
    let words: Vec<&str> = name.split('_').collect();
    words.len() <= NAME_WORDS_MAX && !CLAUSES.iter().any(|clause| clause.eq_ignore_ascii_case(words[0]))
}

/// The arguments of an assertion or an explained call at the beginning of the tokens, and how many of them
/// are compared.
fn explained(tokens: &[TokenTree]) -> Option<(Group, usize)> {
    let TokenTree::Ident(name) = tokens.first()? else { return None };
    match tokens.get(1)? {
        TokenTree::Punct(punct) if punct.as_char() == '!' => {
            let TokenTree::Group(arguments) = tokens.get(2)? else { return None };
            let (_, compared) = ASSERTIONS.iter().find(|(assertion, _)| name == assertion)?;
            Some((arguments.clone(), *compared))
        }
        TokenTree::Group(arguments) if arguments.delimiter() == Delimiter::Parenthesis => {
            EXPLAINED.iter().any(|method| name == method).then(|| (arguments.clone(), 0))
        }
        _ => None,
    }
}

/// The tests of a file, those in macros among them.
pub(super) fn tests_of(text: &str) -> Vec<Test> {
    let tokens = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut tests = Vec::new();
    find_tests(&tokens.into_iter().collect::<Vec<_>>(), &mut tests);
    tests
}

fn find_tests(tokens: &[TokenTree], tests: &mut Vec<Test>) {
    let mut is_test = false;
    let mut name = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if is_test && word == "fn" => name = tokens.get(at + 1),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                is_test |= group.stream().to_string() == "test";
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                if let Some(name) = name.take() {
                    let mut test =
                        Test { name: name.to_string(), sentences: Vec::new(), messages: Vec::new() };
                    test.note(&tokens_of(group), false);
                    tests.push(test);
                } else {
                    find_tests(&tokens_of(group), tests);
                }
                is_test = false;
            }
            _ => {}
        }
    }
}

/// The sentences in patterns that situations are given.
fn patterns_of(text: &str) -> Vec<String> {
    let tokens = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut patterns = Test { name: String::new(), sentences: Vec::new(), messages: Vec::new() };
    find_patterns(&tokens.into_iter().collect::<Vec<_>>(), &mut patterns);
    patterns.sentences
}

fn find_patterns(tokens: &[TokenTree], patterns: &mut Test) {
    let mut is_given = false;
    for token in tokens {
        if let TokenTree::Group(group) = token {
            match is_given {
                true => patterns.note(&tokens_of(group), false),
                false => find_patterns(&tokens_of(group), patterns),
            }
        }
        is_given = matches!(token, TokenTree::Ident(name) if PATTERNS.iter().any(|method| name == method));
    }
}

/// A comment, in most cases: `#[doc = "…"]`.
fn is_attribute(group: &Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(first, Some(TokenTree::Ident(name)) if name == "doc" || name == "allow")
}

/// Returns whether the text holds [`SENTENCE_WORDS`] words of letters in a row, with single spaces between
/// them, each perhaps before a comma or a colon. A semicolon ends a row: it is as frequent in code.
fn holds_sentence(text: &str) -> bool {
    let words = text.split(' ').map(|word| word.strip_suffix([',', ':']).unwrap_or(word));
    let mut row = 0;
    words.into_iter().any(|word| {
        let is_word = word.starts_with(char::is_alphabetic)
            && word.chars().all(|c| c.is_alphabetic() || ['\'', '’', '-'].contains(&c));
        row = if is_word { row + 1 } else { 0 };
        row == SENTENCE_WORDS
    })
}

/// The arguments of a call: its tokens between commas.
fn arguments_of(call: &Group) -> Vec<Vec<TokenTree>> {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    tokens_of(call).split(is_comma).map(<[TokenTree]>::to_vec).collect()
}

fn tokens_of(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}
