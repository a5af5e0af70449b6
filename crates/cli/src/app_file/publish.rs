//! How an app is asked to tell a room something: `[publish]`.

use app::template::{Names, Purpose, Quoting, Template};
use clap::Args;
use secret::Secret;
use toml::Spanned;

use super::file::{self, File, To};
use super::path::path;
use super::people::{BODY, header, with_body};
use super::source::Source;
use crate::exit::Failure;
use crate::people;
use crate::secrets::given;

/// The publishing of messages, if they are published.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub(crate) struct PublishArgs {
    /// Publish each message by a POST of --body to this URL, or this path at the server, as apps push, instead of
    /// sending it from a client; {room} is the number of a room
    #[arg(long = "publish-url", id = "publish_url", value_name = "URL")]
    url: Option<String>,
    /// A header of these requests; its value may be env:NAME or file:PATH, as in 'Authorization: Bearer env:KEY'
    #[arg(long = "publish-header", id = "publish_headers", value_name = "NAME: VALUE", value_parser = given::header, requires = "publish_url")]
    headers: Vec<(String, Secret)>,
    /// Connections for these requests [default: 16]
    #[arg(long = "publish-connections", id = "publish_connections", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), requires = "publish_url")]
    connections: Option<u32>,
}

impl PublishArgs {
    /// Returns whether they are.
    pub(crate) fn is_given(&self) -> bool {
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

/// Checks that messages can be published there.
pub(crate) fn check_place(text: &str) -> Result<(), &'static str> {
    let is_place = ["/", "http://", "https://"].iter().any(|start| text.starts_with(start));
    let expected =
        "expected a URL such as http://127.0.0.1:3000/rooms/{room}/messages, or a path at the server's own";
    is_place.then_some(()).ok_or(expected)
}

/// Reads a file's publishing. `names` are what stands for people, but for what they are given at their
/// logins: nobody has logged in who publishes.
pub(super) fn publish(source: &Source<'_>, file: &File, names: &Names) -> Result<Option<Publish>, Failure> {
    let Some(written) = &file.publish else { return Ok(None) };
    let publish = written.get_ref();
    if let Some(odd) = publish.body.as_ref().filter(|_| !file.say.is_empty()) {
        return Err(source.error(odd.span(), "each [say.NAME] has a `body` of its own: leave this one out"));
    }
    if let Some(odd) = publish.copy.as_ref().filter(|_| !file.say.is_empty()) {
        return Err(source.error(odd.span(), "each [say.NAME] has a `copy` of its own: leave this one out"));
    }
    if let (None, true) = (&publish.post, file.say.is_empty()) {
        return Err(source.error(written.span(), "missing key `post`"));
    }
    let names = with_body(names);
    for text in publish.post.iter().chain(publish.headers.values()) {
        let header = people::template(text.get_ref(), Purpose::Opening, &names, Quoting::Plain)
            .map_err(|problem| source.error(text.span(), problem))?;
        check_body(source, text, &header)?;
    }
    if let Some(post) = &publish.post {
        check_place(post.get_ref()).map_err(|problem| source.error(post.span(), problem))?;
    }
    let header =
        |(name, value): (&String, &Spanned<String>)| Ok((name.clone(), header(source, name, value)?));
    if let Some(expect) = publish.expect.as_ref().filter(|expect| !(200..600).contains(expect.get_ref())) {
        return Err(source.error(expect.span(), "expected a status from 200 to 599"));
    }
    if let Some(connections) = publish.connections.as_ref().filter(|connections| *connections.get_ref() == 0)
    {
        return Err(source.error(connections.span(), "expected one at least"));
    }
    Ok(Some(Publish {
        url: match &publish.post {
            Some(post) if signed_path(source, post, &names)?.is_none() => post.get_ref().clone(),
            // Each kind of messages has a path of its own.
            Some(post) => format!("{}/", server_and_path(post.get_ref()).0),
            None => "/".to_owned(),
        },
        headers: publish.headers.iter().map(header).collect::<Result<_, _>>()?,
        expect: publish.expect.as_ref().map(|expect| *expect.get_ref()),
        connections: publish.connections.as_ref().map(|connections| *connections.get_ref()),
    }))
}

/// Checks that a body stands in a head only as a function of it: itself, it may have any bytes.
fn check_body(source: &Source<'_>, at: &Spanned<String>, head: &Template) -> Result<(), Failure> {
    let problem = "{body} stands within a function here, as in {md5:{body}}";
    if head.has_plain_body() { Err(source.error(at.span(), problem)) } else { Ok(()) }
}

/// The server of a URL, and the path; of a path, no server.
fn server_and_path(post: &str) -> (&str, &str) {
    let host = post.find("://").map_or(0, |scheme| scheme + "://".len());
    let path = if host == 0 { 0 } else { post[host..].find('/').map_or(post.len(), |path| host + path) };
    post.split_at(path)
}

/// The path that messages are published at, where it tells of their bodies, as signatures do: it is then each
/// message's own.
pub(super) fn signed_path(
    source: &Source<'_>,
    post: &Spanned<String>,
    names: &Names,
) -> Result<Option<Template>, Failure> {
    let (_, text) = server_and_path(post.get_ref());
    if !text.contains(&format!("{{{BODY}}}")) {
        return Ok(None);
    }
    path(source, post, text, &with_body(names)).map(Some)
}

/// The URL where messages of one kind are published, if it is not the common one. `names` are those of
/// [`publish`], in rooms of their kind.
pub(super) fn target(
    source: &Source<'_>,
    publish: Option<&file::Publish>,
    say: &Spanned<file::Say>,
    names: &Names,
) -> Result<Option<Template>, Failure> {
    let file::Say { to, post, event, own, ack, replied, .. } = say.get_ref();
    let Some(publish) = publish else {
        let problem = "is for what is published: expected [publish] in the file, too";
        return post.as_ref().map_or(Ok(None), |post| Err(source.error(post.span(), problem)));
    };
    if *to == Some(To::Others) {
        let problem = "what is published is for everybody in the room: nobody there sends it; leave out `to`";
        return Err(source.error(say.span(), problem));
    }
    let of_senders = [event.as_ref().map(Spanned::span), replied.as_ref().map(Spanned::span)];
    let of_senders = of_senders.into_iter().chain([own, ack].map(|when| when.as_ref().map(Spanned::span)));
    if let Some(at) = of_senders.flatten().next() {
        let problem = "is for what users say themselves; this is published ([publish]): leave it out";
        return Err(source.error(at, problem));
    }
    match (post, &publish.post) {
        (Some(post), _) => path(source, post, post.get_ref(), &with_body(names)).map(Some),
        (None, Some(post)) => signed_path(source, post, names),
        (None, None) => {
            let problem = "expected `post`, the path at which it is published, here or in [publish]";
            Err(source.error(say.span(), problem))
        }
    }
}
