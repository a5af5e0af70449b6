//! The form of a manifest on disk, and the way from there to targets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;
use results::format::printable;
use serde::Deserialize;
use toml::Spanned;
use wire::{DialectId, DialectOptions};

use super::target::{Ability, Probe, Ready, Requirement, Step, Stop, Target, Tls, Version};
use super::values::{command, dialect, flag_value, folder_name, placeholders, reason, signal, time, url};
use crate::mistake::{Mistake, Source};

/// The file's name, in each target's folder.
pub const FILE_NAME: &str = "target.toml";
/// The manifest of the reference server, which is a target like the others and needs no folder.
const REFERENCE: &str = include_str!("../../carried/throng.toml");
/// A manifest above this is refused.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The name of the reference server.
pub const REFERENCE_NAME: &str = "throng";
/// Its name where it runs a second time, as a control.
pub const CONTROL_NAME: &str = "throng-control";

/// Reads what a manifest says of its server's clients, as the command line would.
#[derive(Clone, Copy)]
pub struct Readers<'a> {
    /// Reads flags.
    pub flags: ReadFlags<'a>,
    /// Reads the file of an app.
    pub app: ReadApp<'a>,
}

impl Readers<'_> {
    /// For whoever starts servers and does not speak to them: whatever is said of their clients will do.
    pub const INDIFFERENT: Readers<'static> = Readers {
        flags: &|_| Ok(DialectOptions::default()),
        app: &|_| Ok((DialectId::Custom, DialectOptions::default())),
    };
}

/// Reads flags, given as names without dashes and values, or says what is wrong with them.
type ReadFlags<'a> = &'a dyn Fn(&[(String, String)]) -> Result<DialectOptions, String>;
/// Reads an app's file: over which dialect's protocol its clients speak, and how; or what is wrong with it.
type ReadApp<'a> = &'a dyn Fn(&Path) -> Result<(DialectId, DialectOptions), String>;

impl Target {
    /// The targets of a folder: the server itself and its variants.
    ///
    /// # Errors
    /// The manifest cannot be read, or has a mistake.
    pub fn of_folder(folder: &Path, readers: Readers<'_>) -> Result<Vec<Target>, Mistake> {
        let path = folder.join(FILE_NAME);
        let text = net::files::read_text(&path, FILE_BYTES_MAX)
            .map_err(|error| Mistake::unreadable(&path, &error))?;
        read(&path, &text, folder, readers)
    }

    /// throng's own server, which is a yardstick and no choice.
    pub fn reference() -> Target {
        let (path, folder) = (Path::new(FILE_NAME), Path::new(REFERENCE_NAME));
        let targets = read(path, REFERENCE, folder, Readers::INDIFFERENT);
        let target = targets.expect("the manifest is part of throng").remove(0);
        Target { folder: PathBuf::from("."), ..target }
    }

    /// The same under its second name.
    pub fn control() -> Target {
        Target { name: CONTROL_NAME.to_owned(), ..Target::reference() }
    }

    /// The name under which any throng knows it.
    pub fn common_name(&self) -> &str {
        if self.name == CONTROL_NAME { REFERENCE_NAME } else { &self.name }
    }
}

