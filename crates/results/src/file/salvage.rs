//! Reading a results file whose end a crash has torn while a step was added.

use super::frame::{Frame, STEPS};
use crate::run::Run;
use crate::verdict;

/// The line that ends the steps.
const STEPS_END: &str = "\n  ]";
/// How the last line of a step begins.
const STEP_END: &str = "\n    }";
/// Ends that are tried to find one that is whole: one step may be torn, and an old tail may stand behind it.
const ENDS_TRIED_MAX: usize = 16;

/// Reads the file of a run that was killed while a step was added to it: the steps before that, and the
/// verdict on these.
///
/// # Errors
/// That of [`read`](super::read), if there is no such step.
pub fn read(text: &str) -> Result<Run, super::FileError> {
    let error = match super::read(text) {
        Err(error @ (super::FileError::Cut { .. } | super::FileError::Shape(_))) => error,
        read => return read,
    };
    let Some((head, steps)) = text.split_once(STEPS) else { return Err(error) };
    let steps = steps.split_once(STEPS_END).map_or(steps, |(steps, _)| steps);
    // The frame says what the file's own end would have said; it is read for its shape alone.
    let end = Frame::of(&Run::default()).end(1);
    // From the end backwards: the last step that is whole is the one to keep.
    let ends = steps.rmatch_indices(STEP_END).take(ENDS_TRIED_MAX);
    for (at, brace) in ends {
        let Ok(mut run) = super::read(&[head, STEPS, &steps[..at + brace.len()], &end].concat()) else {
            continue;
        };
        let whole = run.steps.iter().take_while(|step| !step.was_interrupted()).count();
        run.resume_after = Some(whole as u32);
        run.verdict = verdict::conclude(run.scenario, &run.steps);
        return Ok(run);
    }
    Err(error)
}
