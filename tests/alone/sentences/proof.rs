//! A situation made, and what was said of it: in text, on the page, in Markdown and JUnit, and by the exit code.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use regex::{Captures, Regex};
use rustix::process::Signal;
use serde_json::Value;

use crate::alone::sentences::pattern::fits;
use crate::alone::sentences::servers::Running;
use crate::alone::sentences::situation::{Act, Must, Place, Situation};
use crate::alone::{OTHERS_PERCENT_MAX, crowd, others_percent};
use crate::support::process::Process;
use crate::support::quota::Quota;
use crate::support::throng::{Outcome, finish, run, throng, under};
use crate::support::{retry, wait_until};

const RUN_MAX: Duration = Duration::from_secs(120);
const REPORT_MAX: Duration = Duration::from_secs(30);
/// Verbs that make a run, which is kept and can be printed in every format.
const RUNS: [&str; 6] = ["echo", "broadcast", "saturate", "idle", "storm", "http"];
/// The labels at the end of the text, and how Markdown has them.
const SENTENCES: [(&str, &str); 3] = [("RESULT", "RESULT"), ("WHY", "WHY"), ("CAVEATS", "CAVEAT")];
/// Metrics of messages that were answered, or came.
const OF_MESSAGES: [&str; 4] = ["round trip", "service time", "delivery", "last receiver"];
/// Ten ports for whatever is local, in a network that has nothing else.
const TEN_PORTS: &str =
    "ip link set lo up && echo 40000 40009 >/proc/sys/net/ipv4/ip_local_port_range && exec \"$0\" \"$@\"";

/// The output, and its parts that differ from those due.
pub(crate) struct Proof {
    /// In a line or two, for the document.
    pub(crate) said: String,
    pub(crate) wrong: Vec<String>,
    /// The bottleneck named.
    bottleneck: String,
    /// CPU that other programs had meanwhile, percent of a core, busy loops of the situation's own aside.
    others_percent: f64,
    /// For whoever looks into it.
    whole: String,
}

impl Proof {
    fn others_have_the_machine(&self) -> bool {
        self.others_percent > OTHERS_PERCENT_MAX
    }

    /// The faults, and the whole output.
    pub(crate) fn told(&self, name: &str) -> String {
        format!("{name}:\n  {}\n{}", self.wrong.join("\n  "), self.whole)
    }
}

/// How often a situation is made where throng itself says that the machine gave out.
const ATTEMPTS_MAX: usize = 3;

/// Makes it; or says why it cannot be made here. Where others had the machine for a moment, a rate is not
/// kept and a limit is broken: that is true, but not of the situation.
pub(crate) fn prove(situation: &Situation) -> Result<Proof, String> {
    let mut proof = attempt(situation)?;
    for _ in 1..ATTEMPTS_MAX {
        if proof.wrong.is_empty() || !(proof.bottleneck == "machine" || proof.others_have_the_machine()) {
            break;
        }
        retry(situation.name, &format!("the machine gave out: {}", proof.wrong.join("; ")));
        proof = attempt(situation)?;
    }
    Ok(proof)
}

fn attempt(situation: &Situation) -> Result<Proof, String> {
    let mut running = Running::start(situation.host)?;
    for (host, line) in &situation.before {
        // What is compared has the same URL, but not the same server.
        let other = Running::start(*host)?;
        let words = other.fill(&line.replace("{out}", &running.folder.path().display().to_string()));
        let outcome = run(&mut command(&words), RUN_MAX);
        assert!(outcome.code.is_some_and(|code| code != 2), "{line}: {outcome}");
    }
    let words = running.fill(situation.line);
    if situation.is_warm {
        let first = run(command(&words).arg("--no-store"), RUN_MAX);
        assert_eq!(first.code, Some(0), "{first}");
    }
    let out = running.folder.path().join("out");
    let is_run = RUNS.contains(&words[0].as_str());
    let mut line = command(&words);
    if let Some(arena) = &running.arena {
        line.current_dir(arena.folder());
    }
    if is_run {
        line.args(["--format", "json", "--quiet", "--no-store", "--out"]).arg(&out);
    }
    let outcome = meddle(situation, line, &mut running)?;
    let mut proof = Proof {
        said: String::new(),
        wrong: Vec::new(),
        bottleneck: String::new(),
        others_percent: 0.0,
        whole: outcome.to_string(),
    };
    proof.claim(
        "exit code",
        [Some(situation.must.exit), situation.must.exit_if_busy.or(Some(situation.must.exit))]
            .contains(&outcome.code),
        &format!("{:?}", outcome.code),
    );
    match results_file(&out) {
        _ if !situation.must.refused.is_empty() => proof.refused(situation, &outcome, &out),
        Some(file) => proof.concluded(&situation.must, &file, &outcome),
        None if is_run => proof.wrong.push("there are no results".into()),
        None => proof.printed(&situation.must, &outcome),
    }
    if matches!(situation.place, Place::Crowd(_)) {
        proof.others_percent = 0.0;
    }
    Ok(proof)
}

