//! The built-in technologies, and files of the user's.

use std::collections::BTreeSet;

use proptest::prelude::*;
use terrace_base::Nanos;
use terrace_base::error::Kind;
use terrace_device::{ByteAddressable, Catalogue, Order};

const BUILT_IN: &str = include_str!("../src/technologies.toml");

fn with(text: &str) -> Catalogue {
    let mut catalogue = Catalogue::builtin();
    catalogue.add(text, "mine.toml").expect(text);
    catalogue
}

fn error(text: &str) -> String {
    let mut catalogue = Catalogue::builtin();
    let error = catalogue.add(text, "mine.toml").expect_err(text);
    assert_eq!(error.kind, Kind::Usage);
    error.to_string()
}

#[test]
fn the_figures_of_the_papers() {
    let catalogue = Catalogue::builtin();
    let timing = |name| catalogue.get(name).unwrap().timing().unwrap();
    let latencies = |name| (timing(name).read.0, timing(name).write.0);
    assert_eq!(latencies("pcm"), (150, 1500));
    assert_eq!(latencies("flash"), (25_000, 25_000));
    assert_eq!(latencies("nvme-flash"), (50_000, 50_000));
    assert_eq!(latencies("nvme-10us"), (10_000, 10_000));
    assert_eq!(
        (timing("nvme-10us").channels, timing("pcm").channels),
        (10, 1)
    );
    assert_eq!(timing("pcm").order, Order::Plain);

    let endurance = |name| {
        catalogue
            .get(name)
            .unwrap()
            .endurance
            .clone()
            .unwrap()
            .value
    };
    assert_eq!(endurance("pcm") / endurance("flash"), 1e3);
    assert_eq!(endurance("fram"), 1e15);
    let nor = catalogue.get("nor").unwrap().byte_addressable.clone();
    assert_eq!(nor.unwrap().value, ByteAddressable::Reads);
}

#[test]
fn what_is_said_to_be_derived_is() {
    let catalogue = Catalogue::builtin();
    for name in ["dram", "pcm-row"] {
        let t = catalogue.get(name).unwrap().clone();
        let same_row = t.same_row.unwrap().value;
        let page = |line: Nanos| line + same_row * 63;
        assert_eq!(
            t.page_read.unwrap().value,
            page(t.line_read.unwrap().value),
            "{name}"
        );
        assert_eq!(
            t.page_write.unwrap().value,
            page(t.line_write.unwrap().value),
            "{name}"
        );
    }
    let page = |name| {
        let t = catalogue.get(name).unwrap().timing().unwrap();
        (t.read.0 as f64, t.write.0 as f64)
    };
    let ((read, write), (fast_read, fast_write)) = (page("dram"), page("stacked-dram"));
    assert!((read / fast_read - 4.5).abs() < 0.01, "{fast_read}");
    assert!((write / fast_write - 4.5).abs() < 0.01, "{fast_write}");
    let xpoint = catalogue.get("3d-xpoint").unwrap().clone();
    let line = |nanos: f64, rate: f64| (nanos + 4096.0 / rate * 1e9).round();
    assert_eq!(page("3d-xpoint"), (line(305.0, 6.6e9), line(0.0, 2.3e9)));
    assert!((xpoint.endurance.unwrap().value / (360e15 / 256e9) - 1.0).abs() < 0.01);
}

#[test]
fn every_figure_has_a_source() {
    // Straight from the file, so that a figure cannot hide behind the code that reads it.
    let file: toml::Table = BUILT_IN.parse().unwrap();
    assert_eq!(file.len(), Catalogue::builtin().iter().count());
    for (name, entry) in &file {
        let mut figures = 0;
        for (key, figure) in entry.as_table().unwrap() {
            if key == "summary" || key == "like" {
                continue;
            }
            figures += 1;
            let source = figure.get("source").and_then(toml::Value::as_str);
            let source = source.unwrap_or_default();
            assert!(
                source.chars().any(char::is_numeric) || source.starts_with("assumed"),
                "{name}.{key}: `{source}` names no year, section or table"
            );
        }
        let catalogue = Catalogue::builtin();
        let technology = catalogue.get(name).unwrap();
        if entry.get("like").is_none() {
            assert_eq!(technology.figures().len(), figures, "{name}");
        }
        assert!(!technology.summary.is_empty(), "{name}");
    }
}

#[test]
fn figures_as_people_read_them() {
    let catalogue = Catalogue::builtin();
    let of = |name| {
        let figures = catalogue.get(name).unwrap().figures();
        let line = |(name, value, _): &(&str, String, &str)| format!("{name}: {value}");
        figures.iter().map(line).collect::<Vec<_>>().join("; ")
    };
    let nor = "endurance: 1e5 writes a cell; byte addressable: reads only; non-volatile: yes; \
               cell area: 10 F^2";
    assert_eq!(of("nor"), nor);
    assert!(of("dram").contains("cell area: 6 to 10 F^2; channels: 4; bandwidth: 51.2 GB/s"));
}

#[test]
fn every_figure_is_inherited() {
    let catalogue = with(
        r#"
        [all]
        like = "dram"
        write_energy_ratio = { value = 1, source = "test" }
        array_write = { value = "1ns", source = "test" }
        [copy]
        like = "all"
        "#,
    );
    let of = |name| catalogue.get(name).unwrap().figures();
    let keys: BTreeSet<_> = of("all").iter().map(|(name, ..)| *name).collect();
    assert_eq!(keys.len(), 18, "all that there are");
    assert_eq!(of("all"), of("copy"));
}