/// A manifest. Unknown keys are mistakes, so that a misspelt one is not silently ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileManifest {
    language: String,
    library: String,
    dialects: Option<Spanned<Vec<Spanned<String>>>>,
    app: Option<Spanned<String>>,
    supports: Spanned<Vec<Ability>>,
    endpoint: Spanned<String>,
    #[serde(default)]
    endpoints: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    flags: BTreeMap<String, Spanned<toml::Value>>,
    #[serde(default)]
    requires: Vec<FileRequirement>,
    install: Option<FileStep>,
    build: Option<FileStep>,
    version: FileVersion,
    start: Option<FileStep>,
    tls: Option<FileTls>,
    ready: Spanned<FileReady>,
    stop: FileStop,
    metrics: Option<FileMetrics>,
    no_walls: Option<Spanned<String>>,
    #[serde(default)]
    variants: BTreeMap<String, Spanned<FileVariant>>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRequirement {
    command: Spanned<Vec<String>>,
    missing: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStep {
    command: Spanned<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTls {
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileVersion {
    command: Spanned<Vec<String>>,
    regex: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileReady {
    tcp: Option<Spanned<String>>,
    http: Option<Spanned<String>>,
    handshake: Option<Spanned<String>>,
    timeout: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStop {
    signal: Spanned<String>,
    grace: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileMetrics {
    http: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileVariant {
    start: Option<FileStep>,
    version: Option<FileVersion>,
    #[serde(default)]
    flags: BTreeMap<String, Spanned<toml::Value>>,
}

/// The targets that the text describes: the server itself, if it has a start of its own, and its variants.
pub(super) fn read(
    path: &Path,
    text: &str,
    folder: &Path,
    readers: Readers<'_>,
) -> Result<Vec<Target>, Mistake> {
    let source = Source { path, text };
    let manifest: FileManifest = source.parse()?;
    let base = folder_name(folder);
    let mut targets = Vec::new();
    if let Some(start) = &manifest.start {
        let own =
            Own { name: base.clone(), start, version: &manifest.version, flags: manifest.flags.clone() };
        targets.push(target(&source, &manifest, folder, own, readers)?);
    }
    for (name, spanned) in &manifest.variants {
        let variant = spanned.get_ref();
        let start = variant.start.as_ref().or(manifest.start.as_ref());
        let start = start.ok_or_else(|| {
            let help = Some("give the variant or the manifest a [start] with a command".to_owned());
            source.mistake(spanned.span(), format!("the variant {name} has no start"), help)
        })?;
        let mut flags = manifest.flags.clone();
        // A variant's flag takes the place of the manifest's.
        flags.extend(variant.flags.clone());
        let version = variant.version.as_ref().unwrap_or(&manifest.version);
        let own = Own { name: printable(&format!("{base}-{name}")), start, version, flags };
        targets.push(target(&source, &manifest, folder, own, readers)?);
    }
    if targets.is_empty() {
        let help = Some("add a [start] with a command, or [variants.NAME.start]".to_owned());
        return Err(source.mistake(0..0, "there is nothing to start".to_owned(), help));
    }
    Ok(targets)
}

/// Parts of the manifest that the server and each variant have of their own.
struct Own<'a> {
    name: String,
    start: &'a FileStep,
    version: &'a FileVersion,
    flags: BTreeMap<String, Spanned<toml::Value>>,
}

fn target(
    source: &Source<'_>,
    manifest: &FileManifest,
    folder: &Path,
    own: Own<'_>,
    readers: Readers<'_>,
) -> Result<Target, Mistake> {
    let Own { name, start, version, flags } = own;
    let ServerProtocols { dialects, app, flags, speech } = spoken(source, manifest, folder, &flags, readers)?;
    let endpoints: Result<Vec<_>, Mistake> = manifest
        .endpoints
        .iter()
        .map(|(name, at)| Ok((dialect(source, name, DialectId::named())?, url(source, at, &["ws", "http"])?)))
        .collect();
    let requires: Result<Vec<_>, Mistake> = manifest
        .requires
        .iter()
        .map(|requirement| {
            let command = command(source, &requirement.command)?;
            Ok(Requirement { command, missing: printable(&requirement.missing) })
        })
        .collect();
    Ok(Target {
        name,
        folder: folder.to_owned(),
        language: printable(&manifest.language),
        library: printable(&manifest.library),
        dialects,
        app,
        supports: manifest.supports.get_ref().clone(),
        endpoint: url(source, &manifest.endpoint, &["ws", "http"])?,
        endpoints: endpoints?,
        flags,
        speech,
        requires: requires?,
        install: manifest.install.as_ref().map(|file| step(source, file)).transpose()?,
        build: manifest.build.as_ref().map(|file| step(source, file)).transpose()?,
        version: Version {
            command: command(source, &version.command)?,
            regex: Regex::new(version.regex.get_ref()).map_err(|error| {
                source.mistake(
                    version.regex.span(),
                    "this is not a regular expression".to_owned(),
                    Some(error.to_string()),
                )
            })?,
        },
        start: step(source, start)?,
        tls: tls(source, manifest)?,
        ready: ready(source, &manifest.ready)?,
        stop: Stop {
            signal: signal(source, &manifest.stop.signal)?,
            grace: time(source, &manifest.stop.grace)?,
        },
        metrics: manifest
            .metrics
            .as_ref()
            .map(|metrics| url(source, &metrics.http, &["http"]))
            .transpose()?,
        no_walls: manifest.no_walls.as_ref().map(|why| reason(source, why)).transpose()?,
    })
}

fn step(source: &Source<'_>, step: &FileStep) -> Result<Step, Mistake> {
    Ok(Step { command: command(source, &step.command)?, env: step.env.clone() })
}

/// Additions of a start over TLS; a server that supports it says how, and one that does not, nothing.
fn tls(source: &Source<'_>, manifest: &FileManifest) -> Result<Option<Tls>, Mistake> {
    let is_said = manifest.supports.get_ref().contains(&Ability::Tls);
    if is_said != manifest.tls.is_some() {
        let message = "\"tls\" among what it supports and a table [tls] belong together".to_owned();
        let help = "e.g. [tls] with env = { TLS_CERT = \"{certificate}\", TLS_KEY = \"{key}\" }".to_owned();
        return Err(source.mistake(manifest.supports.span(), message, Some(help)));
    }
    let of = |tls: &FileTls| Tls { arguments: tls.arguments.clone(), env: tls.env.clone() };
    Ok(manifest.tls.as_ref().map(of))
}

fn ready(source: &Source<'_>, ready: &Spanned<FileReady>) -> Result<Ready, Mistake> {
    let FileReady { tcp, http, handshake, timeout } = ready.get_ref();
    let probe = match (tcp, http, handshake) {
        (Some(at), None, None) => Probe::Tcp(placeholders(source, at)?),
        (None, Some(at), None) => Probe::Http(url(source, at, &["http"])?),
        (None, None, Some(at)) => Probe::Handshake(url(source, at, &["ws", "http"])?),
        _ => {
            let help = "give one of tcp = \"{host}:{port}\", http = \"http://{host}:{port}/\" and handshake = \
                        \"ws://{host}:{port}/ws\"";
            let message = "[ready] needs exactly one way to find out".to_owned();
            return Err(source.mistake(ready.span(), message, Some(help.to_owned())));
        }
    };
    Ok(Ready { probe, timeout: time(source, timeout)? })
}

/// How a server is spoken to.
struct ServerProtocols {
    dialects: Vec<DialectId>,
    app: Option<PathBuf>,
    flags: Vec<(String, String)>,
    speech: DialectOptions,
}

/// An app has to have a message for what its server supports.
fn check_app(
    source: &Source<'_>,
    supports: &Spanned<Vec<Ability>>,
    speech: &DialectOptions,
) -> Result<(), Mistake> {
    let Some(app) = &speech.app else { return Ok(()) };
    let lacking = [(Ability::Echo, app.echo.is_none()), (Ability::Broadcast, app.broadcasts.is_empty())];
    match lacking.iter().find(|(ability, lacks)| *lacks && supports.get_ref().contains(ability)) {
        None => Ok(()),
        Some((ability, _)) => {
            let message = format!("the app has no [{}], which the server supports", ability.name());
            Err(source.mistake(supports.span(), message, None))
        }
    }
}

/// In dialects, with flags, or as an app's file says, which has flags of its own.
fn spoken(
    source: &Source<'_>,
    manifest: &FileManifest,
    folder: &Path,
    table: &BTreeMap<String, Spanned<toml::Value>>,
    readers: Readers<'_>,
) -> Result<ServerProtocols, Mistake> {
    match (&manifest.dialects, &manifest.app) {
        (Some(dialects), None) => {
            let (flags, speech) = speech(source, table, readers)?;
            Ok(ServerProtocols { dialects: named(source, dialects)?, app: None, flags, speech })
        }
        (None, Some(app)) if table.is_empty() => {
            let path = folder.join(app.get_ref());
            let (dialect, speech) = (readers.app)(&path).map_err(|problem| {
                source.mistake(app.span(), "this app cannot be spoken".to_owned(), Some(problem))
            })?;
            check_app(source, &manifest.supports, &speech)?;
            Ok(ServerProtocols { dialects: vec![dialect], app: Some(path), flags: Vec::new(), speech })
        }
        (None, Some(app)) => {
            let help = Some("put them into the app's file, under [flags]".to_owned());
            Err(source.mistake(app.span(), "a manifest with an app has no flags".to_owned(), help))
        }
        (dialects, app) => {
            let place = app.as_ref().map(Spanned::span).or(dialects.as_ref().map(Spanned::span));
            let help = Some(
                "give one of dialects = [\"raw\"] and, for a protocol of its own, app = \"app.toml\""
                    .to_owned(),
            );
            let message = "it takes either dialects or an app to speak to the server".to_owned();
            Err(source.mistake(place.unwrap_or(0..0), message, help))
        }
    }
}

fn named(source: &Source<'_>, names: &Spanned<Vec<Spanned<String>>>) -> Result<Vec<DialectId>, Mistake> {
    if names.get_ref().is_empty() {
        let help =
            Some("name at least one, e.g. \"raw\"; a server of plain requests speaks \"http\"".to_owned());
        return Err(source.mistake(names.span(), "there is no protocol".to_owned(), help));
    }
    names.get_ref().iter().map(|name| dialect(source, name, DialectId::named())).collect()
}

/// Flags as they are written on a command line, and what they mean; a key that is `true` stands for a flag without a
/// value.
fn speech(
    source: &Source<'_>,
    table: &BTreeMap<String, Spanned<toml::Value>>,
    readers: Readers<'_>,
) -> Result<(Vec<(String, String)>, DialectOptions), Mistake> {
    let flag = |(name, value): (&String, &Spanned<toml::Value>)| (name.clone(), flag_value(value.get_ref()));
    let flags: Vec<(String, String)> = table.iter().map(flag).collect();
    let speech = (readers.flags)(&flags).map_err(|problem| {
        let places = table.values().map(Spanned::span);
        let place = places.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end)).unwrap_or(0..0);
        source.mistake(place, "these are not flags for throng's clients".to_owned(), Some(problem))
    })?;
    Ok((flags, speech))
}
