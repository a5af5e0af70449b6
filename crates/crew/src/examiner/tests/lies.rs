//! A peer that knows the format and lies in it at random: what workers report is encoded as it travels, a few
//! of its bytes are changed, and what can still be read is reported.

use super::*;

const LIES: u64 = 4_000;
const LIES_OF_TORTURE: u64 = 300_000;
/// Lengths and numbers in postcard: one byte below 128, and the largest that nine and ten hold.
const BYTES: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

/// A report as a lying worker would send it; `None` if it cannot be read, and costs its worker the run at
/// once.
fn lie(report: &Report, random: &mut fastrand::Rng) -> Option<Report> {
    let mut bytes = postcard::to_stdvec(report).unwrap();
    for _ in 0..random.usize(1..=3) {
        let at = random.usize(..bytes.len());
        match random.u8(..5) {
            0 => bytes[at] ^= 1 << random.u8(..8),
            1 => bytes[at] = random.choice(BYTES).unwrap(),
            2 => bytes[at] = random.u8(..),
            3 => _ = bytes.splice(at..=at, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
            _ => bytes.insert(at, random.u8(..)),
        }
    }
    postcard::from_bytes(&bytes).ok()
}

/// A step, or an error: no panic, no overflow, and no step with more in it than was asked for.
fn tell(lies: u64, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut believed = 0;
    for number in 0..lies {
        let workload = if number % 2 == 0 { Workload::Echo } else { Workload::Broadcast };
        let mut reports = honest(workload);
        let liar = random.usize(..reports.len());
        let Some(told) = lie(&reports[liar], &mut random) else { continue };
        reports[liar] = told;
        let Ok(step) = replay(&plan_of(workload), 2, order(), reports) else { continue };
        believed += 1;
        // Each of its clients may have come in this step beside those that were there.
        let (counts, most) = (&step.counts, 2 * SAMPLES * u64::from(CLIENTS));
        assert!(counts.sent <= SAMPLES && counts.received <= most, "{number}: {counts:?}");
        assert!(counts.missing <= most && step.usable <= Some(CLIENTS.into()), "{number}: {counts:?}");
    }
    assert!(believed > 0, "some lies are small ones");
}

#[test]
fn random_lies_make_no_step_that_cannot_be() {
    tell(LIES, 1);
}

#[test]
#[ignore = "five minutes: make torture"]
fn torture_random_reports_make_no_impossible_step() {
    tell(LIES_OF_TORTURE, fastrand::u64(..));
}
