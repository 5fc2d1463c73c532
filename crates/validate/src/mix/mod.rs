//! Programs that share CPUs, live and simulated: `sched run --compare` against `sim mix`.
//!
//! The simulator is given the machine's caches and the latency of its memory, the kernel's own
//! turns, and each program's CPU time alone. It predicts everything else: by how much tasks that
//! share the last level slow each other down under each policy, hence when they end, and how many
//! turns they have until then.

pub mod finish;
pub mod live;
pub mod machine;
pub mod perform;
pub mod predict;
