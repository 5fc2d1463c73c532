//! What a page fault costs beyond the device: trap, kernel path, copy, map, unmap, shoot-down.

use serde::{Deserialize, Serialize};
use terrace_base::{Error, Nanos, Result};

/// The clock of the machine of Oskin & Loh 2015 (II.C: Opteron 6168), in cycles a nanosecond.
const OSKIN_LOH_GHZ: f64 = 1.9;

/// The parts of a fault (Oskin & Loh 2015, V.A and figure 3), each for one page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultCost {
    /// The preset's name, or the cycles that were given.
    pub name: String,
    /// Into the kernel and back.
    pub trap: Nanos,
    /// The kernel's way to the device and back: only where the device is read.
    pub kernel: Nanos,
    /// Moving the data, or clearing a new page.
    pub copy: Nanos,
    /// Entering the page into the page table.
    pub map: Nanos,
    /// Taking an evicted page out of it.
    pub unmap: Nanos,
    /// Handing an evicted page to the device, where it is written for the first time: such pages
    /// are written one after the other.
    pub write_out: Nanos,
    /// The same where the tier had the page before: such pages go to places all over the tier.
    pub write_again: Nanos,
    /// Telling the other processors that an evicted page is gone.
    pub shootdown: Shootdown,
    /// Whether they are told of a page that was mapped as well, which is not needed, but what
    /// Linux was found to do (Oskin & Loh 2015, V.A).
    pub shootdown_on_map: bool,
    /// Handing a fault to the predictor, where there is one; nothing where another core watches,
    /// as live.
    pub prefetch: Nanos,
}

/// How the other processors' TLBs are told (Oskin & Loh 2015, V.A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shootdown {
    /// By an interrupt to each processor that runs a thread of the program.
    Interrupt,
    /// By a signal that microcode answers without entering the kernel.
    Hardware,
    /// For nothing: the cost is part of the others.
    Free,
}

/// Cycles of a shoot-down by interrupts, by the number of threads: about 2 K with two threads,
/// 11 K with 16 (Villavieja et al. 2011, as cited there), 25 K with 32 (their own measurement).
const INTERRUPT_CYCLES: [(u32, f64); 4] = [(1, 0.0), (2, 2_000.0), (16, 11_000.0), (32, 25_000.0)];

/// Cycles of the hardware-assisted way, at most: 377 for the shared structure, 1500 for sending
/// and processing, 300 for synchronization, all with 16 processors.
const HARDWARE_CYCLES: f64 = 377.0 + 1_500.0 + 300.0;

impl Shootdown {
    /// What one costs a program of `threads` threads. A single thread's own TLB costs nothing.
    pub fn cost(self, threads: u32) -> Nanos {
        match self {
            Self::Free => Nanos::ZERO,
            _ if threads <= 1 => Nanos::ZERO,
            Self::Hardware => cycles(HARDWARE_CYCLES),
            Self::Interrupt => cycles(interpolate(&INTERRUPT_CYCLES, threads)),
        }
    }
}

impl FaultCost {
    /// The presets' names and what they are.
    pub const PRESETS: [(&str, &str); 4] = [
        (
            "linux",
            "Linux 6 on a virtual machine, measured: 2.5 us a first touch, 9 us a swap-in beyond the device",
        ),
        (
            "oskin-loh",
            "Oskin & Loh 2015, figure 3: a cache in die-stacked DRAM kept by the kernel at 1.9 GHz",
        ),
        (
            "awad",
            "as linux, and 3.5 us for handing each fault to a predictor (Awad 2016, 5.3)",
        ),
        ("none", "nothing but the device"),
    ];

