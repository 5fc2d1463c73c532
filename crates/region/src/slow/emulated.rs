//! An emulated memory: contents in DRAM, with the latency and the channels of a technology in real
//! time, on one device or on several.

use std::io;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use terrace_base::Nanos;
use terrace_device::{Class, Devices, Kind, Request, Timing};
use terrace_policy::write::{Contents, LINE_BYTES};

use super::{Buffer, Done, Read, Slow, Wait, Write};

/// What a place holds that was never written.
static ZEROS: Contents = [0; size_of::<Contents>()];

/// An emulated memory.
pub struct Emulated {
    began: Instant,
    devices: Devices,
    /// By place.
    places: Vec<Option<Box<Contents>>>,
    /// By ticket.
    under_way: FxHashMap<u32, Box<Buffer>>,
}

impl Emulated {
    /// Makes a memory of zeros with this timing, as large as needed.
    pub fn new(timing: Timing) -> Self {
        Self::of_devices(timing, 1)
    }

    /// Makes a memory of zeros on so many devices of this timing, at least one: places are on them
    /// in turn (Fedorov 2016, 5.5.2).
    pub fn of_devices(timing: Timing, devices: u32) -> Self {
        Self {
            began: Instant::now(),
            devices: Devices::new(timing, devices),
            places: Vec::new(),
            under_way: FxHashMap::default(),
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.began.elapsed().as_nanos() as u64)
    }

    /// Submits a request for a place of the memory to the device that has it.
    fn submit(&mut self, request: Request, buffer: Box<Buffer>) {
        let devices = self.devices.number() as u64;
        let device = (request.place % devices) as usize;
        let request = Request {
            place: request.place / devices,
            ..request
        };
        self.under_way.insert(request.id as u32, buffer);
        self.devices.submit(device, self.now(), request);
    }

    fn begin_read(&mut self, read: Read, class: Class) {
        let mut buffer = read.buffer;
        // No write of the place is under way, so that it holds the same at the end.
        buffer.0 = *self.holds(read.place).unwrap_or(&ZEROS);
        let request = Request {
            id: read.ticket.into(),
            kind: Kind::Read,
            class,
            place: read.place.into(),
            bytes: size_of::<Contents>() as u64,
        };
        self.submit(request, buffer);
    }

    fn place(&mut self, place: u32) -> &mut Contents {
        let at = place as usize;
        if self.places.len() <= at {
            self.places.resize_with(at + 1, || None);
        }
        self.places[at].get_or_insert_with(|| Box::new(ZEROS))
    }
}

impl Slow for Emulated {
    fn read(&mut self, ticket: u32, place: u32, buffer: Box<Buffer>) {
        let read = Read {
            ticket,
            place,
            buffer,
        };
        self.begin_read(read, Class::Demand);
    }

    fn read_ahead(&mut self, reads: Vec<Read>) {
        reads
            .into_iter()
            .for_each(|read| self.begin_read(read, Class::Prefetch));
    }

    fn promote(&mut self, ticket: u32) {
        self.devices.promote(ticket.into());
    }

    fn write(&mut self, ticket: u32, place: u32, write: Write) {
        let (new, _) = write.buffer.0.as_chunks::<LINE_BYTES>();
        let (old, _) = self.place(place).as_chunks_mut::<LINE_BYTES>();
        for (at, (old, new)) in old.iter_mut().zip(new).enumerate() {
            if write.lines >> at & 1 == 1 {
                *old = *new;
            }
        }
        let bytes = u64::from(write.lines.count_ones()) * LINE_BYTES as u64;
        let request = Request {
            id: ticket.into(),
            kind: Kind::Write,
            class: Class::Background,
            place: place.into(),
            bytes,
        };
        self.submit(request, write.buffer);
    }

    fn done(&mut self) -> Option<Done> {
        if self.devices.next_completion()? > self.now() {
            return None;
        }
        let ticket = self.devices.complete()?.request.id as u32;
        let buffer = self.under_way.remove(&ticket)?;
        let result = Ok(());
        Some(Done {
            ticket,
            buffer,
            result,
        })
    }

