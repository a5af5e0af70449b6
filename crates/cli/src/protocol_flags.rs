//! The flags that the protocols declare, as the command line has them: each name once, even if several share
//! it.

use std::sync::LazyLock;

use wire::{DialectId, Facts, Flag, FlagKind};

/// A flag, and whose it is.
pub(crate) struct Shared {
    /// The declaration of its first owner; the others agree but for the help.
    pub(crate) flag: Flag,
    /// The help of all.
    pub(crate) help: String,
    /// The dialects that it is for.
    pub(crate) dialects: Vec<DialectId>,
}

static CLIENTS: LazyLock<Vec<Shared>> = LazyLock::new(|| gather(|facts| facts.flags));
static SERVERS: LazyLock<Vec<Shared>> = LazyLock::new(|| gather(|facts| facts.server_flags));

/// Flags of clients.
pub(crate) fn of_clients() -> &'static [Shared] {
    &CLIENTS
}

/// Flags of servers.
pub(crate) fn of_servers() -> &'static [Shared] {
    &SERVERS
}

/// The flags whose value records do not show.
pub(crate) fn of_secrets() -> secret::Flags {
    let of =
        |kind| CLIENTS.iter().filter(move |shared| shared.flag.kind == kind).map(|shared| shared.flag.name);
    secret::Flags { secret: of(FlagKind::Secret).collect(), telling: of(FlagKind::Json).collect() }
}

fn gather(flags: impl Fn(&'static Facts) -> &'static [Flag]) -> Vec<Shared> {
    let mut all: Vec<Shared> = Vec::new();
    for &dialect in DialectId::ALL {
        let facts = dialect.facts();
        for flag in flags(facts) {
            let help = format!("{}: {}", facts.protocol, flag.help);
            match all.iter_mut().find(|shared| shared.flag.name == flag.name) {
                None => all.push(Shared { flag: *flag, help, dialects: vec![dialect] }),
                Some(shared) => {
                    let alike = (flag.kind, flag.value_name, flag.default);
                    let of_first = (shared.flag.kind, shared.flag.value_name, shared.flag.default);
                    // One command line reads it for all of them, before it is known which protocol is spoken.
                    assert_eq!(alike, of_first, "--{} is declared in two ways", flag.name);
                    shared.help += &format!("; {help}");
                    shared.dialects.push(dialect);
                }
            }
        }
    }
    for Shared { flag, help, .. } in &mut all {
        let default = match flag.kind {
            FlagKind::Time(ns) => Some(shown_time(ns)),
            FlagKind::Size(bytes) => Some(shown_size(bytes)),
            _ => flag.default.map(str::to_owned),
        };
        if let Some(default) = default {
            *help += &format!(" [default: {default}]");
        }
    }
    all
}

/// A time as its flag reads it.
fn shown_time(ns: u64) -> String {
    const S: u64 = 1_000_000_000;
    if ns > 0 && ns.is_multiple_of(60 * S) { format!("{}m", ns / (60 * S)) } else { format!("{}s", ns / S) }
}

/// A size as its flag reads it.
fn shown_size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 10) { format!("{}KiB", bytes >> 10) } else { bytes.to_string() }
}

#[cfg(test)]
mod tests {
    use results::units;

    use super::*;

    #[test]
    fn shared_flags_say_their_meaning_by_protocol() {
        let transport = of_clients().iter().find(|shared| shared.flag.name == "transport").unwrap();
        assert_eq!(transport.dialects, [DialectId::Sockjs, DialectId::Socketio]);
        let (of_sockjs, of_socketio) = transport.help.split_once("; socketio: ").expect("two protocols");
        assert!(of_sockjs.starts_with("sockjs: websocket, raw-websocket, "), "{of_sockjs}");
        assert!(of_socketio.starts_with("websocket, polling, "), "{of_socketio}");
        assert!(of_socketio.ends_with(" [default: websocket]"), "{of_socketio}");
        let channel = of_clients().iter().find(|shared| shared.flag.name == "channel").unwrap();
        assert!(channel.help.starts_with("actioncable: "), "{}", channel.help);
        assert!(channel.help.ends_with(" [default: BenchmarkChannel]"), "{}", channel.help);
    }

    #[test]
    fn default_of_no_time_is_in_seconds() {
        let pongs = of_servers().iter().find(|shared| shared.flag.name == "cable-pong-timeout").unwrap();
        assert!(pongs.help.ends_with(" [default: 0s]"), "{}", pongs.help);
    }

    #[test]
    fn a_default_is_shown_as_it_is_read() {
        for shared in of_servers() {
            match shared.flag.kind {
                FlagKind::Time(ns) => assert_eq!(units::duration_ns(&shown_time(ns)), Ok(ns)),
                FlagKind::Size(bytes) => assert_eq!(units::bytes(&shown_size(bytes)), Ok(bytes)),
                kind => panic!("--{}: {kind:?}", shared.flag.name),
            }
        }
    }

    #[test]
    fn secrets_are_known_by_their_kind() {
        let secret::Flags { secret, telling } = of_secrets();
        assert!(secret.contains(&"auth") && secret.contains(&"join-params"), "{secret:?}");
        assert_eq!(telling, ["channel-params", "subscription-variables"]);
    }
}
