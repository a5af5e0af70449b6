//! Messages of visitors whose answers hold up no leave, because their clients have waited long enough.

/// The waivers of a step, by client.
#[derive(Debug, Default)]
pub(super) struct Waivers(Vec<Waiver>);

/// Messages of one client for whose answers it has waited long enough.
#[derive(Clone, Copy, Debug, Default)]
struct Waiver {
    /// The number behind the last of them.
    below: u32,
    /// Number of these that have had no answer.
    unanswered: u32,
}

impl Waivers {
    /// Begins a step, whose messages are numbered anew, with this many clients here.
    pub(super) fn start_step(&mut self, clients: usize) {
        self.0.clear();
        self.0.resize(clients, Waiver::default());
    }

    /// Notes that a client waits no longer for the answers to its messages below this number, `unanswered` of
    /// which have had none.
    pub(super) fn waive(&mut self, client: u32, below: u32, unanswered: u32) {
        self.0[client as usize] = Waiver { below, unanswered };
    }

    /// Notes the answer to a client's message of this number.
    pub(super) fn handle_answered(&mut self, client: u32, number: u32) {
        let Waiver { below, unanswered } = &mut self.0[client as usize];
        *unanswered = unanswered.saturating_sub(u32::from(number < *below));
    }

    /// Number of a client's messages without an answer for which it waits no longer.
    pub(super) fn unanswered(&self, client: u32) -> u32 {
        self.0[client as usize].unanswered
    }
}
