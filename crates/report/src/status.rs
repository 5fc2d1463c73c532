//! Status line of a running program.

use std::time::Duration;

use terrace_base::Bytes;
use terrace_live::measure::compare::Step;
use terrace_live::run::Status;

use terrace_results::number::{count, rate};

/// Makes a line of each status, with rates since the one before.
#[derive(Default)]
pub struct StatusLine {
    last: Option<Status>,
}

impl StatusLine {
    /// Returns the line: resident memory of the budget, major faults a second, traffic of the tier,
    /// and the share of prefetches that were used.
    pub fn line(&mut self, step: Step, status: &Status) -> String {
        let last = self.last.replace(*status);
        let last = last.filter(|last| last.elapsed < status.elapsed);
        let limit = status
            .limit
            .map_or(String::new(), |limit| format!(" of {limit}"));
        let mut parts = vec![
            format!("{} {}", label(step), clock(status.elapsed)),
            format!("DRAM {}{limit}", status.usage.resident),
        ];
        if let Some(last) = last {
            let time = status.elapsed - last.elapsed;
            let faults = status.usage.major_faults;
            let faults = faults.saturating_sub(last.usage.major_faults);
            let per_second = faults as f64 / time.as_secs_f64();
            parts.push(format!("{} major faults/s", count(per_second as u64)));
            let tier = status.tier.since(last.tier);
            parts.push(format!(
                "tier read {} written {}",
                rate(Bytes::of_pages(tier.read), time),
                rate(Bytes::of_pages(tier.written), time)
            ));
        }
        if status.others > Bytes(0) {
            parts.push(format!("{} of others in the tier", status.others));
        }
        if let Some(story) = status.progress.map(|p| p.story) {
            let ended = story.used + story.late + story.wasted;
            let used = (story.used + story.late) * 100;
            if let Some(percent) = used.checked_div(ended) {
                parts.push(format!("{percent} % of prefetches used"));
            }
        }
        parts.join(" | ")
    }
}

fn label(step: Step) -> String {
    if step.of > 1 {
        format!("terrace {}/{} {}", step.run, step.of, step.way.name())
    } else {
        "terrace".into()
    }
}

fn clock(time: Duration) -> String {
    let all = time.as_secs();
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    match all {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_live::group::budget::Usage;
    use terrace_live::group::counters::SwapCounters;
    use terrace_live::run::Way;
    use terrace_live::steer::Progress;
    use terrace_policy::prefetch::LifeStory;

    fn status(seconds: u64, major_faults: u64, read: u64) -> Status {
        Status {
            elapsed: Duration::from_secs(seconds),
            usage: Usage {
                resident: Bytes(200 << 20),
                major_faults,
                ..Usage::default()
            },
            limit: Some(Bytes(256 << 20)),
            progress: Some(Progress {
                story: LifeStory {
                    issued: 10,
                    used: 8,
                    late: 1,
                    wasted: 1,
                    ..LifeStory::default()
                },
                ..Progress::default()
            }),
            tier: SwapCounters {
                read,
                ..SwapCounters::default()
            },
            others: Bytes(0),
        }
    }

    #[test]
    fn rates_are_of_the_time_since_the_last_line() {
        let step = Step {
            way: Way::Kernel,
            run: 1,
            of: 1,
        };
        let mut line = StatusLine::default();
        line.line(step.clone(), &status(1, 100, 0));
        assert_eq!(
            line.line(step.clone(), &status(3, 2100, 512)),
            "terrace 3 s | DRAM 200 MiB of 256 MiB | 1,000 major faults/s | \
             tier read 1.00 MiB/s written 0 B/s | 90 % of prefetches used"
        );
        let beside = Status {
            others: Bytes(600 << 20),
            ..status(4, 2100, 512)
        };
        let line = line.line(step, &beside);
        assert!(
            line.contains(" | 600 MiB of others in the tier | "),
            "{line}"
        );
    }
}
