//! `--wait-for`: a server that may still be starting.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use load::Endpoint;

use crate::exit::Failure;
use crate::target::Target;
use crate::{interrupts, secrets};

/// How often it is tried.
const POLL: Duration = Duration::from_millis(100);
/// How long one attempt may take: a packet that was lost is sent again after a second.
const ATTEMPT_MAX: Duration = Duration::from_millis(1_500);

/// The target that `find` finds, once something accepts connections at all of its places.
pub(crate) fn wait(within: Duration, find: impl Fn() -> Result<Target, Failure>) -> Result<Target, Failure> {
    let (start, interrupts) = (Instant::now(), interrupts::install()?);
    loop {
        let found = find();
        let closed = match &found {
            Ok(target) => target.endpoints.iter().find(|endpoint| !is_open(endpoint)),
            Err(failure) if failure.is_usage() => return found,
            Err(_) => None,
        };
        if found.is_ok() && closed.is_none() {
            return found;
        }
        if interrupts.count() > 0 {
            return Err(Failure::interrupted());
        }
        if start.elapsed() >= within {
            let target = found?;
            let what = format!("reach {}", secrets::url(&target.url));
            let waited = within.as_secs_f64();
            return Err(Failure::could_not(
                what,
                format!("nothing there has accepted a connection for {waited} s (--wait-for)"),
            ));
        }
        thread::sleep(POLL);
    }
}

fn is_open(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Inet(address) => TcpStream::connect_timeout(address, ATTEMPT_MAX).is_ok(),
        Endpoint::Unix(path) => UnixStream::connect(path).is_ok(),
    }
}
