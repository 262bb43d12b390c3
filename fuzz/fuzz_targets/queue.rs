//! Histories of one queue, held against its naive model after each step.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| controller_runtime::fuzzing::queue(bytes));
