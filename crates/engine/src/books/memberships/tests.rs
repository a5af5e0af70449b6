//! Stays of two visitors of one room: what is due to them, and what each step keeps of them.

use load::{Visit, VisitStep};

use super::*;

const S: u64 = 1_000_000_000;

fn memberships() -> Memberships {
    let wait = VisitStep::Wait { ns_min: S, ns_max: S };
    let visit = Visit { steps: vec![VisitStep::Join(0), wait, VisitStep::Leave(0), wait], stays: 0 };
    let mut memberships = Memberships::of(&Rooms::default().with_visits(vec![visit]).unwrap()).unwrap();
    memberships.start_step(2);
    memberships
}

#[test]
fn without_visits_nobody_comes_or_goes() {
    assert!(Memberships::of(&Rooms::default()).is_none());
}

#[test]
fn joins_await_answers_in_their_step() {
    let mut memberships = memberships();
    memberships.ask(0, 0, 7, S);
    memberships.ask(1, 0, 8, S);
    memberships.enter(0, 0, 2 * S);
    assert!(memberships.are_joining(), "the other one");
    memberships.turn_away(1, 0, 2 * S);
    assert!(!memberships.are_joining());
    memberships.ask(1, 0, 9, 3 * S);
    memberships.handle_gone(1, 4 * S);
    assert!(!memberships.are_joining());
    memberships.ask(1, 0, 10, 5 * S);
    assert!(memberships.are_joining());
    memberships.start_step(2);
    assert!(!memberships.are_joining());
    assert_eq!((memberships.enter(1, 0, 6 * S), memberships.are_joining()), (Some(5 * S), false));
}

#[test]
fn copies_are_due_once_inside_or_on_entry() {
    let mut memberships = memberships();
    memberships.ask(1, 0, 7, 10 * S);
    assert!(!memberships.is_in(1, 0) && !memberships.may_speak(1, 0));
    assert_eq!(memberships.enter(1, 0, 11 * S), Some(10 * S));
    assert_eq!((memberships.enter(1, 0, 12 * S), memberships.take_entered()), (None, vec![1]));
    assert!(memberships.is_in(1, 0) && memberships.may_speak(1, 0));
    // The newest message that any client has was sent at 19.5 s.
    assert_eq!(memberships.leave(1, 0, 19 * S + S / 2, 20 * S), Some(18 * S + S / 2));
    assert!(!memberships.is_in(1, 0));
    let membership_state =
        |memberships: &Memberships, sent_ns, now_ns| memberships.membership_state(1, 0, sent_ns, now_ns);
    for (sent_ns, expected) in [
        (9 * S - 1, MembershipState::Before),
        (9 * S, MembershipState::Passing),
        (10 * S, MembershipState::Passing),
        (11 * S, MembershipState::Inside),
        (18 * S, MembershipState::Inside),
        (18 * S + S / 2, MembershipState::Passing),
        (20 * S, MembershipState::Passing),
    ] {
        assert_eq!(membership_state(&memberships, sent_ns, 20 * S), expected, "{sent_ns}");
    }
    assert_eq!(
        membership_state(&memberships, 21 * S, 21 * S),
        MembershipState::Outside,
        "a second is enough to be gone"
    );
    let confirmed = [1, S / 4].map(|ns| memberships.confirm(1, 0, 20 * S + ns));
    assert_eq!(confirmed, [Some(20 * S), None], "a server may answer twice");
    assert_eq!(
        membership_state(&memberships, 20 * S + S / 5, 21 * S),
        MembershipState::Outside,
        "the server has said so"
    );
    memberships.ask(1, 0, 7, 30 * S);
    assert_eq!(
        membership_state(&memberships, 25 * S, 31 * S),
        MembershipState::Before,
        "what newcomers are shown"
    );
    assert_eq!(
        membership_state(&memberships, 17 * S, 31 * S),
        MembershipState::Inside,
        "a late one of the stay before"
    );
}

