//! Flapping as users write it: `10s..20s:2s`, and how connections end.

use clap::{Args, ValueEnum};
use load::{Cut, Cuts, Flap, Plan};
use results::finding::Caveat;
use results::{Delivery, Step, units};

use crate::exit::Failure;

/// Connections last no shorter: with less, nothing but connecting would be measured.
const UP_NS_MIN: u64 = 100_000_000;

/// Connections to end, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Load")]
pub(crate) struct FlapArgs {
    /// Disconnect each client after UP and reconnect it after AWAY, e.g. 10s..20s:2s [default AWAY: its protocol's
    /// back-off]. Messages due while it is away are counted apart
    #[arg(long, value_name = "UP[:AWAY]", value_parser = times, conflicts_with = "churn")]
    flap: Option<Times>,
    /// How these connections end: by a close (a WebSocket's close frame), a reset, or silence (a link that is
    /// cut, of which neither end is told); several by chance [default: reset]
    #[arg(long, value_enum, value_name = "HOW", value_delimiter = ',')]
    flap_how: Vec<How>,
    /// Reconnect as a new client: do not resume the session (Socket.IO's connection state recovery, …)
    #[arg(long)]
    no_session_resume: bool,
}

/// How long connections last, and absences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    up_ns_min: u64,
    up_ns_max: u64,
    away_ns: Option<u64>,
}

/// How a connection ends.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// A close frame.
    Close,
    /// A reset.
    Reset,
    /// Without a word.
    Silence,
}

impl FlapArgs {
    /// Connections that last as long as the one text says, and absences as long as the other.
    ///
    /// # Errors
    /// Times that are none.
    pub(crate) fn of_times(up: &str, away: Option<&str>) -> Result<Self, String> {
        let text = away.map_or_else(|| up.to_owned(), |away| format!("{up}:{away}"));
        Ok(Self { flap: Some(times(&text)?), ..Self::default() })
    }

    /// Connections may also end like this.
    ///
    /// # Errors
    /// A way that there is not.
    pub(crate) fn add_way(&mut self, name: &str) -> Result<(), String> {
        let way = How::from_str(name, false).map_err(|_| "expected \"close\", \"reset\" or \"silence\"")?;
        self.flap_how.push(way);
        Ok(())
    }

    /// Lets clients reconnect as new ones, without resuming their sessions.
    pub(crate) fn without_resuming(self) -> Self {
        Self { no_session_resume: true, ..self }
    }

    /// These flags, with those of `others` where a flag was not given.
    pub(crate) fn or(&self, others: FlapArgs) -> Self {
        Self {
            flap: self.flap.or(others.flap),
            // As a whole: ways of both would be more than either asked for.
            flap_how: if self.flap_how.is_empty() { others.flap_how } else { self.flap_how.clone() },
            no_session_resume: self.no_session_resume || others.no_session_resume,
        }
    }

