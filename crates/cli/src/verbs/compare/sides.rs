//! The runs that are held against each other: each once, and on one side only.

use std::path::Path;

use results::Run;
use results::finding::Note;

use crate::exit::Failure;

/// Refuses servers in the place of runs.
///
/// # Errors
/// Both sides are servers: what measures them is said.
pub(super) fn refuse_servers(a: &str, b: &str) -> Result<(), Failure> {
    // Neither @N nor an id of throng's own has a colon; each side may be a list.
    let is_server = |word: &str| word.split(',').all(|part| part.contains(':') && !Path::new(part).exists());
    if !(is_server(a) && is_server(b)) {
        return Ok(());
    }
    // Requests have a verb of their own, and a WebSocket may be given without its scheme.
    let verb = |url: &str| if url.starts_with("http") && url.contains("://") { "http" } else { "echo" };
    let problem = format!(
        "these are servers, and runs are compared; to measure both in turns: throng compare --run-a '{} {a}' --run-b \
         '{} {b}' --fail-if 'p99 slower by 10%'",
        verb(a),
        verb(b)
    );
    Err(Failure::usage("A B", problem).because("servers"))
}

/// Leaves each run of both sides in its first place, and returns notes on those that were named again: a run
/// is no repeat of itself.
///
/// # Errors
/// A run is on both sides.
pub(super) fn tell_apart(a: &mut Vec<Run>, b: &mut Vec<Run>) -> Result<Vec<Note>, Failure> {
    if let Some(run) = a.iter().find(|run| b.iter().any(|other| other.id == run.id)) {
        return Err(Failure::usage("A B", format!("{} is on both sides, and it differs in nothing", run.id)));
    }
    let notes = [("A", a), ("B", b)].into_iter().flat_map(|(name, side)| {
        let again = each_once(side);
        again.into_iter().map(move |run| Note::NamedAgain { side: name.to_owned(), run })
    });
    Ok(notes.collect())
}

/// Drops the runs that are there already; which these were.
fn each_once(side: &mut Vec<Run>) -> Vec<String> {
    let (mut known, mut again): (Vec<String>, Vec<String>) = Default::default();
    side.retain(|run| {
        let is_new = !known.contains(&run.id);
        let names = if is_new { &mut known } else { &mut again };
        if !names.contains(&run.id) {
            names.push(run.id.clone());
        }
        is_new
    });
    again
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(ids: &[&str]) -> Vec<Run> {
        ids.iter().map(|id| Run { id: (*id).into(), ..Run::default() }).collect()
    }

    #[test]
    fn a_run_is_no_repeat_of_itself() {
        let (mut a, mut b) = (side(&["1", "2", "1", "1"]), side(&["3"]));
        let notes = tell_apart(&mut a, &mut b).unwrap();
        assert_eq!(notes, [Note::NamedAgain { side: "A".into(), run: "1".into() }]);
        assert_eq!((a, b), (side(&["1", "2"]), side(&["3"])));
    }

    #[test]
    fn files_of_a_list_are_no_servers() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["21:00.json", "21:05.json"].map(|name| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            path.display().to_string()
        });
        assert!(refuse_servers(&files.join(","), &format!("{},@2", files[0])).is_ok());
        let refused = |a: &str, b: &str| refuse_servers(a, b).unwrap_err().to_string();
        assert!(refused("127.0.0.1:9/ws", "ws://h/").contains("--run-a 'echo 127.0.0.1:9/ws'"));
        assert!(refused("http://a/", "https://b/").contains("--run-b 'http https://b/'"));
    }

    #[test]
    fn a_run_is_on_one_side_only() {
        let refused = tell_apart(&mut side(&["1", "2"]), &mut side(&["3", "2"])).unwrap_err();
        assert!(refused.is_usage() && refused.to_string().contains("2 is on both sides"), "{refused}");
    }
}
