//! How many requests a second the queue takes: `cargo bench -p terrace-device`.
//!
//! Batches of requests of all classes against a device that is behind most of the time; every
//! 16th is promoted, every 32nd cancelled. Median and spread of nine rounds.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use terrace_base::Nanos;
use terrace_device::{Class, Deadlines, Kind, Order, Queue, Request, Timing};

const REQUESTS: u64 = 4_000_000;

fn main() {
    let orders = [
        ("plain", Order::Plain),
        ("round-robin", Order::RoundRobin),
        ("elevator", Order::Elevator),
        ("deadline", Order::Deadline(Deadlines::default())),
    ];
    for (name, order) in orders {
        let mut rates: Vec<_> = (0..9).map(|_| round(order)).collect();
        rates.sort_by(f64::total_cmp);
        let _ = writeln!(
            std::io::stdout(),
            "{name:12} {:5.1} M requests/s ({:.1} to {:.1})",
            rates[4],
            rates[0],
            rates[8]
        );
    }
}

/// Millions of requests a second.
fn round(order: Order) -> f64 {
    let mut queue = Queue::new(Timing {
        read: Nanos(10_000),
        write: Nanos(25_000),
        channels: 10,
        bandwidth: Some(5_000_000_000),
        order,
    });
    let began = Instant::now();
    let mut now = Nanos::ZERO;
    for id in 0..REQUESTS {
        // Sixty-four arrive together, then the device has time for about as many.
        if id % 64 == 0 {
            now += Nanos(110_000);
        }
        while let Some(ended) = queue.complete(now) {
            black_box(ended);
        }
        queue.submit(now, request(id));
        if id % 16 == 0 {
            queue.promote(id.saturating_sub(8));
        }
        if id % 32 == 0 {
            queue.cancel(id.saturating_sub(3));
        }
    }
    REQUESTS as f64 / began.elapsed().as_secs_f64() / 1e6
}

fn request(id: u64) -> Request {
    let (kind, class) = match id % 4 {
        0 => (Kind::Read, Class::Demand),
        1 | 2 => (Kind::Read, Class::Prefetch),
        _ => (Kind::Write, Class::Background),
    };
    Request {
        id,
        kind,
        class,
        // Places come in no order.
        place: id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44,
        bytes: 4096,
    }
}