    /// A preset by name, or a number of cycles at 1.9 GHz for all of a fault, as in Oskin & Loh
    /// 2015, figure 2 (700 to 55,000).
    ///
    /// # Errors
    /// A usage error where it is neither.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "linux" => Ok(Self::linux()),
            "oskin-loh" => Ok(Self::oskin_loh()),
            "awad" => Ok(Self::awad()),
            "none" => Ok(Self::none()),
            _ => text.parse().map(Self::fixed).map_err(|_| {
                Error::usage(format!(
                    "`{text}` is no fault cost; there are: linux, oskin-loh, awad, none, or a number of cycles such as 2800"
                ))
            }),
        }
    }

    /// Linux 6.18 on a virtual machine of two processors. Measured: 2.5 us a first touch, 2.6 us
    /// the touch of a page in the swap cache, 62 us a fault of which the device has 53. How these
    /// sums split into parts is our estimate.
    pub fn linux() -> Self {
        Self {
            name: "linux".to_owned(),
            trap: Nanos(1_000),
            kernel: Nanos(6_000),
            copy: Nanos(500),
            map: Nanos(1_000),
            unmap: Nanos(500),
            write_out: Nanos::ZERO,
            write_again: Nanos::ZERO,
            shootdown: Shootdown::Interrupt,
            shootdown_on_map: false,
            prefetch: Nanos::ZERO,
        }
    }

    /// Oskin & Loh 2015: moving the data takes 13 to 55 K cycles divided by 20 to 80, some 680;
    /// with 32 threads two shoot-downs of 25 K leave 4.3 K of the 55 K for trap, map and unmap.
    /// How these split is our estimate.
    pub fn oskin_loh() -> Self {
        Self {
            name: "oskin-loh".to_owned(),
            trap: cycles(2_300.0),
            kernel: Nanos::ZERO,
            copy: cycles(680.0),
            map: cycles(1_000.0),
            unmap: cycles(1_000.0),
            write_out: Nanos::ZERO,
            write_again: Nanos::ZERO,
            shootdown: Shootdown::Interrupt,
            shootdown_on_map: true,
            prefetch: Nanos::ZERO,
        }
    }

    /// As [`FaultCost::linux`], with a predictor in the kernel: 3 to 4 us for submitting work to a
    /// kernel thread at each fault (Awad 2016, 5.3).
    pub fn awad() -> Self {
        Self {
            name: "awad".to_owned(),
            prefetch: Nanos(3_500),
            ..Self::linux()
        }
    }

    /// Nothing but the device: the part that a hardware-managed cache would have.
    pub fn none() -> Self {
        Self::fixed(0)
    }

    /// A fault of so many cycles at 1.9 GHz, whatever the threads.
    pub fn fixed(total: u32) -> Self {
        Self {
            name: if total == 0 {
                "none".to_owned()
            } else {
                format!("{total} cycles")
            },
            trap: cycles(f64::from(total)),
            kernel: Nanos::ZERO,
            copy: Nanos::ZERO,
            map: Nanos::ZERO,
            unmap: Nanos::ZERO,
            write_out: Nanos::ZERO,
            write_again: Nanos::ZERO,
            shootdown: Shootdown::Free,
            shootdown_on_map: false,
            prefetch: Nanos::ZERO,
        }
    }
}

/// Cycles of the machine of Oskin & Loh as time.
fn cycles(count: f64) -> Nanos {
    Nanos((count / OSKIN_LOH_GHZ).round() as u64)
}

/// The value at `x` on the line through `points`; the last slope goes on beyond them.
fn interpolate(points: &[(u32, f64)], x: u32) -> f64 {
    let right = points
        .iter()
        .position(|(at, _)| *at >= x)
        .unwrap_or(points.len() - 1)
        .max(1);
    let ((x0, y0), (x1, y1)) = (points[right - 1], points[right]);
    let (x, x0, x1) = (f64::from(x), f64::from(x0), f64::from(x1));
    y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shootdown_by_interrupts_grows_with_the_threads() {
        let cost = |threads| Shootdown::Interrupt.cost(threads);
        assert_eq!(cost(1), Nanos::ZERO);
        assert_eq!(cost(2), cycles(2_000.0));
        assert_eq!(cost(9), cycles(6_500.0));
        assert_eq!(cost(16), cycles(11_000.0));
        assert_eq!(cost(32), cycles(25_000.0));
        assert_eq!(cost(48), cycles(39_000.0));
    }

    /// Oskin & Loh 2015, V.A: below 2,500 cycles, whatever the threads.
    #[test]
    fn a_shootdown_in_microcode_does_not() {
        assert_eq!(Shootdown::Hardware.cost(1), Nanos::ZERO);
        assert_eq!(Shootdown::Hardware.cost(2), Shootdown::Hardware.cost(32));
        assert!(Shootdown::Hardware.cost(32) < cycles(2_500.0));
    }

    /// Oskin & Loh 2015, V.A: 13 to 55 thousand cycles. Theirs begins higher, for part of it is a
    /// handler in user mode.
    #[test]
    fn a_fault_of_the_paper_is_as_dear_as_the_paper_says() {
        let cost = FaultCost::oskin_loh();
        let fault = |threads| {
            let each = 1 + u64::from(cost.shootdown_on_map);
            let shootdowns = cost.shootdown.cost(threads) * each;
            (cost.trap + cost.copy + cost.map + cost.unmap + shootdowns).0 as f64 * OSKIN_LOH_GHZ
        };
        assert!((8_500.0..13_000.0).contains(&fault(2)), "{}", fault(2));
        assert!((54_000.0..56_000.0).contains(&fault(32)), "{}", fault(32));
    }

    #[test]
    fn presets_and_cycles_are_read() {
        for (name, _) in FaultCost::PRESETS {
            assert_eq!(FaultCost::parse(name).unwrap().name, name);
        }
        assert_eq!(FaultCost::parse("1900").unwrap().trap, Nanos(1_000));
        for text in ["", "-1", "fast", "1e9"] {
            assert!(FaultCost::parse(text).is_err(), "{text}");
        }
    }
}
