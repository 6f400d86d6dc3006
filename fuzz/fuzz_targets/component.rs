#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| {
    let _ = lathe::extensions::fuzzing::component(bytes);
});

// Half of the time one byte in place: what is inside of a file with lengths in it is only looked at if they stay right.
fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    let [kind, value, high, low] = seed.to_le_bytes();
    let at = usize::from(u16::from_be_bytes([high, low]));
    match bytes.get_mut(at % size.max(1)) {
        Some(byte) if kind % 2 == 0 => {
            *byte = value;
            size
        }
        _ => fuzzer_mutate(bytes, size, most),
    }
});
