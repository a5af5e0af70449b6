//! How an app is asked to tell a room something: `[publish]`.

use clap::Args;
use secret::Secret;
use wire::template::{Names, Quoting, Template};

use super::file::File;
use super::source::Source;
use crate::exit::Failure;
use crate::people;
use crate::secrets::given;

/// Whether messages are published, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub(super) struct PublishArgs {
    /// Have each message published by a request to the app, as most pushes are, instead of being said by a client: --body is
    /// POSTed to this URL, or this path at the server's own, in which {room} is the number of a room
    #[arg(long = "publish-url", id = "publish_url", value_name = "URL")]
    url: Option<String>,
    /// A header of these requests; its value may be env:NAME or file:PATH, as in 'Authorization: Bearer env:KEY'
    #[arg(long = "publish-header", id = "publish_headers", value_name = "NAME: VALUE", value_parser = given::header, requires = "publish_url")]
    headers: Vec<(String, Secret)>,
    /// How many connections these requests share [default: 16]
    #[arg(long = "publish-connections", id = "publish_connections", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), requires = "publish_url")]
    connections: Option<u32>,
}

impl PublishArgs {
    /// Whether they are.
    pub(super) fn is_given(&self) -> bool {
        self.url.is_some()
    }

    /// How, if they are.
    pub(super) fn publish(&self) -> Option<Publish> {
        Some(Publish {
            url: self.url.clone()?,
            headers: self.headers.clone(),
            expect: None,
            connections: self.connections,
        })
    }
}

/// The request, but for its body, which is what the app's broadcast is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Publish {
    /// A URL, or a path at the server of the clients.
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Secret)>,
    /// The one good status; `None`: any of success.
    pub(crate) expect: Option<u16>,
    pub(crate) connections: Option<u32>,
}

/// What a file says of it. `names` are what stands for people, but for what they are given at their logins: nobody has logged in
/// who publishes.
pub(super) fn publish(source: &Source<'_>, file: &File, names: &Names) -> Result<Option<Publish>, Failure> {
    let Some(publish) = file.publish.as_ref().map(|publish| publish.get_ref()) else { return Ok(None) };
    let texts = [&publish.post].into_iter().chain(publish.headers.values());
    for text in texts {
        Template::opening(text.get_ref(), names, Quoting::Plain)
            .map_err(|bad| source.error(text.span(), people::explained(text.get_ref(), &bad)))?;
    }
    let header = |(name, value): (&String, &toml::Spanned<String>)| {
        given::header(&format!("{name}: {}", value.get_ref()))
            .map_err(|problem| source.error(value.span(), problem))
    };
    if let Some(expect) = publish.expect.as_ref().filter(|expect| !(200..600).contains(expect.get_ref())) {
        return Err(source.error(expect.span(), "expected a status from 200 to 599"));
    }
    if let Some(connections) = publish.connections.as_ref().filter(|connections| *connections.get_ref() == 0)
    {
        return Err(source.error(connections.span(), "expected one at least"));
    }
    Ok(Some(Publish {
        url: publish.post.get_ref().clone(),
        headers: publish.headers.iter().map(header).collect::<Result<_, _>>()?,
        expect: publish.expect.as_ref().map(|expect| *expect.get_ref()),
        connections: publish.connections.as_ref().map(|connections| *connections.get_ref()),
    }))
}
