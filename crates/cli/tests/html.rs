//! Pages of results: they load nothing, and a real browser draws them without an error.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use terrace_heap::{Heap, Place, Ptr};
use terrace_live::run::Faults;
use terrace_live::watch::fault_sample::{Periods, SampledFault};
use terrace_live::watch::mappings::Region;
use terrace_policy::{Location, Page, Space};
use terrace_report::bench::BenchDocument;
use terrace_report::waits::{Waits, WaitsMoment};
use terrace_results::document::Document;
use terrace_results::text::Text;

/// Browsers that print a page as it is after its script ran.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Commands with the plots that their pages have at least.
const PAGES: &[(&str, &[&str])] = &[
    (
        "sim pages -q --dram 12.5%,25%,50%,75% --replacement lru,arc --prefetch off,stream zipf.parquet",
        &[
            "Heat map",
            "Misses over DRAM",
            "Slowdown over DRAM",
            "Time by part",
            "Life story",
        ],
    ),
    (
        "sim pages -q --dram 25% --prefetch stream walk.parquet",
        &["Misses over DRAM", "Time by part", "Life story"],
    ),
    (
        "sim llc -q --l1 off --l2 off --llc 32K --policy lru,nhm --memory pcm-row zipf.parquet",
        &[
            "Misses and write-backs",
            "LLC hits by stack position",
            "Time with pcm-row behind",
        ],
    ),
    (
        "sim mix -q --l1 off --l2 off --llc 64K --warmup 0 --time 9ms zipf.parquet walk.parquet",
        &["Run time", "Misses after a turn begins"],
    ),
    (
        "sim files -q --dram 64K --flash-size off,256K zipf.parquet",
        &["Read rate", "Miss rates over the run"],
    ),
    (
        "sim curve -q --replacement lru,fifo --rate 0.5 zipf.parquet",
        &["Miss ratio over DRAM"],
    ),
    (
        "sweep -q --dram 25%,50% zipf.parquet walk.parquet -o out",
        &["Misses over DRAM", "Time by part"],
    ),
    (
        "trace info -q zipf.parquet",
        &["Heat map", "Misses of LRU over DRAM"],
    ),
    (
        "sim pages -q --dram 25% --limit 100 zipf.parquet walk.parquet",
        &["Heat map of zipf.parquet", "Heat map of walk.parquet"],
    ),
    (
        "heap info app.pool",
        &["Chunks by use", "Fill by size class"],
    ),
    ("tcam circuit", &["Delay over rows", "Delay over sections"]),
    (
        "tcam replay -q --table table.txt --updates updates.txt",
        &["Entries by prefix length"],
    ),
    ("explain lru", &[]),
    ("doctor --clean", &[]),
    ("bench --table suite.json", &["Wall time", "Major faults"]),
];

fn terrace(directory: &Path, line: &str) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(line.split_whitespace())
        .current_dir(directory)
        .env("TERRACE_STATE_DIR", directory.join("state"))
        .stdin(Stdio::null())
        .output()
        .expect("terrace runs")
}

/// Makes a pool with objects of one size class.
fn fill(file: &Path) -> terrace_heap::Result<()> {
    let heap = Heap::create(file, 16 << 20)?;
    let root: Place<[Ptr<[u64; 6]>; 100]> = heap.root("table", 0)?;
    let table = heap.publish(root, &[Ptr::NULL; 100])?;
    for index in 0..100 {
        heap.publish(table.field(index * 8), &[7; 6])?;
    }
    heap.close()
}

/// Plots of the page of a steered run, which needs root and swap to be made; see [`steered`].
const STEERED: [&str; 6] = [
    "Wall time",
    "Major faults",
    "Median wait at faults",
    "99th percentile of the waits at faults",
    "Worst wait at faults",
    "Faults over time and address",
];

/// Returns the page of a steered run: measured results of the suite at `suite`, with faults of two
/// processes in their heaps, on a stack and where nothing is known to be mapped.
fn steered(suite: &Path) -> String {
    let text = fs::read_to_string(suite).expect("results of a suite");
    let suite = BenchDocument::parse(&text, "suite.json").expect("results of a suite");
    let mut comparisons = suite.rows.into_iter().filter_map(|row| row.comparison);
    let mut run = comparisons.next().expect("a program that was run");
    let starts = [0x5_5d0c_0000, 0x5_6000_0000, 0x7_f000_0000, 0x7_ffff_fff0];
    let fault = |number: u64| SampledFault {
        time: Duration::from_millis(number),
        at: Location::new(
            Space(100 + (number % 2) as u32),
            Page(starts[number as usize % 4] + number / 4 % 10_000),
        ),
    };
    let region = |start: usize, pages, name: &str| Region {
        pages: starts[start]..starts[start] + pages,
        name: name.to_owned(),
    };
    let mut watched = Periods::default();
    watched.add(Duration::ZERO, Duration::from_secs(3));
    watched.add(Duration::from_secs(5), Duration::from_secs(6));
    let moment = |index: u32| WaitsMoment {
        from_s: f64::from(index) / 2.0,
        to_s: f64::from(index + 1) / 2.0,
        count: 1000,
        p50_us: 62.0 + f64::from(index),
        p99_us: 105.0 + f64::from(index * index),
        worst_us: 9000.0,
        whole: Some(index != 7),
    };
    for way in &mut run.runs {
        way.waits = Some(Waits {
            count: 123_456,
            major: 100_000,
            total_s: 8.5,
            p50_us: 62.0,
            p99_us: 105.0,
            worst_us: 9000.0,
            lost: Some(5),
            whole: Some(false),
            missing_share: Some(0.03),
            timeline: (0..16).map(moment).collect(),
        });
    }
    for way in run.runs.iter_mut().filter(|way| way.way == "terrace") {
        way.faults = Some(Faults {
            sample: (0..4000).map(fault).collect(),
            seen: 123_456,
            of: 1_234_567,
            watched: watched.clone(),
            regions: vec![
                region(0, 5_000, "heap"),
                region(1, 5_000, "heap"),
                region(3, 10_000, "stack"),
            ],
        });
    }
    run.page().html(&Text::default(), "terrace run")
}

