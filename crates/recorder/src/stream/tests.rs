use super::*;
use crate::level::Level;
use crate::pool::RecordSettings;
use crate::record::Said;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    address: u64,
    bytes: u32,
    write: bool,
    ip: u64,
    instruction: u64,
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let step =
        prop_oneof![4 => 0..9_u64, 1 => 65_000..70_000_u64, 1 => any::<u32>().prop_map(u64::from)];
    let row = (
        0..20_000_u64,
        1..=64_u32,
        any::<bool>(),
        0..1_u64 << 47,
        step,
    );
    prop::collection::vec(row, 0..400).prop_map(|rows| {
        let mut instruction = 0;
        let row = rows.into_iter().map(|(address, bytes, write, ip, step)| {
            instruction += step;
            Row {
                address,
                bytes,
                write,
                ip,
                instruction,
            }
        });
        row.collect()
    })
}

fn pool(level: Level, filtered: bool) -> Pool {
    Pool::create(RecordSettings {
        level,
        filtered,
        ..RecordSettings::default()
    })
    .unwrap()
}

/// Takes all chunks that are ready.
fn drained(pool: &Pool) -> Vec<Row> {
    let mut rows = Vec::new();
    for index in pool.ready() {
        let chunk = pool.chunk(index);
        let mut instruction = chunk.instruction();
        for record in chunk.records() {
            match record.said() {
                Said::Instruction(count) => instruction = count,
                said @ (Said::Word { .. }
                | Said::Reported { .. }
                | Said::Discard { .. }
                | Said::Frame(_)
                | Said::Allocated { .. }
                | Said::Freed { .. }
                | Said::Order(_)
                | Said::Depends(_)) => unreachable!("nothing but accesses is told: {said:?}"),
                Said::Access {
                    address,
                    kind,
                    ip,
                    step,
                } => {
                    instruction += step;
                    rows.push(Row {
                        address,
                        bytes: kind.bytes(),
                        write: kind.write(),
                        ip,
                        instruction,
                    });
                }
            }
        }
        pool.release(index);
    }
    rows
}

fn passed<'a>(
    rows: &[Row],
    pool: &'a Pool,
    pass: impl Fn(&mut Stream<'a>, u64, Kind, Origin),
) -> Vec<Row> {
    let mut stream = Stream::new(pool, 0, None, None);
    for row in rows {
        let origin = Origin {
            ip: row.ip,
            instruction: row.instruction,
        };
        let kind = Kind::new(row.bytes, row.write);
        pass(&mut stream, row.address, kind, origin);
    }
    stream.publish();
    drained(pool)
}

/// Runs of bytes of one unit, found byte by byte.
fn joined(rows: &[Row], shift: u32) -> Vec<Row> {
    let mut joined: Vec<Row> = Vec::new();
    for row in rows {
        let mut own = false; // whether the last row of `joined` is a piece of this one
        for byte in (0..u64::from(row.bytes)).map(|at| row.address + at) {
            match joined.last_mut() {
                Some(last) if last.address >> shift == byte >> shift => {
                    last.write |= row.write;
                    last.bytes += u32::from(own);
                }
                _ => {
                    let address = byte;
                    joined.push(Row {
                        address,
                        bytes: 1,
                        ..*row
                    });
                    own = true;
                }
            }
        }
    }
    joined
}

#[test]
fn chunks_follow_each_other() {
    let pool = pool(Level::Accesses, false);
    let row = |n: u64| Row {
        address: n,
        bytes: 8,
        write: n.is_multiple_of(3),
        ip: n + 1,
        // Every 1000th needs a mark, also at the end of a chunk.
        instruction: n + n / 1000 * 100_000,
    };
    let rows: Vec<_> = (0..100_000).map(row).collect();
    assert_eq!(passed(&rows, &pool, Stream::row::<0>), rows);
}

