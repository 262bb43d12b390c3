//! The process itself: CPU time and memory, read from the kernel at each scrape.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};

/// The unit of `/proc/self/stat`, fixed for user space on Linux (proc(5), `USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Tells nothing where there is no `/proc`.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = |file| std::fs::read_to_string(file).unwrap_or_default();
        if let Some(seconds) = cpu_seconds(&read("/proc/self/stat")) {
            let (name, help) = ("process_cpu_seconds", "CPU time of the process, user and system");
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(seconds).encode(metric)?;
        }
        if let Some(bytes) = resident_bytes(&read("/proc/self/status")) {
            let (name, help) = (
                "process_resident_memory_bytes",
                "Memory of the process that is in RAM",
            );
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(bytes).encode(metric)?;
        }
        Ok(())
    }
}

/// Fields 14 and 15, counted after the command name, which may hold spaces and parentheses.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

fn resident_bytes(status: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_command_does_not_confuse() {
        let stat =
            "7 (a b) c) S 1 7 7 0 -1 4194304 900 0 0 0 250 50 0 0 20 0 5 0 100 1000 10 18446744073709551615";
        assert_eq!(cpu_seconds(stat), Some(3.0));
    }

    #[test]
    fn what_is_not_there_is_not_told() {
        for text in ["", ")", "7 (a) S", "VmRSS:", "VmRSS: x kB"] {
            assert_eq!(cpu_seconds(text), None, "{text:?}");
            assert_eq!(resident_bytes(text), None, "{text:?}");
        }
        assert_eq!(resident_bytes("VmPeak:\t 2 kB\nVmRSS:\t    3 kB\n"), Some(3072));
    }
}