    /// The first of these flags that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        self.flap.map(|_| "--flap").or(self.given_of_flap())
    }

    /// The first of those that say more of `--flap`.
    fn given_of_flap(&self) -> Option<&'static str> {
        let given =
            [(!self.flap_how.is_empty(), "--flap-how"), (self.no_session_resume, "--no-session-resume")];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }

    /// These flags, with an audit's defaults where a flag was not given: connections that last 10 to 20
    /// seconds and end in each way that clients of a connection of their own, or of a shared one, have, and
    /// absences of two seconds.
    pub(crate) fn or_usual(mut self, shares: bool) -> Self {
        const S: u64 = 1_000_000_000;
        self.flap.get_or_insert(Times { up_ns_min: 10 * S, up_ns_max: 20 * S, away_ns: Some(2 * S) });
        if self.flap_how.is_empty() {
            let all = How::value_variants().iter().copied();
            self.flap_how = all.filter(|how| !shares || *how != How::Silence).collect();
        }
        self
    }

    /// Puts these flags into the plan.
    ///
    /// # Errors
    /// Flags that say how clients flap, of clients that do not.
    pub(crate) fn of(&self, plan: Plan) -> Result<Plan, Failure> {
        if self.flap.is_some() && plan.churn.is_some() {
            let problem = "clients that leave for good and clients that flap (an audit's, or [flap] in the app's file) cannot \
                           be in one run: leave it out";
            return Err(Failure::usage("--churn", problem));
        }
        if plan.shared_by().is_some() && self.flap_how.contains(&How::Silence) {
            let problem = "silence is a connection's, which others share with --streams: close or reset";
            return Err(Failure::usage("--flap-how", problem));
        }
        match (self.flap, self.given_of_flap()) {
            (None, Some(flag)) => Err(Failure::usage(flag, "says more of --flap, which is missing")),
            (flap, _) => Ok(Plan { flap: flap.map(|times| self.flapping(times)), ..plan }),
        }
    }

    /// The most connections of a client at once.
    pub(crate) fn links(&self) -> u64 {
        self.flap.map_or(1, |times| self.flapping(times).links())
    }

    fn flapping(&self, Times { up_ns_min, up_ns_max, away_ns }: Times) -> Flap {
        let cut = |how: &How| match how {
            How::Close => Cut::Close,
            How::Reset => Cut::Reset,
            How::Silence => Cut::Silence,
        };
        let cuts: Vec<Cut> = self.flap_how.iter().map(cut).collect();
        let cuts = if cuts.is_empty() { Cuts::RESET } else { Cuts::of(&cuts) };
        Flap { up_ns_min, up_ns_max, away_ns, cuts, resumes: !self.no_session_resume }
    }
}

/// The reason why delivery is not judged in steps in which clients were to lose their connections.
pub(crate) fn why_nothing_is_said(steps: &[Step]) -> Option<Caveat> {
    // Where the user ended all of them, that is why.
    if steps.iter().all(Step::was_interrupted) || Delivery::of(steps).is_some() {
        return None;
    }
    Some(match steps.iter().map(|step| step.counts.nobody_to_send).sum() {
        0 => Caveat::NobodyAway,
        messages => Caveat::NobodyToSend { messages },
    })
}

/// `TIME[..TIME][:TIME]`.
fn times(text: &str) -> Result<Times, String> {
    let expected = || {
        format!(
            "{text:?} is not how long connections last and clients stay away, such as 10s..20s:2s, 15s:2s or 10s..20s"
        )
    };
    let time = |text: &str| units::time_ns(text).map_err(|_| expected());
    let (up, away) = text.split_once(':').map_or((text, None), |(up, away)| (up, Some(away)));
    let (least, most) = up.split_once("..").unwrap_or((up, up));
    let (up_ns_min, up_ns_max) = (time(least)?, time(most)?);
    if up_ns_min > up_ns_max {
        return Err(format!("{least}..{most}: the shorter time comes first"));
    }
    if up_ns_min < UP_NS_MIN {
        return Err("a connection lasts at least 100ms".into());
    }
    Ok(Times { up_ns_min, up_ns_max, away_ns: away.map(time).transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn silence_leaves_a_second_connection() {
        assert_eq!(FlapArgs::default().links(), 1);
        assert_eq!(FlapArgs::default().or_usual(false).links(), 2);
        assert_eq!(FlapArgs::default().or_usual(true).links(), 1);
    }

    #[test]
    fn times_with_and_without_optional_parts() {
        let lasting =
            |least_s, most_s, away_ns| Ok(Times { up_ns_min: least_s * S, up_ns_max: most_s * S, away_ns });
        assert_eq!(times("10s..20s:2s"), lasting(10, 20, Some(2 * S)));
        assert_eq!(times("1m:0s"), lasting(60, 60, Some(0)));
        assert_eq!(times("10s..20s"), lasting(10, 20, None));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, named) in [
            ("often", "10s..20s:2s"),
            ("10s..20s:", "10s..20s:2s"),
            ("20s..10s:2s", "20s..10s"),
            ("50ms:1s", "100ms"),
            ("0s", "100ms"),
        ] {
            let problem = times(text).unwrap_err();
            assert!(problem.contains(named), "{text}: {problem}");
        }
    }
}
