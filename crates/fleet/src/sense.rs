//! Checks whether what a coordinator asks of an agent can be meant: it came over a network.
//!
//! Rules. What cannot be meant is not begun: times that no clock shows, rates that are no numbers, more
//! clients than the agent's processes may have, a worker twice. What is left may ask for much, but the agent
//! stays what it is, and free for the next.

use app::people::RoleAssignment;
use engine::Command;
use load::{ClientSpec, Connecting, Flap, Load, LoginServer, Plan, Publishing, Rooms, Segment, Storm};
use net::clock;

use crate::intro::WORKERS_MAX;
use crate::talk::Brief;

/// The longest step, pause or timeout: a year.
const TIME_NS_MAX: u64 = 365 * 86_400 * 1_000_000_000;
/// The latest time of a clock: 146 years.
const CLOCK_NS_MAX: u64 = 1 << 62;
/// The highest rate.
const RATE_PER_S_MAX: f64 = 1e9;
/// The largest message, and the largest payload.
const MESSAGE_BYTES_MAX: u32 = 1 << 30;
/// Most connections over which messages are published.
const PUBLISHERS_MAX: u32 = 1 << 16;
/// Places in a closed loop's list of the clients that may send, at one worker.
const PLACES_MAX: u64 = 1 << 26;

/// Returns whether a brief is valid.
pub(crate) fn is_brief(brief: &Brief) -> bool {
    let Brief { plan, segments, processes, offset_ns } = brief;
    let workers = segments.first().map_or(0, |segment| segment.workers);
    let is_part = |segment: &Segment| segment.workers == workers && segment.worker < workers;
    (1..=usize::from(WORKERS_MAX)).contains(&segments.len())
        && segments.iter().all(is_part)
        // Strictly ascending, so no worker is there twice.
        && segments.is_sorted_by(|a, b| a.worker < b.worker)
        && (1..=segments.len()).contains(&(*processes).into())
        && is_offset(*offset_ns)
        && is_plan(plan)
}

fn is_plan(plan: &Plan) -> bool {
    let Plan {
        endpoints,
        login_servers,
        client_spec,
        rooms,
        slow,
        churn,
        flap,
        publishing,
        connecting,
        draining,
        epoch_ns,
        unix_epoch_ns,
        ..
    } = plan;
    let Connecting { timeout_ns, rate_per_s, .. } = connecting;
    let times = [*timeout_ns, draining.timeout_ns, draining.quiet_ns.unwrap_or(0)];
    !endpoints.is_empty()
        && are_login_servers(login_servers, client_spec)
        && rate_per_s.is_none_or(is_rate)
        && is_client_spec(client_spec)
        && times.into_iter().all(|ns| ns <= TIME_NS_MAX)
        && rooms.is_sound()
        && (1..=Rooms::KINDS_MAX).contains(&client_spec.people.rooms.len())
        && client_spec.people.rooms.iter().all(|division| division.is_sound())
        && RoleAssignment::is_sound(&client_spec.people.roles, broadcasts(client_spec))
        && (rooms.roles().is_empty() || rooms.roles() == client_spec.people.roles)
        && slow.as_ref().is_none_or(|slow| is_share(slow.share))
        && churn.as_ref().is_none_or(|churn| is_rate(churn.share_per_s))
        && flap.as_ref().is_none_or(is_flap)
        && publishing.as_ref().is_none_or(|publishing| is_publishing(publishing))
        && are_joined(plan)
        && [*epoch_ns, *unix_epoch_ns].into_iter().all(|ns| ns <= CLOCK_NS_MAX)
}

/// Returns whether clients come and go in one way at most: otherwise books would excuse a copy twice, for two
/// reasons.
fn are_joined(plan: &Plan) -> bool {
    let Plan { rooms, churn, flap, messages_per_connection, .. } = plan;
    let ways =
        [!rooms.visits().is_empty(), churn.is_some(), flap.is_some(), messages_per_connection.is_some()];
    ways.into_iter().filter(|is_one| *is_one).count() <= 1
}

/// Returns whether steps of the plan may be storms, whose books know no clients that come and go or read
/// slowly besides.
pub(crate) fn may_storm(plan: &Plan) -> bool {
    let Plan { rooms, slow, churn, flap, messages_per_connection, .. } = plan;
    rooms.visits().is_empty()
        && slow.is_none()
        && churn.is_none()
        && flap.is_none()
        && messages_per_connection.is_none()
}

