//! The simulator's machine from a calibration of the real one.

use terrace_base::Nanos;
use terrace_live::measure::calibrate::Calibration;
use terrace_policy::PAGE_BYTES;
use terrace_sim::pages::{FaultCost, Machine, Measured, Shootdown};

/// Returns the machine of a calibration. The sums are measured: a first touch, the touch of a page
/// in the swap cache, a fault with and without an eviction, an eviction that writes, and a call
/// that has a page fetched, which takes what readahead does for each page beside the fault's. The
/// split of a cached page's touch into trap and map is not measured, and makes no difference.
pub fn machine(calibration: &Calibration) -> Machine {
    let swap = &calibration.swap;
    let cached = swap.cached_touch.min(swap.first_touch);
    let touch = swap.first_touch;
    let read = match &calibration.device {
        Some(device) => device.read_ns.min(swap.fault - touch),
        None => swap.fault - touch,
    };
    let unmap = swap.fault_evicting - swap.fault;
    let tier = tier(calibration, read);
    Machine {
        name: calibration.tier.clone(),
        tier,
        fault: FaultCost {
            name: "calibrated".to_owned(),
            trap: nanos(cached / 2.0),
            map: nanos(cached / 2.0),
            copy: nanos(touch - cached),
            kernel: nanos(swap.fault - touch - read),
            unmap: nanos(unmap),
            write_out: nanos(swap.first_touch_evicting - touch - unmap.max(0.0)),
            write_again: nanos(swap.fault_evicting_dirty - swap.fault - unmap.max(0.0)),
            shootdown: Shootdown::Interrupt,
            shootdown_on_map: false,
            prefetch: Nanos::ZERO,
            readahead: nanos(swap.advice),
        },
    }
}

/// Returns the tier. Pages fetched together are read in parallel: the number of channels follows
/// from pace and latency. The kernel writes neighbours in one request, so a write occupies a
/// channel only for as long as the bandwidth says.
fn tier(calibration: &Calibration, read: f64) -> Measured {
    let page = PAGE_BYTES as f64;
    let channels = match &calibration.device {
        Some(device) => device.channels(),
        None => read / calibration.swap.fetch.max(1.0),
    };
    let channels = channels.round().clamp(1.0, 1024.0);
    let written = calibration.swap.first_touch_evicting.max(1.0);
    let (bandwidth, write_bandwidth) = match &calibration.device {
        Some(device) => (device.read_bandwidth, device.write_bandwidth),
        None => (channels * page / read.max(1.0) * 1e9, page / written * 1e9),
    };
    Measured {
        read: nanos(read),
        write: nanos(channels * page / write_bandwidth.max(1.0) * 1e9),
        channels: channels as u32,
        bandwidth: bandwidth.max(1.0) as u64,
    }
}

/// Returns whole nanoseconds; 0 where noise makes a time negative.
fn nanos(time: f64) -> Nanos {
    Nanos(time.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_live::measure::device::{Depth, Device};
    use terrace_live::measure::probe::Readings;

    fn calibration() -> Calibration {
        Calibration {
            tier: "a disk".to_owned(),
            kernel: "6.18".to_owned(),
            swap: Readings {
                first_touch: 2_000.0,
                first_touch_evicting: 14_000.0,
                fault: 62_000.0,
                fault_evicting: 65_000.0,
                fault_evicting_dirty: 90_000.0,
                cached_touch: 1_500.0,
                advice: 3_000.0,
                fetch: 17_000.0,
            },
            device: Some(Device {
                read_ns: 50_000.0,
                write_ns: 60_000.0,
                reads: vec![
                    Depth {
                        depth: 1,
                        per_second: 20_000.0,
                    },
                    Depth {
                        depth: 32,
                        per_second: 60_000.0,
                    },
                ],
                read_bandwidth: 8e8,
                write_bandwidth: 4.096e8,
            }),
        }
    }

    #[test]
    fn the_parts_add_up_to_what_was_measured() {
        let Machine { fault, tier, .. } = machine(&calibration());
        let touch = fault.trap + fault.copy + fault.map;
        assert_eq!(fault.trap + fault.map, Nanos(1_500));
        assert_eq!(touch, Nanos(2_000));
        assert_eq!(touch + fault.kernel + tier.read, Nanos(62_000));
        let evicting = touch + fault.kernel + tier.read + fault.unmap;
        assert_eq!(evicting, Nanos(65_000));
        assert_eq!(touch + fault.unmap + fault.write_out, Nanos(14_000));
        let changed = evicting + fault.write_again;
        assert_eq!(changed, Nanos(90_000));
        assert_eq!(fault.readahead, Nanos(3_000));
        assert_eq!((tier.channels, tier.write), (3, Nanos(30_000)));
    }

    #[test]
    fn without_a_device_its_share_is_what_the_fault_leaves() {
        let calibration = Calibration {
            device: None,
            ..calibration()
        };
        let Machine { fault, tier, .. } = machine(&calibration);
        assert_eq!(tier.read, Nanos(60_000));
        assert_eq!(fault.kernel, Nanos::ZERO);
        assert_eq!(tier.channels, 4);
    }

    #[test]
    fn noise_makes_nothing_negative() {
        let mut calibration = calibration();
        calibration.swap = Readings::default();
        let Machine { fault, .. } = machine(&calibration);
        assert_eq!(fault.kernel, Nanos::ZERO);
        assert_eq!(fault.unmap, Nanos::ZERO);
    }
}
