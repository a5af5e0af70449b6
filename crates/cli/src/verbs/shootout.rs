//! `throng shootout`: a suite over all targets that can do it, end to end.

mod chosen;
mod conditions;
mod flags;
mod forecast;
mod gate;
mod host;
mod kept;
mod page;
mod recap;
mod round;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use net::affinity;
use net::files::Readers;
use net::machine::Machine;
use results::format::{counted, printable_lines};
use results::units;
use suite::recap::Finished;
use suite::record::{Claim, Head, PreparedTarget, SCHEMA};
use suite::schedule;
use suite::section::{self, Section};
use suite::suite::{FILE_BYTES_MAX, QUICK};
use suite::summary;
use suite::{Record, Suite, Target, Tools};

use crate::exit::{Exit, Failure};
use crate::flags::fleet_args::FleetArgs;
use crate::installed;
use crate::interrupts;
use crate::output;
use crate::processes;
use crate::stderr;
use crate::terminal;
use crate::verbs::shootout::host::Host;
use crate::verbs::shootout::kept::{as_json, could_not_keep, could_not_read, kept_suite, read_suite};
use crate::verbs::targets::rows::Format;
use crate::verbs::targets::{self, trust};

/// The default folder of shootouts.
const FOLDER: &str = "shootouts";
/// The suite that is part of this program.
const CARRIED: &str = "quick";

/// Measure and rank servers: install, check, load and stop each, in rounds
///
/// A suite is a TOML file with scenarios: each has a verb of throng, its flags, and what a target must be
/// able to do. Every target is checked before it is timed. Rounds are interleaved in random order, each
/// measurement has a fresh server and a fresh generator, and throng's own server takes part as the yardstick.
/// If the 95% intervals of servers overlap, it cannot be told which is ahead, and they share places, such as
/// 1–3.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Shootout {
    /// A suite in the folder suites, or a file [default: quick, which takes two minutes]
    suite: Option<String>,
    /// Shorten everything in proportion, e.g. 0.1
    #[arg(long, value_name = "FACTOR", value_parser = scale)]
    scale: Option<f64>,
    /// Only these targets; a folder's name stands for its server, or for all variants where it has none of its
    /// own
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    targets: Option<Vec<String>>,
    /// Only these scenarios of the suite
    #[arg(long, value_name = "SCENARIO,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Rounds of each target [default: as the suite says, and more while an interval is wider than ±10%]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
    /// Begin no round of measurements that would end after this time, e.g. 2h
    #[arg(long, value_name = "TIME", value_parser = units::time_ns)]
    budget: Option<u64>,
    /// Pin the generator to these CPUs, e.g. 0
    #[arg(long, value_name = "CPUS")]
    pin: Option<String>,
    /// Pin every server to these CPUs, e.g. 1-3
    #[arg(long, value_name = "CPUS")]
    server_pin: Option<String>,
    /// Make the order and all other random choices repeatable
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Leave out targets that are not installed
    #[arg(long)]
    no_install: bool,
    /// Keep everything in this directory [default: shootouts/SUITE-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue an interrupted shootout, with its original options; --budget replaces the original one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["suite", "scale", "targets", "only", "repeats", "pin", "server_pin", "seed", "no_install", "out"])]
    resume: Option<PathBuf>,
    /// Measure nothing; print a summary of the newest shootout of each suite in this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["suite", "scale", "targets", "only", "repeats", "budget", "pin", "server_pin", "seed", "no_install", "out", "resume", "targets_dir"])]
    recap: Option<PathBuf>,
    /// Measure nothing; put the results files of the shootout in this directory into one compressed file
    #[arg(long, value_name = "DIR", conflicts_with_all = ["suite", "scale", "targets", "only", "repeats", "budget", "pin", "server_pin", "seed", "no_install", "out", "resume", "recap", "targets_dir"])]
    pack: Option<PathBuf>,
    /// The folder with the targets [default: targets, here or further up, else the installed one]
    #[arg(long, value_name = "DIR")]
    targets_dir: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  throng shootout                       two or three servers, two minutes
  throng shootout wsdemo --scale 0.02   wsdemo of 2012, over all that echo,
                                        for 6 s each
  throng shootout hashrocket --targets go-gorilla,node-ws --repeats 5
  throng shootout --resume shootouts/wsdemo-20261120-2200
  throng shootout --target-agent rack-7 --nats nats://10.0.0.1:4222";

/// A factor above 0, at most 1.
fn scale(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "expected a number such as 0.1".to_owned())?;
    if factor > 0.0 && factor <= 1.0 { Ok(factor) } else { Err("above 0, and at most 1".to_owned()) }
}

