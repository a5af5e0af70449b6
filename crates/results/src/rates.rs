//! Rates over a step's window. Each is one row: its field, its metric in limits, and its name in files come from there.

/// The share of an asked rate from which it is kept.
pub const KEPT_PERCENT_MIN: f64 = 99.0;

/// Declares [`Rates`] and [`Rate`]: field, variant, and metric.
macro_rules! rates {
    ($($(#[$doc:meta])* $field:ident: $rate:ident $metric:literal,)*) => {
        /// Rates over the window, per second.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Rates {
            $($(#[$doc])* pub $field: Option<f64>,)*
        }

        /// One of [`Rates`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rate {
            $($(#[$doc])* $rate,)*
        }

        impl Rate {
            /// All of them.
            pub const ALL: [Rate; [$($metric),*].len()] = [$(Rate::$rate),*];

            /// Its metric: `received_rate`.
            pub fn metric(self) -> &'static str {
                match self {
                    $(Rate::$rate => $metric,)*
                }
            }

            /// Its name in files: `received_per_s`.
            pub fn key(self) -> &'static str {
                match self {
                    $(Rate::$rate => stringify!($field),)*
                }
            }
        }

        impl Rates {
            /// The value of one; `None`: it does not apply.
            pub fn get(&self, rate: Rate) -> Option<f64> {
                match rate {
                    $(Rate::$rate => self.$field,)*
                }
            }
        }
    };
}

rates! {
    /// Messages the schedule asked for; `None` in a closed loop.
    asked_per_s: Asked "asked_rate",
    /// Messages completed per second of the window, or of the time until the last where an open loop did not
    /// keep its rate.
    achieved_per_s: Achieved "rate",
    /// Messages sent in the window.
    sent_per_s: Sent "sent_rate",
    /// Bytes of these as they were written, before TLS: with the heads of HTTP and the frames of WebSockets.
    sent_bytes_per_s: SentBytes "sent_byte_rate",
    /// Deliveries received.
    received_per_s: Received "received_rate",
    /// Bytes of these: of answers over HTTP with their heads, of other messages their payload.
    received_bytes_per_s: ReceivedBytes "received_byte_rate",
    /// Connections that became usable, over the time connecting took.
    connects_per_s: Connects "connect_rate",
    /// Events of streamed answers.
    events_per_s: Events "event_rate",
    /// Tokens in these.
    tokens_per_s: Tokens "token_rate",
}
