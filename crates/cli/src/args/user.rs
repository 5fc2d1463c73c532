//! The user whom programs run as.

use clap::Args;
use terrace_base::{Result, User};

/// The option that names a user.
#[derive(Args)]
pub struct AsUser {
    /// Run the program as this user [default: the caller]
    ///
    /// Under sudo the caller is the user who called sudo.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

impl AsUser {
    /// Whether a user is named.
    pub fn is_given(&self) -> bool {
        self.user.is_some()
    }

    /// Returns the named user, or else the caller of sudo; none: the user of this process.
    ///
    /// # Errors
    /// Errors of [`User::chosen`].
    pub fn chosen(&self) -> Result<Option<User>> {
        User::chosen(self.user.as_deref())
    }
}
