//! `attach`: what it cannot attach to, and names that mean nothing or too much.

use crate::case::{Case, case};

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        case("nothing", "attach").usage("PID, or --cgroup PATH"),
        case("two", "attach 1 --unit a").usage("exclude each other"),
        case("two_names", "attach --unit a --container b").usage("exclude each other"),
        case("no_such_process", "attach 2147483647").usage("there is no process 2147483647"),
        case("cgroup_is_missing", "attach --cgroup no/such/group").usage("there is no cgroup"),
        case("cgroup_is_a_directory", "attach --cgroup {dir}").usage("there is no cgroup"),
        case("cgroup_is_a_file", "attach --cgroup /proc/self/cgroup").usage("there is no cgroup"),
        case("cgroup_above_all", "attach --cgroup ../../../etc").usage("there is no cgroup"),
        case("cgroup_is_long", "attach --cgroup")
            .argument("x/".repeat(5000))
            .usage("there is no cgroup"),
        case("unit_is_missing", "attach --unit no-such-unit").usage("no unit `no-such-unit`"),
        case("unit_like_an_option", "attach --unit=--all").usage("no unit `--all`"),
        case(
            "container_is_missing",
            "attach --container no-such-container",
        )
        .usage("no container `no-such-container`"),
        case("container_like_an_option", "attach --container=--help")
            .usage("no container `--help`"),
        case("prefetch_off", "attach 1 --prefetch off").usage("no predictor `off`"),
        case("prefetch_of_the_future", "attach 1 --prefetch oracle").usage("knows what is to come"),
        case("time_without_a_unit", "attach 1 --for 30").usage("write it as 30s"),
        case("time_is_negative", "attach 1 --for -1s").usage("write it as 30s"),
        case("time_is_endless", "attach 1 --for infh").usage("write it as 30s"),
        case("without_privilege", "attach 1")
            .nobody()
            .root()
            .fails(),
    ];
    for pid in ["0", "-1", "x", "2147483648", "1.5", "99999999999999999999"] {
        all.push(
            case(format!("pid_{pid}"), "attach")
                .argument(pid)
                .usage("is no whole number"),
        );
    }
    for (kind, says) in [
        ("cgroup", "needs a value"),
        ("unit", "no unit"),
        ("container", "no container"),
    ] {
        let option = format!("--{kind}");
        let empty = case(format!("empty_{kind}"), "attach").argument(option);
        all.push(empty.argument("").usage(says));
    }
    all
}
