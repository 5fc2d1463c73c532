//! A flash-based ternary CAM and its router: blocks, shadow blocks, update policies, wear.

pub mod circuit;
pub mod input;
pub mod prefix;
pub mod route;
pub mod update;

pub use prefix::{Family, Prefix};
pub use route::{Port, Route};
pub use update::{Change, Update};
