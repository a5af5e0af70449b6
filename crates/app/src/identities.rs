//! The clients' identities, ready to be sent: rows at hand, and the key that signs.

use std::sync::Arc;

use crate::people::{BadKey, Layout, People, Signer};
use crate::template::{ClientContext, Filling, Kept, PersonData, Table, Template};

/// People, with the key at hand that signs their tokens.
#[derive(Debug)]
pub struct Identities {
    people: Arc<People>,
    /// By kind of rooms.
    layouts: Vec<Layout>,
    signer: Option<Signer>,
    /// The offset from a session's clock to the wall clock, which tokens show.
    pub unix_minus_now_ns: u64,
}

impl Identities {
    /// Reads the key.
    ///
    /// # Errors
    /// The form that the key has to have.
    pub fn new(people: Arc<People>) -> Result<Identities, BadKey> {
        let signer = people.token.as_ref().map(Signer::new).transpose()?;
        let layouts = people.rooms.iter().map(Layout::new).collect();
        Ok(Identities { people, layouts, signer, unix_minus_now_ns: 0 })
    }

    /// The context of client number `client` of the run, which was given `kept` at its login.
    #[inline]
    pub fn context<'a>(&'a self, client: u32, now_ns: u64, kept: &'a Kept) -> ClientContext<'a> {
        ClientContext { client, now_ns, people: self, kept, cookies: &kept.cookies }
    }

    /// The first row whose cells do not fit where these templates have them as they are, counted from 1.
    pub fn misfit<'a>(
        &self,
        templates: impl Iterator<Item = &'a Template>,
        fits: impl Fn(&[u8]) -> bool,
    ) -> Option<u32> {
        let rows = &self.people.rows;
        let columns: Vec<u16> = templates.flat_map(Template::plain_columns).collect();
        let is_misfit = |row: &usize| columns.iter().any(|&column| !fits(rows.get(*row, column).as_bytes()));
        let row = (0..rows.rows()).filter(|_| !columns.is_empty()).find(is_misfit)?;
        u32::try_from(row + 1).ok()
    }
}

impl PersonData for Identities {
    fn rows(&self) -> &Table {
        &self.people.rows
    }

    fn room(&self, kind: u16, client: u32) -> u32 {
        self.layouts.get(usize::from(kind)).map_or(0, |layout| layout.room(client))
    }

    #[inline]
    fn unix_ns(&self, now_ns: u64) -> u64 {
        now_ns.wrapping_add(self.unix_minus_now_ns)
    }

    fn write_token(&self, out: &mut Vec<u8>, filling: &Filling<'_>) {
        if let Some(signer) = &self.signer {
            signer.write(out, filling);
        }
    }
}
