//! The folder with all targets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::manifest::{self, CONTROL_NAME, REFERENCE_NAME, Readers, Target};
use crate::mistake::Mistake;

/// Every target of a folder, the reference server first.
pub struct TargetCatalog {
    /// Targets that can be read, in the order of their names.
    pub targets: Vec<Target>,
    /// The folders whose manifest has a mistake.
    pub mistakes: Vec<(String, Mistake)>,
}

impl TargetCatalog {
    /// Reads every folder in it that has a manifest.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn read(folder: &Path, readers: Readers<'_>) -> io::Result<TargetCatalog> {
        // Commands run in these folders, and name programs relative to them.
        let folder = folder.canonicalize()?;
        let mut folders: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
        // Of any kind: a pipe or a dangling link is a mistake to tell, and no folder to leave out.
        folders.retain(|folder| folder.join(manifest::FILE_NAME).symlink_metadata().is_ok());
        folders.sort();
        let mut catalog = TargetCatalog { targets: vec![Target::reference()], mistakes: Vec::new() };
        for folder in folders {
            let name = manifest::folder_name(&folder);
            if name == REFERENCE_NAME {
                continue; // part of this program
            }
            let targets = Target::of_folder(&folder, readers);
            match targets.and_then(|targets| catalog.with_names_of_their_own(&folder, targets)) {
                Ok(targets) => catalog.targets.extend(targets),
                // One folder's mistake is no reason not to measure the others.
                Err(mistake) => catalog.mistakes.push((name, mistake)),
            }
        }
        Ok(catalog)
    }

    /// The targets of a folder, whose names have to be theirs alone: by them everything is kept.
    fn with_names_of_their_own(&self, folder: &Path, targets: Vec<Target>) -> Result<Vec<Target>, Mistake> {
        for target in &targets {
            let taken = |by: String| {
                let help = Some("rename the folder or the variant".to_owned());
                Mistake::of_file(&folder.join(manifest::FILE_NAME), format!("{} is {by}", target.name), help)
            };
            if target.name == CONTROL_NAME {
                return Err(taken(format!(
                    "the name of {REFERENCE_NAME} where it is measured a second time"
                )));
            }
            if let Some(other) = self.targets.iter().find(|other| other.name == target.name) {
                let folder = manifest::folder_name(&other.folder);
                return Err(taken(format!("the name of a target in {folder} already")));
            }
        }
        Ok(targets)
    }

    /// The target of that name; where there is none, all variants of the folder of that name.
    pub fn find(&self, name: &str) -> Vec<&Target> {
        let named: Vec<&Target> = self.targets.iter().filter(|target| target.name == name).collect();
        if !named.is_empty() {
            return named;
        }
        self.targets
            .iter()
            .filter(|target| target.folder.file_name().is_some_and(|folder| folder == name))
            .collect()
    }
}

/// The folder of the suites that go by their names.
pub const SUITES_FOLDER: &str = "suites";

/// The folder of that name (`targets`, `suites`) in the working directory or the nearest above it.
pub fn find_folder(name: &str, from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|above| above.join(name)).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_targets_have_one_name() {
        let catalog = tempfile::tempdir().unwrap();
        let manifest = include_str!("../../../targets/node-ws/target.toml");
        for (name, variant) in [("a", "b-c"), ("a-b", "c"), ("throng", "x"), (CONTROL_NAME, "x")] {
            let folder = catalog.path().join(name);
            fs::create_dir(&folder).unwrap();
            let text = manifest.replace("variants.cluster", &format!("variants.{variant}"));
            fs::write(folder.join(manifest::FILE_NAME), text).unwrap();
        }
        let catalog = TargetCatalog::read(catalog.path(), Readers::INDIFFERENT).unwrap();
        let names: Vec<&str> = catalog.targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, [REFERENCE_NAME, "a", "a-b-c"]);
        let mistakes: Vec<(&str, String)> =
            catalog.mistakes.iter().map(|(folder, mistake)| (folder.as_str(), mistake.line())).collect();
        let expected = [("a-b", "a-b-c"), (CONTROL_NAME, CONTROL_NAME)];
        assert_eq!(mistakes.len(), expected.len(), "{mistakes:?}");
        for ((folder, line), (of, taken)) in mistakes.iter().zip(expected) {
            assert!(*folder == of && line.contains(taken), "{folder}: {line}");
        }
    }
}
