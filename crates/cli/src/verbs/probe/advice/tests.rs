//! Commands that are proposed for what was found, as they are typed.

use super::*;
use crate::verbs::probe::reply::Reply;

const URL: &str = "ws://h:1/";

fn at(service: Service, url: &str) -> Found {
    let (path, details) = ("/".to_owned(), Vec::new());
    Found { url: url.to_owned(), path, service, is_good: true, details, origin: None, barrier: None }
}

fn typed(found: &[Found], trial: Option<&Trial>) -> Vec<String> {
    let words = |access: &AccessArgs| -> Vec<String> {
        commands(found, trial, access).into_iter().map(|command| command.words).collect()
    };
    let insecure = words(&AccessArgs { insecure: true, ..AccessArgs::default() });
    let has_flag = |words: &String| words.ends_with(" --insecure") != words.starts_with("throng init ");
    assert!(insecure.iter().all(has_flag), "{insecure:?}");
    words(&AccessArgs::default())
}

/// A view of nothing yet.
fn view(access: &AccessArgs) -> View<'_> {
    View {
        url: URL.to_owned(),
        is_short: true,
        requests: 3,
        left_out: &[],
        silent: &[],
        is_origin_left_out: false,
        unanswered: None,
        is_closed: false,
        access,
        has_user: false,
        found: &[],
        trial: None,
    }
}