/// The results of a situation's run.
pub(crate) fn results(situation: &Situation) -> Result<Value, String> {
    let mut running = Running::start(situation.host)?;
    let mut line = command(&running.fill(situation.line));
    line.args(["--format", "json", "--quiet", "--no-store"]);
    Ok(meddle(situation, line, &mut running)?.json())
}

fn command(words: &[String]) -> Command {
    let mut command = throng([]);
    command.args(words);
    command
}

/// Runs it where it is to be, and does to it what is to be done.
fn meddle(situation: &Situation, line: Command, running: &mut Running) -> Result<Outcome, String> {
    let stream = running.folder.path().join("stream");
    let mut line = line;
    if !situation.acts.is_empty() {
        line.arg("--stream").arg(&stream);
    }
    let mut quota = None;
    let mut placed = match situation.place {
        Place::Here | Place::Crowd(_) => line,
        Place::Files(n) => under("prlimit", &[&format!("--nofile={n}:{n}")], &line),
        Place::Memory(mebibytes) => {
            under("prlimit", &[&format!("--as={}", u64::from(mebibytes) << 20)], &line)
        }
        Place::TenPorts => {
            // A namespace of users with the network's lets others than root make one.
            let own = ["--map-root-user", "--net"];
            let made = Command::new("unshare").args(own).arg("true").output();
            if !made.is_ok_and(|output| output.status.success()) {
                return Err("needs network namespaces".to_owned());
            }
            under("unshare", &[&own[..], &["sh", "-c", TEN_PORTS]].concat(), &line)
        }
        Place::Quota(percent) => {
            quota = Some(Quota::new(percent).ok_or("needs control groups that can be written")?);
            quota.as_ref().expect("it is there").over(&line)
        }
    };
    if let Some(wire) = &running.wire {
        placed = wire.near(&placed);
    }
    let _crowd = crowd(if let Place::Crowd(n) = situation.place { n } else { 0 });
    let mut process = Process::start(&mut placed);
    if !situation.acts.is_empty() {
        let is_on = || fs::read_to_string(&stream).is_ok_and(|text| text.contains(r#""event":"second""#));
        wait_until(RUN_MAX, || is_on() || process.wait(Duration::ZERO).is_some());
    }
    let start = Instant::now();
    for &(ms, act) in &situation.acts {
        thread::sleep(Duration::from_millis(ms).saturating_sub(start.elapsed()));
        perform(act, running, &process);
    }
    let outcome = finish(process, RUN_MAX);
    drop(quota);
    Ok(outcome)
}

fn perform(act: Act, running: &mut Running, generator: &Process) {
    let server = running.process.as_ref();
    match act {
        Act::KillServer => running.process = None,
        Act::RestartServer => running.restart(),
        Act::FreezeServer => _ = server.expect("a server").signal(Signal::STOP),
        Act::ThawServer => _ = server.expect("a server").signal(Signal::CONT),
        Act::Interrupt => _ = generator.signal(Signal::INT),
    }
}

fn results_file(out: &Path) -> Option<std::path::PathBuf> {
    let files = fs::read_dir(out).ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "json"))
}

impl Proof {
    fn claim(&mut self, what: &str, holds: bool, said: &str) {
        if !holds {
            self.wrong.push(format!("{what}: {said}"));
        }
    }

