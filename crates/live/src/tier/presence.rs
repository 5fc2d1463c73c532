//! Which areas of a tier have been on, and which of them another program has switched off.

use std::path::{Path, PathBuf};

use terrace_base::Bytes;
use terrace_base::block::swaps::Swap;

/// The areas of a tier that have been seen on.
#[derive(Debug, Default)]
pub(super) struct Presence {
    on: Vec<PathBuf>,
    /// Those that are off now, or were seen as they were switched off: where the kernel kills for
    /// want of memory then, it gives up, and the area is on again.
    off: Vec<PathBuf>,
    /// Number of areas off that a notice has reported.
    told: usize,
}

impl Presence {
    /// Begins with an area that has just been switched on.
    pub fn of(area: PathBuf) -> Self {
        Self {
            on: vec![area],
            ..Self::default()
        }
    }

    /// Looks at the areas of the tier that are on now, with what the machine's swap lacks of all
    /// that is listed.
    pub fn look(&mut self, now: &[Swap], missing: Bytes) {
        for swap in now {
            if !self.on.contains(&swap.path) {
                self.on.push(swap.path.clone());
            }
        }
        let is_on = |path: &Path| now.iter().any(|swap| swap.path == path);
        let mut off: Vec<_> = self
            .on
            .iter()
            .filter(|path| !is_on(path))
            .cloned()
            .collect();
        let going = now.iter().filter(|swap| is_going(swap, missing));
        off.extend(going.map(|swap| swap.path.clone()));
        off.retain(|path| !self.off.contains(path));
        self.off.extend(off);
    }

    /// Returns those that have been switched off, the first first.
    pub fn off(&self) -> &[PathBuf] {
        &self.off
    }

    /// Returns a notice of areas that have been switched off since the last one.
    pub fn notice(&mut self) -> Option<String> {
        let more = self.off.len() > self.told;
        self.told = self.off.len();
        let last = self.off.last().filter(|_| more)?;
        Some(format!(
            "another program has switched off the swap area {} (swapoff); what the program needs \
             beyond its DRAM has no place there any more",
            last.display()
        ))
    }
}

/// Whether an area that is listed is being switched off: then only what is in use of it counts.
fn is_going(swap: &Swap, missing: Bytes) -> bool {
    let free = swap.size.0.saturating_sub(swap.used.0);
    // It becomes emptier between two looks at the kernel's figures.
    missing > Bytes(0) && missing.0.abs_diff(free) <= swap.size.0 / 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(path: &str) -> Swap {
        Swap {
            path: path.into(),
            size: Bytes(1000),
            used: Bytes(400),
            priority: 1,
        }
    }

    #[test]
    fn an_area_that_another_program_switches_off_is_told_of_once() {
        let mut presence = Presence::of("/a".into());
        let nothing = Bytes(0);
        presence.look(&[swap("/a"), swap("/b")], nothing);
        assert_eq!(presence.off(), [] as [PathBuf; 0]);
        assert_eq!(presence.notice(), None);
        presence.look(&[swap("/a")], nothing);
        assert_eq!(presence.off(), [PathBuf::from("/b")]);
        assert!(
            presence
                .notice()
                .unwrap()
                .contains("swap area /b (swapoff)")
        );
        assert_eq!(presence.notice(), None);
        presence.look(&[], nothing);
        assert_eq!(presence.off().len(), 2);
        assert!(presence.notice().is_some());
    }

    #[test]
    fn an_area_is_told_of_while_it_is_switched_off() {
        let mut presence = Presence::of("/a".into());
        presence.look(&[swap("/a")], Bytes(1000));
        assert_eq!(presence.off(), [] as [PathBuf; 0], "of another size");
        presence.look(&[swap("/a")], Bytes(601));
        presence.look(&[swap("/a")], Bytes(0));
        assert_eq!(presence.off(), [PathBuf::from("/a")], "the kernel gave up");
        assert!(presence.notice().is_some());
    }
}
