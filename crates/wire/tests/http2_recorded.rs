//! HTTP/2 recorded between one end of ours and one that is not, replayed at ours: a symmetric mistake in
//! client and server would hide from tests that join the two.

use app::Kind;
use wire::{Client, Config, DialectId, Event, HttpOptions, Role, ServerConfig};

use crate::common::{Fake, Happened, options, serve_portions, stamp};

/// Servers' answers to six requests, in hexadecimal.
const SERVERS: [(&str, &str); 4] = [
    (
        "nginx 1.22",
        "000012040000000000000300000080000400010000000500ffffff0000040800000000007fff000000000004010000000000\
         0030010400000001887689aa6355e580ae212e1f6196df697e94134a693f75040138a059b8d86e042a62d1bf5f87497ca58a\
         e819aa5c013500000500010000000168656c6c6f000030010400000003887689aa6355e580ae212e1f6196df697e94134a69\
         3f75040138a059b8d86e042a62d1bf5f87497ca58ae819aa5c013500000500010000000368656c6c6f000030010400000005\
         887689aa6355e580ae212e1f6196df697e94134a693f75040138a059b8d86e042a62d1bf5f87497ca58ae819aa5c01350000\
         0500010000000568656c6c6f000030010400000007887689aa6355e580ae212e1f6196df697e94134a693f75040138a059b8\
         d86e042a62d1bf5f87497ca58ae819aa5c013500000500010000000768656c6c6f000030010400000009887689aa6355e580\
         ae212e1f6196df697e94134a693f75040138a059b8d86e042a62d1bf5f87497ca58ae819aa5c013500000500010000000968\
         656c6c6f00003001040000000b887689aa6355e580ae212e1f6196df697e94134a693f75040138a059b8d86e042a62d1bf5f\
         87497ca58ae819aa5c013500000500010000000b68656c6c6f",
    ),
    (
        "Node 20",
        "000000040000000000000000040100000000000020010400000001884003782d6e01306196df697e94134a693f75040138a0\
         59b8d86e05953168df00000301040000000388bfbe00000301040000000588bfbe00000500000000000168656c6c6f000005\
         00000000000368656c6c6f00000500000000000568656c6c6f00000000010000000100000000010000000300000000010000\
         000500000301040000000788bfbe00000301040000000988bfbe00000301040000000b88bfbe00000500000000000768656c\
         6c6f00000500000000000968656c6c6f00000500000000000b68656c6c6f0000000001000000070000000001000000090000\
         0000010000000b0000080700000000000000000b000000000000080700000000000000000b00000000",
    ),
    (
        "Go 1.26",
        "00001e0400000000000005001000000003000000fa0006001001400001000010000004001000000000000401000000000000\
         04080000000000000f0001000030010400000001885f92497ca58ae819aafb50938ec415305a99567b5c01356196df697e94\
         134a693f75040138a059b8d86e05a53168df00000500010000000168656c6c6f00000401040000000388c0bfbe0000040104\
         0000000588c0bfbe00000500010000000368656c6c6f00000500010000000568656c6c6f00000401040000000788c0bfbe00\
         000500010000000768656c6c6f00000401040000000988c0bfbe00000500010000000968656c6c6f00000401040000000b88\
         c0bfbe00000500010000000b68656c6c6f",
    ),
    (
        "nghttpd 1.52",
        "00000604000000000000030000006400000004010000000000005b010400000001887690aa69d29ae452a9a74a6b13015db1\
         2e0f5889a47e561cc58197000f6196df697e94134a693f75040138a059b8d86e05b53168df0f0d01356c96df697e94134a69\
         3f75040138a059b8d3f704053168df5f87497ca589d34d1f00000a01040000000388c2c1c00f0d0135bfbe00000a01040000\
         000588c2c1c00f0d0135bfbe00000500010000000168656c6c6f00000500010000000368656c6c6f00000500010000000568\
         656c6c6f00000a01040000000788c2c1c00f0d0135bfbe00000a01040000000988c2c1c00f0d0135bfbe00000a0104000000\
         0b88c2c1c00f0d0135bfbe00000500010000000768656c6c6f00000500010000000968656c6c6f00000500010000000b6865\
         6c6c6f",
    ),
];

