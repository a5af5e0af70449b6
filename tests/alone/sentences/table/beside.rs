//! Two runs, or several servers.

use crate::alone::sentences::situation::{Host, Situation, situation};
use crate::support::arena::SERVE;

const HONEST: Host = Host::Reference("");
const SLOWER: Host = Host::Reference("--fault delay=5ms");
const MUCH_SLOWER: Host = Host::Reference("--fault delay=200ms");
const A: &str = "echo {ws} --clients 20 --rate 200 -d 1s --no-store --quiet --format json --out {out}/a";
const B: &str = "echo {ws} --clients 20 --rate 200 -d 1s --no-store --quiet --format json --out {out}/b";
const LONG_A: &str = "echo {ws} --clients 20 --rate 200 -d 5s --no-store --quiet --format json --out {out}/a";
const LONG_B: &str = "echo {ws} --clients 20 --rate 200 -d 5s --no-store --quiet --format json --out {out}/b";
const FAIL_IF: &str = "compare {folder}/a {folder}/b --fail-if 'p95 slower by 10%'";
const COMPARE: &str = "compare {folder}/a {folder}/b";

pub(crate) fn situations() -> Vec<Situation> {
    [compared(), ranked()].into_iter().flatten().collect()
}

fn compared() -> Vec<Situation> {
    vec![
        repeats("the same server, three times each", HONEST, HONEST, COMPARE).never(&["slower", "worse"]),
        repeats("5 ms slower", HONEST, SLOWER, COMPARE).says(&["rtt.p50{any}slower||unclear"]),
        repeats(
            "200 ms slower, with a rule",
            HONEST,
            MUCH_SLOWER,
            "compare {folder}/a {folder}/b --fail-if 'p50 slower'",
        )
        .exits(3)
        .or_exits(5),
        [(); 3]
            .iter()
            .fold(situation("5 ms slower, 3 × 5 s each", Host::Nobody, FAIL_IF), |all, ()| {
                all.first(HONEST, LONG_A).first(SLOWER, LONG_B)
            })
            .says(&["rtt.p95{any}slower||unclear"])
            .never(&["rtt.p95{any}no difference"])
            .exits(3)
            .or_exits(5),
        situation("one short run of each", Host::Nobody, COMPARE)
            .first(HONEST, A)
            .first(MUCH_SLOWER, B)
            .says(&["unclear"])
            .never(&["no difference"]),
    ]
}

/// The reference server as a target, and what may be wrong with one.
fn ranked() -> Vec<Situation> {
    const TINY: &str = "shootout tiny --out kept";
    vec![
        situation("a ranking", Host::Arena(SERVE), TINY).says(&["sh-copy"]).never(&["failed", "missing"]),
        situation(
            "a server that does not start",
            Host::Arena("echo no licence >&2; exit 7"),
            "shootout tiny --targets sh-copy --out kept",
        )
        .says(&["sh-copy{any}no licence||no licence"])
        .never(&["nothing speaks against"])
        .exits(1),
        situation(
            "a server that loses answers, ranked",
            Host::Arena("exec \"$THRONG\" serve --listen \"$AT\" --fault drop=9%10"),
            TINY,
        )
        .says(&["sh-copy"])
        .says(&["missing||lost"]),
        situation("a target that answers rightly", Host::Arena(SERVE), "targets check sh-copy")
            .says(&["sh-copy"])
            .short(),
        situation(
            "a target that does not",
            Host::Arena("exec \"$THRONG\" serve --listen \"$AT\" --fault drop=all"),
            "targets check sh-copy",
        )
        .says(&["sh-copy"])
        .exits(1),
    ]
}

fn repeats(name: &'static str, a: Host, b: Host, line: &'static str) -> Situation {
    (0..3).fold(situation(name, Host::Nobody, line), |all, _| all.first(a, A).first(b, B))
}
