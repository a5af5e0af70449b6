//! Findings in the file: their key and their numbers, beside the sentence that stands in a field of its own.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::finding::{Caveat, Finding, Loss, Place, RunCaveat};

/// A finding's key, and its numbers as fields beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FileFinding {
    key: String,
    #[serde(flatten)]
    numbers: Map<String, Value>,
}

impl FileFinding {
    pub(super) fn of(finding: &impl Finding) -> Self {
        FileFinding { key: finding.key().to_owned(), numbers: finding.numbers() }
    }

    /// The finding, or, if this version does not know it, its sentence.
    pub(super) fn into_memory<F: Finding>(self, sentence: String) -> F {
        // A key of a newer version, or with numbers that this one does not have: the sentence is still true.
        F::read(&self.key, &self.numbers).unwrap_or_else(|| F::told(sentence))
    }
}

/// Findings of a list, each with the sentence at the same place of another. Those of the repository's records
/// are sentences alone.
pub(super) fn told<F: Finding>(sentences: Vec<String>, keyed: Vec<FileFinding>) -> Vec<F> {
    let mut keyed = keyed.into_iter();
    let read = |sentence: String| match keyed.next() {
        Some(finding) => finding.into_memory(sentence),
        None => F::told(sentence),
    };
    sentences.into_iter().map(read).collect()
}

/// A loss, with its sentence. It follows from the counts, so that nothing reads it back.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileLoss {
    #[serde(flatten)]
    finding: FileFinding,
    text: String,
}

impl From<&Loss> for FileLoss {
    fn from(loss: &Loss) -> Self {
        FileLoss { finding: FileFinding::of(loss), text: loss.to_string() }
    }
}

/// A caveat of a run, and which of its steps have it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileRunCaveat {
    #[serde(flatten)]
    low: FileFinding,
    /// The highest numbers, where steps differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    up_to: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<FilePlace>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FilePlace {
    EveryStep,
    Steps { count: u64, clients_min: u64, clients_max: u64 },
}

impl From<&RunCaveat> for FileRunCaveat {
    fn from(caveat: &RunCaveat) -> Self {
        let RunCaveat { low, high, place } = caveat;
        FileRunCaveat {
            low: FileFinding::of(low),
            up_to: (low != high).then(|| high.numbers()),
            at: match *place {
                Place::Run => None,
                Place::All => Some(FilePlace::EveryStep),
                Place::Some { steps: count, clients: (clients_min, clients_max) } => {
                    Some(FilePlace::Steps { count, clients_min, clients_max })
                }
            },
        }
    }
}

/// The caveats of a run. Where the whole sentence is all that is known, it also says at which steps.
pub(super) fn told_of_run(sentences: Vec<String>, keyed: Vec<FileRunCaveat>) -> Vec<RunCaveat> {
    let mut keyed = keyed.into_iter();
    let read = |sentence: String| match keyed.next() {
        Some(caveat) => caveat.into_memory(sentence),
        None => Caveat::told(sentence).into(),
    };
    sentences.into_iter().map(read).collect()
}

impl FileRunCaveat {
    fn into_memory(self, sentence: String) -> RunCaveat {
        let FileRunCaveat { low, up_to, at } = self;
        let high =
            FileFinding { numbers: up_to.unwrap_or_else(|| low.numbers.clone()), key: low.key.clone() };
        let [low, high] = [low, high].map(|finding| finding.into_memory::<Caveat>(sentence.clone()));
        if matches!(low, Caveat::Told { .. }) {
            return low.into();
        }
        let place = match at {
            None => Place::Run,
            Some(FilePlace::EveryStep) => Place::All,
            Some(FilePlace::Steps { count, clients_min, clients_max }) => {
                Place::Some { steps: count, clients: (clients_min, clients_max) }
            }
        };
        RunCaveat { low, high, place }
    }
}
