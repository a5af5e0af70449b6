//! The next step of a run, and what ends a run before its course does.

use crew::{Course, Shape};
use load::StepOrder;
use report::count;
use results::Step;
use results::finding::Caveat;

use crate::exit::Failure;
use crate::flags::args::RunArgs;
use crate::processes;

/// The steps of a run that are still to come.
pub(crate) struct Agenda {
    course: Course,
    /// The most clients that the generator may have.
    clients_max: u64,
    /// The flag that gives it more.
    remedy: &'static str,
    /// The generator had no port, file or memory for its clients: more of them would tell nothing of the server.
    gave_out: bool,
}

/// The next step, or the end.
pub(crate) enum Next {
    /// A step is to be run.
    Step(StepOrder),
    /// The run has ended. With a note, it has not come to the end of its course.
    Over(Option<Caveat>),
    /// The user has interrupted the run. The rest is still to be done.
    Interrupted,
}

impl Agenda {
    /// The steps of `course`, with as many clients of `links` connections each as processes of this machine may
    /// have, or the agents of a fleet.
    ///
    /// # Errors
    /// The first step has more: nothing would be measured.
    pub(crate) fn new(
        course: Course,
        args: &RunArgs,
        shape: &Shape,
        links: u64,
        clients_max_of_fleet: Option<u64>,
    ) -> Result<Self, Failure> {
        let here = processes::clients_per_process(shape.threads)? * u64::from(shape.processes);
        let clients_max = clients_max_of_fleet.unwrap_or(here) / links;
        let is_of_fleet = args.fleet.fleet.is_some();
        let remedy = if is_of_fleet { "more --agents" } else { "--processes" };
        let first = course.first_clients().map(u64::from);
        if let Some(clients) = first.filter(|&clients| clients > clients_max) {
            return Err(too_many_at_first(clients, clients_max, remedy));
        }
        // Agents have started processes for the first step alone, where none is known to be the last.
        let is_unprepared = is_of_fleet && course.is_open_ended();
        let remedy = if is_unprepared { "--total-steps N, or more --agents" } else { remedy };
        Ok(Self { course, clients_max, remedy, gave_out: false })
    }

    /// The next step, unless something speaks against it.
    pub(crate) fn poll(&mut self, is_interrupted: bool) -> Next {
        // First of all: a run that had no step left is not cut short by an interrupt now.
        let Some(order) = self.course.poll() else { return Next::Over(self.usual_end()) };
        if is_interrupted {
            return Next::Interrupted;
        }
        if self.gave_out {
            return Next::Over(Some(Caveat::EndedByGenerator));
        }
        if u64::from(order.clients) > self.clients_max {
            let (clients, remedy) = (self.clients_max, self.remedy.to_owned());
            return Next::Over(Some(Caveat::EndedByFiles { clients, remedy }));
        }
        Next::Step(order)
    }

    /// The caveat that a search passed up to the most clients of one process, where it ends unless the user has it
    /// end elsewhere.
    fn usual_end(&self) -> Option<Caveat> {
        let found = self.course.capacity().filter(|found| found.at_least)?;
        let most = processes::clients_of_one_process().ok()?;
        let remedy = "--max-clients".to_owned();
        (found.clients == most).then_some(Caveat::EndedByFiles { clients: most, remedy })
    }

    /// The warm-up is over.
    pub(crate) fn handle_warmup(&mut self, order: &StepOrder) {
        self.course.handle(order, true);
    }

    /// A step was measured, and held against the limits.
    pub(crate) fn handle(&mut self, order: &StepOrder, step: &Step) {
        self.course.handle(order, step.has_passed());
        // One that passed all the same had a use for the clients it got: more may be had next time.
        self.gave_out = !step.has_passed() && step.errors.iter().any(|(_, error)| error.local);
    }

    /// The steps so far.
    pub(crate) fn course(&self) -> &Course {
        &self.course
    }
}

