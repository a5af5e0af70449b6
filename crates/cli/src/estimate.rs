//! How long a run will take, as far as it can be said beforehand.

use std::time::Duration;

use crew::Course;
use load::{Census, Load, Rooms, Until, Workload};

/// A forecast assumes a server that delivers this many messages per second, and is overloaded by more.
const DELIVERIES_PER_S: f64 = 100_000.0;
/// The number of connections per second that the assumed server accepts.
const CONNECTIONS_PER_S: f64 = 10_000.0;
/// The time of a step besides its load: clients connect before the load, and messages under way arrive after
/// it.
const STEP_S: f64 = 1.0;
/// The most steps of a course that are estimated: no user waits for a longer course.
const STEPS_MAX: usize = 10_000;

/// The steps that a verb is about to take.
pub(crate) struct Estimate {
    course: Course,
    workload: Workload,
    rooms: Rooms,
    connections_per_s: f64,
    /// The round trip in seconds beyond which a closed loop ends its course.
    limit_s: f64,
}

impl Estimate {
    /// Estimates the steps of a course for a workload whose clients connect as fast as the server allows.
    pub(crate) fn new(course: Course, workload: Workload) -> Self {
        let rooms = Rooms::default();
        Self { course, workload, rooms, connections_per_s: CONNECTIONS_PER_S, limit_s: f64::INFINITY }
    }

    /// Sets the rooms that users are in.
    pub(crate) fn in_rooms(self, rooms: Rooms) -> Self {
        Self { rooms, ..self }
    }

    /// Sets the pace of connecting, if there is one.
    pub(crate) fn connecting(self, per_s: Option<f64>) -> Self {
        Self { connections_per_s: per_s.unwrap_or(self.connections_per_s), ..self }
    }

    /// Sets the limit of the round trip.
    pub(crate) fn up_to(self, limit_ns: u64) -> Self {
        Self { limit_s: limit_ns as f64 / 1e9, ..self }
    }

    /// How long it takes against the supposed server. A real one may be ten times as fast, or as slow.
    pub(crate) fn forecast(mut self) -> Duration {
        let (mut all_s, mut connected) = (0.0, 0);
        for _ in 0..STEPS_MAX {
            let Some(order) = self.course.poll() else { break };
            // Clients of an earlier step are still there.
            let new = order.clients.saturating_sub(connected);
            connected = order.clients;
            let copies = match self.workload {
                Workload::Broadcast => copies(&self.rooms, order.clients),
                Workload::Echo => 1.0,
            };
            let (load_s, passes) = self.load(order.load, copies);
            all_s += f64::from(new) / self.connections_per_s + load_s + STEP_S;
            // The supposed server answers, too: a search goes where its answers lead.
            self.course.handle(&order, passes);
        }
        Duration::from_secs_f64(all_s)
    }

    /// How long a load takes, and whether the supposed server bears it.
    fn load(&self, load: Load, copies: f64) -> (f64, bool) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        match load {
            Load::Open { schedule, duration_ns } => {
                let bears = schedule.mean_per_s(duration_ns) * copies <= DELIVERIES_PER_S;
                (seconds(duration_ns), bears)
            }
            Load::Storm(storm) => (seconds(storm.whole_ns()), true),
            Load::Hold { duration_ns } => (seconds(duration_ns), true),
            Load::Closed { concurrency, until, .. } => {
                let bears = f64::from(concurrency) * copies / DELIVERIES_PER_S <= self.limit_s;
                let load_s = match until {
                    Until::Samples(samples) => samples as f64 * copies / DELIVERIES_PER_S,
                    Until::Elapsed { duration_ns } => seconds(duration_ns),
                };
                (load_s, bears)
            }
        }
    }
}

/// The mean number of receivers of a message.
fn copies(rooms: &Rooms, clients: u32) -> f64 {
    let whole: f64 = rooms.says().iter().map(|say| f64::from(say.share)).sum();
    let of_say = |say: &load::SayKind| {
        let division = &rooms.kinds()[usize::from(say.room)].division;
        f64::from(say.share) / whole * Census::of(division, clients, 1, &[0]).room_of_one()
    };
    rooms.says().iter().map(of_say).sum()
}

#[cfg(test)]
mod tests {
    use crew::Sweep;
    use load::LoadRule;

    use super::*;

    const S: u64 = 1_000_000_000;

    fn seconds(estimate: Estimate) -> f64 {
        estimate.forecast().as_secs_f64()
    }

    #[test]
    fn steps_take_their_time_and_connecting() {
        let rule = LoadRule::Same(Load::Hold { duration_ns: 30 * S });
        let course = || Course::single(20_000, rule);
        assert_eq!(seconds(Estimate::new(course(), Workload::Echo)), 2.0 + 30.0 + STEP_S);
        let paced = Estimate::new(course(), Workload::Echo).connecting(Some(200.0));
        assert_eq!(seconds(paced), 100.0 + 30.0 + STEP_S);
    }

    #[test]
    fn a_walk_ends_at_its_limit() {
        let load = Load::Closed { concurrency: 4, per_client: 1, until: Until::Samples(100) };
        let walk =
            || Estimate::new(Course::walk(1_000, 1_000, Some(40), LoadRule::Same(load)), Workload::Broadcast);
        // Four copies to 13,000 clients are more than the server delivers in half a second.
        let steps = 13.0;
        let expected = steps * (0.1 + STEP_S) + steps * (steps + 1.0) / 2.0;
        assert!((seconds(walk().up_to(S / 2)) - expected).abs() < 1e-6);
        assert!(seconds(walk()) > 800.0, "without a limit it takes all its steps");
    }

    #[test]
    fn a_sweep_ends_each_level_at_overload() {
        let sweep = Sweep::new(vec![100], 250.0, 1e6, 1);
        // 250, 500, 1,000 and 2,000 a second, of which the last is too much, twice, and one between.
        let expected = 0.01 + 6.0 * (2.0 + STEP_S);
        let found = seconds(Estimate::new(Course::sweep(sweep, 2 * S), Workload::Broadcast));
        assert!((found - expected).abs() < 1e-6, "{found}");
    }
}