/// Places that are found, how the trial went, and the commands that follow.
type Case<'a> = (&'a [Found], Option<&'a Trial>, &'a [&'a str]);

fn assert_commands(cases: &[Case<'_>]) {
    for (found, trial, expected) in cases {
        assert_eq!(typed(found, *trial), *expected, "{found:?} {trial:?}");
    }
}

#[test]
fn commands_follow_from_sockets() {
    let refused = Trial::Fails("connect_timeout: 1 s".to_owned());
    let (http, cable) = (at(Service::Http, "http://h:1/"), at(Service::ActionCable, "ws://h:1/cable"));
    let strict = Found { origin: Some("http://h:1".to_owned()), ..cable };
    let locked = Found { barrier: Some(Barrier::Login("401".to_owned())), ..at(Service::Plain, URL) };
    assert_commands(&[
        (&[at(Service::Plain, URL)], Some(&Trial::Echoes), &["throng echo ws://h:1/ --clients 100 -d 10s"]),
        (
            &[at(Service::Plain, URL)],
            Some(&Trial::Connects),
            &[
                "throng idle ws://h:1/ --clients 100 -d 10s",
                "throng init --from plain",
                "throng run app.toml ws://h:1/ --clients 50",
            ],
        ),
        (
            &[http, at(Service::Plain, URL), strict],
            Some(&refused),
            &[
                "throng record http://h:1",
                "throng init --from actioncable",
                "throng run app.toml ws://h:1/cable --clients 50 --origin http://h:1",
                "throng http http://h:1/ -c 50 -d 10s",
            ],
        ),
        (
            &[locked],
            None,
            &[
                "throng ws://h:1/ -H 'Cookie: NAME=VALUE'",
                "throng record http://h:1",
                "throng init --from plain",
                "throng run app.toml ws://h:1/ --clients 50",
            ],
        ),
    ]);
    let echo = typed(&[at(Service::Graphql, "ws://h:1/graphql")], Some(&Trial::Echoes));
    assert_eq!(echo, ["throng echo ws://h:1/graphql --protocol graphql --clients 100 -d 10s"]);
}

#[test]
fn commands_follow_from_pages() {
    let http = at(Service::Http, "http://h:1/");
    let moved = Found {
        barrier: Some(Barrier::Redirect("https://h/".to_owned())),
        is_good: false,
        ..at(Service::Http, "http://h/")
    };
    let bare = Found { is_good: false, ..http.clone() };
    let fault = Some(Barrier::Fault("500 Internal Server Error".to_owned()));
    let broken = Found { barrier: fault, ..bare.clone() };
    assert_commands(&[
        (&[], None, &[]),
        (std::slice::from_ref(&bare), None, &["throng record http://h:1"]),
        (
            std::slice::from_ref(&http),
            None,
            &["throng record http://h:1", "throng http http://h:1/ -c 50 -d 10s"],
        ),
        (
            &[http.clone(), at(Service::Plain, URL)],
            Some(&Trial::Echoes),
            &["throng echo ws://h:1/ --clients 100 -d 10s", "throng http http://h:1/ -c 50 -d 10s"],
        ),
        (&[moved], None, &["throng https://h/"]),
        (&[broken], None, &["throng http://h:1/"]),
    ]);
}

#[test]
fn commands_follow_from_streams() {
    let asked = Found { path: "/stream".to_owned(), ..at(Service::Plain, "ws://h:1/stream") };
    assert_commands(&[
        (
            &[at(Service::Answer(Some("openai")), "http://h:1/v1/chat/completions")],
            None,
            &[
                "throng stream http://h:1/v1/chat/completions --api openai -c 10 -d 10s",
                "throng init --from stream",
                "throng run app.toml http://h:1/v1/chat/completions --clients 50",
            ],
        ),
        (
            &[asked],
            Some(&Trial::Connects),
            &[
                "throng idle ws://h:1/stream --clients 100 -d 10s",
                "throng stream ws://h:1/stream --body TEXT --end MARK -c 10 -d 10s",
                "throng init --from plain",
                "throng run app.toml ws://h:1/stream --clients 50",
            ],
        ),
        (
            &[at(Service::EventStream, "http://h:1/e")],
            Some(&Trial::Connects),
            &[
                "throng idle http://h:1/e --protocol sse --clients 100 -d 10s",
                "throng broadcast http://h:1/e --protocol sse --publish-url /PATH --clients 100",
                "throng init --from sse",
                "throng run app.toml http://h:1/e --clients 50",
            ],
        ),
    ]);
}

#[test]
fn commands_carry_certificates_and_origin() {
    let locked = Found { barrier: Some(Barrier::Login("401".to_owned())), ..at(Service::Plain, URL) };
    let access = AccessArgs {
        origin: Some("http://app".to_owned()),
        ca: Some("my ca.pem".into()),
        cert: Some("c.pem".into()),
        key: Some("k.pem".into()),
        ..AccessArgs::default()
    };
    let words: Vec<String> =
        commands(&[locked], None, &access).into_iter().map(|command| command.words).collect();
    let flags = "--origin http://app --cert c.pem --key k.pem --ca 'my ca.pem'";
    assert_eq!(words[0], format!("throng {URL} -H 'Cookie: NAME=VALUE' {flags}"));
    assert_eq!(words[1], "throng record http://h:1 --ca 'my ca.pem'");
    assert!(words[3].ends_with(&format!(" --clients 50 {flags}")), "{words:?}");
}

#[test]
fn paths_without_a_request_are_named() {
    let (found, access) = ([at(Service::Http, "http://h:1/")], AccessArgs::default());
    let left_out = ["/ws".to_owned(), "/websocket".to_owned()];
    let view = View { requests: 11, left_out: &left_out, found: &found, ..view(&access) };
    let text = view.text();
    assert!(text.contains("not asked: /ws, /websocket\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn refusals_without_an_origin_name_its_flag() {
    let access = AccessArgs::default();
    for is_origin_left_out in [false, true] {
        let text = View { is_origin_left_out, ..view(&access) }.text();
        assert_eq!(text.contains("--origin"), is_origin_left_out, "{text}");
    }
}

#[test]
fn missing_answers_are_explained() {
    let access = AccessArgs::default();
    let ended = Reply { failure: Some(("eof".to_owned(), "it ended".to_owned())), ..Reply::default() };
    for (is_plain, has_tls) in [(true, true), (false, false)] {
        let why = ended.unanswered(is_plain);
        let text = View { unanswered: why.as_deref(), ..view(&access) }.text();
        assert!(text.contains("eof") && text.contains("https://") == has_tls, "{text}");
    }
    let answered = Reply { status: Some(200), ..ended };
    assert_eq!(answered.unanswered(true), None);
}

#[test]
fn closed_servers_name_the_login_flag() {
    let access = AccessArgs::default();
    for is_closed in [false, true] {
        let text = View { is_closed, ..view(&access) }.text();
        assert_eq!(text.contains("-H 'Cookie"), is_closed, "{text}");
    }
}

#[test]
fn next_commands_carry_no_masks() {
    let url = "ws://h:1/cable?token=***ab12&room=1&sig=***cd34";
    let found = [at(Service::ActionCable, url)];
    let access = AccessArgs::default();
    let text = |url: &str| {
        let trial = Some(&Trial::Connects);
        View { url: url.to_owned(), found: &found, trial, ..view(&access) }.text()
    };
    let probed = text(url);
    let (shown, next) = probed.split_once("Next").unwrap();
    assert!(shown.contains(url) && next.starts_with(", with"), "{probed}");
    assert!(next.contains("throng idle 'ws://h:1/cable?room=1' ") && !next.contains(HIDDEN), "{next}");
    assert!(text("ws://h:1/cable?room=1").contains("Next:"));
}

#[test]
fn a_refusal_names_the_ways_to_log_in() {
    let found = [at(Service::ActionCable, "ws://h:1/cable")];
    let trial = Trial::Fails("disconnect_unauthorized: unauthorized".to_owned());
    let headers = vec![("X-User".to_owned(), "ann".into())];
    let access = AccessArgs { headers, ..AccessArgs::default() };
    let text = View { found: &found, trial: Some(&trial), ..view(&access) }.text();
    for part in ["ws://h:1/: 3 requests", "In the way at ws://h:1/cable", "--token", "[[login]]", "same -H"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
