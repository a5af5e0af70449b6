//! The schema, and how an older one becomes the newest.
//!
//! `user_version` holds the number of the schema, `application_id` says that the file is ours (SQLite, "Database File
//! Format" §1.3.17). A migration runs in one transaction: a process that is killed leaves the older schema whole.

use rusqlite::{Connection, TransactionBehavior};

/// One script for each schema: the first makes schema 1 of an empty file, the next schema 2 of schema 1, …
pub(crate) const MIGRATIONS: &[&str] = &[include_str!("schema/1.sql")];

/// `thro`: what `file(1)` could know a store by.
pub(crate) const APPLICATION_ID: i32 = 0x7468_726f;
/// `thrg`: the stores of programs before the first release, whose schemas had numbers of their own.
const UNRELEASED_ID: i32 = 0x7468_7267;

/// Kinds of files, as far as their header and tables say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing in it yet.
    Empty,
    /// A store with this schema, 1 or higher.
    Ours(u32),
    /// A store from before the first release.
    Unreleased,
    /// A database of something else.
    Foreign,
}

pub(crate) fn look(connection: &Connection) -> rusqlite::Result<Found> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (id, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match u32::try_from(version) {
        Ok(version) if id == i64::from(APPLICATION_ID) && version > 0 => Found::Ours(version),
        _ if id == i64::from(UNRELEASED_ID) => Found::Unreleased,
        // A database of another program may have these numbers as well, but it has tables.
        Ok(0) if id == 0 && tables == 0 => Found::Empty,
        _ => Found::Foreign,
    })
}

/// Brings the file to the newest schema, and returns what it is then. A second process finds that it has been
/// done, maybe by a newer throng.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<Found> {
    let newest = MIGRATIONS.len() as u32;
    // Immediate: of two processes that had both begun by reading, one could not go on to write.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = match look(&transaction)? {
        Found::Empty => 0,
        Found::Ours(version) if version < newest => version,
        found => return Ok(found),
    };
    for migration in MIGRATIONS.iter().skip(from as usize) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", newest)?;
    transaction.commit()?;
    Ok(Found::Ours(newest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Query, Store};

    /// A store as the schema of this number left it.
    fn of_version(version: usize) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        for migration in &MIGRATIONS[..version] {
            connection.execute_batch(migration).unwrap();
        }
        if version > 0 {
            connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
            connection.pragma_update(None, "user_version", version as i64).unwrap();
        }
        connection
    }

    fn tables(connection: &Connection) -> Vec<(String, Option<String>)> {
        let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn files_come_to_the_newest_schema() {
        let newest = MIGRATIONS.len();
        for version in 0..=newest {
            let mut connection = of_version(version);
            migrate(&mut connection).unwrap();
            assert_eq!(look(&connection).unwrap(), Found::Ours(newest as u32), "from {version}");
            assert_eq!(tables(&connection), tables(&of_version(newest)), "from {version}");
            migrate(&mut connection).unwrap();
        }
    }

    #[test]
    fn newer_schemas_stay_as_they_are() {
        let mut connection = of_version(MIGRATIONS.len());
        let newer = MIGRATIONS.len() as u32 + 1;
        connection.pragma_update(None, "user_version", newer).unwrap();
        assert_eq!(migrate(&mut connection).unwrap(), Found::Ours(newer));
        assert_eq!(look(&connection).unwrap(), Found::Ours(newer));
    }

    /// A store as each schema left it, with one run. A schema that users have is never edited: these would not open.
    const KEPT: &[&str] = &[include_str!("schema/kept-1.sql")];

    #[test]
    fn kept_stores_are_read() {
        assert_eq!(KEPT.len(), MIGRATIONS.len(), "each schema needs a store that it left");
        for (kept, version) in KEPT.iter().zip(1..) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("runs.db");
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch(kept).unwrap();
            assert_eq!(look(&connection).unwrap(), Found::Ours(version));
            drop(connection);

            let store = Store::open(&path).unwrap();
            let [entry] = &store.list(&Query::default()).unwrap()[..] else { panic!("one run was kept") };
            assert_eq!(
                (entry.scenario.as_str(), entry.clients, &entry.tags[..]),
                ("echo", 2, &["first".to_owned()][..])
            );
            assert!(entry.p50_ns.is_some_and(|p50_ns| p50_ns > 100_000), "{entry:?}");
            let run = store.load(&entry.id).unwrap();
            assert_eq!((run.steps[0].counts.sent, run.steps[0].figures.rtt.count()), (20, 20));
            assert_eq!(tables(&Connection::open(&path).unwrap()), tables(&of_version(MIGRATIONS.len())));
        }
    }

    #[test]
    fn foreign_databases_are_known() {
        let connection = Connection::open_in_memory().unwrap();
        assert_eq!(look(&connection).unwrap(), Found::Empty);
        connection.execute_batch("CREATE TABLE notes (text)").unwrap();
        assert_eq!(look(&connection).unwrap(), Found::Foreign);
        connection.pragma_update(None, "user_version", 3).unwrap();
        assert_eq!(look(&connection).unwrap(), Found::Foreign);
    }

    #[test]
    fn unreleased_stores_are_known() {
        let mut connection = of_version(MIGRATIONS.len());
        connection.pragma_update(None, "application_id", UNRELEASED_ID).unwrap();
        connection.pragma_update(None, "user_version", 6).unwrap();
        let as_found = tables(&connection);
        assert_eq!(migrate(&mut connection).unwrap(), Found::Unreleased);
        assert_eq!(tables(&connection), as_found);
    }
}
