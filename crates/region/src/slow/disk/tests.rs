use super::*;

fn finished(disk: &mut Disk) -> Done {
    loop {
        if let Some(done) = disk.done() {
            return done;
        }
    }
}

fn both_engines() -> [Disk; 2] {
    [false, true].map(|calls| {
        let mut disk = Disk::in_directory(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        if calls {
            disk.engine = Engine::Calls;
        }
        disk
    })
}

#[test]
fn what_is_written_is_read_and_other_blocks_stay() {
    for mut disk in both_engines() {
        for (filled, lines) in [(7, u64::MAX), (9, 0b1)] {
            let buffer = Box::new(Buffer([filled; PAGE_SIZE]));
            disk.write(1, 5, Write { buffer, lines });
            assert!(finished(&mut disk).result.is_ok());
        }
        for ticket in 0..200 {
            disk.read(ticket, 5, Buffer::zeroed());
        }
        let block = disk.block;
        for _ in 0..200 {
            let done = finished(&mut disk);
            assert!(done.result.is_ok());
            assert!(done.buffer.0[..block].iter().all(|byte| *byte == 9));
            assert!(done.buffer.0[block..].iter().all(|byte| *byte == 7));
        }
    }
}

#[test]
fn neighbours_are_read_as_single_pages_are() {
    for mut disk in both_engines() {
        for place in 0..100 {
            let buffer = Box::new(Buffer([place as u8; PAGE_SIZE]));
            let lines = u64::MAX;
            disk.write(place, place, Write { buffer, lines });
            assert!(finished(&mut disk).result.is_ok());
        }
        // The last places lie behind the end of the file.
        let beyond = (crate::slow::layers::STEP / PAGE_BYTES) as u32 - 2;
        let places = (3..90).chain([95, 97, 98]).chain(beyond..beyond + 5);
        let reads = places.map(|place| Read {
            ticket: place,
            place,
            buffer: Buffer::zeroed(),
        });
        let reads: Vec<_> = reads.collect();
        let number = reads.len();
        disk.read_ahead(reads);
        for _ in 0..number {
            let done = finished(&mut disk);
            assert_eq!(done.result.is_ok(), done.ticket < beyond + 2);
            if done.ticket < 100 {
                assert!(done.buffer.0.iter().all(|byte| *byte == done.ticket as u8));
            }
        }
        assert!(disk.done().is_none() && disk.rows.is_empty());
    }
}

/// Begun before the end of any is asked for, so that neighbours are gathered.
#[test]
fn neighbours_are_written_as_single_pages_are() {
    for mut disk in both_engines() {
        let places = (3..90).rev().step_by(9).flat_map(|last| last - 5..last);
        let places: Vec<u32> = places.chain(100..180).chain([400]).collect();
        for (ticket, place) in places.iter().enumerate() {
            let buffer = Box::new(Buffer([*place as u8; PAGE_SIZE]));
            // Some are written in part alone, and hold nothing else.
            let lines = if place % 31 == 5 { 0b1 } else { u64::MAX };
            disk.write(ticket as u32, *place, Write { buffer, lines });
        }
        let mut tickets: Vec<u32> = Vec::new();
        for _ in &places {
            let done = finished(&mut disk);
            assert!(done.result.is_ok());
            assert!(done.buffer.0[0] == places[done.ticket as usize] as u8);
            tickets.push(done.ticket);
        }
        tickets.sort_unstable();
        assert!(tickets.into_iter().eq(0..places.len() as u32));
        for place in places {
            disk.read(place, place, Buffer::zeroed());
            let done = finished(&mut disk);
            let written = if place % 31 == 5 {
                disk.block
            } else {
                PAGE_SIZE
            };
            assert!(done.result.is_ok());
            assert!(
                done.buffer.0[..written]
                    .iter()
                    .all(|byte| *byte == place as u8)
            );
        }
        assert!(disk.done().is_none() && disk.rows.is_empty());
    }
}

/// A row that fails is written page by page, and those fail that cannot be written.
#[test]
fn of_neighbours_those_fail_that_cannot_be_written() {
    for mut disk in both_engines() {
        let length = 20 * PAGE_BYTES;
        disk.layers = Layers::new(sealed(length), None);
        for place in 0..30 {
            let buffer = Box::new(Buffer([7; PAGE_SIZE]));
            let lines = u64::MAX;
            disk.write(place, place, Write { buffer, lines });
        }
        for _ in 0..30 {
            let done = finished(&mut disk);
            assert_eq!(done.result.is_ok(), done.ticket < 20, "{}", done.ticket);
        }
    }
}

/// Returns a file in memory that cannot grow.
fn sealed(length: u64) -> File {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let file = memfd_create("sealed", MemfdFlags::ALLOW_SEALING).unwrap();
    let file = File::from(file);
    file.set_len(length).unwrap();
    fcntl_add_seals(&file, SealFlags::GROW).unwrap();
    file
}

#[test]
fn a_place_of_which_a_part_was_written_is_read() {
    for mut disk in both_engines() {
        let buffer = Box::new(Buffer([7; PAGE_SIZE]));
        disk.write(1, 9, Write { buffer, lines: 1 });
        assert!(finished(&mut disk).result.is_ok());
        disk.read(1, 9, Buffer::zeroed());
        let done = finished(&mut disk);
        assert!(done.result.is_ok() && done.buffer.0[0] == 7);
    }
}

#[test]
fn a_read_beyond_the_end_fails() {
    for mut disk in both_engines() {
        disk.read(1, 5, Buffer::zeroed());
        assert!(finished(&mut disk).result.is_err());
    }
}
