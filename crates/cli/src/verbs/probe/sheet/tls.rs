//! TLS: versions, ALPN, resumption, and the end of the certificate.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use net::tls::{Tls, TlsError, TlsVersion};
use serde_json::json;

use super::channel::{Channel, Lost, Way};
use super::probe::{Needs, Probe};
use super::row::{Finding, NotTried, Outcome, Topic};
use super::site::Tester;

pub(super) static TLS: Probe = Probe::new(
    &[
        Topic {
            key: "tls_versions",
            name: "TLS versions",
            how: "a handshake of each; 1.0 and 1.1 are not asked",
        },
        Topic { key: "tls_alpn", name: "TLS ALPN", how: "a handshake for each protocol" },
        Topic { key: "tls_resumption", name: "TLS resumption", how: "came back with the session of before" },
        Topic { key: "tls_certificate", name: "certificate", how: "read in the handshake" },
    ],
    Needs::Tls,
    tls,
);

/// Protocols that are asked for.
const ALPN: [&str; 2] = ["h2", "http/1.1"];
/// Time for a session ticket, which follows the handshake.
const TICKET_MAX: Duration = Duration::from_millis(300);
/// Days before the end of a certificate at which it is worth a word.
const DAYS_LEFT: i64 = 30;

fn tls(tester: &Tester<'_>) -> Result<Vec<Outcome>, NotTried> {
    let agree = |alpn, version| match tester.site.tls(alpn, version)? {
        None => Err(NotTried("the URL has no TLS".to_owned())),
        Some(tls) => {
            let channel = Channel::open(tester, &Way { tls: Some(&tls), ..Way::default() });
            Ok::<_, NotTried>(channel.and_then(|channel| {
                let agreed = channel.tls.as_ref().map_or(Ok(()), |of| of.check_agreed(&tls));
                agreed.map(|()| channel).map_err(Lost::Tls)
            }))
        }
    };
    let mut versions = Vec::new();
    for version in TlsVersion::ALL {
        match agree(None, Some(version))? {
            Ok(_) => versions.push(version.name()),
            // A server without that version says so by an alert.
            Err(Lost::Tls(TlsError::Alert(_) | TlsError::Incompatible) | Lost::Fin | Lost::Reset) => {}
            Err(other) => return Err(other.into()),
        }
    }
    let mut alpn = Vec::new();
    for name in ALPN {
        match agree(Some(name), None)? {
            Ok(_) => alpn.push(name),
            Err(Lost::Tls(_)) => {}
            Err(other) => return Err(other.into()),
        }
    }
    let ends = agree(None, None)??.tls.and_then(|tls| tls.certificate_ends());
    let listed = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Ok(vec![
        Ok(Finding::new(listed(&versions), json!({ "versions": versions }))),
        Ok(Finding::new(listed(&alpn), json!({ "protocols": alpn }))),
        resumption(tester),
        certificate(ends),
    ])
}

fn resumption(tester: &Tester<'_>) -> Outcome {
    let Some(tls) = tester.site.tls(None, None)? else {
        return Err(NotTried("the URL has no TLS".to_owned()));
    };
    // Of newcomers no session is kept otherwise.
    tls.keep_sessions(1);
    let first = Channel::open(tester, &Way { tls: Some(&tls), ..Way::default() });
    // The tickets of TLS 1.3 come behind the handshake (RFC 8446 §4.6.1).
    let waited = first?.receive(Instant::now() + TICKET_MAX);
    if waited == Err(Lost::Interrupted) {
        return Err(Lost::Interrupted.into());
    }
    let again = Channel::open(tester, &Way { tls: Some(&tls), resumes: true, ..Way::default() })?;
    let is_resumed = again.tls.as_ref().is_some_and(Tls::is_resumed);
    let text = if is_resumed { "sessions are resumed" } else { "none: each handshake is a whole one" };
    let finding = Finding::new(text, json!({ "resumed": is_resumed }));
    Ok(if is_resumed {
        finding
    } else {
        finding.limits("Clients that come back cost a whole TLS handshake: measure it with throng storm.")
    })
}

fn certificate(ends: Option<String>) -> Outcome {
    let not_read = || NotTried("the certificate's end cannot be read".to_owned());
    let ends = ends.ok_or_else(not_read)?;
    let at = jiff::civil::DateTime::strptime("%Y%m%d%H%M%SZ", &ends).map_err(|_| not_read())?;
    let at = at.in_tz("UTC").map_err(|_| not_read())?.timestamp();
    let (now, date) = (Timestamp::now(), at.strftime("%Y-%m-%d").to_string());
    let days = at.duration_since(now).as_hours() / 24;
    let text =
        if at < now { format!("expired on {date}") } else { format!("valid until {date}, {days} days") };
    let finding = Finding::new(text, json!({ "until": date, "days": days }));
    Ok(if days < DAYS_LEFT { finding.limits("Renew the certificate before long runs.") } else { finding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_certificates_are_told() {
        let text = |ends: &str| certificate(Some(ends.to_owned())).unwrap().text;
        assert_eq!(text("20200101000000Z"), "expired on 2020-01-01");
        assert!(text("40960101000000Z").starts_with("valid until 4096-01-01, "));
    }
}
