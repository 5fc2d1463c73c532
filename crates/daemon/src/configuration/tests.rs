use std::time::Duration;

use proptest::prelude::*;
use terrace_base::Bytes;

use super::*;

fn parse(text: &str) -> Result<Configuration> {
    Configuration::parse(&[("a.toml".into(), text.to_owned())])
}

fn said(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

const POSTGRES: &str = r#"
[target.postgres]
unit = "postgresql.service"
slowdown = "2%"

[tier]
memory = "existing"
endurance = "600TB"
life = "5years"
"#;

#[test]
fn what_the_guide_shows() {
    let read = parse(POSTGRES).unwrap();
    let target = &read.targets["postgres"];
    assert_eq!(target.by, By::Unit("postgresql.service".into()));
    assert_eq!(target.goal, Goal::Slowdown(0.02));
    assert_eq!(
        target.goal.policy().unwrap().to_string(),
        "slowdown:goal=0.02"
    );
    let wear = read.tier.wear.unwrap();
    assert_eq!(wear.life, Duration::from_secs(157_788_000));
    // 600 TB in 1826.25 days.
    assert_eq!(wear.bytes_a_day(), 328_542_094_455);
}

#[test]
fn the_installed_example() {
    let example = include_str!("../../../../packaging/terraced.toml");
    assert_eq!(parse(example).unwrap(), Configuration::default());
    // Prose has a blank behind its mark.
    let line = |line: &str| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
        _ => format!("{line}\n"),
    };
    let text: String = example.lines().map(line).collect();
    assert_eq!(parse(&text).unwrap(), parse(POSTGRES).unwrap());
}

#[test]
fn each_kind_of_target_and_of_goal() {
    let read = parse(
        r#"
        target.a = {container = "web-1", dram = "24G"}
        target.b = {pod = {namespace = "shop", label = "app=db"}, pressure = "0.1%"}
        target.c = {cgroup = "/batch/job", slowdown = "0.5 %"}
        target."d@1" = {unit = "redis", slowdown = "100%"}
        "#,
    )
    .unwrap();
    let policies: Vec<_> = read
        .targets
        .values()
        .map(|t| t.goal.policy().unwrap().to_string())
        .collect();
    let wanted = [
        "fixed:dram=25769803776",
        "senpai:pressure=0.001",
        "slowdown:goal=0.005",
        "slowdown:goal=1",
    ];
    assert_eq!(policies, wanted);
    let meant: Vec<_> = read.targets.values().map(|t| t.by.to_string()).collect();
    let wanted = [
        "the container web-1",
        "the pods app=db of the namespace shop",
        "the control group /batch/job",
        "the unit redis.service",
    ];
    assert_eq!(meant, wanted);
    assert_eq!(read.targets["a"].goal, Goal::Dram(Bytes(24 << 30)));
    assert_eq!(read.tier, Tier::default());
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_to_do() {
    let target = |rest: &str| format!("[target.a]\nunit = \"a\"\n{rest}\n");
    for (text, line, says) in [
        (target("slowdown = 2"), 3, "write the value in quotes"),
        (
            target("slowdown = \"2\""),
            3,
            "`2` is no share of time; write it as 2%",
        ),
        (target("slowdown = \"0%\""), 3, "more than 0%"),
        (target("slowdown = \"NaN%\""), 3, "no share"),
        (
            target("slowdown = \"0.001%\""),
            3,
            "it is a number from 0.0001 to 1",
        ),
        (target("dram = \"24\""), 3, "`24` is 24 B: 24M?"),
        (target("dram = \"1K\""), 3, "dram"),
        (
            target("slowdon = \"2%\""),
            3,
            "there is no key `slowdon`, expected one of",
        ),
        (
            target(""),
            1,
            "needs one of slowdown, dram and pressure; add as slowdown",
        ),
        (
            target("dram = \"1G\"\npressure = \"1%\""),
            1,
            "more than one of slowdown",
        ),
        (
            target("container = \"b\"\ndram = \"1G\""),
            1,
            "more than one of unit",
        ),
        (
            "\n[target.a]\ndram = \"1G\"".into(),
            2,
            "needs one of unit, container",
        ),
        (target("dram = \"1G\"\n[target.a]"), 4, "duplicate key"),
        (
            target("dram = \"1G\"\n[target.b]\nunit = \"a.service\"\ndram = \"2G\""),
            4,
            "the target `b` means the unit a.service, as `a` in a.toml, line 1 does; take one out",
        ),
        (
            "[target.'a b']\nunit = \"a\"\ndram = \"1G\"".into(),
            1,
            "`a b` is no name of a target",
        ),
        (
            "target.a = {unit = \"a.timer\", dram = \"1G\"}".into(),
            1,
            "is no service",
        ),
        (
            "target.a = {unit = \"\", dram = \"1G\"}".into(),
            1,
            "is no name of a unit",
        ),
        (
            "target.a = {unit = \"../x\", dram = \"1G\"}".into(),
            1,
            "is no name of a unit",
        ),
        (
            "target.a = {container = \"--help\", dram = \"1G\"}".into(),
            1,
            "is no name of a container",
        ),
        (
            "target.a = {cgroup = \"/\", dram = \"1G\"}".into(),
            1,
            "is no control group below the top",
        ),
        (
            "target.a = {cgroup = \"/a/../..\", dram = \"1G\"}".into(),
            1,
            "without ..",
        ),
        (
            "target.a = {pod = {namespace = \"x\"}, dram = \"1G\"}".into(),
            1,
            "label",
        ),
        (
            "target.a = {pod = {namespace = \"x\", label = \"app\"}, dram = \"1G\"}".into(),
            1,
            "`app` is no label",
        ),
        ("tier = \"zram\"".into(), 1, "correct the line"),
        (
            "[tier]\nlife = \"5years\"".into(),
            1,
            "‘life’ needs what the drive endures",
        ),
        (
            "[tier]\nendurance = \"5TB\"".into(),
            1,
            "no effect without ‘life’",
        ),
        (
            "[tier]\nendurance = \"5TB\"\nlife = \"5\"".into(),
            3,
            "no life of a drive",
        ),
        (
            "[tier]\nendurance = \"5T\"\nlife = \"5years\"".into(),
            2,
            "is no endurance",
        ),
        ("[tier]\nmemory = \"node:1\"".into(), 2, "no swap area"),
        (
            "[tier]\nmemory = \"zram\"".into(),
            1,
            "how large shall this tier be",
        ),
        (
            "[tier]\nmemory = \"zram\"\nsize = \"1M\"".into(),
            3,
            "too small",
        ),
        ("[tier]\nsize = \"4G\"".into(), 2, "leave ‘size’ out"),
        ("[tier]\nmemory = \"/no/such\"".into(), 2, "does not exist"),
        ("[targets]".into(), 1, "there is no key `targets`"),
        ("a = ".into(), 1, ""),
    ] {
        let said = said(&text);
        let place = format!("a.toml, line {line}: ");
        assert!(
            said.starts_with(&place) && said.contains(says),
            "{text}\n{said}"
        );
        assert!(!said.contains('\n'), "{said}");
    }
}

#[test]
fn files_count_as_one() {
    let of = |a: &str, b: &str| {
        Configuration::parse(&[("a".into(), a.into()), ("b".into(), format!("\n{b}"))])
    };
    let tier = "[tier]\nmemory = \"existing\"";
    let error = of(tier, tier).unwrap_err().to_string();
    assert_eq!(
        error,
        "b, line 2: the tier stands in a, line 1 as well; a machine has one, take one of them out"
    );
    let target = |unit: &str| format!("[target.x]\nunit = \"{unit}\"\ndram = \"1G\"");
    let error = of(&target("a"), &target("b")).unwrap_err().to_string();
    assert!(
        error.contains("the target `x` stands in a, line 1 as well"),
        "{error}"
    );
}

#[test]
fn a_directory_is_read_by_names() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("b.toml", "[target.b]\nunit = \"b\"\ndram = \"1G\"");
    write("a.toml", "[target.a]\nunit = \"a\"\ndram = \"1G\"");
    for passed_over in [".hidden.toml", "a.toml.old", "mount"] {
        write(passed_over, "nonsense");
    }
    let read = Configuration::read(directory.path()).unwrap();
    assert_eq!(read.targets.keys().collect::<Vec<_>>(), ["a", "b"]);
    fs::write(directory.path().join("c.toml"), b"a = 1\n\"\xff\"").unwrap();
    let error = Configuration::read(directory.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("c.toml, line 2: this is not UTF-8"),
        "{error}"
    );
    let error = Configuration::read(&directory.path().join("none")).unwrap_err();
    assert!(error.to_string().starts_with("cannot read "), "{error}");
}

