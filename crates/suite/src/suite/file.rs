//! The form of a suite on disk, and the way from there to scenarios.

use std::collections::BTreeMap;
use std::path::Path;

use results::Unit;
use results::format::printable;
use results::scenario::UnknownScenario;
use serde::Deserialize;
use toml::Spanned;
use wire::DialectId;

use super::scenario::{CheckFlags, Published, Scenario, Suite};
use super::shorten::{Shortened, shorten};
use crate::figure::Figure;
use crate::layout;
use crate::manifest::{Ability, dialect, flag_value, time};
use crate::mistake::{Mistake, Source};
use crate::noise;

/// A suite above this is refused.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

impl Suite {
    /// Reads a suite from its file, every time and number of its `shortened` flags multiplied by `scale`.
    ///
    /// # Errors
    /// The file cannot be read, or has a mistake.
    pub fn read(path: &Path, scale: f64, check_flags: CheckFlags<'_>) -> Result<Suite, Mistake> {
        let text =
            net::files::read_text(path, FILE_BYTES_MAX).map_err(|error| Mistake::unreadable(path, &error))?;
        Suite::parse(path, &text, scale, check_flags)
    }

    /// The same, of a text that would be in that file.
    ///
    /// # Errors
    /// The text has a mistake.
    pub fn parse(path: &Path, text: &str, scale: f64, check_flags: CheckFlags<'_>) -> Result<Suite, Mistake> {
        read(path, text, scale, check_flags)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSuite {
    title: String,
    #[serde(default = "three")]
    repeats: Spanned<u32>,
    #[serde(rename = "repeats-max")]
    repeats_max: Option<Spanned<u32>>,
    #[serde(rename = "busy-retries", default = "busy_retries")]
    busy_retries: u32,
    #[serde(default)]
    control: bool,
    cooldown: Spanned<String>,
    targets: Option<Vec<String>>,
    scenario: Vec<FileScenario>,
}

fn busy_retries() -> u32 {
    noise::RETRIES
}

fn three() -> Spanned<u32> {
    Spanned::new(0..0, 3)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileScenario {
    name: Spanned<String>,
    #[serde(default)]
    asks: String,
    verb: Spanned<String>,
    #[serde(default)]
    dialects: Vec<Spanned<String>>,
    supports: Vec<Ability>,
    #[serde(default)]
    flags: BTreeMap<Spanned<String>, toml::Value>,
    #[serde(default)]
    shortened: Vec<Spanned<String>>,
    figures: Spanned<Vec<Spanned<String>>>,
    published: Option<FilePublished>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilePublished {
    file: String,
    #[serde(default)]
    rows: BTreeMap<String, String>,
    column: Spanned<String>,
    #[serde(default)]
    names: BTreeMap<String, String>,
    #[serde(default)]
    differs: String,
}

/// Flags that are the shootout's own business.
const OWN: &[&str] = &[
    "dialect",
    "protocol",
    "server-type",
    "also",
    "socket",
    "socketPath",
    "insecure",
    "ca",
    "cert",
    "key",
    "server-pid",
    "scrape",
    "seed",
    "pin",
    "format",
    "out",
    "resume",
    "store",
    "no-store",
    "stream",
    "quiet",
    "tui",
    "strict",
    "github",
    "events",
    "fleet",
    "agents",
    "where",
    "fleet-wait",
    "on-agent-loss",
    "fleet-key",
    "target-agent",
    "nats",
    "creds",
    "nkey",
    "nats-ca",
    "nats-cert",
    "nats-key",
];

/// The suite of the text.
pub(super) fn read(
    path: &Path,
    text: &str,
    scale: f64,
    check_flags: CheckFlags<'_>,
) -> Result<Suite, Mistake> {
    let source = Source { path, text };
    let file: FileSuite = source.parse()?;
    if *file.repeats.get_ref() == 0 {
        return Err(source.mistake(file.repeats.span(), "each target runs at least once".to_owned(), None));
    }
    if let Some(most) = file.repeats_max.as_ref().filter(|most| most.get_ref() < file.repeats.get_ref()) {
        let message =
            format!("there are fewer than the {} rounds that every target has", file.repeats.get_ref());
        return Err(source.mistake(most.span(), message, None));
    }
    if file.scenario.is_empty() {
        let help = Some("add [[scenario]] with name, verb, supports, flags and figures".to_owned());
        return Err(source.mistake(0..0, "there is no scenario".to_owned(), help));
    }
    let mut scenarios: Vec<Scenario> = Vec::new();
    for of_file in &file.scenario {
        let scenario = scenario(&source, of_file, scale, check_flags)?;
        if scenarios.iter().any(|other| other.name == scenario.name) {
            let message = format!("there are two scenarios {:?}", scenario.name);
            return Err(source.mistake(of_file.name.span(), message, None));
        }
        scenarios.push(scenario);
    }
    Ok(Suite {
        name: path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        title: printable(&file.title),
        repeats: *file.repeats.get_ref(),
        repeats_max: *file.repeats_max.as_ref().unwrap_or(&file.repeats).get_ref(),
        busy_retries: file.busy_retries,
        control: file.control,
        cooldown: time(&source, &file.cooldown)?.mul_f64(scale),
        targets: file.targets,
        scenarios,
        text: text.to_owned(),
    })
}

fn scenario(
    source: &Source<'_>,
    file: &FileScenario,
    scale: f64,
    check_flags: CheckFlags<'_>,
) -> Result<Scenario, Mistake> {
    check_name(source, &file.name)?;
    let verb = file.verb.get_ref();
    if let Some(own) = file.flags.keys().find(|name| OWN.contains(&name.get_ref().as_str())) {
        let help = Some("targets, dialects and the options of throng shootout decide it".to_owned());
        return Err(source.mistake(own.span(), format!("the shootout itself sets {}", own.get_ref()), help));
    }
    for name in &file.shortened {
        if !file.flags.contains_key(name) {
            let help = Some(format!("the flags are {}", names(file.flags.keys().map(Spanned::get_ref))));
            return Err(source.mistake(
                name.span(),
                format!("there is no flag {} to shorten", name.get_ref()),
                help,
            ));
        }
    }
    let mut flags: Vec<(String, String)> =
        file.flags.iter().map(|(name, value)| (name.get_ref().clone(), flag_value(value))).collect();
    let mut shortened = Vec::new();
    for (flag, value) in &mut flags {
        // Only the flags that the suite names: shorter in others, it would be another test.
        let to = shorten(value, scale);
        if to != *value && file.shortened.iter().any(|name| name.get_ref() == flag) {
            let from = std::mem::replace(value, to.clone());
            shortened.push(Shortened { flag: flag.clone(), from, to });
        }
    }
    check_flags(verb, &flags).map_err(|mistake| {
        let key = file.flags.keys().find(|name| mistake.flag.as_ref() == Some(name.get_ref()));
        // A flag that is missing has no place of its own.
        let place = key.map_or(file.verb.span(), Spanned::span);
        source.mistake(place, mistake.message, mistake.help)
    })?;
    let verb = verb
        .parse()
        .map_err(|error: UnknownScenario| source.mistake(file.verb.span(), error.to_string(), None))?;
    let dialects = file
        .dialects
        .iter()
        .map(|name| dialect(source, name, DialectId::ALL.iter().copied()))
        .collect::<Result<_, _>>()?;
    let figures: Result<Vec<Figure>, Mistake> =
        file.figures.get_ref().iter().map(|name| figure(source, name, verb)).collect();
    let figures = figures?;
    if figures.is_empty() {
        let help = Some("the first is what servers are ranked by, e.g. \"rtt.p95\"".to_owned());
        return Err(source.mistake(file.figures.span(), "there is no metric to show".to_owned(), help));
    }
    if let Some(published) = &file.published {
        check_unit(source, &published.column, &figures[0])?;
    }
    Ok(Scenario {
        name: file.name.get_ref().clone(),
        asks: file.asks.clone(),
        verb,
        dialects,
        supports: file.supports.clone(),
        unix: file.supports.contains(&Ability::Unix),
        tls: file.supports.contains(&Ability::Tls),
        flags,
        shortened,
        figures,
        published: file.published.as_ref().map(|published| Published {
            file: source.path.parent().unwrap_or(Path::new("")).join(&published.file),
            rows: published.rows.clone().into_iter().collect(),
            column: published.column.get_ref().clone(),
            names: published.names.clone().into_iter().collect(),
            differs: published.differs.clone(),
        }),
    })
}

/// The name becomes that of a folder, beside the record's own files.
fn check_name(source: &Source<'_>, name: &Spanned<String>) -> Result<(), Mistake> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let text = name.get_ref().as_str();
    let help = if text.is_empty() || text.starts_with('.') || !text.chars().all(is_fine) {
        "letters, digits, '-', '_' and '.', which it must not begin with: it becomes part of file names"
    } else if layout::FILES.contains(&text) {
        "a shootout has a file of its own with that name"
    } else {
        return Ok(());
    };
    let message = format!("{text:?} is not a name for a scenario");
    Err(source.mistake(name.span(), message, Some(help.to_owned())))
}

fn figure(source: &Source<'_>, name: &Spanned<String>, verb: results::Scenario) -> Result<Figure, Mistake> {
    Figure::parse(name.get_ref(), verb).map_err(|why| {
        source.mistake(name.span(), format!("there is no metric {:?}", name.get_ref()), Some(why))
    })
}

/// "Then" and "now" stand side by side: the published column must be in the unit of the first figure, which the end of
/// its name says.
fn check_unit(source: &Source<'_>, column: &Spanned<String>, figure: &Figure) -> Result<(), Mistake> {
    let endings = [
        ("_ms", Unit::Ms),
        ("_per_s", Unit::PerSecond),
        ("_bytes", Unit::Bytes),
        ("_percent", Unit::Percent),
    ];
    let ending = endings.iter().find(|(ending, _)| column.get_ref().ends_with(ending));
    let unit = ending.map_or(Unit::Count, |(_, unit)| *unit);
    if unit == figure.unit() {
        return Ok(());
    }
    let wanted = endings.iter().find(|(_, unit)| *unit == figure.unit());
    let wanted = wanted.map_or("no unit".to_owned(), |(ending, _)| ending.to_string());
    let message = format!("{:?} is not in the unit of {}", column.get_ref(), figure.name);
    Err(source.mistake(column.span(), message, Some(format!("its name would end with {wanted}"))))
}

fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}
