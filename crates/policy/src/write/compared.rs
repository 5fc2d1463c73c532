//! A coder on memory that reads its cells before it writes, and programs those that change.

use super::{Coder, Contents, Depends, LINES, Place, Written};

/// Lays a page down as a coder does that writes whole lines, and programs the cells of them that
/// change (data-comparison write).
pub(super) struct Compared(pub(super) Box<dyn Coder>);

impl Coder for Compared {
    fn depends(&self) -> Depends {
        Depends::OnCells
    }

    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        let before = place.clone();
        let Written { metadata, .. } = self.0.write(page, place);
        let (mut written, mut cells) = (0, 0);
        for line in 0..LINES {
            let changed = place.line(line).differing(&before.line(line));
            written |= u64::from(changed != 0) << line;
            cells += u64::from(changed);
        }
        Written {
            cells,
            metadata,
            ..Written::lines(written)
        }
    }

    fn read(&self, place: &Place, page: &mut Contents) {
        self.0.read(place, page);
    }
}
