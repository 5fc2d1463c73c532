//! Costs of a page fault beyond the device: trap, kernel path, copy, map, unmap, shoot-down.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::{Error, Nanos, Result};

use crate::named::named;

/// Clock of the machine of Oskin & Loh 2015 (II.C: Opteron 6168), in cycles per nanosecond.
const OSKIN_LOH_GHZ: f64 = 1.9;

/// Costs of the parts of a fault on one page (Oskin & Loh 2015, V.A and figure 3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultCost {
    /// Name of the preset, or the number of cycles that was given.
    pub name: String,
    /// Entering and leaving the kernel.
    pub trap: Nanos,
    /// Kernel path to the device and back, paid only where the device is read.
    pub kernel: Nanos,
    /// Copying the data, or clearing a new page.
    pub copy: Nanos,
    /// Entering the page into the page table.
    pub map: Nanos,
    /// Removing an evicted page from the page table.
    pub unmap: Nanos,
    /// Handing an evicted page to the device where it has no copy in the tier: new copies are
    /// written sequentially.
    pub write_out: Nanos,
    /// Handing an evicted page to the device where it replaces an old copy in the tier: such writes
    /// are scattered over the tier.
    pub write_again: Nanos,
    /// Shoot-down of the TLB entries of an evicted page on the other processors.
    pub shootdown: Shootdown,
    /// Whether mapping a page costs a shoot-down as well. It is not needed, but Linux was found to
    /// do it (Oskin & Loh 2015, V.A).
    pub shootdown_on_map: bool,
    /// Handing a fault to the predictor, if there is one; zero where the predictor runs on another
    /// core, as it does live.
    pub prefetch: Nanos,
    /// Making room for a page that readahead fetches beside that of a fault, and handing it to the
    /// device; zero in the presets, for which it was not measured.
    #[serde(default)]
    pub readahead: Nanos,
}

named! {
    /// Mechanism of a TLB shoot-down (Oskin & Loh 2015, V.A).
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Shootdown {
        /// Interrupts to each processor that runs a thread of the program.
        Interrupt = "interrupt",
        /// A signal that microcode answers without entering the kernel.
        Hardware = "hardware",
        /// Interrupts, once for all pages that move at the same moment.
        Batched = "batched",
        /// No cost of its own: it is part of the other costs.
        #[default]
        Free = "free",
    }
}

/// Cycles of a shoot-down by interrupts, by the number of threads: about 2 K with 2 threads, 11 K
/// with 16 (Villavieja et al. 2011, as cited by Oskin & Loh), 23 K with 32. Oskin & Loh say «~25 K»
/// of 32, and 13 K to 55 K of a whole fault with two shoot-downs: these ends are 21 K a shoot-down
/// apart.
const INTERRUPT_CYCLES: [(u32, f64); 4] = [(1, 0.0), (2, 2_000.0), (16, 11_000.0), (32, 23_000.0)];

/// Upper bound of the cycles of a hardware-assisted shoot-down: 377 for the shared structure, 1500
/// for sending and processing, 300 for synchronization, all with 16 processors.
const HARDWARE_CYCLES: f64 = 377.0 + 1_500.0 + 300.0;

impl Shootdown {
    /// Returns the cost of a shoot-down in a program of `threads` threads: zero for a single
    /// thread.
    pub fn cost(self, threads: u32) -> Nanos {
        match self {
            Self::Free => Nanos::ZERO,
            _ if threads <= 1 => Nanos::ZERO,
            Self::Hardware => cycles(HARDWARE_CYCLES),
            Self::Interrupt | Self::Batched => cycles(interpolate(&INTERRUPT_CYCLES, threads)),
        }
    }
}

/// Name and description of a preset, and its constructor.
type Preset = (&'static str, &'static str, fn() -> FaultCost);

impl FaultCost {
    /// Presets.
    pub const PRESETS: [Preset; 5] = [
        (
            "linux",
            "Linux 6 on a virtual machine, measured: 2.5 us a first touch, 9 us a swap-in beyond the device",
            Self::linux,
        ),
        (
            "oskin-loh",
            "Oskin & Loh 2015, figure 3: a cache in die-stacked DRAM kept by the kernel at 1.9 GHz",
            Self::oskin_loh,
        ),
        (
            "awad",
            "as linux, and 3.5 us for handing each fault to a predictor (Awad 2016, 5.3)",
            Self::awad,
        ),
        (
            "fedorov",
            "as linux, but 33 us a swap-in beyond the device: Linux 3.13, derived (Fedorov 2016, 5.5)",
            Self::fedorov,
        ),
        ("none", "nothing but the device", Self::none),
    ];