#[test]
fn a_file_adds_replaces_and_inherits() {
    let catalogue = with(
        r#"
        # Like a name further up, and like the built-in one that it replaces.
        [zzz]
        summary = "our drive"
        like = "nvme-flash"
        page_read = { value = "80us", source = "measured" }
        [aaa]
        like = "zzz"
        channels = { value = 32, source = "measured" }
        [pcm]
        like = "pcm"
        endurance = { value = 100_000_000, source = "Awad 2016, 1" }
        "#,
    );
    let aaa = catalogue.get("aaa").unwrap();
    assert_eq!(aaa.summary, "our drive");
    let timing = aaa.timing().unwrap();
    assert_eq!(
        (timing.read.0, timing.write.0, timing.channels),
        (80_000, 50_000, 32)
    );
    let pcm = catalogue.get("pcm").unwrap();
    assert_eq!(pcm.endurance.as_ref().unwrap().value, 1e8);
    assert_eq!(pcm.timing().unwrap().write.0, 1500);
    let pcms = catalogue.iter().filter(|t| t.name == "pcm").count();
    assert_eq!(pcms, 1);
}

#[test]
fn what_is_wrong_is_said_with_file_and_line() {
    for (text, line, what) in [
        ("[x]\nsummary = ", 2, "string"),
        ("\n\n[x]\ncolour = 3", 4, "unknown field `colour`"),
        (
            "[x]\npage_read = { value = \"150\u{b5}s\", source = \"s\" }",
            2,
            "is not a time",
        ),
        ("[x]\npage_read = \"150ns\"", 2, "a figure as { value"),
        (
            "[x]\n\nendurance = { value = 1e7 }",
            3,
            "missing field `source`",
        ),
        (
            "[x]\nendurance = { value = 1e7, source = \" \" }",
            2,
            "a source is empty",
        ),
        (
            "[x]\nendurance = { value = -1, source = \"s\" }",
            2,
            "-1 is not above zero",
        ),
        (
            "[x]\nendurance = { value = nan, source = \"s\" }",
            2,
            "not above zero",
        ),
        (
            "[x]\nchannels = { value = 0, source = \"s\" }",
            2,
            "0 is no count",
        ),
        (
            "[x]\nnon_volatile = { value = 3, source = \"s\" }",
            2,
            "expected a boolean",
        ),
        (
            "[x]\nlike = \"prm\"",
            2,
            "there is no technology `prm`; there are dram,",
        ),
        (
            "[x]\nlike = \"y\"\n[y]\nlike = \"x\"",
            2,
            "there is no technology `y`",
        ),
        ("[x]\nlike = \"x\"", 2, "there is no technology `x`"),
        ("[x]\n[x]", 2, "duplicate"),
        ("x = 3", 1, "a technology as [name]"),
    ] {
        let error = error(text);
        let place = format!("mine.toml, line {line}: ");
        assert!(error.starts_with(&place), "{text}: {error}");
        assert!(error.contains(what), "{text}: {error}");
        assert!(!error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn a_wrong_file_adds_nothing() {
    let mut catalogue = Catalogue::builtin();
    let text = "[good]\nsummary = \"s\"\n[wrong]\nlike = \"nothing\"";
    assert!(catalogue.add(text, "mine.toml").is_err());
    assert!(catalogue.get("good").is_err());
}

#[test]
fn names_that_are_not_there_are_told_those_that_are() {
    let error = Catalogue::builtin().get("PCM2").unwrap_err().to_string();
    assert!(
        error.contains("`PCM2`") && error.contains("pcm-row, 3d-xpoint"),
        "{error}"
    );
}

#[test]
fn without_a_latency_there_is_no_timing() {
    let error = Catalogue::builtin()
        .get("fram")
        .unwrap()
        .timing()
        .unwrap_err();
    assert!(error.to_string().contains("page_read"), "{error}");
}

#[test]
fn files_are_loaded_from_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let missing = Catalogue::load(&path).unwrap_err().to_string();
    assert!(missing.contains("mine.toml"), "{missing}");
    std::fs::write(&path, "[mine]\nlike = \"flash\"").unwrap();
    let mine = Catalogue::load(&path).unwrap();
    assert_eq!(mine.get("mine").unwrap().timing().unwrap().read.0, 25_000);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]a-z=\"{}0-9, .\n\u{e9}-]{0,80}") {
        let _ = Catalogue::builtin().add(&text, "mine.toml");
    }

    #[test]
    fn no_damage_to_a_file_makes_it_panic(at in 0usize..BUILT_IN.len(), with in "[a-z\"=\\[\\]{}\n\\-0-9]{0,3}") {
        let mut text = BUILT_IN.to_string();
        text.insert_str(at, &with);
        let _ = Catalogue::builtin().add(&text, "mine.toml");
    }
}

#[test]
fn what_does_not_serve_is_not_offered() {
    let catalogue = Catalogue::builtin();
    let error = catalogue.get_for("cheese", |technology| technology.timing().is_ok());
    let error = error.unwrap_err().to_string();
    for technology in catalogue.iter() {
        let offered = error.split([' ', ',']).any(|word| word == technology.name);
        assert_eq!(
            offered,
            technology.timing().is_ok(),
            "{}: {error}",
            technology.name
        );
    }
    assert!(
        catalogue
            .iter()
            .any(|technology| technology.timing().is_err())
    );
}