#[test]
fn no_file_holds_too_many() {
    let text: String = (0..=MOST_TARGETS)
        .map(|i| format!("[target.t{i}]\nunit = \"u{i}\"\ndram = \"1G\"\n"))
        .collect();
    assert!(said(&text).contains("is one more than 500"));
    let name = "x".repeat(LONGEST_NAME + 1);
    let text = format!("[target.{name}]\nunit = \"a\"\ndram = \"1G\"");
    assert!(said(&text).contains("too long for a name"));
}

/// Pieces of files, some of them wrong.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("[target.a]\n".to_owned()),
        Just("[tier]\n".to_owned()),
        "(unit|container|cgroup|slowdown|dram|pressure|life|endurance|memory) = \"[^\"\\\\]{0,12}\"\n",
        "pod = \\{namespace = \"[a-z]{0,3}\", label = \"[ -~&&[^\"\\\\]]{0,9}\"\\}\n",
        "slowdown = \"[0-9.eE+-]{1,6} ?%\"\n",
        "life = \"[0-9.e]{1,6}(years|days)\"\n",
        "endurance = \"[0-9.e]{1,6}[GTP]BW?\"\n",
        "\\PC{0,20}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_panics_and_each_error_is_one_plain_line(text in pieces()) {
        match parse(&text) {
            Ok(read) => for target in read.targets.values() {
                let policy = target.goal.policy();
                prop_assert!(policy.is_ok_and(|policy| policy.controller().is_ok()));
            },
            Err(error) => {
                let said = error.to_string();
                prop_assert!(said.starts_with("a.toml, line "), "{}", said);
                prop_assert!(!said.contains(char::is_control), "{:?}", said);
            }
        }
    }

    #[test]
    fn shares_are_what_they_say(percent in 0.01_f64..100.0) {
        let text = format!("target.a = {{unit = \"a\", slowdown = \"{percent}%\"}}");
        let read = parse(&text).unwrap();
        let Goal::Slowdown(share) = read.targets["a"].goal else { panic!() };
        prop_assert!((share * 100.0 - percent).abs() < 1e-9);
    }
}
