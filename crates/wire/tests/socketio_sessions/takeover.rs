//! WebSockets that take a session over from plain requests, and those that the server turns away.

use wire::Settings;

use super::{BAD_REQUEST, PATH, Session, world};
use crate::common::*;

#[test]
fn a_websocket_takes_a_session_over() {
    let mut world = world();
    let mut session = Session::connected(&mut world);
    session.start_poll();
    let (socket, first) = session.websocket();
    assert_eq!(first, b"", "it says nothing before it is asked");
    assert_eq!(session.answer(session.polls), None, "polling goes on until the probe");
    assert_eq!(session.tell(socket, &["2probe"]), ["3probe"]);
    assert_eq!(session.answer(session.polls), Some((200, "6".into())));
    assert_eq!(session.poll(), (200, "6".into()), "no poll is held any more");
    assert_eq!(session.push(r#"42["message","while probing"]"#), (200, "ok".into()));
    assert_eq!(
        session.tell(socket, &["5", r#"42["message","after"]"#]),
        [r#"42["message-back","while probing"]"#, r#"42["message-back","after"]"#]
    );
    assert_eq!(session.poll(), (400, BAD_REQUEST.into()), "the session is the WebSocket's");
    assert_eq!(session.push("40"), (400, BAD_REQUEST.into()));
    let (late, first) = session.websocket();
    assert!(first == plain(0x88, b"") && session.world.is_closed(late), "the session has one");
    assert_eq!(session.tell(socket, &[r#"42["echo",1]"#]), [r#"42["echo",1]"#]);
    session.world.pass_ms(300);
    assert_eq!(said(&session.world.take(socket)), ["2"], "heartbeats go on");
    assert_eq!(session.tell(socket, &["3", "41", "40"]).len(), 1);
    session.world.abort(socket);
    session.polls = session.world.connect();
    assert!(session.is_gone());
    assert_eq!(session.refused(), "Session ID unknown");
    assert_eq!(world.sessions(), 0);
}

#[test]
fn a_websocket_in_a_hurry() {
    let mut world = world();
    let mut session = Session::connected(&mut world);
    let (socket, _) = session.websocket();
    assert_eq!(
        session.tell(socket, &["2probe", "5", r#"42["message","at once"]"#]),
        ["3probe", r#"42["message-back","at once"]"#]
    );
    let mut session = Session::connected(&mut world);
    let attached = r#"451-["message",{"_placeholder":true,"num":0}]"#;
    assert_eq!(session.push(attached), (200, "ok".into()));
    let (socket, _) = session.websocket();
    session.tell(socket, &["2probe", "5"]);
    session.world.send(socket, &masked(0x82, b"\x07")).unwrap();
    let answer = said(&session.world.take(socket));
    assert_eq!(
        answer,
        [attached.replace("message", "message-back"), "07".into()],
        "nothing half done is lost"
    );
}

#[test]
fn behind_a_goodbye_nothing_is_heard_or_said() {
    let mut world = world();
    let mut session = Session::connected(&mut world);
    let (teller, _) = session.websocket();
    let join = r#"42["join","a"]"#;
    session.tell(teller, &["2probe", "5", join]);
    for words in [&["2probe", "5", join, "1"][..], &["2probe", "5", "1", join]] {
        let mut session = Session::connected(&mut world);
        let (socket, _) = session.websocket();
        session.world.send(socket, &masked_texts(words)).unwrap();
        assert!(session.world.take(socket).ends_with(&plain(0x88, b"")));
        world.send(teller, &masked_texts(&[r#"42["broadcast",1]"#])).unwrap();
        assert_eq!(world.take(socket), [], "{words:?}");
    }
    let mut session = Session::connected(&mut world);
    session.push("1");
    session.world.send(teller, &masked_texts(&[r#"42["broadcast",2]"#])).unwrap();
    assert_eq!(session.poll(), (200, "6".into()), "over requests");
}

#[test]
fn websockets_that_do_not_take_over() {
    let mut world = world();
    for messages in [&["5"][..], &["2"], &["42[\"message\"]"], &["2probe", "2probe"], &["2probe", "6"]] {
        let mut session = Session::connected(&mut world);
        let (socket, _) = session.websocket();
        let last = session.tell(socket, messages).pop();
        assert_eq!(last.as_deref(), Some("close 1002"), "{messages:?}");
    }
    let mut session = Session::connected(&mut world);
    let (first, _) = session.websocket();
    let (second, close) = session.websocket();
    assert!(close == plain(0x88, b"") && session.world.is_closed(second), "one at a time");
    assert_eq!(session.tell(first, &["2probe"]), ["3probe"]);
    let path = session.path.clone();
    session.path = path.replace("EIO=4", "EIO=3");
    assert_eq!(session.poll(), (400, BAD_REQUEST.into()), "another version");
    assert_eq!(session.refused(), "Bad request");
    session.path = PATH.replace("polling", "polling&sid=nobody");
    assert_eq!(session.refused(), "Session ID unknown");
    // One that does nothing is cut off, and polling goes on.
    world.cfg.settings = Settings::default();
    let mut session = Session::open(&mut world, "/engine.io/?EIO=4&transport=polling");
    let (socket, _) = session.websocket();
    assert_eq!(session.tell(socket, &["2probe"]), ["3probe"]);
    session.world.pass_s(9);
    assert!(!session.world.is_closed(socket));
    session.world.pass_s(1);
    assert!(session.world.is_closed(socket));
    session.start_poll();
    assert_eq!(session.answer(session.polls), None, "held again");
    assert_eq!(session.push("4hello\x1ebAQIDBA=="), (200, "ok".into()));
    assert_eq!(session.answer(session.polls), Some((200, "4hello\x1ebAQIDBA==".into())));
}
