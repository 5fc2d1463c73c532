//! Writes what is installed beside the command: its manual pages, and completions for three shells.
//!
//! `make install` calls it. The command is hidden: users have these files from their installation.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap_complete::Shell;
use terrace_base::{Context, Output, Result};

use crate::{args, usage};

/// Where each shell looks for completions of an installation, below its prefix.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions/terrace"),
    (Shell::Zsh, "share/zsh/site-functions/_terrace"),
    (Shell::Fish, "share/fish/vendor_completions.d/terrace.fish"),
];

/// Writes all of them below a prefix.
pub fn manual(arguments: &args::Manual) -> Result<ExitCode> {
    let mut command = usage::command().disable_help_subcommand(true);
    for (shell, name) in COMPLETIONS {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "terrace", &mut script);
        write(&arguments.prefix.join(name), &script)?;
    }
    command.build();
    pages(&command, &arguments.prefix.join("share/man/man1"))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for a command and each command below it.
fn pages(command: &clap::Command, folder: &Path) -> Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    let name = page.get_filename();
    page.render(&mut text)
        .or_fail(|| format!("cannot write the page {name}"))?;
    write(&folder.join(name), &text)?;
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown.into_iter().try_for_each(|sub| pages(sub, folder))
}

fn write(file: &Path, text: &[u8]) -> Result<()> {
    let folder = file.parent().expect("a name below the prefix");
    fs::create_dir_all(folder).or_fail(|| format!("cannot make `{}`", folder.display()))?;
    Output::save(file, text)
}
