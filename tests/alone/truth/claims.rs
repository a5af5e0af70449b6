//! Due reports of a run, beside the actual ones.

use serde_json::Value;
use stats::Histogram;

/// One figure: what arithmetic says, and what throng said.
#[derive(Clone)]
pub(crate) struct Claim {
    pub(crate) figure: String,
    pub(crate) asked: String,
    pub(crate) reported: String,
    pub(crate) holds: bool,
    /// A count: however slow the machine is, it is right at once.
    pub(crate) is_count: bool,
}

/// How much more than the truth a figure may be: what this machine costs by itself, now (ms).
#[derive(Clone, Copy)]
pub(crate) struct Slack {
    middle: f64,
    mean: f64,
    tail: f64,
}

impl Slack {
    /// Bounds from the figures of a run without faults, with room for the machine to be busier in the next moment, and
    /// `more_ms` on a machine that does other things besides.
    pub(crate) fn of(step: &Value, more_ms: f64) -> Slack {
        let ms = |stat: &str| step["rtt"][stat].as_f64().expect("a run without faults has a rtt");
        Slack {
            middle: 0.3 + more_ms + 2.0 * ms("p50_ms"),
            mean: 0.3 + more_ms + 2.0 * ms("mean_ms"),
            tail: 5.0 + more_ms + 2.0 * ms("max_ms"),
        }
    }

    fn of_figure(&self, figure: &str, stat: &str) -> f64 {
        match (figure, stat) {
            ("rtt", "p50") => self.middle,
            ("rtt", "mean") => self.mean,
            // Also for handshakes and copies, which come many at once.
            _ => self.tail,
        }
    }
}

/// The claims made about one step of a run.
pub(crate) struct Truth<'a> {
    pub(crate) step: &'a Value,
    /// The run's exit code.
    pub(crate) code: Option<i32>,
    pub(crate) slack: Slack,
    pub(crate) claims: Vec<Claim>,
}

impl Truth<'_> {
    /// A count, exactly.
    pub(crate) fn exactly(&mut self, name: &str, asked: u64) {
        self.counts(name, asked, self.count(name));
    }

    /// Something that comes of counts, exactly.
    pub(crate) fn counts(&mut self, figure: &str, asked: u64, reported: u64) {
        self.says(figure, asked.to_string(), reported.to_string(), reported == asked);
        self.claims.last_mut().expect("just made").is_count = true;
    }

    /// A count.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.step["counts"][name].as_u64().unwrap_or_else(|| panic!("no count {name:?}"))
    }

    /// A count that files leave out where there is nothing of it.
    pub(crate) fn rare(&self, name: &str) -> u64 {
        self.step["counts"][name].as_u64().unwrap_or(0)
    }

    /// A count of one kind of messages.
    pub(crate) fn of_kind(&self, name: &str, count: &str) -> u64 {
        self.of_part("says", name, count)
    }

    /// A count of the people of one role, exactly.
    pub(crate) fn role_has(&mut self, name: &str, count: &str, asked: u64) {
        self.counts(&format!("{name}: {count}"), asked, self.of_role(name, count));
    }

    /// A count of the people of one role.
    pub(crate) fn of_role(&self, name: &str, count: &str) -> u64 {
        self.of_part("roles", name, count)
    }

    fn of_part(&self, parts: &str, name: &str, count: &str) -> u64 {
        let all = self.step[parts].as_array().unwrap_or_else(|| panic!("no {parts}"));
        let part = all.iter().find(|part| part["name"] == name);
        part.unwrap_or_else(|| panic!("no {name:?} of {parts}"))["counts"][count].as_u64().unwrap_or(0)
    }

    /// How many errors there were of a kind.
    pub(crate) fn errors(&self, kind: &str) -> u64 {
        self.step["counts"]["errors"][kind]["count"].as_u64().unwrap_or(0)
    }

    /// Not one sample of the figure may be faster than what delayed it.
    pub(crate) fn at_least(&mut self, figure: &str, floor_ms: f64) {
        let min_ms = self.ms(figure, "min");
        self.says(&format!("{figure} min"), format!("≥ {}", ms(floor_ms)), ms(min_ms), min_ms >= floor_ms);
    }

    /// The longest sample of the figure is at least so long.
    pub(crate) fn reaches(&mut self, figure: &str, floor_ms: f64) {
        let max_ms = self.ms(figure, "max");
        self.says(&format!("{figure} max"), format!("≥ {}", ms(floor_ms)), ms(max_ms), max_ms >= floor_ms);
    }

    /// How the run ended.
    pub(crate) fn exits(&mut self, asked: i32) {
        let reported = self.code.map_or("by a signal".into(), |code| code.to_string());
        self.says("exit code", asked.to_string(), reported, self.code == Some(asked));
    }

    /// A statistic of the figure: no less than asked, and no more than this machine adds.
    pub(crate) fn just_above(&mut self, figure: &str, stat: &str, asked_ms: f64) {
        self.about(figure, stat, asked_ms, 0.0);
    }

    /// The same, where the moments of sending make a difference of so much either way.
    pub(crate) fn about(&mut self, figure: &str, stat: &str, asked_ms: f64, give_ms: f64) {
        let reported_ms = self.ms(figure, stat);
        let most_ms = asked_ms + give_ms + self.slack.of_figure(figure, stat);
        let holds = (asked_ms - give_ms..=most_ms).contains(&reported_ms);
        let asked = format!("{} … {}", ms(asked_ms - give_ms), ms(most_ms));
        self.says(&format!("{figure} {stat}"), asked, ms(reported_ms), holds);
    }

    /// Anything else.
    pub(crate) fn says(
        &mut self,
        figure: &str,
        asked: impl Into<String>,
        reported: impl Into<String>,
        holds: bool,
    ) {
        let (figure, asked, reported) = (figure.into(), asked.into(), reported.into());
        self.claims.push(Claim { figure, asked, reported, holds, is_count: false });
    }

    /// The rate completed, per second of the schedule.
    pub(crate) fn achieves(&mut self, asked_per_s: f64, within: f64) {
        let achieved = self.step["rates"]["achieved_per_s"].as_f64().expect("a rate");
        let holds = (achieved / asked_per_s - 1.0).abs() <= within;
        self.says("achieved /s", asked_per_s.to_string(), achieved.to_string(), holds);
    }

    /// Every sample of the figure.
    pub(crate) fn histogram(&self, figure: &str) -> Histogram {
        let text = self.step[figure]["histogram"].as_str().expect("a figure has its histogram");
        Histogram::from_base64(text).expect("a histogram that other tools can read")
    }

    /// The bottleneck of the step.
    pub(crate) fn bottleneck(&self) -> &str {
        self.step["bottleneck"].as_str().expect("every step has one")
    }

    fn ms(&self, figure: &str, stat: &str) -> f64 {
        let value = self.step[figure][format!("{stat}_ms")].as_f64();
        value.unwrap_or_else(|| panic!("no {stat} of {figure}"))
    }
}

/// Milliseconds as a person reads them.
fn ms(value: f64) -> String {
    format!("{value:.1} ms")
}
