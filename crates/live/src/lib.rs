//! The wall-clock driver: runs an unmodified program with a DRAM budget on stock Linux.
//!
//! The program runs in a memory cgroup ([`budget`]); the kernel moves pages to the slower
//! tier, a swap area ([`tier`]). Beside it, on another core, [`steer`] reads the program's
//! major faults ([`faults`]), asks a policy of `terrace-policy` what comes next, and has the
//! kernel fetch it ([`advice`]). [`run`] puts these together and undoes all changes.

pub mod accounts;
pub mod advice;
pub mod attach;
pub mod balance;
pub mod bench;
pub mod budget;
mod busy;
pub mod calibrate;
pub mod cgroup;
pub mod clock;
pub mod compare;
mod container;
pub mod counters;
pub mod cpus;
pub mod delegation;
pub mod device;
pub mod doctor;
pub mod dram;
pub mod evictor;
pub mod fault_sample;
pub mod faults;
pub mod fetchers;
pub mod footprint;
pub mod guardian;
pub mod hierarchy;
mod image;
pub mod input;
pub mod interval;
pub mod journal;
mod knobs;
mod latency;
mod leavers;
pub mod lesson;
pub mod limit;
mod lock;
pub mod mappings;
mod members;
mod memory;
mod neighbours;
pub mod nodes;
mod outcome;
pub mod pagemap;
mod peers;
mod perf;
pub mod placement;
pub mod pool;
pub mod privilege;
pub mod probe;
pub mod program;
mod readahead;
pub mod reads;
mod reserve;
pub mod room;
pub mod run;
mod running;
pub mod sched;
pub mod scope;
pub mod slots;
pub mod steer;
mod steered;
pub mod suite;
mod swapped;
pub mod sysctl;
pub mod tally;
pub mod target;
pub mod tier;
pub mod turn;
pub mod view;
pub mod waits;
mod worker;
pub mod written;
pub mod zswap;