#[test]
fn a_mark_may_fill_a_chunk() {
    use crate::pool::RECORDS;
    for at in RECORDS - 3..RECORDS + 3 {
        let pool = pool(Level::Accesses, false);
        let row = |n: usize| Row {
            address: n as u64,
            bytes: 1,
            write: false,
            ip: 0,
            instruction: if n < at { 0 } else { 1 << 40 },
        };
        let rows: Vec<_> = (0..RECORDS + 10).map(row).collect();
        assert_eq!(passed(&rows, &pool, Stream::row::<0>), rows, "{at}");
    }
}

#[test]
fn a_run_that_is_handed_over_is_not_changed_any_more() {
    let pool = pool(Level::Lines, false);
    let mut stream = Stream::new(&pool, 0, None, None);
    let origin = Origin {
        ip: 0,
        instruction: 0,
    };
    stream.row::<6>(0, Kind::new(8, false), origin);
    stream.publish();
    stream.row::<6>(0, Kind::new(8, true), origin);
    stream.publish();
    let writes: Vec<_> = drained(&pool).iter().map(|row| row.write).collect();
    assert_eq!(writes, [false, true]);
}

/// A page that is touched, given back and touched again is two rows; what is given back may fill a
/// chunk.
#[test]
fn what_is_given_back_ends_a_run() {
    use crate::pool::RECORDS;
    for before in [1, RECORDS - 1, RECORDS, RECORDS + 1] {
        let pool = pool(Level::Pages, false);
        let mut stream = Stream::new(&pool, 0, None, None);
        let touch = |stream: &mut Stream<'_>, page: u64, write: bool| {
            let origin = Origin {
                ip: 0,
                instruction: 0,
            };
            stream.row::<12>(page << 12, Kind::new(8, write), origin);
        };
        (0..before as u64).for_each(|page| touch(&mut stream, page, false));
        stream.discard(&(0..0));
        stream.discard(&(7..9));
        touch(&mut stream, before as u64 - 1, true);
        stream.publish();
        let records: Vec<_> = pool
            .ready()
            .into_iter()
            .flat_map(|index| pool.chunk(index).records())
            .collect();
        let given_back = records
            .iter()
            .position(|record| matches!(record.said(), Said::Discard { page: 7, pages: 2 }));
        assert_eq!(given_back, Some(before));
        assert_eq!(records.len(), before + 2);
    }
}

const PAGES: usize = 3;
const BYTES: usize = 4096;

/// Memory that is recorded: pages of this process, as the base is 0 outside of QEMU.
#[repr(C, align(4096))]
struct Recorded([[u8; BYTES]; PAGES]);

/// By row: the address of its page, and whether that is told to hold zeros.
fn told(pool: &Pool) -> Vec<(u64, bool)> {
    let mut rows = Vec::new();
    for index in pool.ready() {
        let records = pool.chunk(index).records();
        rows.extend(records.filter_map(|record| match record.said() {
            Said::Access { address, kind, .. } => Some((address & !4095, kind.zeros())),
            _ => None,
        }));
    }
    rows
}

/// Rows before and behind the end of a chunk, in which a mark may be the last record.
#[test]
fn the_last_row_of_a_chunk_says_of_its_own_page_whether_it_holds_zeros() {
    use crate::pool::RECORDS;
    for at in RECORDS - 3..RECORDS + 3 {
        let pool = pool(Level::Pages, false);
        let (zeros, mut memory) = (Zeros::default(), Box::new(Recorded([[0; BYTES]; PAGES])));
        memory.0[1][4000] = 1;
        let first = (&raw const *memory) as u64;
        let mut stream = Stream::new(&pool, 0, None, Some(&zeros));
        for n in 0..RECORDS + 10 {
            let address = first + (n % 2 * BYTES) as u64;
            let instruction = if n < at { 0 } else { 1 << 40 };
            let origin = Origin { ip: 0, instruction };
            stream.row::<12>(address, Kind::new(8, true), origin);
        }
        stream.publish();
        let rows = (0..RECORDS + 10).map(|n| (first + (n % 2 * BYTES) as u64, n % 2 == 0));
        assert_eq!(told(&pool), rows.collect::<Vec<_>>(), "{at}");
    }
}

