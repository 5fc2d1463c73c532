//! Recordings of a mount's requests.

use terrace_trace::access::Columns;

use super::*;

/// A draw from 0 to `most`, of small numbers more often.
fn skewed(draw: &mut u64, most: u64) -> u64 {
    *draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let (high, low) = (*draw >> 48, *draw >> 32 & 0xffff);
    high * low % (most * 3) % most
}

/// One policy, two drivers: the levels of the mount, and those of a simulation of what it has
/// recorded.
#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn a_simulation_of_the_recorded_requests_counts_the_same_hits() {
    let place = Place::new();
    let contents = place.file("a", 4 * MIB);
    let trace = place.text("files.parquet");
    let exact = ["--mode", "exact", "--dram", "1M", "--record", &trace];
    let mount = place.mount(&exact);
    let path = place.path("mounted").join("a");
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut draw = 1;
    for at in 1..=6000 {
        let page = skewed(&mut draw, 1024);
        if at % 200 == 0 {
            file.write_all_at(&contents[..5000], page % 1000 * 4096)
                .unwrap();
            std::thread::sleep(SETTLED);
        }
        file.read_exact_at(&mut [0; 4096], page * 4096).unwrap();
    }
    drop(file);
    let (figures, _) = mount.end(Signal::TERM);
    let levels = ["--dram", "1M", "--flash-size", "64M", "--admission", "all"];
    let options = [
        &["sim", "files", "--json=-", "--writes", "around"][..],
        &levels,
        &[&trace],
    ];
    let simulated = place.terrace(&options.concat());
    assert!(simulated.status.success(), "{}", text(&simulated));
    let simulated = checked(serde_json::from_slice(&simulated.stdout).unwrap());
    let run = |name: &str| simulated["runs"][0][name].as_u64().unwrap();
    assert_eq!((run("requests"), run("reads")), (6030, 6000));
    assert_eq!(run("dram_hits"), figure(&figures, "dram_hits"), "DRAM");
    assert_eq!(run("flash_hits"), figure(&figures, "flash/hits"), "flash");
    assert_eq!(
        run("flash_writes"),
        figure(&figures, "flash/admitted"),
        "to flash"
    );
    assert!(
        run("dram_hits") > 500 && run("flash_hits") > 500,
        "{simulated}"
    );
}

#[test]
#[ignore = "needs /dev/fuse and root; run by make test-root"]
fn recordings_show_what_the_kernel_reads_ahead() {
    let place = Place::new();
    let contents = place.file("a", MIB);
    let trace = place.path("files.parquet");
    let mount = place.mount(&["--record", &place.text("files.parquet")]);
    let file = File::open(place.path("mounted").join("a")).unwrap();
    for at in 0..64 {
        file.read_exact_at(&mut [0; 4096], at * 4096).unwrap();
    }
    fs::write(place.path("mounted").join("b"), &contents[..10_000]).unwrap();
    drop(file);
    mount.end(Signal::INT);
    let mut source = terrace_trace::open(&trace, Columns::ALL).unwrap();
    let mut block = terrace_trace::Block::default();
    let (mut read, mut written, mut largest) = (0, 0, 0);
    while source.next_block(&mut block).unwrap() {
        for (size, write) in block.size.iter().zip(&block.write) {
            *if *write { &mut written } else { &mut read } += size;
            largest = largest.max(*size);
        }
    }
    assert_eq!(written, 10_000);
    assert!(read >= 64 * 4096 && largest > 4096, "{read} {largest}");
}
