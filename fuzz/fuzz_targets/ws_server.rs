#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_targets::ws_server::run(data));
