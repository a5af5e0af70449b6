//! Both forms of a stamp: as documented, found anywhere, and damaged in each bit.

use super::*;

const STAMP: Stamp = Stamp {
    run: 0x5e1f,
    worker: 0xbeef,
    client: 0x23_4567,
    seq: 0x89ab_cdef,
    intended_ns: 0xfedc_ba98_7654_3210,
    lag: Lag::from_bits(7),
};

#[test]
fn the_forms_are_as_documented() {
    let text = STAMP.to_text();
    assert_eq!(&text[..47], b"throng-000007beef234567fedcba987654321089abcdef");
    let binary = STAMP.to_binary();
    assert_eq!(&binary[..8], b"thRg\0\0\x07\xbe");
    let hex: String = binary[4..].iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex.as_bytes(), &text[7..]);
    const { assert!(BINARY_BYTES <= 33, "wsdemo's message must hold it") };
}

#[test]
fn magic_alone_is_no_damage() {
    for name in ["throng-1", "throng-test", "throng-550e8400-e29b-41d4-a716-446655440000", "throng-"] {
        assert_eq!(find(name.as_bytes()), Found::None, "{name}");
        let [before, text] = [name.as_bytes(), &STAMP.to_text()];
        assert!(matches!(find(&[before, b" ", text].concat()), Found::At { stamp: STAMP, .. }), "{name}");
    }
}

#[test]
fn sending_time_is_exact_at_any_lag() {
    const S: u64 = 1_000_000_000;
    for (lag_ns, error_ns_max) in [
        (0, 0),
        (1_023, 1_023),
        (50_000_000, 1_023),
        (S, 1_023),
        (60 * S, 120_000),
        (600 * S, 1_200_000),
        (9 * 3_600 * S, 65_000_000),
    ] {
        let stamp = Stamp::new(1, 2, 3, 7 * S, 7 * S + lag_ns);
        let early_ns = 7 * S + lag_ns - stamp.sent_ns();
        assert!(early_ns <= error_ns_max, "{lag_ns} ns late, {early_ns} ns off");
        let Found::At { stamp: read, .. } = read_binary(&stamp.to_binary()) else { panic!("{lag_ns}") };
        assert_eq!((read, read.sent_ns()), (stamp, stamp.sent_ns()), "the same at the other end");
    }
    let beyond = Stamp::new(1, 2, 3, 0, u64::MAX);
    assert!(beyond.sent_ns() > 9 * 3_600 * S);
    let early = Stamp::new(1, 2, 3, 7 * S, 6 * S);
    assert_eq!(early.sent_ns(), 7 * S);
}

#[test]
fn a_stamp_is_found_wherever_it_stands() {
    for before in [&b""[..], b"{\"id\":\"", b"throng", b"throng-and-more ", b"0123456789abcdef"] {
        for after in [&b""[..], b"\"}", b"1234567890", b"throng-"] {
            let bytes = [before, &STAMP.to_text(), after].concat();
            assert_eq!(find(&bytes), Found::At { stamp: STAMP, offset: before.len() });
        }
    }
}

#[test]
fn every_flipped_bit_of_either_form_is_noticed() {
    let text = [b"[\"", &STAMP.to_text()[..], b"\"]"].concat();
    for bit in 0..TEXT_BYTES * 8 {
        let mut damaged = text.clone();
        damaged[2 + bit / 8] ^= 1 << (bit % 8);
        assert_eq!(find(&damaged), Found::Corrupt, "text bit {bit}");
    }
    for bit in 0..BINARY_BYTES * 8 {
        let mut damaged = STAMP.to_binary();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(read_binary(&damaged), Found::Corrupt, "binary bit {bit}");
    }
}

#[test]
fn runs_are_told_apart_by_the_check_alone() {
    let (text, of_none) = (STAMP.to_text(), STAMP.of_run(0).to_text());
    assert_eq!(text[..47], of_none[..47], "the check alone says it");
    for run in [0, 1, 0x5e1f, u16::MAX] {
        let stamp = STAMP.of_run(run);
        let found = Found::At { stamp, offset: 0 };
        assert_eq!([find(&stamp.to_text()), read_binary(&stamp.to_binary())], [found; 2]);
        assert_eq!(stamp.numbers().binary(stamp.seq), stamp.to_binary()[BINARY_NUMBER]);
    }
}

#[test]
fn bodies_need_most_of_a_magic() {
    let (text, binary) = (STAMP.to_text(), STAMP.to_binary());
    for (before, found) in [("throng_", Found::Corrupt), ("ong-", Found::Corrupt), ("other-", Found::None)] {
        assert_eq!(find(&[before.as_bytes(), &text[7..]].concat()), found, "{before}");
    }
    for (before, found) in [("thRx", Found::Corrupt), ("thxx", Found::None), ("xxxx", Found::None)] {
        assert_eq!(read_binary(&[before.as_bytes(), &binary[4..]].concat()), found, "{before}");
    }
}

#[test]
fn truncated_stamps_are_corrupt_and_others_foreign() {
    assert_eq!(find(&STAMP.to_text()[..54]), Found::Corrupt);
    assert_eq!(find(b""), Found::None);
    assert_eq!(find(&[b'a'; 1000]), Found::None);
    assert_eq!(read_binary(&STAMP.to_binary()[..27]), Found::None);
    assert_eq!(read_binary(&[0; 33]), Found::None);
}
