//! Answers that are known by a number or a UUID, and what the next message has of them.

use crate::frames::start;
use crate::support::app::example;
use crate::support::throng::{errors_of, sum_of};

/// A token that each answer renews, where answers are known by their ids or by numbers.
#[test]
fn answers_renew_the_token_of_the_next_message() {
    let file = |text: &str, reply: &str| {
        format!(
            "open = [{{ expect = {{ json = {{ \"/type\" = \"hello\" }} }}, keep = {{ nonce = \"json:/nonce\" }} }}]\n\
             [echo]\nsend = '{{\"nonce\":\"{{nonce}}\",{text}}}'\nreply = {{ json = {reply} }}\n\
             keep = {{ nonce = \"json:/nonce\" }}\n[[error]]\nkind = \"nonce\"\nwhen = {{ contains = \"stale\" }}\n"
        )
    };
    for (text, reply) in [
        (r#""text":"{id}""#, r#"{ "/type" = "answer" }"#),
        (r#""seq":{seq}"#, r#"{ "/type" = "ok", "/seq" = "{seq}" }"#),
    ] {
        let Some(app) = start("nonces", &file(text, reply)) else { return };
        let outcome = app.run("echo", "/", "--clients 5 --sample-size 100 --no-preflight");
        let results = outcome.json();
        assert_eq!(errors_of(&results, "rejected_nonce"), 0, "{outcome}");
        assert!(sum_of(&results, "received") >= 100 && app.counted("said") >= 100, "{outcome}");
    }
}

#[test]
fn an_answer_is_known_by_its_number() {
    let Some(app) = start("rpc", &example("jsonrpc")) else { return };
    let outcome = app.run("echo", "/", "--clients 20 --rate 200 --duration 2s");
    outcome.assert_held();
    let results = outcome.json();
    let [sent, received] = ["sent", "received"].map(|name| sum_of(&results, name));
    assert_eq!((sent, received), (400, 400), "{outcome}");
    assert_eq!(results["steps"][0]["rtt"]["count"], 400, "{outcome}");

    app.write(&example("jsonrpc").replace("\"echo\"", "\"shout\""));
    let outcome = app.run("echo", "/", "--clients 5 --rate 10 --duration 1s --no-preflight");
    assert_eq!(errors_of(&outcome.json(), "rejected_call"), 5, "an error is no answer: {outcome}");
}

/// A server that answers every third call with an error, which has the number of its call as well.
#[test]
fn a_refusal_with_a_number_is_no_answer() {
    let file = format!(
        "{}\n[[error]]\nkind = \"call\"\nwhen = {{ regex = '\"error\":' }}\n",
        "[echo]\n\
        send = '{\"jsonrpc\":\"2.0\",\"id\":{seq},\"method\":\"echo\"}'\nreply = { json = { \"/id\" = \"{seq}\" } }"
    );
    let Some(app) = start("refuses", &file) else { return };
    let outcome =
        app.run("echo", "/", "--clients 3 --rate 60 --duration 1s --drain-timeout 5s --no-preflight");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let refused = errors_of(&results, "rejected_call");
    // Whoever is refused says no more, but for what was under way.
    let answered = app.counted("said") - app.counted("replayed");
    assert!(refused == 3 && app.counted("replayed") >= 3, "{outcome}");
    // An answer may be under way to a client that is refused.
    let received = sum_of(&results, "received");
    assert!((received..=received + refused).contains(&answered), "{answered} answered: {outcome}");
}

#[test]
fn answers_are_known_by_uuid_alone() {
    let file = "[echo]\nsend = '[2,\"{id:uuid}\",\"Heartbeat\",{}]'\n\
                reply = { json = { \"/0\" = 3, \"/1\" = \"{id:uuid}\" } }\n";
    let Some(app) = start("calls", file) else { return };
    for sent_in_all in [400, 800] {
        let outcome = app.run("echo", "/", "--clients 20 --rate 200 --duration 2s");
        outcome.assert_held();
        let results = outcome.json();
        let [sent, received] = ["sent", "received"].map(|name| sum_of(&results, name));
        assert_eq!((sent, received), (400, 400), "{outcome}");
        assert!(results["steps"][0].get("errors").is_none(), "{outcome}");
        assert!(app.counted("said") >= sent_in_all, "and those of the warm-up and the checks: {outcome}");
    }
}

/// A server that tells everybody each answer and each note, with whom it is for. Every fourth answer does not
/// reach its own caller.
#[test]
fn answers_of_others_are_not_taken() {
    let file = r#"
open = [{ expect = { json = { "/type" = "hello" } }, keep = { sid = "json:/session" } }]
[people]
columns = { login = "user-{person.id}" }
[echo]
send = '{"id":{seq},"user":"{person.login}"}'
reply = { json = { "/id" = "{seq}", "/session" = "{sid}" } }
[push.note]
when = { json = { "/to" = "{person.login}" } }
[[ignore]]
when = { regex = '"(note|answer)"' }
"#;
    let Some(app) = start("addressed", file) else { return };
    let flags = "--clients 20 --rate 50 --duration 1s --drain-timeout 3s --no-preflight";
    let outcome = app.run("echo", "/", flags);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let [sent, received, pushed] = ["sent", "received", "pushed"].map(|name| sum_of(&results, name));
    let [said, answered] = ["said", "answered"].map(|name| app.counted(name));
    assert!(answered < said && said >= 20, "{said} said, {answered} answered: {outcome}");
    assert_eq!((sent, received, pushed), (said, answered, said), "{outcome}");
    assert_eq!(errors_of(&results, "unrecognised") + errors_of(&results, "unmatched"), 0, "{outcome}");
}