    /// Reads the name of a preset, or a number of cycles at 1.9 GHz for a whole fault, as in Oskin
    /// & Loh 2015, figure 2 (700 to 55,000).
    ///
    /// # Errors
    /// A usage error where the text is neither.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some((_, _, preset)) = Self::PRESETS.iter().find(|(name, ..)| *name == text) {
            return Ok(preset());
        }
        text.parse().map(Self::fixed).map_err(|_| {
            let names = Self::PRESETS.map(|(name, ..)| name).join(", ");
            Error::usage(format!(
                "`{text}` is no fault cost; there are: {names}, or a number of cycles such as 2800"
            ))
        })
    }

    /// Returns the costs of Linux 6.18 on a virtual machine of two processors. Measured: 2.5 us per
    /// first touch, 2.6 us per touch of a page in the swap cache, 62 us per fault, of which the
    /// device takes 53 us. The split of these sums into parts is our estimate.
    pub fn linux() -> Self {
        Self {
            name: "linux".to_owned(),
            trap: Nanos(1_000),
            kernel: Nanos(6_000),
            copy: Nanos(500),
            map: Nanos(1_000),
            unmap: Nanos(500),
            shootdown: Shootdown::Interrupt,
            ..Self::default()
        }
    }

    /// Returns the costs of Oskin & Loh 2015: moving the data takes 13 to 55 K cycles divided by 20
    /// to 80, about 680; two shoot-downs leave 8.3 K of the 13 K with 2 threads, and of the 55 K
    /// with 32, for trap, map and unmap, whose handler is in user mode, at four switches of mode
    /// more. The split of these 8.3 K is our estimate.
    pub fn oskin_loh() -> Self {
        Self {
            name: "oskin-loh".to_owned(),
            trap: cycles(6_320.0),
            copy: cycles(680.0),
            map: cycles(1_000.0),
            unmap: cycles(1_000.0),
            shootdown: Shootdown::Interrupt,
            shootdown_on_map: true,
            ..Self::default()
        }
    }

    /// Returns the costs of [`FaultCost::linux`] with a predictor in the kernel: each fault takes 3
    /// to 4 us to submit work to a kernel thread (Awad 2016, 5.3).
    pub fn awad() -> Self {
        Self {
            name: "awad".to_owned(),
            prefetch: Nanos(3_500),
            ..Self::linux()
        }
    }

    /// Returns the costs of [`FaultCost::linux`] with the kernel path of Linux 3.13 and its
    /// emulated devices: 33 us a swap-in beyond the device. Derived from two averages: DRAM alone
    /// would save 34 % of the time with devices of 50 us, and 21 % with devices of 10 us (Fedorov
    /// 2016, 5.5.2 and 5.5.3.1). If a fault takes x beside the device, (x + 50) / (x + 10) is (34 /
    /// 66) / (21 / 79), so that x is 32.6 us. That all of it is the path to the device is our
    /// assumption.
    pub fn fedorov() -> Self {
        Self {
            name: "fedorov".to_owned(),
            kernel: Nanos(30_000),
            ..Self::linux()
        }
    }

    /// Returns zero costs: a fault takes only the time of the device, as with a hardware-managed
    /// cache.
    pub fn none() -> Self {
        Self::fixed(0)
    }

    /// Returns the costs of a fault of `total` cycles at 1.9 GHz, independent of the number of
    /// threads.
    pub fn fixed(total: u32) -> Self {
        Self {
            name: match total {
                0 => "none".to_owned(),
                _ => format!("{total} cycles"),
            },
            trap: cycles(total.into()),
            ..Self::default()
        }
    }
}

/// Converts cycles of the machine of Oskin & Loh to time.
fn cycles(count: f64) -> Nanos {
    Nanos((count / OSKIN_LOH_GHZ).round() as u64)
}

/// Interpolates `points` linearly at `x`; the last slope continues beyond the last point.
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
        assert_eq!(cost(32), cycles(23_000.0));
        assert_eq!(cost(48), cycles(35_000.0));
    }

    /// Oskin & Loh 2015, V.A: below 2,500 cycles for any number of threads.
    #[test]
    fn a_shootdown_in_microcode_does_not() {
        assert_eq!(Shootdown::Hardware.cost(1), Nanos::ZERO);
        assert_eq!(Shootdown::Hardware.cost(2), Shootdown::Hardware.cost(32));
        assert!(Shootdown::Hardware.cost(32) < cycles(2_500.0));
    }

    /// Oskin & Loh 2015, V.A: 13,000 cycles with 2 threads and 55,000 with 32.
    #[test]
    fn a_fault_of_the_paper_is_as_dear_as_the_paper_says() {
        let cost = FaultCost::oskin_loh();
        let fault = |threads| {
            let each = 1 + u64::from(cost.shootdown_on_map);
            let shootdowns = cost.shootdown.cost(threads) * each;
            (cost.trap + cost.copy + cost.map + cost.unmap + shootdowns).0 as f64 * OSKIN_LOH_GHZ
        };
        assert!((fault(2) / 13_000.0 - 1.0).abs() < 0.001, "{}", fault(2));
        assert!((fault(32) / 55_000.0 - 1.0).abs() < 0.001, "{}", fault(32));
    }

    /// Fedorov 2016, 5.5.2 and 5.5.3.1: where DRAM alone saves 34 % with devices of 50 us, it saves
    /// 21 % with devices of 10 us.
    #[test]
    fn a_fault_of_linux_3_13_explains_the_savings_with_both_devices() {
        let cost = FaultCost::fedorov();
        let own = (cost.trap + cost.kernel + cost.copy + cost.map + cost.unmap).0 as f64 / 1000.0;
        let between_faults = (own + 50.0) * 66.0 / 34.0;
        let saved = (own + 10.0) / (own + 10.0 + between_faults);
        assert!((saved - 0.21).abs() < 0.005, "{saved}");
    }

    #[test]
    fn presets_and_cycles_are_read() {
        for (name, ..) in FaultCost::PRESETS {
            assert_eq!(FaultCost::parse(name).unwrap().name, name);
        }
        assert_eq!(FaultCost::parse("1900").unwrap().trap, Nanos(1_000));
        for text in ["", "-1", "fast", "1e9"] {
            assert!(FaultCost::parse(text).is_err(), "{text}");
        }
    }
}
