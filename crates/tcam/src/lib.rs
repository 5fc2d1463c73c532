//! A flash-based ternary CAM and its router: blocks, shadow blocks, update policies, wear (Fedorov
//! 2016, chapter 4).

pub mod bench;
pub mod block;
pub mod bound;
pub mod cell;
pub mod chip;
pub mod circuit;
pub mod count;
pub mod flushes;
pub mod free;
pub mod functional;
pub mod golden;
pub mod hops;
pub mod images;
pub mod input;
pub mod length;
pub mod levelling;
pub mod lifetime;
pub mod longest;
pub mod ordering;
pub mod policy;
pub mod pool;
pub mod port_word;
pub mod prefix;
pub mod replay;
pub mod route;
pub mod router;
mod sample;
pub mod settings;
pub mod shadows;
pub mod structural;
#[cfg(test)]
mod testing;
pub mod times;
mod uniform;
pub mod update;
pub mod word;

pub use prefix::{Family, Prefix};
pub use route::{Port, Route};
pub use router::Router;
pub use settings::Settings;
pub use update::{Change, Update};