impl Shootout {
    /// Runs it.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        if let Some(folder) = &self.recap {
            output::print(&recap::tables(folder, self.format)?)?;
            return Ok(Exit::Fine);
        }
        if let Some(folder) = &self.pack {
            let record = Record::open(folder).map_err(|error| Failure::usage("--pack", error))?;
            let packed = record.pack().map_err(could_not_keep)?;
            stderr::line(format_args!("packed: {}", counted(packed as u64, "results file")));
            return Ok(Exit::Fine);
        }
        let interrupts = interrupts::install()?;
        let is_interrupted = || interrupts.count() > 0;
        let tools = targets::tools(&is_interrupted)?;
        // Before the folder is made: without the machine there would be nothing to keep in it.
        let mut host = Host::of(&self.fleet, &is_interrupted)?;
        let (suite, mut record, selected) = match &self.resume {
            Some(folder) => self.resumed(folder, &host, &tools)?,
            None => self.begun(&host, &tools)?,
        };
        // What was measured in earlier parts is still worth its tables.
        if !is_interrupted() {
            round::run_all(&suite, &mut record, &selected, &mut host, &tools)?;
        }
        drop(host); // and with it the claim
        let sections = section::sections(&suite, &record).map_err(could_not_read)?;
        let kept = Kept(Finished { suite, record, sections });
        let Finished { suite, record, sections } = &kept.0;
        let report = record.write_report(&kept.tables(Format::Md)).map_err(could_not_keep)?;
        output::print(&kept.tables(self.format))?;
        stderr::line(format_args!(
            "\nKept in {}, with {} of the tables.",
            record.folder().display(),
            report.display()
        ));
        let page = page::write(suite, record, sections);
        if let Some(page) =
            page.map_err(|error| Failure::could_not("write_report", "write the report", error))?
        {
            stderr::line(format_args!("throng: report {}", page.display()));
        }
        if is_interrupted() {
            let words = ["throng", "shootout", "--resume"].map(str::to_owned).into_iter();
            let words: Vec<String> = words.chain([record.folder().display().to_string()]).collect();
            stderr::line(format_args!(
                "Interrupted: {} goes on{}.",
                results::command_line(&words),
                conditions::besides(&record.head)
            ));
            return Ok(Exit::Interrupted);
        }
        let could_go_on = |receipt: &PreparedTarget| {
            receipt.trouble.is_some() || selected.iter().any(|target| target.name == receipt.target)
        };
        let exit = outcome(record, sections);
        Ok(if record.head.receipts.iter().all(could_go_on) { exit } else { Exit::CouldNotRun })
    }

    /// A new shootout: its suite, its folder, and the targets that have passed the gate.
    fn begun(&self, host: &Host, tools: &Tools<'_>) -> Result<(Suite, Record, Vec<Target>), Failure> {
        let (path, text) = self.suite_file()?;
        let scale = self.scale.unwrap_or(1.0);
        let mut suite = read_suite(&path, &text, scale)?;
        if host.is_elsewhere() {
            chosen::keep_what_reaches(&mut suite)?;
        }
        chosen::keep_only(&mut suite, &self.only)?;
        self.check_pins(host)?;
        let catalog = targets::catalog(self.targets_dir.as_deref())?;
        let named = chosen::named(&suite, &catalog, self.targets.as_deref())?;
        // A mistake in a manifest may be why there is none.
        if named.is_empty() {
            for (folder, mistake) in &catalog.mistakes {
                stderr::line(format_args!("{folder} is left out: {}", mistake.line()));
            }
        }
        let left_out = chosen::left_out(&suite, &named);
        if self.targets.is_some() {
            chosen::refuse_in_vain(&suite, &named, &left_out)?;
        }
        let control = suite.control.then(Target::control);
        let wanted = chosen::wanted(&suite, &catalog, &named, control.as_ref());
        let repeats = self.repeats.unwrap_or(suite.repeats);
        let repeats_max = self.repeats.unwrap_or(suite.repeats_max);
        let budget = self.budget.map(Duration::from_nanos);
        forecast::tell(&suite, &wanted, &left_out, repeats..=repeats_max, budget)?;
        let started = Timestamp::now();
        let folder = self.out.clone().unwrap_or_else(|| {
            let time = started.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S");
            Path::new(FOLDER).join(format!("{}-{time}", suite.name))
        });
        // Before the gate, which may take minutes: a folder that is taken is known at once.
        let claim = Claim::make(&folder).map_err(could_not_keep)?;
        let (passed, receipts) = gate::pass(&wanted, self.no_install, host, tools);
        if (tools.is_interrupted)() {
            return Err(Failure::interrupted());
        }
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
        // Kept for the summary, which says how many measurements there are of all.
        let in_round = schedule::round(&suite, &passed.iter().collect::<Vec<_>>(), 1, seed).len();
        let head = Head {
            schema: SCHEMA,
            suite: suite.name.clone(),
            text: suite.text.clone(),
            only: self.only.clone(),
            suites_folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            scale,
            repeats,
            repeats_max,
            budget_s: budget.map(|budget| budget.as_secs_f64()),
            has_control: suite.control,
            seed,
            no_install: self.no_install,
            pin: self.pin.clone(),
            server_pin: self.server_pin.clone(),
            targets_dir: self.targets_dir.as_deref().map(kept::from_here),
            generator: Some(conditions::generator(&self.fleet)),
            in_round: Some(in_round),
            target_agent: self.fleet.target_agent.clone(),
            throng: env!("CARGO_PKG_VERSION").to_owned(),
            started: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            machine: machine().into_iter().chain(host.facts()).collect(),
            receipts,
            named: self.targets.iter().flat_map(|_| named.iter().map(|target| target.name.clone())).collect(),
            left_out,
        };
        let record = Record::create(claim, head).map_err(could_not_keep)?;
        Ok((suite, record, passed))
    }

    /// Refuses flags that pin to CPUs that are not there. The agent checks the CPUs of its own machine.
    fn check_pins(&self, host: &Host) -> Result<(), Failure> {
        if self.pin.is_some() && self.fleet.fleet.is_some() {
            return Err(Failure::usage("--pin", "pin a fleet at its agents: throng agent --pin"));
        }
        if let Some(list) = &self.pin {
            processes::cpus_of_here("--pin", list)?;
        }
        match &self.server_pin {
            Some(list) if host.is_elsewhere() => {
                affinity::parse_cpus(list).map(drop).map_err(|error| Failure::usage("--server-pin", error))
            }
            Some(list) => processes::cpus_of_here("--server-pin", list).map(drop),
            None => Ok(()),
        }
    }

    /// An interrupted shootout, with the targets that were measured; they are checked anew, and must be the
    /// same.
    fn resumed(
        &self,
        folder: &Path,
        host: &Host,
        tools: &Tools<'_>,
    ) -> Result<(Suite, Record, Vec<Target>), Failure> {
        let (mut record, again) =
            Record::reopen(folder).map_err(|error| Failure::usage("--resume", error))?;
        let head = &record.head;
        conditions::check_machines(head, &machine(), &self.fleet)?;
        let suite = kept_suite(head)?;
        // The user has not named the folder that the record names.
        let recorded = head.targets_dir.as_deref().filter(|_| self.targets_dir.is_none());
        let recorded = recorded.map(|folder| {
            trust::check("--resume", folder, |folder| format!("name it: --targets-dir {folder}"))
        });
        let recorded = recorded.transpose()?;
        let catalog = targets::catalog(self.targets_dir.as_deref().or(recorded.as_deref()))?;
        let known = head.receipts.iter().filter(|receipt| receipt.trouble.is_none());
        let control = Target::control();
        let mut wanted = Vec::new();
        for receipt in known.clone() {
            // The yardstick is part of this program, and no folder's.
            let found = match receipt.target == control.name {
                true => vec![&control],
                false => targets::find(&catalog, &receipt.target)?,
            };
            // Another manifest starts another server, which would share a name with the one that was
            // measured.
            found.iter().try_for_each(|target| conditions::check_manifest(receipt, target))?;
            wanted.extend(found);
        }
        // A target may have been updated in between, and its rounds would then compare two versions under
        // one name.
        let (passed, receipts) = gate::pass(&wanted, head.no_install, host, tools);
        // Half of the checks say nothing: the record stays as it is, and still has its tables.
        if (tools.is_interrupted)() {
            return Ok((suite, record, passed));
        }
        for receipt in known {
            let mut now = receipts.iter().filter(|now| now.target == receipt.target);
            now.try_for_each(|now| conditions::check_version(receipt, now))?;
        }
        if let Some(budget) = self.budget {
            record.set_budget(Duration::from_nanos(budget)).map_err(could_not_keep)?;
        }
        record.forget_lost().map_err(could_not_keep)?;
        for why in again {
            stderr::line(format_args!("throng: to be measured again, because {why}"));
        }
        Ok((suite, record, passed))
    }

    /// The suite's file: named, found in the folder of suites, or the one that is part of this program.
    fn suite_file(&self) -> Result<(PathBuf, String), Failure> {
        let here = env::current_dir()
            .map_err(|error| Failure::could_not("find_directory", "find the working directory", error))?;
        let carried = || (PathBuf::from(format!("{CARRIED}.toml")), QUICK.to_owned());
        let Some(name) = &self.suite else { return Ok(carried()) };
        let given = PathBuf::from(name);
        let is_path = given.components().count() > 1 && given.exists();
        let path = if is_path || given.extension().is_some_and(|ending| ending == "toml") {
            given
        } else {
            let found = installed::find_folder(suite::SUITES_FOLDER, &here);
            // A file of that name in a folder of suites comes first: it may have been adapted.
            if found.is_none() && name == CARRIED {
                return Ok(carried());
            }
            let folder = found.ok_or_else(|| {
                let problem = format!(
                    "there is no folder \"suites\" here or further up, nor beside the program, that could hold {name}; name a file"
                );
                Failure::usage("SUITE", problem)
            })?;
            // A suite can have a shell run something (--restart-command).
            let folder =
                trust::check("SUITE", &folder, |folder| format!("name the file: {folder}/{name}.toml"))?;
            kept::from_here(&folder.join(format!("{name}.toml")))
        };
        let text = net::files::read_text(&path, FILE_BYTES_MAX).map_err(|error| {
            Failure::usage("SUITE", format!("could not read {}: {error}", path.display()))
        })?;
        Ok((path, text))
    }
}