    fn fits_one(&mut self, what: &str, patterns: &[&str], said: &[&str]) {
        let fits_any = |pattern: &&str| said.iter().any(|said| fits(pattern, said));
        if !patterns.is_empty() && !patterns.iter().any(fits_any) {
            self.wrong.push(format!(
                "{what}: {}\n    must be: {}",
                said.join("; "),
                patterns.join("\n    or: ")
            ));
        }
    }

    fn has_parts(&mut self, must: &Must, text: &str) {
        for part in must.says {
            self.claim("not said", text.lines().any(|line| has_part(line, part)), part);
        }
        for part in must.never {
            self.claim("must not be said", !text.contains(part), part);
        }
        for line in text.lines().filter(|line| must.is_untimed && has_latency(line)) {
            self.claim("said, but nothing was answered", false, line);
        }
    }

    /// There was no run: a line says why, and nothing is kept.
    fn refused(&mut self, situation: &Situation, outcome: &Outcome, out: &Path) {
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        self.fits_one("stderr", situation.must.refused, &lines);
        self.has_parts(&situation.must, &outcome.stderr);
        self.claim("kept", results_file(out).is_none(), "a run that measured nothing");
        self.whole.clone_from(&outcome.stderr);
        self.said = outcome.stderr.lines().last().unwrap_or_default().into();
    }

    /// No run, but a comparison or a ranking.
    fn printed(&mut self, must: &Must, outcome: &Outcome) {
        let text = format!("{}\n{}", outcome.stdout, outcome.stderr);
        self.has_parts(must, &text);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let quoted = |line: &&str| must.says.iter().any(|part| has_part(line, part));
        self.said = lines.filter(quoted).collect::<Vec<_>>().join(" / ");
    }

    /// Checks a run's conclusion in every format.
    fn concluded(&mut self, must: &Must, file: &Path, outcome: &Outcome) {
        let print = |flags: &[&str]| run(throng(["report"]).arg(file).args(flags), REPORT_MAX).stdout;
        let text = print(&[]);
        self.whole = format!("{}\n{text}", outcome.stderr);
        let [result, why, caveats] = SENTENCES.map(|(label, _)| sentences(&text, label));
        let results: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let claim = |key: &str| results["verdict"][key].as_str().unwrap_or_default();
        let [how_much, breaks] = ["how_much", "breaks"].map(claim);
        self.fits_one("how much", must.how_much, &[how_much]);
        self.fits_one("breaks", must.breaks, &[breaks]);
        self.fits_one("caveats", must.trust, &refs(&caveats));
        let losses = losses(&results);
        for finding in must.loses {
            self.fits_one("losses", &[finding], &refs(&losses));
        }
        self.has_parts(must, &text);

        let bottleneck = results["verdict"]["bottleneck"].as_str().unwrap_or("not said");
        let is_one = must.bottleneck.is_empty() || must.bottleneck.contains(&bottleneck);
        self.claim("bottleneck", is_one, bottleneck);
        bottleneck.clone_into(&mut self.bottleneck);
        self.others_percent = others_percent(&results);
        if let Some((words, are)) = must.figures {
            self.claim("not so", are(&results), words);
        }

        for (key, said) in [("result", &result), ("why", &why)] {
            self.claim("the results file has", said.concat() == claim(key), claim(key));
        }

        let page = file.with_extension("page.html");
        print(&["--html", page.to_str().unwrap()]);
        let page = flat(&without_tags(&fs::read_to_string(&page).unwrap()));
        let markdown = print(&["--md"]).replace("&lt;", "<").replace("\\|", "|");
        let is_told = |said: &&String| *said != "none" && !said.ends_with("-v prints each at its step");
        for ((_, heading), said) in SENTENCES.iter().zip([&result, &why, &caveats]) {
            for said in said.iter().filter(is_told) {
                self.claim("the page has not", page.contains(&flat(said)), said);
                self.claim("Markdown has not", markdown.contains(&format!("- **{heading}** {said}\n")), said);
            }
        }
        let junit = print(&["--junit"]);
        let all = junit.lines().nth(1).unwrap_or_default();
        let fails = ["failures", "errors"].iter().any(|what| !all.contains(&format!(" {what}=\"0\" ")));
        let agrees = fails == (outcome.code == Some(3)) || matches!(outcome.code, Some(1 | 4 | 6 | 130));
        self.claim("JUnit does not agree with the exit code", agrees, all);

        // Other caveats are of this machine, and not of the situation.
        let asked_for = |said: &&String| must.trust.iter().any(|pattern| fits(pattern, said));
        let caveats = caveats.iter().filter(asked_for);
        let labelled = |label: &'static str| move |said: &String| format!("**{label}** {said}");
        let said = result.iter().map(labelled("RESULT")).chain(why.iter().map(labelled("WHY")));
        self.said = said.chain(caveats.map(labelled("CAVEAT"))).collect::<Vec<_>>().join("<br>");
    }
}

