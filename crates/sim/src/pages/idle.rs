//! Why a setting changes nothing on a machine.

use super::settings::{PageMachine, Prefetch};

/// The migration policy that moves nothing.
const NEVER: &str = "never";

/// Settings of pages that come in by faults.
pub(super) fn has_no_faults(m: &PageMachine) -> Option<&'static str> {
    let none =
        "slow memory serves lines by itself under ‘migration’, and no page comes in by a fault";
    m.migration.bypasses().then_some(none)
}

/// Settings of times.
pub(super) fn has_no_clock(m: &PageMachine) -> Option<&'static str> {
    m.tier.untimed.then_some("‘memory’ none has no clock")
}

/// Settings of shoot-downs.
pub(super) fn unmaps_nothing(m: &PageMachine) -> Option<&'static str> {
    has_no_clock(m).or_else(|| never_moves(m))
}

/// Settings of what waits for a device.
pub(super) fn has_no_device(m: &PageMachine) -> Option<&'static str> {
    has_no_faults(m).or_else(|| has_no_clock(m))
}

/// Settings of the eviction buffer.
pub(super) fn has_no_buffer(m: &PageMachine) -> Option<&'static str> {
    let staged = (m.staging > 0).then_some("‘staging’ takes its place");
    has_no_device(m).or(staged)
}

/// Settings of pages that move, and of what decides over them.
pub(super) fn moves_nothing(m: &PageMachine) -> Option<&'static str> {
    serves_no_lines(m).or_else(|| never_moves(m))
}

fn never_moves(m: &PageMachine) -> Option<&'static str> {
    let never = m.migration.entry().name == NEVER;
    never.then_some("no page moves under ‘migration’ never")
}

/// Settings of slow memory that serves lines.
pub(super) fn serves_no_lines(m: &PageMachine) -> Option<&'static str> {
    let none =
        "slow memory serves no lines by itself; ‘migration’ never, or another policy, has it do so";
    (!m.migration.bypasses()).then_some(none)
}

/// Settings of pages that are fetched ahead.
pub(super) fn fetches_nothing(m: &PageMachine) -> Option<&'static str> {
    let none = "nothing is fetched ahead without ‘prefetch’";
    matches!(m.prefetch, Prefetch::Off).then_some(none)
}

/// Settings of readahead.
pub(super) fn reads_nothing_around(m: &PageMachine) -> Option<&'static str> {
    let none = "it is for ‘prefetch’ readahead";
    m.prefetch.cluster().is_none().then_some(none)
}

/// Settings of channels.
pub(super) fn shares_no_bandwidth(m: &PageMachine) -> Option<&'static str> {
    let none = "under ‘migration’ accesses wait for channels only where ‘bandwidth’ is limited";
    (m.migration.bypasses() && m.tier.timing.bandwidth.is_none()).then_some(none)
}

/// Settings of control policies.
pub(super) fn controls_nothing(m: &PageMachine) -> Option<&'static str> {
    m.control
        .is_none()
        .then_some("there is no ‘control’ policy")
}

/// Settings of what write schemes are asked.
pub(super) fn asks_no_scheme(m: &PageMachine) -> Option<&'static str> {
    (!m.writing.is_asked()).then_some("no ‘write’ scheme is asked")
}

#[cfg(test)]
mod tests {
    use terrace_device::Catalogue;

    use super::super::Grid;
    use crate::setting::idle;

    /// Returns what of `asked` changes nothing on the machines of these values.
    fn of(values: &[(&str, &str)]) -> Vec<String> {
        let grid = Grid::parse(&[&[("dram", "9p")], values].concat()).expect("values are right");
        let choices = grid.machines(&Catalogue::builtin()).expect("there are");
        let asked: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        let sentences = idle(&asked, choices.iter().map(|choice| &choice.machine));
        let name = |sentence: String| sentence.split(['‘', '’']).nth(1).map(str::to_owned);
        sentences.into_iter().filter_map(name).collect()
    }

    #[test]
    fn a_setting_is_idle_where_no_machine_heeds_it() {
        let lines = ("memory", "pcm-row");
        for (values, idle) in [
            (&[("replacement", "arc")][..], &[][..]),
            (
                &[lines, ("migration", "never"), ("replacement", "arc")],
                &["replacement"],
            ),
            // One of the two machines pages by faults.
            (
                &[lines, ("migration", "never,fault"), ("replacement", "arc")],
                &[],
            ),
            (
                &[lines, ("migration", "never"), ("order", "plain")],
                &["order"],
            ),
            (
                &[lines, ("migration", "never"), ("threads", "4")],
                &["threads"],
            ),
            (
                &[lines, ("migration", "hot"), ("shootdown", "hardware")],
                &[],
            ),
            (
                &[lines, ("migration", "hot"), ("write-latency", "1us")],
                &["write-latency"],
            ),
            (
                &[lines, ("migration", "never"), ("channels", "4")],
                &["channels"],
            ),
            (
                &[
                    lines,
                    ("migration", "never"),
                    ("channels", "4"),
                    ("bandwidth", "1GB/s"),
                ],
                &[],
            ),
            (&[("channels", "4")], &[]),
            (
                &[lines, ("migration", "never"), ("fill", "page")],
                &["fill"],
            ),
            (&[lines, ("migration", "hot"), ("fill", "page")], &[]),
            (
                &[("memory", "none"), ("access-time", "1us")],
                &["access-time"],
            ),
            (
                &[("memory", "none"), ("eviction-buffer", "8")],
                &["eviction-buffer"],
            ),
            (
                &[("staging", "4"), ("eviction-buffer", "8")],
                &["eviction-buffer"],
            ),
            (
                &[("slow-line", "3ns"), ("fill", "sectors")],
                &["slow-line", "fill"],
            ),
            (&[("page-cluster", "2")], &["page-cluster"]),
            (
                &[("page-cluster", "2"), ("prefetch", "stream")],
                &["page-cluster"],
            ),
            (&[("page-cluster", "2"), ("prefetch", "off,readahead")], &[]),
            (&[("prefetch-cache", "4")], &["prefetch-cache"]),
            (&[("prefetch-cache", "4"), ("prefetch", "stream")], &[]),
            (&[("levelling", "none")], &["levelling"]),
            (&[("levelling", "none"), ("write", "page")], &[]),
        ] {
            assert_eq!(of(values), idle, "{values:?}");
        }
    }
}
