//! `--fault` as text: clauses such as `drop=1/1000` or `delay=1s@99%100`, with commas between them;
//! docs/FAULTS.md.

use refserver::faults::{
    CloseMethod, Delay, Ending, Faults, MessageSelector, Selector, SlowAccept, Time, Wave,
};
use results::units;

/// The text of `throng serve --help` about the clauses.
pub(crate) const HELP: &str = "\
Faults (--fault CLAUSE,CLAUSE,…; all: throng docs faults):
  drop=WHICH dup=WHICH reorder=WHICH corrupt=WHICH
                       messages are lost, sent twice, swapped with the
                       next, or damaged
  stray=WHICH          another client also gets a copy
  leak=WHICH           a client of another room also gets a copy
  linger=WHICH         who leaves a room goes on to hear it
  delay=TIME[@WHICH]   messages leave 5ms, 5ms..20ms (uniform) or exp:5ms
                       later, without holding up others
  service=TIME         messages are served one at a time, each taking TIME
  tick=TIME            messages leave only at multiples of TIME
  stall=1s/10s         the server does nothing for 1 s in every 10
  deaf=1s/10s          the server does not read for 1 s in every 10
  close=WHO@M kill=WHO@M mute=WHO@M
                       instead of getting message M, the client is closed,
                       reset, or left in silence
  accept=TIME[@WHO]    connections wait before they are served
  refuse=WHO           connections are reset when accepted
  forget=WHICH again=WHICH swap=WHICH
                       of a --history, messages are not sent again, sent
                       again twice, or swapped with the next
  seed=N               the seed of random choices
WHICH and WHO: all; 7 (that one, from 0); 99%100 (n % 100 = 99);
  1/1000 or 0.1% (at random).
each:WHICH (not of linger, forget, again, swap) counts each client's messages
  separately.";

/// The faults in a text.
///
/// # Errors
/// The clause, what is wrong with it, and what is allowed.
pub(crate) fn parse(text: &str) -> Result<Faults, String> {
    let mut faults = Faults::default();
    for clause in text.split(',').map(str::trim) {
        let (name, value) = clause.split_once('=').ok_or_else(|| format!("{clause:?} is not NAME=VALUE"))?;
        add(&mut faults, name, value).map_err(|problem| format!("{clause}: {problem}"))?;
    }
    Ok(faults)
}

fn add(faults: &mut Faults, name: &str, value: &str) -> Result<(), String> {
    match name {
        "drop" => set(&mut faults.drop, which(value)?),
        "dup" => set(&mut faults.duplicate, which(value)?),
        "reorder" => set(&mut faults.reorder, which(value)?),
        "corrupt" => set(&mut faults.corrupt, which(value)?),
        "stray" => set(&mut faults.stray, which(value)?),
        "leak" => set(&mut faults.leak, which(value)?),
        "linger" => set(&mut faults.linger, selector(value)?),
        "delay" => {
            let (time, at) = value.split_once('@').unwrap_or((value, "all"));
            faults.delays.push(Delay { time: self::time(time)?, which: which(at)? });
            Ok(())
        }
        "service" => set(&mut faults.service_ns, positive(value)?),
        "tick" => set(&mut faults.tick_ns, positive(value)?),
        "stall" => set(&mut faults.stall, wave(value)?),
        "deaf" => set(&mut faults.deaf, wave(value)?),
        "close" => end(faults, CloseMethod::Close, value),
        "kill" => end(faults, CloseMethod::Reset, value),
        "mute" => end(faults, CloseMethod::Mute, value),
        "accept" => {
            let (delay, who) = value.split_once('@').unwrap_or((value, "all"));
            set(&mut faults.accept, SlowAccept { delay_ns: positive(delay)?, who: selector(who)? })
        }
        "refuse" => set(&mut faults.refuse, selector(value)?),
        "forget" => set(&mut faults.forget, selector(value)?),
        "again" => set(&mut faults.again, selector(value)?),
        "swap" => set(&mut faults.swap, selector(value)?),
        "seed" => {
            faults.seed = value.parse().map_err(|_| format!("{value:?} is not a whole number"))?;
            Ok(())
        }
        _ => Err(
            "there are drop, dup, reorder, corrupt, stray, leak, linger, delay, service, tick, stall, deaf, close, kill, \
                  mute, accept, refuse, forget, again, swap and seed"
                .into(),
        ),
    }
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    if place.replace(value).is_some() { Err("given twice".into()) } else { Ok(()) }
}

fn end(faults: &mut Faults, how: CloseMethod, text: &str) -> Result<(), String> {
    let problem =
        || format!("expected WHO@M, a client and the number of its message, such as 7@500, not {text:?}");
    let (who, at) = text.split_once('@').ok_or_else(problem)?;
    let at = at.parse().map_err(|_| problem())?;
    faults.endings.push(Ending { how, who: selector(who)?, at });
    Ok(())
}

fn which(text: &str) -> Result<MessageSelector, String> {
    // A message's number is the server's, unless it is to be each client's own.
    let each_client = text.strip_prefix("each:");
    Ok(MessageSelector {
        selector: selector(each_client.unwrap_or(text))?,
        of_each_client: each_client.is_some(),
    })
}

