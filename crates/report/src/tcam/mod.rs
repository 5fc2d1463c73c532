//! Results of `terrace tcam`: tables, and the JSON of the schemas `terrace.tcam.*/1`.

mod bench;
mod lookup;
mod replay;
mod text;

pub use bench::{BenchDocument, Measured};
pub use lookup::{Answer, LookupDocument};
pub use replay::{Input, ReplayDocument, ReplaySettings};
