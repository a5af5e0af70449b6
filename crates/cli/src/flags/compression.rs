//! permessage-deflate: whether it is asked for, and what it costs.

use clap::Args;
use codec::DeflateOptions;
use report::bytes;

/// The compression of messages, and what the ends remember of them.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Compression {
    /// Compress messages (permessage-deflate) if the other end does
    #[arg(long)]
    compress: bool,
    /// Ask both ends to forget each message once it is compressed: otherwise each keeps a window for every connection
    #[arg(long, requires = "compress")]
    no_context_takeover: bool,
}

impl Compression {
    /// Returns whether it is asked for.
    pub(crate) fn is_asked(self) -> bool {
        self.compress
    }

    /// Returns whether clients, and our own server for them, keep windows.
    pub(crate) fn keeps_windows(self) -> bool {
        self.compress && !self.no_context_takeover
    }

    /// The options to offer or accept.
    pub(crate) fn options(self) -> Option<DeflateOptions> {
        let options = DeflateOptions { no_context_takeover: self.no_context_takeover, ..Default::default() };
        self.compress.then_some(options)
    }

    /// The flags for the other end, if that is throng's own server.
    pub(crate) fn flags<'a>(self) -> impl Iterator<Item = &'a str> {
        let given = [(self.compress, "--compress"), (self.no_context_takeover, "--no-context-takeover")];
        given.into_iter().filter_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

/// Memory of all clients' windows below which nothing is said: about 800 clients need as much.
const WORTH_SAYING_BYTES: u64 = 256 << 20;

/// The memory of clients that keep their windows, in words; `None`: nothing, or little.
pub(crate) fn cost(offered: Option<DeflateOptions>, clients_max: Option<u64>) -> Option<String> {
    let each = offered?.window_bytes() as u64;
    if each == 0 || clients_max.is_some_and(|clients| each * clients < WORTH_SAYING_BYTES) {
        return None;
    }
    let each = each as f64;
    let all = clients_max
        .map(|clients| format!(", {} for {}", bytes(each * clients as f64), report::count(clients)));
    Some(format!(
        "--compress: each client that sends and receives keeps {} for it{}, and so may the server; \
         --no-context-takeover avoids both",
        bytes(each),
        all.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_kept_windows_cost_memory() {
        let kept = DeflateOptions::default();
        let said = cost(Some(kept), Some(10_000)).unwrap();
        assert!(said.contains("keeps 333 KiB") && said.contains(" GiB for 10,000"), "{said}");
        assert!(
            cost(Some(kept), None).is_some_and(|said| said.contains("keeps 333 KiB for it, and")),
            "no end"
        );
        assert_eq!(cost(Some(DeflateOptions { no_context_takeover: true, ..kept }), Some(10_000)), None);
        assert_eq!(cost(None, Some(10_000)), None);
    }

    #[test]
    fn a_price_that_nobody_feels_is_not_named() {
        let is_said = |clients| cost(Some(DeflateOptions::default()), Some(clients)).is_some();
        assert_eq!([2, 787, 788].map(is_said), [false, false, true]);
    }
}