fn selector(text: &str) -> Result<Selector, String> {
    if text.starts_with("each:") {
        return Err("each: is for drop, dup, reorder, corrupt, stray, leak and delay".into());
    }
    let problem = || format!("{text:?} is not all, 7, 99%100, 1/1000 or 0.1%");
    let number = |text: &str| text.parse::<u64>().map_err(|_| problem());
    if text == "all" {
        Ok(Selector::All)
    } else if let Some((part, whole)) = text.split_once('/') {
        share(number(part)? as f64 / number(whole)? as f64)
    } else if text.ends_with('%') {
        share(units::share(text).map_err(|_| problem())?)
    } else if let Some((residue, modulus)) = text.split_once('%') {
        let (residue, modulus) = (number(residue)?, number(modulus)?);
        if residue < modulus {
            Ok(Selector::Residue { residue, modulus })
        } else {
            Err(format!("nothing leaves {residue} when divided by {modulus}"))
        }
    } else {
        number(text).map(Selector::One)
    }
}

fn share(share: f64) -> Result<Selector, String> {
    if (0.0..=1.0).contains(&share) {
        Ok(Selector::Share(share))
    } else {
        Err("a share is from 0 to 1".into())
    }
}

fn time(text: &str) -> Result<Time, String> {
    if let Some(mean) = text.strip_prefix("exp:") {
        return positive(mean).map(Time::Exponential);
    }
    let Some((from, to)) = text.split_once("..") else { return positive(text).map(Time::Fixed) };
    let (from_ns, to_ns) = (duration(from)?, positive(to)?);
    if from_ns <= to_ns {
        Ok(Time::Uniform(from_ns, to_ns))
    } else {
        Err(format!("{from} is more than {to}"))
    }
}

fn wave(text: &str) -> Result<Wave, String> {
    let (length, period) =
        text.split_once('/').ok_or("expected how long and how often, such as 1s/10s".to_owned())?;
    let wave = Wave { length_ns: positive(length)?, period_ns: positive(period)? };
    // A server that never does anything cannot be measured, only waited for.
    if wave.length_ns < wave.period_ns {
        Ok(wave)
    } else {
        Err(format!("{length} of every {period} is always"))
    }
}

fn positive(text: &str) -> Result<u64, String> {
    duration(text).and_then(|ns| if ns > 0 { Ok(ns) } else { Err("must be longer than 0".into()) })
}

/// At most a day: sums of such times fit the clock.
fn duration(text: &str) -> Result<u64, String> {
    const DAY_NS: u64 = 86_400_000_000_000;
    let ns = units::time_ns(text).map_err(|error| error.to_string())?;
    if ns <= DAY_NS { Ok(ns) } else { Err("at most a day".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clause_says_what_it_means() {
        let text = "drop=1/1000,delay=5ms,stall=1s/100s,dup=99%100,reorder=each:48%50,close=7@500,kill=all@3,\
                    delay=1s..2s@0.5%,accept=2s@4%5,refuse=3,service=10ms,tick=100ms,deaf=1s/10s,seed=9";
        let all = MessageSelector { selector: Selector::All, of_each_client: false };
        let residue = |residue, modulus| Selector::Residue { residue, modulus };
        let of = |selector, of_each_client| Some(MessageSelector { selector, of_each_client });
        let expected = Faults {
            seed: 9,
            drop: of(Selector::Share(0.001), false),
            duplicate: of(residue(99, 100), false),
            reorder: of(residue(48, 50), true),
            delays: vec![
                Delay { time: Time::Fixed(5_000_000), which: all },
                Delay {
                    time: Time::Uniform(1_000_000_000, 2_000_000_000),
                    which: MessageSelector { selector: Selector::Share(0.005), of_each_client: false },
                },
            ],
            service_ns: Some(10_000_000),
            tick_ns: Some(100_000_000),
            stall: Some(Wave { length_ns: 1_000_000_000, period_ns: 100_000_000_000 }),
            deaf: Some(Wave { length_ns: 1_000_000_000, period_ns: 10_000_000_000 }),
            endings: vec![
                Ending { how: CloseMethod::Close, who: Selector::One(7), at: 500 },
                Ending { how: CloseMethod::Reset, who: Selector::All, at: 3 },
            ],
            accept: Some(SlowAccept { delay_ns: 2_000_000_000, who: residue(4, 5) }),
            refuse: Some(Selector::One(3)),
            ..Faults::default()
        };
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn bare_times_are_seconds() {
        assert_eq!(parse("delay=1,stall=1/100"), parse("delay=1s,stall=1s/100s"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("", "\"\" "),
            ("drop", "NAME=VALUE"),
            ("lose=1", "lose=1: "),
            ("drop=some", "drop=some: "),
            ("drop=1,drop=2", "drop=2: "),
            ("drop=100%100", "100"),
            ("drop=1%0", " 1"),
            ("drop=2/1", " 1"),
            ("drop=0/0", " 1"),
            ("linger=each:7", " reorder"),
            ("swap=each:99%100", " reorder"),
            ("kill=each:7@1", " reorder"),
            ("delay=five", "delay=five: \"five\""),
            ("delay=0s", " 0"),
            ("delay=2s..1s", "2s "),
            ("delay=2d", "delay=2d: "),
            ("stall=1s", "1s/10s"),
            ("stall=2s/1s", "2s "),
            ("kill=7", "WHO@M"),
            ("seed=x", "seed=x: \"x\""),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