#[test]
fn a_page_that_is_gone_holds_no_zeros() {
    let pool = pool(Level::Pages, false);
    let zeros = Zeros::default();
    let mut stream = Stream::new(&pool, 0, None, Some(&zeros));
    let mapped = crate::mapping::zeros(2 * BYTES).unwrap();
    let address = mapped as u64;
    let origin = Origin {
        ip: 0,
        instruction: 0,
    };
    stream.row::<12>(address, Kind::new(8, false), origin);
    stream.row::<12>(address + 4096, Kind::new(8, false), origin);
    // What is told ends the row, whose page is there.
    stream.discard(&(7..8));
    stream.row::<12>(address + 4096, Kind::new(8, false), origin);
    // SAFETY: mapped above with this size, and used no more.
    unsafe { libc::munmap(mapped, 2 * BYTES) };
    stream.discard(&(address >> 12..(address >> 12) + 2));
    stream.publish();
    let (first, second) = (address, address + 4096);
    let rows = [(first, true), (second, true), (second, false)];
    assert_eq!(told(&pool), rows);
}

proptest! {
    #[test]
    fn every_access_is_a_row(rows in rows()) {
        let pool = pool(Level::Accesses, false);
        prop_assert_eq!(passed(&rows, &pool, Stream::row::<0>), rows);
    }

    /// Runs of stores and loads of single bytes, and changes of memory by other means: each row
    /// says what its page holds when the next one begins.
    #[test]
    fn a_row_says_whether_its_run_leaves_zeros(
        steps in prop::collection::vec(
            (0..PAGES, prop::option::of(0..BYTES), 0..BYTES, prop::option::of(0..2_u8), any::<bool>()), 0..300,
        ),
    ) {
        let pool = pool(Level::Pages, false);
        let (zeros, mut memory) = (Zeros::default(), Box::new(Recorded([[0; BYTES]; PAGES])));
        let first = (&raw const *memory) as u64;
        let mut stream = Stream::new(&pool, 0, None, Some(&zeros));
        let (mut rows, mut last): (Vec<(u64, bool)>, _) = (Vec::new(), None);
        for (page, other, place, value, clears) in steps {
            let address = first + (page * BYTES) as u64;
            if last != Some(page) {
                rows.push((address, false));
                last = Some(page);
            }
            let origin = Origin { ip: 0, instruction: 0 };
            let kind = Kind::new(1, value.is_some());
            stream.row::<12>(address + place as u64, kind, origin);
            // The access is made after it was recorded.
            if let Some(value) = value {
                memory.0[page][place] = value;
            }
            if let Some(other) = other {
                memory.0[page][other] = u8::from(!clears);
            }
            if clears {
                memory.0[page].fill(0);
            }
            let row = rows.last_mut().unwrap();
            row.1 = memory.0[page].iter().all(|byte| *byte == 0);
        }
        stream.publish();
        prop_assert_eq!(told(&pool), rows);
    }

    #[test]
    fn runs_are_joined(rows in rows()) {
        let pool = pool(Level::Lines, false);
        prop_assert_eq!(passed(&rows, &pool, Stream::row::<6>), joined(&rows, 6));
        prop_assert_eq!(passed(&rows, &pool, Stream::row::<12>), joined(&rows, 12));
    }

    #[test]
    fn the_caches_filter(rows in rows()) {
        let pool = pool(Level::Accesses, true);
        let mut caches = Caches::default();
        let mut slow = Vec::new();
        for row in &rows {
            let last = row.address + u64::from(row.bytes) - 1;
            for line in row.address / 64..=last / 64 {
                caches.touch(line, row.write, |line, write| slow.push(Row {
                    address: line * 64,
                    bytes: 64,
                    write,
                    ip: if write { 0 } else { row.ip },
                    instruction: row.instruction,
                }));
            }
        }
        prop_assert_eq!(passed(&rows, &pool, Stream::filter::<0>), slow);
    }
}
