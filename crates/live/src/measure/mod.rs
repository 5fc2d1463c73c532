//! Programs measured in several ways, and the machine itself.

pub mod bench;
pub mod calibrate;
pub mod compare;
pub mod device;
pub mod limit;
pub mod probe;
pub mod request;
pub mod suite;