/// Returns whether the servers are the ones that the app's file numbers.
fn are_login_servers(servers: &[LoginServer], client_spec: &ClientSpec) -> bool {
    let numbered = client_spec.of_dialect.app.as_ref().map_or(0, |app| app.login_servers.len());
    servers.len() == numbered && servers.iter().all(|server| !server.endpoints.is_empty())
}

/// How many kinds of broadcasts there are.
fn broadcasts(client_spec: &ClientSpec) -> usize {
    client_spec.of_dialect.app.as_ref().map_or(1, |app| app.broadcasts.len())
}

fn is_client_spec(client_spec: &ClientSpec) -> bool {
    let sizes =
        [Some(client_spec.message_bytes_max), client_spec.payload_bytes, client_spec.payload_bytes_max];
    sizes.into_iter().flatten().all(|bytes| bytes <= MESSAGE_BYTES_MAX)
}

fn is_publishing(publishing: &Publishing) -> bool {
    let Publishing { endpoints, client_spec, connections, .. } = publishing;
    !endpoints.is_empty()
        && client_spec.dialect.facts().asks
        && client_spec.dialect.is_over_requests(&client_spec.of_dialect.settings)
        && is_client_spec(client_spec)
        && *connections <= PUBLISHERS_MAX
}

fn is_flap(flap: &Flap) -> bool {
    flap.is_sound() && flap.up_ns_max <= TIME_NS_MAX && flap.away_ns.unwrap_or(0) <= TIME_NS_MAX
}

/// Returns whether an agent whose workers have these parts of the run, and together no more clients, can be
/// asked for this; for a storm, only if the plan [may have one](may_storm).
pub(crate) fn is_command(command: &Command, segments: &[Segment], clients_max: u64, may_storm: bool) -> bool {
    match command {
        Command::Step(order) => {
            let share = |segment: &Segment| u64::from(segment.share(order.clients));
            let (most, all) = (segments.iter().map(share).max(), segments.iter().map(share).sum::<u64>());
            let is_possible = may_storm || !matches!(order.load, Load::Storm(_));
            all <= clients_max && is_possible && is_load(&order.load, most.unwrap_or(0))
        }
        Command::Go { at_ns } => *at_ns <= CLOCK_NS_MAX,
        Command::Clock { offset_ns } => is_offset(*offset_ns),
        Command::Settle | Command::Finish => true,
    }
}

fn is_load(load: &Load, clients: u64) -> bool {
    match *load {
        Load::Open { schedule, duration_ns } => {
            duration_ns <= TIME_NS_MAX && schedule.is_sound(RATE_PER_S_MAX)
        }
        Load::Storm(Storm { rate_per_s, lead_ns, duration_ns, share, window_ns }) => {
            let times = [lead_ns, duration_ns, window_ns.unwrap_or(0)];
            rate_per_s.is_none_or(is_rate) && is_share(share) && times.into_iter().all(|ns| ns <= TIME_NS_MAX)
        }
        Load::Hold { duration_ns } => duration_ns <= TIME_NS_MAX,
        Load::Closed { per_client, until, .. } => {
            let is_time = match until {
                load::Until::Samples(_) => true,
                load::Until::Elapsed { duration_ns } => duration_ns <= TIME_NS_MAX,
            };
            is_time && clients * u64::from(per_client) <= PLACES_MAX
        }
    }
}

fn is_rate(rate_per_s: f64) -> bool {
    rate_per_s > 0.0 && rate_per_s <= RATE_PER_S_MAX
}

