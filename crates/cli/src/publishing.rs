//! Messages that are published by requests to the app: from what flags or a file say to a plan.

use std::sync::Arc;

use app::app_file::AppFile;
use load::{ClientSpec, Publishing};
use wire::{Carrier, DialectId, DialectOptions, HttpOptions};

use crate::app_file::{Publish, check_place};
use crate::exit::Failure;
use crate::flags::security::Security;
use crate::target::{self, Target};

/// Connections by default.
const CONNECTIONS: u32 = 16;
const FLAG: &str = "--publish-url";
const CONTENT_TYPE: &str = "Content-Type";

/// The requests that take the place of what clients with this speech would say themselves.
pub(crate) fn publishing(
    publish: Publish,
    target: &Target,
    security: &Security,
    client_spec: &ClientSpec,
) -> Result<Publishing, Failure> {
    let Publish { url, mut headers, expect, connections } = publish;
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE)) {
        // Most apps are told their broadcasts in JSON.
        headers.push((CONTENT_TYPE.to_owned(), "application/json".into()));
    }
    check_place(&url).map_err(|problem| Failure::usage(FLAG, problem))?;
    let there = if url.starts_with('/') { None } else { Some(target::resolve(&url, None)?) };
    let usual = HttpOptions::default();
    let http = HttpOptions {
        method: "POST".to_owned(),
        expect_status: expect.map_or(usual.expect_status, |status| vec![(status, status)]),
        ..HttpOptions::default()
    };
    let to = there.as_ref().unwrap_or(target);
    let publishing = Publishing {
        endpoints: to.endpoints.clone(),
        tls: to.tls_name.as_deref().map(|name| security.to(name)),
        client_spec: ClientSpec {
            dialect: DialectId::Http,
            carrier: Carrier::Http1,
            is_secure: to.tls_name.is_some(),
            host: to.host.clone(),
            path: there.as_ref().map_or(url, |there| there.path.clone()).into(),
            // A server that publishes is no browser's page, and offers no subprotocols.
            origin: None,
            subprotocols: Vec::new(),
            headers,
            userinfo: to.userinfo.clone(),
            deflate: None,
            payload_bytes: client_spec.payload_bytes,
            payload_bytes_max: None,
            rows: Arc::default(),
            text: false,
            message_bytes_max: client_spec.message_bytes_max,
            of_dialect: DialectOptions {
                app: Some(Arc::new(app_of(client_spec)?)),
                settings: http.into(),
                ..DialectOptions::default()
            },
            people: Arc::default(),
        },
        connections: connections.unwrap_or(CONNECTIONS),
    };
    // Checked with the people whose data the templates name, although the connections that publish are no
    // client's.
    let people = Arc::clone(&client_spec.people);
    let checked = ClientSpec { people, ..publishing.client_spec.clone() }.wire_config();
    checked.map(|_| publishing).map_err(|bad| Failure::usage(FLAG, bad))
}

/// The app that says in requests what clients with this speech would say.
fn app_of(client_spec: &ClientSpec) -> Result<AppFile, Failure> {
    let config = client_spec.wire_config().map_err(|bad| Failure::usage(FLAG, bad))?;
    let broadcasts = config.broadcasts();
    if broadcasts.is_empty() {
        let problem = "there is no text to publish in this protocol's messages: say what it is (--body), or use --protocol json";
        return Err(Failure::usage(FLAG, problem));
    }
    Ok(AppFile { name: "publish".to_owned(), broadcasts, ..AppFile::default() })
}