/// Returns a directory with the pages of [`PAGES`], named by their numbers, and behind them the
/// page of a steered run.
fn pages() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let suite = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../benches/live/results.json"
    );
    fs::copy(suite, at.join("suite.json")).expect("results of a suite");
    fill(&at.join("app.pool")).expect("a pool");
    fs::write(at.join("table.txt"), "10.0.0.0/8 a\n10.1.0.0/16 b\n").expect("a table");
    fs::write(at.join("updates.txt"), "0 + 10.2.0.0/16 b\n").expect("updates");
    for line in [
        "trace gen zipf -q --footprint 4M --accesses 200000 -o zipf.parquet",
        "trace gen sequential -q --footprint 4M --accesses 1200000 -o walk.parquet",
    ] {
        assert!(terrace(at, line).status.success(), "{line}");
    }
    for (number, (line, _)) in PAGES.iter().enumerate() {
        terrace(at, &format!("{line} --html {number}.html"));
        assert!(at.join(format!("{number}.html")).exists(), "{line}");
    }
    let page = steered(&at.join("suite.json"));
    fs::write(at.join(format!("{}.html", PAGES.len())), page).expect("a page");
    directory
}

/// Returns the command lines of the pages, with their plots.
fn lines() -> impl Iterator<Item = (usize, (&'static str, &'static [&'static str]))> {
    PAGES
        .iter()
        .copied()
        .chain([("run", &STEERED[..])])
        .enumerate()
}

#[test]
fn a_page_has_its_plots_and_names_no_other_file() {
    let directory = pages();
    for (number, (line, plots)) in lines() {
        let page = fs::read_to_string(directory.path().join(format!("{number}.html"))).unwrap();
        for plot in plots {
            assert!(
                page.contains(&format!("aria-label=\"{plot}")),
                "{line}: no plot {plot}"
            );
        }
        assert!(page.contains("default-src 'none'"), "{line}");
        // What a browser would fetch: attributes of elements, imports and addresses of styles.
        let markup = page.split("<script").next().unwrap();
        for reference in [
            "src=", "href=", "<link", "@import", "url(", "<iframe", "<object",
        ] {
            assert!(!markup.contains(reference), "{line}: {reference}");
        }
    }
}

/// Returns what is wrong with a page after a browser has drawn it; nothing if all is well.
fn wrong(browser: &str, page: &Path) -> Option<String> {
    let profile = tempfile::tempdir().expect("a directory");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--v=0",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .expect("the browser runs");
    let logged = String::from_utf8_lossy(&output.stderr).into_owned();
    if let Some(line) = logged.lines().find(|line| line.contains(":CONSOLE")) {
        return Some(format!("the console says: {line}"));
    }
    let drawn = String::from_utf8_lossy(&output.stdout).into_owned();
    let canvases = drawn.matches("<canvas ").count();
    match canvases == 0 || drawn.contains(&format!("data-drawn=\"{canvases}\"")) {
        true => None,
        false => Some(format!("not all of {canvases} plots were drawn; {logged}")),
    }
}

#[test]
#[ignore = "needs Chromium; `make test-html` installs it and runs this"]
fn a_browser_draws_every_page_without_an_error() {
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let browser = BROWSERS.iter().find(works);
    let browser = browser.expect("no browser found; install chromium");
    let directory = pages();
    for (number, (line, _)) in lines() {
        let page = directory.path().join(format!("{number}.html"));
        assert_eq!(wrong(browser, &page), None, "{line}");
    }
    // The same check sees an error, a plot that is missing and a file that is fetched.
    let page = fs::read_to_string(directory.path().join("0.html")).unwrap();
    let broken = directory.path().join("broken.html");
    for (from, to, seen) in [
        ("new Chart(", "new Missing(", "the console says"),
        ("dataset.drawn", "dataset.other", "not all of"),
        (
            "<header>",
            "<header><img src=\"http://127.0.0.1:9/x.png\">",
            "the console says",
        ),
    ] {
        assert!(page.contains(from), "{from}");
        fs::write(&broken, page.replacen(from, to, 1)).unwrap();
        let found = wrong(browser, &broken).unwrap_or_else(|| panic!("`{to}` is not seen"));
        assert!(found.contains(seen), "{found}");
    }
}
