//! NEXT behind closed loops: beside other programs, it is to stop them.

use std::time::Duration;

use crate::next::follow;
use crate::support::alone;
use crate::support::hostile::HostileServer;

#[test]
fn closed_loops_that_passed_go_further() {
    let _alone = alone();
    // A server that answers at once would have a loop fill the machine, which is another next step; one that is
    // slower gives too few samples in six seconds.
    let waits = HostileServer::start(|peer| peer.answer_after(Duration::from_millis(10)));
    follow(
        waits.address,
        &[
            ("http HTTP/ -c 4 -d 6s", "", "--rate", 0),
            ("http HTTP/ -c 2 -R 300 -d 2s", "", "--connections", 0),
        ],
    );
}
