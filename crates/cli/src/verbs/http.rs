//! `throng http`: requests per second, and how long they take.

use std::num::NonZeroU32;

use clap::Args;
use results::Scenario;
use wire::HttpOptions;

use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::verbs::requests::{RequestArgs, for_requests};

/// Requests per second and latency of an HTTP server
///
/// Closed model (as in wrk and autocannon): each connection sends its next request as soon as it has an
/// answer. Open model, with --rate (as in wrk2): requests are due on a schedule, and latency counts from
/// when a request was due, even if it had to wait for a connection. The flags are those of autocannon.
#[derive(Args)]
#[command(mut_args(for_requests))]
pub(crate) struct Http {
    #[command(flatten)]
    requests: RequestArgs,
    /// Requests under way on each connection
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "over_http2",
        help_heading = "Load"
    )]
    pipelining: u32,
    /// Each connection ends after this many answers, and another takes its place at once
    #[arg(
        long,
        visible_alias = "messages-per-connection",
        value_name = "N",
        conflicts_with = "no_keep_alive",
        help_heading = "Load"
    )]
    requests_per_connection: Option<NonZeroU32>,
    /// The expected body; any other is an error
    #[arg(long, visible_alias = "expectBody", value_name = "TEXT", help_heading = "Requests")]
    expect_body: Option<String>,
}

impl Http {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let per_connection = self.per_connection();
        let options = HttpOptions {
            method: self.requests.method.clone().unwrap_or_else(|| "GET".to_owned()),
            pipelining: per_connection,
            expect_body: self.expect_body.map(String::into_bytes),
            ..HttpOptions::default()
        };
        let messages = self.requests_per_connection;
        // At /ws, throng's own server would ask for an upgrade.
        self.requests.load(Scenario::Http, "/", options, |plan| {
            plan.messages_per_connection = messages;
        })
    }

    /// Requests under way on each connection.
    fn per_connection(&self) -> u32 {
        if self.requests.run.over_http2 { self.requests.run.streams } else { self.pipelining }
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        self.requests.estimate(self.per_connection())
    }
}