    fn wait(&self) -> Wait {
        let next = self.devices.next_completion();
        next.map_or(Wait::Idle, |at| {
            Wait::Until(self.began + Duration::from_nanos(at.0))
        })
    }

    fn holds(&self, place: u32) -> Option<&Contents> {
        let held = self.places.get(place as usize).and_then(Option::as_deref);
        Some(held.unwrap_or(&ZEROS))
    }

    /// The contents lie in memory of this process, which the kernel copies.
    fn share(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use terrace_device::{Deadlines, Order};

    use super::*;

    fn emulated(read: u64, channels: u32) -> Emulated {
        Emulated::new(Timing {
            read: Nanos(read),
            write: Nanos(0),
            channels,
            ..Timing::default()
        })
    }

    fn finished(memory: &mut Emulated) -> Done {
        loop {
            if let Some(done) = memory.done() {
                return done;
            }
        }
    }

    #[test]
    fn only_the_named_lines_are_written() {
        let mut memory = emulated(0, 1);
        let buffer = Box::new(Buffer([7; size_of::<Contents>()]));
        memory.write(
            0,
            3,
            Write {
                buffer,
                lines: 0b101,
            },
        );
        assert!(finished(&mut memory).result.is_ok());
        memory.read(1, 3, Buffer::zeroed());
        let held = finished(&mut memory).buffer;
        let filled = |at: usize| if at == 0 || at == 2 { 7 } else { 0 };
        let expected: Vec<u8> = (0..size_of::<Contents>())
            .map(|at| filled(at / 64))
            .collect();
        assert_eq!(held.0[..], expected);
        assert_eq!(memory.holds(9), Some(&ZEROS));
    }

    #[test]
    fn a_transfer_takes_its_time_and_waits_for_its_channel() {
        let millisecond = 1_000_000;
        let mut memory = emulated(millisecond, 1);
        let began = Instant::now();
        memory.read(0, 0, Buffer::zeroed());
        memory.read(1, 1, Buffer::zeroed());
        assert!(matches!(memory.wait(), Wait::Until(_)));
        assert_eq!(finished(&mut memory).ticket, 0);
        assert!(began.elapsed() >= Duration::from_millis(1));
        assert_eq!(finished(&mut memory).ticket, 1);
        assert!(began.elapsed() >= Duration::from_millis(2));
        assert_eq!(memory.wait(), Wait::Idle);
    }

    /// Of two devices, one has the even places and one the odd ones.
    #[test]
    fn devices_serve_places_in_turn() {
        let timing = Timing {
            read: Nanos(20_000_000),
            channels: 1,
            ..Timing::default()
        };
        let mut memory = Emulated::of_devices(timing, 2);
        let began = Instant::now();
        for (ticket, place) in [(0, 4), (1, 6), (2, 5)] {
            memory.read(ticket, place, Buffer::zeroed());
        }
        let tickets = [(); 3].map(|()| finished(&mut memory).ticket);
        // The second read of the even places waits for the first.
        assert_eq!((tickets[0].min(tickets[1]), tickets[2]), (0, 1));
        assert!(began.elapsed() >= Duration::from_millis(40));
        assert_eq!(memory.wait(), Wait::Idle);
    }

    #[test]
    fn a_read_ahead_goes_first_once_a_thread_waits_for_it() {
        let mut memory = Emulated::new(Timing {
            read: Nanos(5_000_000),
            channels: 1,
            order: Order::Deadline(Deadlines::default()),
            ..Timing::default()
        });
        let read = |ticket| Read {
            ticket,
            place: ticket,
            buffer: Buffer::zeroed(),
        };
        memory.read_ahead(vec![read(0), read(1), read(2)]);
        memory.read(3, 3, Buffer::zeroed());
        memory.promote(2);
        let tickets = [(); 4].map(|()| finished(&mut memory).ticket);
        assert_eq!(tickets, [0, 3, 2, 1]);
    }
}
