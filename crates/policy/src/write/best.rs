//! `best`: of several schemes that which writes the fewest bytes of the page at hand, within a
//! stated time.
//!
//! A policy has no clock, so the time of a scheme is what it was measured to take for a page
//! ([`Make::nanos`]): schemes are tried in their order as long as the sum stays within the time.
//! The first is always tried.

use super::{Coder, Contents, Depends, Entry, Form, Make, Place, Spec, Written};
use crate::params::Params;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "best",
    summary: "for each dirty page that of several schemes which writes the fewest bytes",
    paper: "Terrace",
    when: "Programs whose pages differ; the bound of what the others can reach.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: u32::MAX,
        coder: &make,
    },
};

settings! {
    /// Settings of `best`.
    pub struct BestSettings {
        /// microseconds that the schemes tried for a page may take together
        time: f64 = 20.0, 0.0..=1e6;
    }
}

/// Default of the setting `of`.
const OF: &str = "lines+mfwr+lz4+zstd";

fn make(params: &mut Params) -> Result<Box<dyn Coder>, String> {
    let settings = BestSettings::take(params)?;
    let meaning = "schemes to choose from, in the order in which they are tried";
    let of = params.text("of", meaning, OF, "names of schemes with + between them");
    let mut left = 1000.0 * settings.time;
    let mut coders = Vec::new();
    for spec in Spec::parse_sum(&of)? {
        let make = &spec.entry().make;
        if make.nanos == ENTRY.make.nanos {
            return Err(format!("of={of}: `best` does not choose itself"));
        }
        let coder = spec.scheme()?.coder;
        if coder.depends() == Depends::OnCells {
            return Err(format!(
                "of={of}: `{}` writes cells, and `best` chooses among schemes that write whole lines",
                spec.entry().name
            ));
        }
        left -= f64::from(make.nanos);
        if coders.is_empty() || left >= 0.0 {
            coders.push(coder);
        }
    }
    Ok(Box::new(Best { coders }))
}

/// Writes by the scheme that writes the fewest bytes.
struct Best {
    coders: Vec<Box<dyn Coder>>,
}

impl Coder for Best {
    fn depends(&self) -> Depends {
        let mut coders = self.coders.iter();
        match coders.any(|coder| coder.depends() == Depends::OnBytes) {
            true => Depends::OnBytes,
            false => Depends::OnPage,
        }
    }

    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        let tried = self.coders.iter().enumerate().map(|(number, coder)| {
            let mut there = place.clone();
            let written = coder.write(page, &mut there);
            if there.form == Form::Coded {
                there.form = Form::CodedBy(number as u8);
            }
            (written, there)
        });
        let best = tried.min_by_key(|(written, _)| written.bytes);
        let Some((written, there)) = best else {
            return Written::default();
        };
        *place = there;
        written
    }

    fn read(&self, place: &Place, page: &mut Contents) {
        let (number, form) = match place.form {
            Form::CodedBy(number) => (usize::from(number), Form::Coded),
            form => (0, form),
        };
        let place = Place {
            form,
            ..place.clone()
        };
        if let Some(coder) = self.coders.get(number) {
            coder.read(&place, page);
        }
    }
}