/// A shootout that was kept in a folder, for `throng report`. `None`: the folder is of something else.
pub(crate) struct Kept(Finished);

impl Kept {
    /// Opens it, if it is one.
    pub(crate) fn open(folder: &Path) -> Result<Option<Kept>, Failure> {
        if !Record::is_at(folder) {
            return Ok(None);
        }
        let record = Record::open(folder).map_err(|error| Failure::usage("RUN", error))?;
        Ok(Some(Kept(recap::finished(record)?)))
    }

    /// The outcome of each of its scenarios.
    pub(crate) fn sections(&self) -> &[Section] {
        &self.0.sections
    }

    /// Writes its page.
    pub(crate) fn write_page(&self, path: &Path) -> Result<(), Failure> {
        let Finished { suite, record, sections } = &self.0;
        let written = page::write_ranking(path, suite, record, sections, Readers::AsUsual);
        written.map_err(|error| Failure::could_not("write", format!("write {}", path.display()), error))
    }

    /// The tables of the shootout.
    pub(crate) fn tables(&self, format: Format) -> String {
        let Finished { suite, record, sections } = &self.0;
        match format {
            Format::Text => terminal::in_letters(summary::text(suite, record, sections)),
            Format::Md => printable_lines(&summary::markdown(suite, record, sections)),
            Format::Json => {
                serde_json::to_string_pretty(&as_json(record, sections)).expect("plain data") + "\n"
            }
        }
    }
}

