//! Random runs of one harness: a few hundred with every test, or for as long as `FUZZ_SECONDS` says.

use std::time::Duration;

use proptest::{
    strategy::Strategy,
    test_runner::{Config, TestCaseError, TestRunner},
};

use crate::clock;

/// Plays so many random cases; with `FUZZ_SECONDS` in the environment, new ones for so long. The smallest case that fails is told.
pub(crate) fn fuzz<S: Strategy>(
    cases: u32,
    strategy: &S,
    play: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().map(|text| {
        text.parse()
            .expect("FUZZ_SECONDS is a whole number of seconds, such as 600")
    });
    let end = seconds.map(|seconds| clock::now() + Duration::from_secs(seconds));
    loop {
        let mut runner = TestRunner::new(Config::with_cases(cases));
        if let Err(failure) = runner.run(strategy, &play) {
            panic!("{failure}");
        }
        if end.is_none_or(|end| clock::now() >= end) {
            return;
        }
    }
}
