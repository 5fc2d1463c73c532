//! Programs have no transparent huge pages where their DRAM is less than their footprint, unless it
//! is asked for: the kernel says of each process whether it may have them.

use crate::common::machine;

const ASK: &str = "
lines = dict(line.split(':', 1) for line in open('/proc/self/status'))
print(lines['THP_enabled'].strip())
";

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn they_are_for_programs_with_dram_enough() {
    let machine = machine();
    for (options, allowed) in [
        (&["--dram", "64M", "--footprint", "128M"][..], "0"),
        (
            &["--dram", "64M", "--footprint", "128M", "--huge-pages"],
            "1",
        ),
        (&["--dram", "128M", "--footprint", "64M"], "1"),
        (&["--dram", "64M"], "0"),
    ] {
        let options = [options, &["--prefetch", "off"]].concat();
        let (said, _) = machine.measure(machine.python(&options, ASK, &[]));
        assert_eq!(said, allowed, "{options:?}");
    }
}
