//! What can be written after `terrace sim`.

use clap::{Args, Subcommand};

use super::curve::Curve;
use super::files::Files;
use super::llc::Llc;
use super::mix::Mix;
use super::pages::Pages;

/// Say beforehand what a memory and a policy would do to programs
#[derive(Args)]
pub struct Sim {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Pages(Box<Pages>),
    Llc(Box<Llc>),
    Mix(Box<Mix>),
    Files(Box<Files>),
    Curve(Box<Curve>),
}