fn is_share(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

/// Returns whether the run's clock, which is this machine's plus `offset_ns`, shows a time.
fn is_offset(offset_ns: i64) -> bool {
    clock::own_monotonic_ns().checked_add_signed(offset_ns).is_some_and(|ns| ns <= CLOCK_NS_MAX)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::sync::Arc;

    use load::{Churn, Cuts, Schedule, Slow, StepOrder, Until, Visit, VisitStep};

    use super::*;
    use crate::support::plan;

    fn brief() -> Brief {
        let segments = [2, 3].map(|worker| Segment { worker, workers: 5 }).to_vec();
        Brief { plan: plan(), segments, processes: 2, offset_ns: 0 }
    }

    #[test]
    fn a_run_begins_with_what_there_can_be() {
        assert!(is_brief(&brief()));
        let altered: [fn(&mut Brief); 14] = [
            |brief| brief.segments.clear(),
            |brief| brief.segments[1].worker = 2,
            |brief| brief.segments[1].worker = 5,
            |brief| brief.segments[1].workers = 6,
            |brief| brief.processes = 0,
            |brief| brief.processes = 3,
            |brief| brief.offset_ns = i64::MAX,
            |brief| brief.offset_ns = i64::MIN,
            |brief| brief.plan.endpoints.clear(),
            |brief| brief.plan.connecting.timeout_ns = u64::MAX,
            |brief| brief.plan.connecting.rate_per_s = Some(f64::NAN),
            |brief| brief.plan.draining.timeout_ns = u64::MAX,
            |brief| brief.plan.client_spec.payload_bytes = Some(u32::MAX),
            |brief| brief.plan.epoch_ns = u64::MAX,
        ];
        for (k, alter) in altered.into_iter().enumerate() {
            let mut bad = brief();
            alter(&mut bad);
            assert!(!is_brief(&bad), "{k}");
        }
    }

    #[test]
    fn steps_ask_for_no_more_than_there_is() {
        let is_step = |clients, load| {
            let order = StepOrder { index: 0, clients, load, warmup: false };
            is_command(&Command::Step(order), &brief().segments, 4, true)
        };
        let hold = |duration_ns| Load::Hold { duration_ns };
        assert!(is_step(10, hold(1)) && !is_step(13, hold(1)), "two of five workers have their shares");
        assert!(!is_step(u32::MAX, hold(1)) && !is_step(10, hold(u64::MAX)));
        let closed = |per_client| Load::Closed { concurrency: 1, per_client, until: Until::Samples(1) };
        assert!(is_step(10, closed(1_000)) && !is_step(10, closed(u32::MAX)));
        let open = |rate| Load::Open { schedule: Schedule::constant(rate), duration_ns: 1 };
        assert!(is_step(10, open(1e6)) && !is_step(10, open(1e12)));
        let storm =
            |share| Storm { rate_per_s: Some(1.0), lead_ns: 1, duration_ns: 1, share, window_ns: None };
        assert!(is_step(10, Load::Storm(storm(1.0))) && !is_step(10, Load::Storm(storm(f64::NAN))));
        let order = StepOrder { index: 0, clients: 10, load: Load::Storm(storm(1.0)), warmup: false };
        assert!(!is_command(&Command::Step(order), &brief().segments, 4, false));
        assert!(!is_command(&Command::Go { at_ns: u64::MAX }, &[], 0, true));
        assert!(!is_command(&Command::Clock { offset_ns: i64::MIN }, &[], 0, true));
    }

    #[test]
    fn ways_to_come_and_go_exclude_each_other() {
        let visit = |plan: &mut Plan| {
            let wait = VisitStep::Wait { ns_min: Visit::ROUND_NS_MIN, ns_max: Visit::ROUND_NS_MIN };
            let steps = vec![VisitStep::Join(0), wait, VisitStep::Leave(0)];
            let rooms = plan.rooms.as_ref().clone().with_visits(vec![Visit { steps, stays: 0 }]);
            plan.rooms = Arc::new(rooms.expect("rooms with visits"));
        };
        let ways: [fn(&mut Plan); 4] = [
            visit,
            |plan| plan.churn = Some(Churn { share_per_s: 0.1 }),
            |plan| {
                let cuts = Cuts::RESET;
                plan.flap = Some(Flap { up_ns_min: 1, up_ns_max: 1, away_ns: None, cuts, resumes: true });
            },
            |plan| plan.messages_per_connection = NonZeroU32::new(1),
        ];
        let slow = |plan: &mut Plan| plan.slow = Some(Slow { share: 0.5, bytes_per_s: 1 });
        let of = |ways: &[fn(&mut Plan)]| {
            let mut plan = plan();
            for way in ways {
                way(&mut plan);
            }
            (is_plan(&plan), may_storm(&plan))
        };
        assert_eq!((of(&[]), of(&[slow])), ((true, true), (true, false)));
        for (k, one) in ways.into_iter().enumerate() {
            assert_eq!(of(&[one, slow]), (true, false), "{k}");
            for (n, other) in ways.into_iter().enumerate().filter(|(n, _)| *n != k) {
                assert!(!of(&[one, other]).0, "{k} and {n}");
            }
        }
    }

    #[test]
    fn schedules_with_too_many_pieces_are_refused() {
        let good = postcard::to_stdvec(&Schedule::constant(1.0)).unwrap();
        let mut bad = good.clone();
        let length = bad.len() - 1 - size_of::<f64>();
        bad[length] = 200;
        let of = |bytes: &[u8]| postcard::from_bytes::<Schedule>(bytes).unwrap().is_sound(RATE_PER_S_MAX);
        assert!(of(&good) && !of(&bad));
    }
}
