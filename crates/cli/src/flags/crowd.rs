//! Slow clients, churn and rooms as users write them: `10%:1KiB/s`, `1%/s`.

use clap::{Args, ValueEnum};
use load::{Churn, Plan, Rooms, SayKind, Slow, Speakers, Workload};
use results::units;

use crate::exit::Failure;

/// Senders, and the members of a room that hear them.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Load")]
pub(crate) struct TalkArgs {
    /// A share of the clients sends, evenly spread, and the others only listen, e.g. 10% [default: 100%]
    #[arg(long, value_name = "SHARE", value_parser = speakers)]
    senders: Option<Speakers>,
    /// Whether the sender gets a copy of its own message [default: all]
    #[arg(long, value_enum, value_name = "WHOM")]
    to: Option<To>,
}

/// The receivers of a message.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    /// Everybody in the room.
    All,
    /// Everybody in the room but its sender.
    Others,
}

impl TalkArgs {
    /// The first of these flags that was given.
    pub(crate) fn given(self) -> Option<&'static str> {
        let given = [(self.senders.is_some(), "--senders"), (self.to.is_some(), "--to")];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }

    /// Puts these flags into the plan.
    ///
    /// # Errors
    /// `--to others` for published messages, which no client sends; `--to` or `--senders` where the app's file
    /// states them.
    pub(crate) fn of(self, plan: Plan) -> Result<Plan, Failure> {
        if self.to == Some(To::Others) && plan.publishing.is_some() {
            let problem = "what is published is for everybody in the room: nobody there sends it";
            return Err(Failure::usage("--to others", problem));
        }
        if self.to.is_some() && !plan.rooms.says()[0].name.is_empty() {
            let problem = "the app's file says it of each kind of messages: `to` in [say.NAME]";
            return Err(Failure::usage("--to", problem));
        }
        if self.senders.is_some() && !plan.rooms.roles().is_empty() {
            let problem = "the app's file says who speaks: `says` in [[role]]";
            return Err(Failure::usage("--senders", problem));
        }
        let rooms = match self.to {
            Some(To::Others) => Rooms::clone(&plan.rooms).to_others().into(),
            _ => plan.rooms,
        };
        Ok(Plan { rooms, speakers: self.senders, ..plan })
    }
}

/// Returns whether no kind of message has an answer, so that only deliveries are timed.
pub(crate) fn is_unanswered(plan: &Plan) -> bool {
    unanswered(plan).len() == plan.rooms.says().len()
}

/// The kinds of messages that nothing answers to their senders: neither an acknowledgement nor an own copy.
pub(crate) fn unanswered(plan: &Plan) -> Vec<&SayKind> {
    if plan.workload == Workload::Echo || plan.publishing.is_some() {
        return Vec::new();
    }
    let acks = plan.client_spec.wire_config().map_or(app::Acks::all(true), |config| config.acks());
    let says = plan.rooms.says().iter().enumerate();
    // A sender that hears itself has its own copy for an answer.
    says.filter(|(kind, say)| say.to_others && !acks.has(*kind)).map(|(_, say)| say).collect()
}

/// Refuses a share of the clients that is less than one of them.
pub(crate) fn check_share(flag: &str, share: f64, clients: u64) -> Result<(), Failure> {
    if share * clients as f64 >= 1.0 {
        return Ok(());
    }
    // As it was typed: 7% is 0.07, and a hundred times that is not 7 in binary.
    let percent = (1e12 * share).round() / 1e10;
    let problem = format!("{percent}% of {clients} clients is less than one client; ask for a larger share");
    Err(Failure::usage(flag, problem))
}

/// `SHARE`.
fn speakers(text: &str) -> Result<Speakers, String> {
    let share =
        units::share(text).map_err(|_| format!("{text:?} is not a share of the clients, such as 10%"))?;
    if share > 0.0 && share <= 1.0 { Ok(Speakers { share }) } else { Err("above 0% and at most 100%".into()) }
}

/// `SHARE:SIZE/s`.
pub(crate) fn slow(text: &str) -> Result<Slow, String> {
    let expected =
        || format!("{text:?} is not a share of the clients and what each reads, such as 10%:1KiB/s");
    let (share, rate) = text.split_once(':').ok_or_else(expected)?;
    let share = units::share(share).map_err(|_| expected())?;
    let size = rate.strip_suffix("/s").ok_or_else(expected)?;
    let bytes_per_s = units::bytes(size).map_err(|_| expected())?;
    if !(0.0 < share && share < 1.0) {
        return Err("the share must be above 0% and below 100%: somebody has to send".into());
    }
    if bytes_per_s == 0 {
        return Err("a slow reader reads at least 1B/s".into());
    }
    Ok(Slow { share, bytes_per_s })
}

/// `SHARE/s`.
pub(crate) fn churn(text: &str) -> Result<Churn, String> {
    let expected = || format!("{text:?} is not a share of the clients in a second, such as 1%/s");
    let share = text.strip_suffix("/s").ok_or_else(expected)?;
    let share_per_s = units::share(share).map_err(|_| expected())?;
    if share_per_s > 0.0 { Ok(Churn { share_per_s }) } else { Err("must be above 0%/s".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_what_goes_with_them() {
        assert_eq!(slow("10%:1KiB/s"), Ok(Slow { share: 0.1, bytes_per_s: 1024 }));
        assert_eq!(churn("1%/s"), Ok(Churn { share_per_s: 0.01 }));
        assert_eq!(churn("250%/s"), Ok(Churn { share_per_s: 2.5 }), "everybody leaves after 400 ms");
    }

    #[test]
    fn small_shares_are_refused_as_typed() {
        assert!(check_share("--share", 0.07, 15).is_ok());
        for (share, named) in [(0.07, " 7% of 14 "), (0.001, " 0.1% of 14 ")] {
            let failure = check_share("--share", share, 14).unwrap_err();
            assert!(failure.key() == "usage.share" && failure.to_string().contains(named), "{failure}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, named) in [
            ("10%", "10%:1KiB/s"),
            ("10%:1KiB", "10%:1KiB/s"),
            ("10:1KiB/s", "10%:1KiB/s"),
            ("100%:1KiB/s", "below 100%"),
            ("0%:1KiB/s", "above 0%"),
            ("10%:0/s", "at least 1B/s"),
        ] {
            let problem = slow(text).unwrap_err();
            assert!(problem.contains(named), "{text}: {problem}");
        }
        for (text, named) in [("1%", "1%/s"), ("1/s", "1%/s"), ("0%/s", "above 0%/s")] {
            let problem = churn(text).unwrap_err();
            assert!(problem.contains(named), "{text}: {problem}");
        }
    }
}
