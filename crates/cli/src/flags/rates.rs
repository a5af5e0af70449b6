//! Rates as users write them: `500`, `100..5k/60s`, `500/10s,500..2k/30s,2k/10s`.

use load::{PIECES_MAX, Piece, Schedule};
use results::units;

/// More messages a second than any machine sends: a slip of the keyboard.
const RATE_PER_S_MAX: f64 = 1e9;
/// Signs between the ends of a ramp.
const ARROWS: [&str; 3] = ["..", "→", "->"];

/// The values of `--rate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) schedule: Schedule,
    /// How long it takes, if each of its pieces has a time.
    pub(crate) duration_ns: Option<u64>,
}

/// Parses one rate, or pieces separated by commas: `RATE/TIME` holds a rate, `FROM..TO/TIME` goes from one to
/// the other. The last may be without a time: then it lasts as long as the run.
pub(crate) fn rates(text: &str) -> Result<Rates, String> {
    let texts: Vec<&str> = text.split(',').collect();
    let (last, before) = texts.split_last().expect("a text has a part");
    let mut pieces = before.iter().map(|text| piece(text)).collect::<Result<Vec<Piece>, _>>()?;
    if let Ok(rate_per_s) = units::rate_per_s(last) {
        let rate_per_s = checked(rate_per_s)?;
        if pieces.is_empty() {
            return positive(rate_per_s).map(constant);
        }
        // Of no length: from now on.
        pieces.push(Piece { from_per_s: positive(rate_per_s)?, to_per_s: rate_per_s, duration_ns: 0 });
        return Ok(Rates { schedule: schedule(&pieces)?, duration_ns: None });
    }
    pieces.push(piece(last)?);
    let schedule = schedule(&pieces)?;
    Ok(Rates { schedule, duration_ns: Some(schedule.duration_ns()) })
}

/// A constant rate.
pub(crate) fn constant(rate_per_s: f64) -> Rates {
    Rates { schedule: Schedule::constant(rate_per_s), duration_ns: None }
}

fn schedule(pieces: &[Piece]) -> Result<Schedule, String> {
    if pieces.len() > PIECES_MAX {
        return Err(format!("at most {PIECES_MAX} pieces, not {}", pieces.len()));
    }
    Ok(Schedule::of(pieces))
}

fn piece(text: &str) -> Result<Piece, String> {
    let expected = || {
        format!(
            "{text:?} is not a rate such as 500, a rate for a time such as 500/10s, or a ramp such as 100..5k/60s"
        )
    };
    let (rates, time) = text.rsplit_once('/').ok_or_else(expected)?;
    let duration_ns = units::time_ns(time).map_err(|_| expected())?;
    let rate = |text: &str| checked(units::rate_per_s(text).map_err(|_| expected())?);
    // A rate that is held is a ramp to itself.
    let ends = ARROWS.iter().find_map(|arrow| rates.split_once(arrow)).unwrap_or((rates, rates));
    let (from_per_s, to_per_s) = (rate(ends.0)?, rate(ends.1)?);
    // One of the ends may be 0, but a piece without any message has no schedule.
    positive(from_per_s + to_per_s)?;
    if duration_ns == 0 {
        return Err(format!("{text:?} must take longer than 0"));
    }
    Ok(Piece { from_per_s, to_per_s, duration_ns })
}

fn positive(rate_per_s: f64) -> Result<f64, String> {
    if rate_per_s > 0.0 { Ok(rate_per_s) } else { Err("a rate must be above 0".into()) }
}

fn checked(rate_per_s: f64) -> Result<f64, String> {
    if rate_per_s <= RATE_PER_S_MAX {
        return Ok(rate_per_s);
    }
    Err(format!("at most a billion a second, not {rate_per_s}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn piece(from_per_s: f64, to_per_s: f64, seconds: u64) -> Piece {
        Piece { from_per_s, to_per_s, duration_ns: seconds * S }
    }

    #[test]
    fn a_rate_is_a_rate() {
        for text in ["500", "500/s", "0.5k"] {
            let asked = Rates { schedule: Schedule::constant(500.0), duration_ns: None };
            assert_eq!(rates(text), Ok(asked), "{text}");
        }
    }

    #[test]
    fn ramps_in_any_spelling() {
        let asked = Rates { schedule: Schedule::of(&[piece(100.0, 5_000.0, 60)]), duration_ns: Some(60 * S) };
        for text in ["100..5k/60s", "100..5k/60", "100→5k/60s", "100->5000/1m", "100/s..5k/s/60s"] {
            assert_eq!(rates(text), Ok(asked), "{text}");
        }
    }

    #[test]
    fn pieces_follow_one_another() {
        let pieces = [piece(500.0, 500.0, 10), piece(500.0, 2_000.0, 30)];
        let asked = Rates { schedule: Schedule::of(&pieces), duration_ns: Some(40 * S) };
        assert_eq!(rates("500/10s,500..2k/30s"), Ok(asked));
        let open = rates("0..2k/30s,100").unwrap();
        assert_eq!((open.duration_ns, open.schedule.duration_ns()), (None, 30 * S));
    }

    #[test]
    fn impossible_rates_are_refused() {
        let seven = ["1/1s"; 7].join(",");
        for (text, named) in [
            ("0", "above 0"),
            ("-5", "500/10s"),
            ("", "500/10s"),
            ("2e12", "500/10s"),
            ("2000G", "a billion"),
            ("0..0/5s", "above 0"),
            ("5..9", "100..5k/60s"),
            ("5..9/soon", "100..5k/60s"),
            ("5..9/0s", "longer than 0"),
            ("5,9", "500/10s"),
            ("5/1s,", "500/10s"),
            (&seven, "at most 6 pieces"),
        ] {
            let problem = rates(text).unwrap_err();
            assert!(problem.contains(named), "{text}: {problem}");
        }
    }
}