/// Returns whether the line has one of the parts between `||`.
fn has_part(line: &str, parts: &str) -> bool {
    parts.split("||").any(|part| fits(&format!("{{any}}{part}{{any}}"), line))
}

/// Returns whether the line is a metric's row of messages that has a time other than "at least".
fn has_latency(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_time = |word: &str| {
        let unit = word.trim_end_matches('?').trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        word.starts_with(|c: char| c.is_ascii_digit()) && ["s", "ms", "µs"].contains(&unit)
    };
    let is_of_messages = OF_MESSAGES.iter().any(|metric| line.starts_with(metric));
    is_of_messages && words.windows(2).any(|pair| pair[0] != "≥" && is_time(pair[1]))
}

#[test]
fn latencies_are_in_rows_of_figures() {
    assert!(has_latency("round trip         4.24ms  5.00ms?          100"));
    assert!(!has_latency("handshake          4.24ms   5.00ms          100"));
    assert!(!has_latency("round trip              –        –          100"));
    assert!(!has_latency("round trip        ≥ 1.00s  ≥ 1.00s          100"));
}

/// Losses of all steps of a run, by keys and numbers: `loss.missing missing=2 of=200 what="answers"`.
fn losses(results: &Value) -> Vec<String> {
    let steps = results["steps"].as_array().into_iter().flatten();
    let losses = steps.filter_map(|step| step["losses"].as_array()).flatten();
    let terse = |loss: &Value| {
        let fields = loss.as_object().into_iter().flatten();
        let numbers = fields.filter(|(name, _)| !["key", "text"].contains(&name.as_str()));
        let numbers = numbers.map(|(name, value)| format!(" {name}={value}"));
        loss["key"].as_str().unwrap_or_default().to_owned() + &numbers.collect::<String>()
    };
    losses.map(terse).collect()
}

fn refs(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

/// The sentences behind the label at the end of the text, and below it.
fn sentences(text: &str, label: &str) -> Vec<String> {
    let label = format!("{label:<10}");
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&label));
    let first = lines.next().map(|line| line[label.len()..].to_owned());
    let further = lines.take_while(|line| line.starts_with("          ")).map(|line| line.trim().to_owned());
    first.into_iter().chain(further).collect()
}

/// The text a reader of the page sees: neither markup nor script.
fn without_tags(page: &str) -> String {
    let body = page.split_once("<body").map_or(page, |(_, body)| body);
    let mut text = String::new();
    for (at, part) in body.split("<script").enumerate() {
        let part = if at == 0 { part } else { part.split_once("</script>").map_or("", |(_, rest)| rest) };
        for piece in part.split('<') {
            text.push(' ');
            text.push_str(piece.split_once('>').map_or("", |(_, words)| words));
        }
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    let text = named.iter().fold(text, |text, (entity, sign)| text.replace(entity, sign));
    let numbered = Regex::new("&#(x?)([0-9a-fA-F]+);").expect("an entity's form");
    let sign = |entity: &Captures<'_>| {
        let radix = if entity[1].is_empty() { 10 } else { 16 };
        u32::from_str_radix(&entity[2], radix)
            .ok()
            .and_then(char::from_u32)
            .map(String::from)
            .unwrap_or_default()
    };
    numbered.replace_all(&text, sign).into_owned()
}

/// Words without what joins them, which differs with the place: `50 clients: 2 lost` and `50 clients` above `2 lost`.
fn flat(text: &str) -> String {
    let words = text.replace(". ", " ").replace([',', ';', ':'], " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
