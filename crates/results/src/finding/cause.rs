//! Causes that hold a step back. The first word of a key says who: the server, the generator, the machine,
//! the network, nothing, or something unknown ([`Bottleneck`](crate::Bottleneck)).

use super::phrase::{and_lost, contention, lost_agents, overflowed, the_first, they, used, were};
use super::quantity::{Cores, Factor, Kinds, Ns, PerS, Percent, Programs, Quantile};
use super::table::findings;

findings! {
    /// A cause that held a step back, with the numbers that show it. [`verdict`](crate::verdict) finds it.
    Cause:

    /// Ports, files or memory of the generator's own: an error that the server never saw.
    GeneratorRanOut "generator.ran_out" {
        /// The kind of error, as in the counts.
        error: String,
        /// How often.
        times: u64,
        /// The first of them.
        example: String,
    } => "it lacked ports, files or memory ({error}, {}): {example}", times.times();
    /// The fleet went on without some of its agents.
    GeneratorLostAgents "generator.lost_agents" {
        /// Agents lost.
        lost: u64,
        /// All agents.
        of: u64,
    } => "it lost {}", lost_agents(&lost, &of);
    /// A worker used up its CPU.
    GeneratorCpu "generator.cpu" {
        /// Percent of a core.
        cpu: Percent,
    } => "a worker's CPU was at {cpu} of a core";
    /// The generator's control group used up its CPU quota.
    GeneratorQuota "generator.quota" {
        /// Percent of the quota's periods.
        throttled: Percent,
    } => "the CPU quota of its control group was used up in {throttled} of the periods";
    /// The generator did nearly all that it was calibrated to do.
    GeneratorCeiling "generator.ceiling" {
        /// Percent of the calibrated rate.
        used: Percent,
    } => "it was at {used} of its ceiling here (throng calibrate)";
    /// Messages of an open loop waited because every connection had as many under way as it may have, and the
    /// rate needs more even if the server answers as fast as it does without a queue.
    GeneratorPool "generator.pool_small" {
        /// Messages that waited.
        waited: u64,
        /// Messages sent.
        of: u64,
        /// Messages that the connections had under way at once.
        slots: u64,
        /// Messages that have to be under way at once (Little's law).
        needed: u64,
        /// The shortest time of an answer.
        service: Ns,
    } => "{} waited because its connections had {slots} under way at once, and {needed} are needed where an answer takes \
          {service}: use more connections (--clients, --publish-connections), or --pipelining (over HTTP/2 --streams, as far \
          as the server allows)", waited.part_of(&of, "messages");
    /// The generator's own work delayed what it measured.
    GeneratorBusy "generator.busy" {
        /// The delay.
        lag: Ns,
        /// The latency that it is a part of.
        latency: Ns,
        /// The metric.
        metric: String,
        /// The metric's quantile.
        quantile: Quantile,
    } => "it was busy with other messages: up to {lag} of the {latency} {} {quantile} is its own", metric.words();
    /// The generator was late, and nothing visible explains it.
    GeneratorLate "generator.late" {
        /// The delay.
        lag: Ns,
        /// The latency that it is a part of.
        latency: Ns,
        /// The metric.
        metric: String,
        /// The metric's quantile.
        quantile: Quantile,
    } => "it was late for no visible reason: up to {lag} of the {latency} {} {quantile} is its own", metric.words();
    /// Messages were not sent in time although the server was idle.
    GeneratorBehind "generator.behind" {
        /// Messages sent.
        sent: PerS,
        /// Messages due.
        asked: PerS,
    } => "it sent {sent:#} messages/s of {asked} with the server idle, as far as that is visible";
    /// Streamed answers stalled beyond a limit, as the generator read them late.
    GeneratorPaused "generator.paused" {
        /// How often.
        times: u64,
        /// The longest gap between two events.
        longest: Ns,
        /// Owners of the stalls: shares.
        owners: String,
    } => "it read answers late; they stalled {}, for up to {longest} ({owners})", times.times();
    /// Clients were ready, and the load passed without a message.
    GeneratorSentNothing "generator.sent_nothing" {
        /// The length of the load.
        duration: Ns,
    } => "it sent nothing in {duration}";
    /// A part of the generator failed in the midst of a step.
    GeneratorBroke "generator.broke" {
        /// The error, in its own words.
        error: String,
    } => "{error}";

    /// Every client was refused or unanswered.
    ServerTookNone "server.took_none" {
        /// Clients that tried.
        clients: u64,
    } => "it took none of {}", clients.of("client");
    /// The server's process ended under the load.
    ServerEnded "server.ended" {
        /// Since the load began.
        after: Ns,
    } => "its process ended {after} after the load began";
    /// The server's process ended before the load began.
    ServerEndedConnecting "server.ended_connecting"
        => "its process ended while clients connected";
    /// The server closed connections, or let them break.
    ServerLostClients "server.lost_clients" {
        /// Connections lost.
        lost: u64,
        /// All of them.
        of: u64,
        /// `clients`, or `connections` where a client had several.
        what: String,
        /// The kinds of their ends, where each is known.
        errors: Kinds,
        /// The first end of the most frequent kind: the code and the reason of a close frame.
        example: Option<String>,
    } => "it lost {}{}{}", lost.part_of(&of, &what), errors.in_brackets(), the_first(&lost, &errors, &example);
    /// The server, or what is before it, closes connections on which nothing has been said for so long.
    ServerIdleTimeout "server.idle_timeout" {
        /// Connections closed.
        lost: u64,
        /// All of them.
        of: u64,
        /// `clients`, or `connections` where a client had several.
        what: String,
        /// Since the last message of each.
        after: Ns,
    } => "it closed {}, each {after} after its last message: an idle timeout", lost.part_of(&of, &what);
    /// No request to publish succeeded.
    ServerPublishedNone "server.published_none" {
        /// The first request's answer.
        example: String,
    } => "it published none of the messages that it was asked to ({example})";
    /// No message was answered.
    ServerAnsweredNone "server.answered_none" {
        /// Messages sent.
        messages: u64,
    } => "it answered none of {}", messages.of("message");
    /// Answers in pieces were all still coming when the wait for them ended.
    ServerStreaming "server.streaming" {
        /// Answers that were still coming.
        answers: u64,
        /// Events of them that had come.
        events: u64,
    } => "it was still sending {} after {}: they may have no end", answers.of("answer"), events.of("event");
    /// The server used up the CPU that it may use.
    ServerCpu "server.cpu" {
        /// Percent of these cores.
        cpu: Percent,
        /// The cores that it may use.
        cores: Cores,
    } => "its CPU was at {cpu} of {cores}";
    /// The server's control group used up its CPU quota.
    ServerQuota "server.quota" {
        /// Percent of the quota's periods.
        throttled: Percent,
        /// The quota, where it is known.
        cores: Option<Cores>,
    } => "its CPU quota{} was used up in {throttled} of the periods", cores.behind(" of ");
    /// A thread of the server used up a core.
    ServerThread "server.thread" {
        /// The thread's name.
        thread: String,
        /// Percent of a core.
        cpu: Percent,
    } => "its thread \"{thread}\" was at {cpu} of a core";
    /// Connections were refused.
    ServerTurnedAway "server.turned_away" {
        /// Connections refused.
        refused: u64,
        /// All that were tried.
        of: u64,
        /// `clients` or `connections`.
        what: String,
    } => "it turned away {}", refused.part_of(&of, &what);
    /// The server had no file left for a connection.
    ServerFiles "server.files" {
        /// Files that it had open.
        open: u64,
        /// Files that it may have open.
        most: u64,
        /// Clients that it did not take.
        refused: u64,
        /// All that tried.
        of: u64,
        /// `clients` or `connections`.
        what: String,
    } => "it had {open} of {} open, and left out {}: raise its limit (ulimit -n)", most.of("file"),
         refused.part_of(&of, &what);
    /// Clients gave up waiting to be connected.
    ServerKeptWaiting "server.kept_waiting" {
        /// Clients that gave up.
        waited: u64,
        /// All that tried.
        of: u64,
        /// `clients` or `connections`.
        what: String,
        /// How often its accept queue was full, where that explains it.
        overflows: Option<u64>,
    } => "it left {} waiting until {} gave up{}", waited.part_of(&of, &what), they(&waited), overflowed(&overflows);
    /// Messages were due and never came.
    ServerLeftOut "server.left_out" {
        /// Messages that never came.
        missing: u64,
        /// Messages due.
        due: u64,
    } => "it left out {} due", missing.part_of(&due, "messages");
    /// Messages were still to come when throng stopped waiting for them.
    ServerUndelivered "server.undelivered" {
        /// Messages that had not come.
        missing: u64,
        /// Messages due.
        due: u64,
    } => "it had not yet delivered {} due", missing.part_of(&due, "messages");
    /// Copies due to clients that were away never came, and that broke a limit.
    ServerForgot "server.forgot" {
        /// Copies that never came.
        lost: u64,
        /// Copies due.
        due: u64,
    } => "it lost {} for clients that were away", lost.part_of(&due, "copies");
    /// Pushes of the server broke a limit.
    ServerSaysLate "server.says_late" {
        /// The limit.
        limit: String,
    } => "its pushes came late, or too seldom, for {limit}";
    /// Answers differed from what was expected.
    ServerWrong "server.wrong" {
        /// Wrong answers.
        wrong: u64,
        /// All answers.
        of: u64,
    } => "{} {} wrong", wrong.part_of(&of, "answers"), were(&wrong);
    /// Something else broke a standing limit.
    ServerFaulty "server.faulty" {
        /// The faulty ones.
        faulty: u64,
        /// All of them.
        of: u64,
        /// The fault, as the limit's metric is called: `not let in`.
        what: String,
    } => "{faulty} of {of} {what}";
    /// Clients were told different things under one number.
    ServerDiffers "server.differs" {
        /// Messages that said something else than most.
        differing: u64,
        /// Messages that were compared.
        of: u64,
    } => "{} differed from what other clients got under the same number",
         differing.part_of(&of, "pushes");
    /// The rate was not kept.
    ServerRate "server.rate" {
        /// Messages completed.
        achieved: PerS,
        /// Messages due.
        asked: PerS,
    } => "it completed {achieved:#} messages/s of {asked}";
    /// A queue grew with the server for as long as it was loaded.
    ServerQueue "server.queue" {
        /// Answers that came after the schedule's end.
        late: Percent,
    } => "{late} of its answers came after the schedule's end";
    /// Latency grew faster than the load while the generator was idle.
    ServerGrew "server.grew" {
        /// How many times the p95 grew.
        latency: Factor,
        /// How many times the load grew.
        load: Factor,
    } => "p95 grew {latency} for {load} load while the generator was idle";
    /// The server's threads slept for most of an answer's time.
    ServerAsleep "server.asleep" {
        /// Mean time of an answer.
        service: Ns,
        /// The part of it with a CPU.
        cpu: Ns,
    } => "it waits, for a lock, a timer or another service: {service} an answer, {cpu} of it with a CPU";
    /// The server stood still now and then, and answered at once in between.
    ServerStalled "server.stalled" {
        /// The longest time that a message waited for it.
        longest: Ns,
        /// How often.
        times: u64,
        /// When it was first seen, since the load began.
        first: Ns,
    } => "it stood still {}, for up to {longest}, first {first} after the load began", times.times();
    /// Streamed answers stalled beyond a limit, mostly with the server.
    ServerPaused "server.paused" {
        /// How often.
        times: u64,
        /// The longest gap between two events.
        longest: Ns,
        /// Owners of the stalls: shares.
        owners: String,
    } => "its answers stalled {}, the longest gap was {longest}: {owners}", times.times();
    /// The server's accept queue was full.
    ServerListenQueue "server.listen_queue" {
        /// How often.
        overflows: u64,
    } => "its listen queue overflowed {}: raise its backlog", overflows.times();

    /// The machine that server and generator share had no CPU left.
    MachineFull "machine.full" {
        /// Idle CPU.
        idle: Percent,
        /// CPU of other programs, where it was much.
        others: Option<Percent>,
        /// The programs.
        programs: Option<Programs>,
    } => "server and generator share a machine that ran out of CPU: {idle} idle{}{}", others.behind(", other programs used "),
         programs.within(" (", ")");
    /// A thread of the server was ready to run and had no CPU.
    MachineStarved "machine.starved" {
        /// The thread's name.
        thread: String,
        /// How much of the time it had a CPU.
        cpu: Percent,
        /// Other programs that ran.
        programs: Option<Programs>,
    } => "the server's thread \"{thread}\" was ready to run all the time, and had a CPU for {cpu} of it{}",
         programs.behind("; others: ");
    /// The generator waited for a CPU that others had, and that is most of the latency.
    MachineLate "machine.late" {
        /// CPU that a hypervisor gave to other machines, where that is why.
        stolen: Option<Percent>,
        /// Other programs that ran.
        programs: Option<Programs>,
        /// How long the generator waited.
        lag: Ns,
        /// The latency that this is a part of.
        latency: Ns,
        /// The metric.
        metric: String,
        /// The metric's quantile.
        quantile: Quantile,
    } => "{}: up to {lag} of the {latency} {} {quantile} is CPU contention", contention(&stolen, &programs), metric.words();
    /// The same where the server on that machine waited as well.
    MachineLateBoth "machine.late_both" {
        /// CPU that a hypervisor gave to other machines.
        stolen: Option<Percent>,
        /// Other programs that ran.
        programs: Option<Programs>,
        /// How long the generator waited.
        lag: Ns,
        /// The latency that this is a part of.
        latency: Ns,
        /// The metric.
        metric: String,
        /// The metric's quantile.
        quantile: Quantile,
    } => "{}: up to {lag} of the {latency} {} {quantile} is CPU contention of the generator, and the server will have waited \
          as long", contention(&stolen, &programs), metric.words();
    /// Other programs filled the machine, and the server did not keep the rate, or left clients waiting.
    MachineCrowded "machine.crowded" {
        /// CPU of other programs.
        others: Percent,
        /// The programs.
        programs: Option<Programs>,
        /// Idle CPU.
        idle: Percent,
    } => "other programs used {others} of it{}; {idle} was idle, and the server did not keep up", programs.behind(": ");
    /// Streamed answers stalled beyond a limit, mostly for want of a CPU.
    MachinePaused "machine.paused" {
        /// How often.
        times: u64,
        /// The longest gap between two events.
        longest: Ns,
        /// Owners of the stalls: shares.
        owners: String,
    } => "answers stalled {} for want of a CPU, the longest gap was {longest}: {owners}", times.times();

    /// A link was full.
    NetworkLink "network.link" {
        /// Percent of its speed.
        used: Percent,
    } => "a link carried {used} of its speed";
    /// Segments were lost.
    NetworkResent "network.resent" {
        /// Segments sent again.
        resent: Percent,
    } => "{resent} of the segments were sent again";
    /// Segments came out of order, as they do behind a lost one.
    NetworkOutOfOrder "network.out_of_order" {
        /// Segments out of order.
        gaps: Percent,
    } => "{gaps} of the segments came out of order, as they do behind a lost one";
    /// The way to the server was cut.
    NetworkUnreachable "network.unreachable" {
        /// Connections that failed or ended by it.
        lost: u64,
        /// All of them.
        of: u64,
        /// `clients`, or `connections` where a client had several.
        what: String,
    } => "{} could not reach the server: no route, no acknowledgement, or not allowed (a firewall, a socket's permissions)",
         lost.part_of(&of, &what);
    /// A closed loop spent its time on the way there and back.
    NetworkFar "network.far" {
        /// Mean time of an answer.
        service: Ns,
        /// Round trip of a TCP connect.
        way: Ns,
    } => "an answer takes {service}, and the network's round trip {way}: send more at once for a higher rate";

    /// Everything had room to spare.
    Nothing "none.saturated" {
        /// CPU of the server.
        server: Option<Percent>,
        /// The cores that it may use.
        cores: Option<Cores>,
        /// CPU of the busiest worker, of a core.
        worker: Option<Percent>,
    } => "nothing was saturated{}", used(&server, &cores, &worker);
    /// The generator had room to spare, and the server is out of sight.
    ServerUnseen "unknown.server_unseen" {
        /// CPU of the busiest worker, of a core.
        worker: Option<Percent>,
    } => "the server is not visible from here, and nothing here was saturated{}",
         worker.within(": busiest worker ", " of a core");
    /// Messages came that no condition of the app's file fits: what is missing may be among them.
    FileUnmatched "unknown.unmatched" {
        /// Messages with throng's ids that were not recognised.
        messages: u64,
        /// Messages that are missing besides.
        lost: u64,
        /// The first of them, and the condition that came nearest.
        example: String,
    } => "the app's file does not recognise {messages} of the messages that came{}: {example}", and_lost(&lost);
    /// Messages came without an id, and no copy with one: the app's file has it where the server does not relay it.
    FileWithoutId "unknown.without_id" {
        /// Messages without an id of throng's.
        messages: u64,
        /// Messages that are missing besides.
        lost: u64,
        /// The first of them.
        example: String,
    } => "none of {} that came has an id{}: put {{id}} where the server relays it: {example}",
         messages.of("message"), and_lost(&lost);
    /// Messages came that a rule of the app's file took for something else, and that are missing.
    FileTook "unknown.taken" {
        /// Messages with throng's ids that the rule took.
        messages: u64,
        /// Messages that are missing besides.
        lost: u64,
        /// The rule's key, and the first of them.
        example: String,
    } => "a rule of the app's file took {messages} of the messages that came{}: {example}", and_lost(&lost);
    /// Clients ended as a message lacked a value that the app's file keeps of it.
    FileKept "unknown.not_kept" {
        /// Clients that ended so.
        clients: u64,
        /// The place of the value, and the first such message.
        example: String,
    } => "the app's file does not find what it keeps of messages to {}: {example}", clients.of("client");
    /// Clients join rooms by their data, and the app's file expects their messages in others.
    FileRooms "unknown.rooms" {
        /// Messages that came to clients outside of the rooms that the file has.
        leaked: u64,
        /// The kind of rooms, the column, and what to write.
        example: String,
    } => "the app's file and its clients differ on who shares a room ({} leaked): {example}", leaked.of("message");
    /// A limit broke, and no one has most of the slow messages' time.
    Shared "unknown.shared" {
        /// The p95.
        latency: Ns,
        /// Owners of the time of messages that took as long or longer: shares.
        owners: String,
    } => "the time of the messages that took {latency} or longer is shared: {owners}";
    /// The load was too short to see anything.
    TooBrief "unknown.brief" {
        /// How long it took.
        duration: Ns,
    } => "the load took {duration}, too short to see what was saturated: send more, or for longer";
}

impl Cause {
    /// Returns whether the app's file is to be corrected.
    pub fn is_of_file(&self) -> bool {
        matches!(self, Cause::FileKept { .. }) || self.lost_besides_file().is_some()
    }

    /// Messages lost besides those that the app's file did not recognise; `None`: the file has no part in
    /// that, or the number is unknown.
    pub(crate) fn lost_besides_file(&self) -> Option<u64> {
        match self {
            Cause::FileUnmatched { lost, .. }
            | Cause::FileWithoutId { lost, .. }
            | Cause::FileTook { lost, .. } => Some(*lost),
            Cause::FileRooms { .. } => Some(0),
            // `FileKept`, too: how many messages a value cost that was not kept, the file does not tell.
            _ => None,
        }
    }
}