/// Clients' requests in hexadecimal, with their number.
const CLIENTS: [(&str, usize, &str); 5] = [
    (
        "h2load 1.52",
        3,
        "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a00000c04000000000000020000000000043fffffff0000040800\
         000000003fff00000000210105000000018486418b089d5c0b8170dc0bcd360f827a8f9c541c722954d3a5358980aed89707\
         0000050105000000038486bf82be0000050105000000058486bf82be0000080700000000000000000000000000",
    ),
    (
        "curl 7.88",
        1,
        "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a0000120400000000000003000000640004020000000002000000\
         0000000408000000000001ff000100001f010500000001828486418b089d5c0b8170dc0bcd360f7a8825b650c3abbcf2e153\
         032a2f2a000000040100000000",
    ),
    (
        "nghttp 1.52, with priorities and no table",
        1,
        "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a00001204000000000000030000006400040000ffff0001000000\
         0000000502000000000300000000c80000050200000000050000000064000005020000000007000000000000000502000000\
         0009000000070000000502000000000b000000030000002c01250000000d0000000b0f828486418b089d5c0b8170dc0bcd36\
         0f53032a2f2a907a8aaa69d29ac4c0576c4b8340017801790000080700000000000000000000000009",
    ),
    (
        "Node 20",
        3,
        "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a0000000400000000000000190105000000018482418b089d5c0b\
         8170dc0bcd360f864084f2b1fc550276300000080105000000038482bf867e0276310000050105000000058482c086bf0000\
         0004010000000000000807000000000000000000000000000000080700000000000000000000000000",
    ),
    (
        "Node 20, with a body",
        1,
        "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a000000040000000000000016010400000001048562dae838e483\
         418b089d5c0b8170dc0bcd360f8600000500000000000168656c6c6f00000004010000000000000600010000000120776f72\
         6c6400000807000000000000000000000000000000080700000000000000000000000000",
    ),
];

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The statuses, and numbers of requests, in the order of the answers; all other events.
fn answered(bytes: &[u8], step: usize) -> (Vec<(u16, u32)>, Vec<Event>) {
    let http = HttpOptions { pipelining: 6, expect_body: Some(b"hello".to_vec()), ..HttpOptions::default() };
    let mut all = options(DialectId::Http2);
    all.of_dialect.settings = http.into();
    let (cfg, mut client, mut io) = (Config::new(all).unwrap(), Client::new(), Fake::default());
    let (mut answers, mut others) = (Vec::new(), Vec::new());
    client.handle_open(&cfg, 0, 0, &mut io);
    // The settings, behind which requests may be made.
    let (greeting, rest) = bytes.split_at(9 + usize::from(bytes[2]));
    for (number, portion) in std::iter::once(greeting).chain(rest.chunks(step)).enumerate() {
        let on = &mut |event| match event {
            Event::Message { role: Role::Answer { status }, stamp, .. } => answers.push((status, stamp.seq)),
            other => others.push(other),
        };
        client.handle_input(&cfg, 0, 0, portion, &mut io, on).unwrap();
        for request in (0..6).filter(|_| number == 0) {
            client.send(&cfg, 0, 0, Kind::Echo, stamp(request), &mut io);
        }
    }
    (answers, others)
}

#[test]
fn answers_of_servers_that_are_not_ours() {
    // An extension's frame, and a half one.
    let behind = b"\0\0\x01\xfa\0\0\0\0\0x\0\0\x08\x06\0\0";
    for (by, hex) in SERVERS {
        let mut bytes = bytes_of(hex);
        if by != "Node 20" {
            bytes.extend_from_slice(behind);
        }
        for step in 1..=bytes.len() {
            let (answers, others) = answered(&bytes, step);
            let expected: Vec<(u16, u32)> = (0..6).map(|number| (200, number)).collect();
            assert_eq!((answers, others), (expected, vec![Event::Usable]), "{by}, in portions of {step}");
        }
    }
}

#[test]
fn requests_of_clients_that_are_not_ours() {
    for (by, requests, hex) in CLIENTS {
        let bytes = bytes_of(hex);
        for step in 1..=bytes.len() {
            let portions: Vec<&[u8]> = bytes.chunks(step).collect();
            let outcome = serve_portions(&ServerConfig::default(), &portions);
            assert_eq!(outcome.result, Ok(()), "{by}, in portions of {step}");
            assert_eq!(
                outcome.events,
                vec![Happened::Requested(true); requests],
                "{by}, in portions of {step}"
            );
            let answers = outcome.out.windows(4).filter(|bytes| *bytes == b"\x88\x0f\x0d\x01").count();
            assert_eq!(answers, requests, "status 200 and the length 0, by {by}");
        }
    }
}