/// The exit status: fine if every target was measured and no measurement failed. Prints what was not.
fn outcome(record: &Record, sections: &[Section]) -> Exit {
    let has_figure = |name: &String| {
        let standings = sections.iter().flat_map(|section| &section.standings);
        standings.filter(|standing| standing.target == *name).any(|standing| standing.mean.is_some())
    };
    let without: Vec<&String> = record.head.named.iter().filter(|name| !has_figure(name)).collect();
    for name in &without {
        stderr::line(format_args!("throng: {name} was not measured"));
    }
    let failed = record.entries.iter().filter(|entry| entry.trouble.is_some()).count();
    if failed > 0 {
        stderr::line(format_args!("throng: {failed} of {} measurements failed", record.entries.len()));
    }
    if without.is_empty() && failed == 0 { Exit::Fine } else { Exit::CouldNotRun }
}

/// Describes the machine, to compare with another.
fn machine() -> Vec<(String, String)> {
    let machine = Machine::read();
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    let mut facts = vec![
        ("CPU".to_owned(), machine.cpu_model.unwrap_or_else(|| "unknown".to_owned())),
        ("cores".to_owned(), machine.cores.to_string()),
        ("memory".to_owned(), format!("{gib:.0} GiB")),
        ("kernel".to_owned(), machine.kernel),
        ("open files".to_owned(), machine.fd_limit_hard.to_string()),
    ];
    facts.extend(machine.governor.map(|governor| ("governor".to_owned(), governor)));
    facts.extend(machine.clocksource.map(|source| ("clock".to_owned(), source)));
    facts.extend(net::limits::somaxconn().map(|value| ("somaxconn".to_owned(), value.to_string())));
    facts
}