/// Makes the failure of a run whose first step already has too many clients.
fn too_many_at_first(clients: u64, clients_max: u64, remedy: &str) -> Failure {
    let (clients, most) = (count(clients), count(clients_max));
    let why = format!(
        "it has {clients} clients, and the generator's limit of open files allows {most}: pass {remedy}, or begin with fewer clients"
    );
    Failure::of_generator("measure", "measure the first step", why)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use crew::Warmup;
    use load::LoadRule;
    use stats::capacity::SearchConfig;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    const RULE: LoadRule = LoadRule::EachClient { interval_ns: 1, duration_ns: 1 };

    fn agenda(course: Course, clients_max: u64) -> Result<Agenda, Failure> {
        agenda_of(&["throng", "ws://localhost"], course, 1, clients_max)
    }

    fn agenda_of(words: &[&str], course: Course, links: u64, clients_max: u64) -> Result<Agenda, Failure> {
        let args = Line::parse_from(words).run;
        let shape = Shape { processes: 1, threads: 1, cpus: Vec::new(), clients: 1 };
        Agenda::new(course, &args, &shape, links, Some(clients_max))
    }

    fn step(agenda: &mut Agenda) -> StepOrder {
        let Next::Step(order) = agenda.poll(false) else { panic!("there is a step") };
        order
    }

    #[test]
    fn steps_end_at_the_generators_most_clients() {
        let mut agenda = agenda(Course::walk(10, 10, Some(3), RULE), 15).unwrap();
        let order = step(&mut agenda);
        assert!(matches!(agenda.poll(true), Next::Interrupted));
        agenda.handle(&order, &Step::default());
        let Next::Over(Some(caveat)) = agenda.poll(false) else { panic!("20 are too many") };
        assert_eq!(caveat, Caveat::EndedByFiles { clients: 15, remedy: "--processes".into() });
    }

    #[test]
    fn searches_name_the_end_that_nobody_set() {
        let most = processes::clients_of_one_process().unwrap();
        for (max, is_usual) in [(most, true), (most - 1, false)] {
            let search = SearchConfig { start: max, step: max, max, unit: 1, tolerance: 0.05, repeats: 1 };
            let mut agenda = agenda(Course::search(search, RULE), max).unwrap();
            let note = loop {
                match agenda.poll(false) {
                    Next::Step(order) => agenda.handle(&order, &Step::default()),
                    Next::Over(note) => break note,
                    Next::Interrupted => unreachable!("nobody interrupts it"),
                }
            };
            assert_eq!(note.is_some(), is_usual, "{note:?}");
        }
    }

    #[test]
    fn silent_connections_take_room_of_clients() {
        let course = Course::walk(10, 10, Some(3), RULE);
        let mut agenda = agenda_of(&["throng", "ws://localhost"], course, 2, 39).unwrap();
        let order = step(&mut agenda);
        agenda.handle(&order, &Step::default());
        let Next::Over(Some(caveat)) = agenda.poll(false) else { panic!("20 have 40 connections") };
        assert_eq!(caveat, Caveat::EndedByFiles { clients: 19, remedy: "--processes".into() });
    }

    #[test]
    fn fleets_need_the_number_of_steps() {
        for (steps, is_open_ended) in [(None, true), (Some(3), false)] {
            let words = ["throng", "ws://localhost", "--fleet", "nats://localhost"];
            let mut agenda = agenda_of(&words, Course::walk(10, 10, steps, RULE), 1, 15).unwrap();
            let order = step(&mut agenda);
            agenda.handle(&order, &Step::default());
            let Next::Over(Some(Caveat::EndedByFiles { remedy, .. })) = agenda.poll(false) else {
                panic!("20 are too many")
            };
            assert_eq!(remedy.contains("--total-steps"), is_open_ended, "{remedy}");
        }
    }

    #[test]
    fn only_a_first_step_without_room_fails() {
        let warmup = Some(Warmup { clients: 1, rule: RULE });
        let walk = || Course::walk(10, 10, Some(3), RULE).with_warmup(warmup);
        let failure = agenda(walk(), 9).err().expect("10 are too many");
        assert_eq!(failure.key(), "generator.measure", "{failure}");
        let text = failure.to_string();
        assert!([" 10 ", " 9", "--processes"].iter().all(|named| text.contains(named)), "{text}");
        let mut resumed = walk();
        resumed.replay([(10, true)]).unwrap();
        let mut agenda = agenda(resumed, 19).expect("a step is there to be told of");
        let warmup = step(&mut agenda);
        agenda.handle_warmup(&warmup);
        assert!(matches!(agenda.poll(false), Next::Over(Some(_))));
    }

    #[test]
    fn steps_end_at_the_generators_limit() {
        for (local, ends) in [(true, true), (false, false)] {
            let search = SearchConfig { start: 10, step: 10, max: 99, unit: 1, tolerance: 0.05, repeats: 1 };
            let mut agenda = agenda(Course::search(search, RULE), 100).unwrap();
            let order = step(&mut agenda);
            let mut failed = Step { standing: vec![results::standing::unfinished()], ..Step::default() };
            failed.errors.add("ports", 0, "no port is left");
            if local {
                failed.errors.set_local("ports");
            }
            agenda.handle(&order, &failed);
            assert_eq!(matches!(agenda.poll(false), Next::Over(Some(_))), ends);
        }
    }
}
