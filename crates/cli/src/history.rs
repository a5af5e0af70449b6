//! The history that `throng serve` keeps for clients that come back, as users write it: `100` messages, or
//! `30s`.

use std::sync::Arc;

use refserver::faults::Faults;
use results::units;
use wire::{History, Keep};

/// `N` or `TIME`.
pub(crate) fn keep(text: &str) -> Result<Keep, String> {
    let problem = || format!("{text:?} is neither a number of messages nor a time, such as 100 or 30s");
    // A number first: a time always has a unit.
    if let Ok(count) = units::count(text) {
        let count = u32::try_from(count).map_err(|_| problem())?;
        return if count > 0 { Ok(Keep::Messages(count)) } else { Err("at least one message".into()) };
    }
    match units::duration_ns(text).map_err(|_| problem())? {
        0 => Err("must be longer than 0".into()),
        time_ns => Ok(Keep::Time(time_ns)),
    }
}

/// A history that keeps so much, and with it does wrong as the faults say.
pub(crate) fn of(keep: Option<Keep>, faults: Option<Faults>) -> Option<Arc<History>> {
    let faults = faults.unwrap_or_default();
    keep.map(|keep| Arc::new(History::new(keep, move |number| faults.replay_fault(number))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_keep_a_number_or_a_time() {
        assert_eq!(keep("100"), Ok(Keep::Messages(100)));
        assert_eq!(keep("30s"), Ok(Keep::Time(30_000_000_000)));
        for (text, named) in
            [("0", "at least one"), ("0s", "longer than 0"), ("all", "100 or 30s"), ("5G", "100 or 30s")]
        {
            let problem = keep(text).unwrap_err();
            assert!(problem.contains(named), "{text}: {problem}");
        }
    }
}
