//! The kernel's readahead of swap as this machine has it, with which fetches are compared.

use std::fs;
use std::path::{Path, PathBuf};

use terrace_policy::prefetch::ledger::HORIZON;
use terrace_policy::prefetch::{KernelReadahead, Neighbours};

use crate::fetch::reads::device;
use crate::tier::{active_areas, is_memory};

/// Returns the readahead with `vm.page-cluster` at `cluster` and these areas in use, for a program
/// with `window` fetched pages that may wait; `None` if the kernel reads single pages.
pub(crate) fn with(cluster: u32, areas: &[PathBuf], window: u64) -> Option<KernelReadahead> {
    let by = neighbours(areas).filter(|_| cluster > 0)?;
    Some(KernelReadahead {
        cluster,
        by,
        horizon: HORIZON * window,
    })
}

/// Returns what the kernel reads around a page of these areas, or of areas in files and directories
/// on the same devices: places, if one of them or any other area in use rotates. `None` if all are
/// memory, from which it reads single pages, because no read is saved.
pub fn neighbours(areas: &[PathBuf]) -> Option<Neighbours> {
    if areas.iter().all(|area| is_memory(area)) {
        return None;
    }
    let others = active_areas();
    Some(
        match areas.iter().chain(&others).any(|area| rotates(area)) {
            true => Neighbours::Slots,
            false => Neighbours::Addresses,
        },
    )
}

/// Whether the kernel takes the device of an area for a rotating disk; `false` if that is not
/// known.
fn rotates(area: &Path) -> bool {
    let Some(device) = device(area) else {
        return false;
    };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // A partition has no queue of its own.
    ["queue", "../queue"].iter().any(|queue| {
        let file = format!("/sys/dev/block/{major}:{minor}/{queue}/rotational");
        fs::read_to_string(file).is_ok_and(|text| text.trim() == "1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_pages_are_no_readahead() {
        let area = [PathBuf::from("/")];
        assert_eq!(with(0, &area, 64), None);
        assert_eq!(with(3, &["/dev/zram0".into()], 64), None);
        let some = with(3, &area, 64).expect("there is a readahead");
        assert_eq!((some.cluster, some.horizon), (3, HORIZON * 64));
        let unknown = with(3, &["/proc/swaps".into()], 64).expect("there is a readahead");
        let others = active_areas().iter().any(|area| rotates(area));
        assert_eq!(unknown.by == Neighbours::Slots, others);
    }
}
