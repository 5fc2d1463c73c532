//! Start-gap wear levelling: all lines move on by one place, one at a time.
//!
//! Qureshi et al., "Enhancing lifetime and security of PCM-based main memory with start-gap wear
//! leveling", MICRO 2009. One spare line, the gap, wanders downwards through the memory: every
//! [`PSI`] writes the line below it moves into it. Once it has been everywhere, every line has
//! moved by one place. Two registers are all its state. [Regions](crate::regions) have a gap each.

/// Writes between two movements of the gap in the paper: 1 % more writes.
pub const PSI: u32 = 100;

/// The mapping of `lines` logical lines to `lines + 1` places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartGap {
    lines: u64,
    /// Distance that the lines have moved in full rotations.
    start: u64,
    /// The place that holds no line.
    gap: u64,
}

/// The line at the place `from` is copied to the place `to`, the gap; a write of `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Place of the gap from now on.
    pub from: u64,
    /// Place of the gap until now.
    pub to: u64,
}

impl StartGap {
    /// Places the lines in order with the gap above them. 0 lines count as 1.
    pub fn new(lines: u64) -> Self {
        let lines = lines.max(1);
        Self {
            lines,
            start: 0,
            gap: lines,
        }
    }

    /// Returns the place of `line`, which is below the number of lines.
    pub fn place(&self, line: u64) -> u64 {
        let moved = line + self.start;
        let place = match moved < self.lines {
            true => moved,
            false => moved - self.lines,
        };
        place + u64::from(place >= self.gap)
    }

    /// Returns the line at `place`; `None` at the gap.
    pub fn line(&self, place: u64) -> Option<u64> {
        let place = match place {
            place if place == self.gap => return None,
            place => place - u64::from(place > self.gap),
        };
        Some(match place < self.start {
            true => place + self.lines - self.start,
            false => place - self.start,
        })
    }

    /// Moves the gap by one place.
    pub fn step(&mut self) -> Movement {
        let to = self.gap;
        if to == 0 {
            self.gap = self.lines;
            self.start = (self.start + 1) % self.lines;
        } else {
            self.gap = to - 1;
        }
        Movement { from: self.gap, to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The memory itself: which line each place holds.
    fn memory(map: &StartGap) -> Vec<Option<u64>> {
        let mut places = vec![None; map.lines as usize + 1];
        for line in 0..map.lines {
            places[map.place(line) as usize] = Some(line);
        }
        places
    }

    #[test]
    fn the_paper_s_example_of_sixteen_lines() {
        let mut map = StartGap::new(16);
        assert_eq!(map.step(), Movement { from: 15, to: 16 });
        assert_eq!((map.place(15), map.place(14)), (16, 14));
        for _ in 1..16 {
            map.step();
        }
        assert_eq!(map.place(0), 1, "the gap is at 0");
        assert_eq!(map.step(), Movement { from: 16, to: 0 });
        assert_eq!((map.place(15), map.place(0)), (0, 1));
    }

    #[test]
    fn after_a_full_rotation_every_line_has_moved_by_one() {
        let mut map = StartGap::new(7);
        let before: Vec<_> = (0..7).map(|line| map.place(line)).collect();
        for _ in 0..8 {
            map.step();
        }
        for (line, before) in before.into_iter().enumerate() {
            assert_eq!(map.place(line as u64), (before + 1) % 7);
        }
    }

    proptest! {
        #[test]
        fn it_finds_every_line_where_the_copies_put_it(lines in 1u64..40, steps in 0usize..2000) {
            let mut map = StartGap::new(lines);
            let mut places = memory(&map);
            for _ in 0..steps {
                let Movement { from, to } = map.step();
                prop_assert_eq!(places[to as usize], None);
                places[to as usize] = places[from as usize].take();
                prop_assert_eq!(&places, &memory(&map));
                prop_assert_eq!(places.iter().flatten().count() as u64, lines, "a bijection");
                let found = (0..=lines).map(|place| map.line(place));
                prop_assert_eq!(&found.collect::<Vec<_>>(), &places);
            }
        }
    }
}
