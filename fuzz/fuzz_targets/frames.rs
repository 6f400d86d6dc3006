#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = lathe::server::fuzzing::frames(bytes);
});
