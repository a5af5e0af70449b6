//! The protocols: how messages are carried, a folder each, both roles. Only the registry names one of them.
//!
//! A folder has a line in the table below: the protocol's name, the folder, and the dialects by which it is
//! asked for. `DialectId`, and all that calls whichever protocol a connection speaks, is made of these lines.

macro_rules! protocols {
    ($make:ident) => {
        $make! {
            Plain: plain, by Raw | Json | Binary | Custom;
            Sockjs: sockjs, by Sockjs;
            Actioncable: actioncable, by Actioncable;
            Phoenix: phoenix, by Phoenix;
            Http: http, by Http;
            Http2: http2, by Http2;
            Socketio: socketio, by Socketio;
            Graphql: graphql, by Graphql;
            Sse: sse, by Sse;
            WsStream: ws_stream, by WsStream;
        }
    };
}

pub(crate) mod actioncable;
pub(crate) mod graphql;
pub(crate) mod http;
pub(crate) mod http2;
pub(crate) mod phoenix;
pub(crate) mod plain;
pub(crate) mod socketio;
pub(crate) mod sockjs;
pub(crate) mod sse;
pub(crate) mod ws_stream;
