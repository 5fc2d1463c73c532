//! What programs see of their memory limit.

use clap::Args;

/// The option by which a program sees its limit.
#[derive(Args)]
pub struct SeeLimit {
    /// Let the program see the memory limit of its group
    ///
    /// Without it the program sees the limits that hold for terrace, in each way alike, so that a
    /// JVM, Node or a database sizes itself as without terrace. To this end the program has a mount
    /// name space of its own, in which the memory files of its group show those of the group in
    /// which terrace was started; mounts that it makes are seen by others as before. `terrace
    /// doctor` says whether this machine can do that.
    #[arg(long, hide_short_help = true)]
    pub see_limit: bool,
}
