//! Published figures: "then", to stand beside "now".

use std::collections::BTreeMap;

use crate::suite::Published;

/// The published figure of each target, by the target's name here.
///
/// # Errors
/// The file cannot be read, or lacks a column; in one line.
pub(crate) fn read(published: &Published, targets: &[&str]) -> Result<BTreeMap<String, f64>, String> {
    let in_file = |why: &dyn std::fmt::Display| format!("{}: {why}", published.file.display());
    let mut reader = csv::Reader::from_path(&published.file).map_err(|error| in_file(&error))?;
    let head = reader.headers().map_err(|error| in_file(&error))?.clone();
    let column = |name: &str| {
        let at = head.iter().position(|known| known == name);
        at.ok_or_else(|| {
            in_file(&format!(
                "there is no column {name:?}; there are {}",
                head.iter().collect::<Vec<_>>().join(", ")
            ))
        })
    };
    let (target, figure) = (column("target")?, column(&published.column)?);
    let conditions: Vec<(usize, &str)> = published
        .rows
        .iter()
        .map(|(name, value)| Ok((column(name)?, value.as_str())))
        .collect::<Result<_, String>>()?;
    let mut then = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(|error| in_file(&error))?;
        if conditions.iter().all(|&(at, value)| &row[at] == value)
            && let Ok(value) = row[figure].parse::<f64>()
        {
            then.insert(row[target].to_owned(), value);
        }
    }
    let name_there = |name: &str| {
        let renamed = published.names.iter().find(|(here, _)| here == name);
        renamed.map_or(name.to_owned(), |(_, there)| there.clone())
    };
    Ok(targets.iter().filter_map(|name| Some(((*name).to_owned(), *then.get(&name_there(name))?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_that_fits_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("then.csv");
        std::fs::write(&file, "test,target,clients\na,go,1000\na,go,2000\nb,go,9\na,node,7\n").unwrap();
        let published = Published {
            file,
            rows: vec![("test".into(), "a".into())],
            column: "clients".into(),
            names: vec![("go-gorilla".into(), "go".into())],
            differs: String::new(),
        };
        let then = read(&published, &["go-gorilla", "node", "other"]).unwrap();
        assert_eq!(then, BTreeMap::from([("go-gorilla".into(), 2000.0), ("node".into(), 7.0)]));
        let wrong = Published { column: "cients".into(), ..published };
        let problem = read(&wrong, &[]).unwrap_err();
        assert!(problem.contains("\"cients\"") && problem.ends_with("test, target, clients"), "{problem}");
    }
}