#[test]
fn the_history_knows_each_stay() {
    let mut memberships = memberships();
    for round in 1..50 {
        memberships.ask(1, 0, 7, 10 * round * S);
        if round % 3 == 0 {
            memberships.turn_away(1, 0, (10 * round + 2) * S);
        } else {
            memberships.enter(1, 0, (10 * round + 1) * S);
            memberships.leave(1, 0, (10 * round + 7) * S, (10 * round + 8) * S);
        }
    }
    let history = memberships.history();
    let is_inside = |at_ns| memberships.membership_state(1, 0, at_ns, u64::MAX) == MembershipState::Inside;
    for at_ns in (0..1_000).map(|half| half * S / 2) {
        assert_eq!(history.was_inside(1, 0, at_ns), is_inside(at_ns), "{at_ns}");
    }
    assert!(is_inside(11 * S) && !history.was_inside(0, 0, 11 * S));
}

#[test]
fn refused_clients_were_never_members() {
    let mut memberships = memberships();
    memberships.ask(0, 0, 7, 10 * S);
    assert!(
        memberships.waiting() == [(0, 7)] && memberships.is_joining(0, 0) && !memberships.is_joining(1, 0)
    );
    let turned = [12, 12].map(|s| memberships.turn_away(0, 0, s * S));
    assert!(turned == [Some(7), None] && !memberships.is_at(0, 0));
    assert_eq!(memberships.leave(0, 0, 13 * S, 13 * S), None);
    assert_eq!(memberships.membership_state(0, 0, 11 * S, 13 * S), MembershipState::Passing);
    assert_eq!(memberships.membership_state(0, 0, 13 * S, 13 * S), MembershipState::Outside);
}

#[test]
fn repeated_answers_move_no_leave() {
    let mut memberships = memberships();
    memberships.ask(1, 0, 7, 10 * S);
    memberships.enter(1, 0, 11 * S);
    memberships.leave(1, 0, 20 * S, 20 * S);
    assert!(memberships.handle_joined(1, 0, false, 20 * S + S / 4), "the same join, once more");
    assert_eq!(memberships.confirm(1, 0, 20 * S + S / 2), Some(20 * S));
    assert!(memberships.handle_joined(1, 0, false, 21 * S));
    assert_eq!(memberships.membership_state(1, 0, 21 * S, 21 * S), MembershipState::Outside);
}

#[test]
fn answered_leaves_need_a_stay() {
    let mut memberships = memberships();
    memberships.ask(1, 0, 7, 10 * S);
    memberships.turn_away(1, 0, 16 * S);
    assert_eq!(memberships.confirm(1, 0, 17 * S), None);
}

#[test]
fn unanswered_joins_count_in_one_step() {
    let mut memberships = memberships();
    for client in 0..2 {
        memberships.ask(client, 0, 7, 10 * S);
    }
    assert_eq!(memberships.waiting(), [(0, 7), (1, 7)]);
    memberships.start_step(2);
    assert!(memberships.waiting().is_empty() && memberships.is_overdue(0, 0));
    assert_eq!(memberships.enter(0, 0, 20 * S), Some(10 * S));
    assert_eq!(memberships.turn_away(1, 0, 20 * S), None);
    assert!(memberships.is_in(0, 0) && !memberships.is_at(1, 0));
    memberships.ask(1, 0, 8, 21 * S);
    assert!(!memberships.is_overdue(1, 0) && memberships.waiting() == [(1, 8)]);
}

#[test]
fn memberships_last_as_long_as_their_connection() {
    let mut memberships = memberships();
    for client in 0..2 {
        memberships.ask(client, 0, 7, S);
        memberships.enter(client, 0, 2 * S);
    }
    memberships.handle_gone(1, 3 * S);
    memberships.start_step(3);
    assert!(memberships.is_in(0, 0) && !memberships.is_in(1, 0) && !memberships.is_in(2, 0));
    assert_eq!(memberships.membership_state(0, 0, 9 * S, 9 * S), MembershipState::Inside);
    assert_eq!(memberships.membership_state(1, 0, 9 * S, 9 * S), MembershipState::Outside);
}
