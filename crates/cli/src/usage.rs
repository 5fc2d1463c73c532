//! Parses the command line; errors become one sentence.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::ErrorKind::BrokenPipe;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use terrace_base::{Error, Result};

use crate::args::Terrace;

/// Parses the command line; returns `None` after printing help or the version.
///
/// # Errors
/// Returns a usage error if the command line is wrong, a failure if help could not be printed.
pub fn read(arguments: &[OsString]) -> Result<Option<Terrace>> {
    let found = command()
        .try_get_matches_from(arguments)
        .and_then(|matches| Terrace::from_arg_matches(&matches));
    match found {
        Ok(terrace) => Ok(Some(terrace)),
        Err(error) if error.exit_code() == 0 => print(&error).map(|()| None),
        Err(error) => Err(Error::usage(sentence(&error, &chosen(arguments)))),
    }
}

/// Returns the whole command line. Negative numbers are parsed as values, so that the message about
/// them is about a value.
pub fn command() -> Command {
    fn with_negative_numbers(command: Command) -> Command {
        let all_values = |arg: Arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        };
        command
            .mut_args(all_values)
            .mut_subcommands(with_negative_numbers)
    }
    with_negative_numbers(Terrace::command())
}

/// Writes the settings that a sentence of the library names, as in `‘dram’`, as options: `--dram`.
/// Names of files hardly ever have such quotes.
pub fn with_options(mut sentence: String) -> String {
    fn rename(command: &Command, sentence: &mut String) {
        for name in command.get_arguments().filter_map(Arg::get_long) {
            *sentence = sentence.replace(&format!("‘{name}’"), &format!("--{name}"));
        }
        for sub in command.get_subcommands() {
            rename(sub, sentence);
        }
    }
    if sentence.contains('‘') {
        rename(&Terrace::command(), &mut sentence);
    }
    sentence
}

fn print(help: &clap::Error) -> Result<()> {
    match help.print() {
        Err(error) if error.kind() != BrokenPipe => Err(Error::failure(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// The command that was meant, as far as it was written, and its full name.
struct Chosen {
    command: Command,
    name: String,
    /// The word behind a `--json`, which takes it as its file.
    taken: Option<String>,
}

fn chosen(arguments: &[OsString]) -> Chosen {
    let mut command = command();
    command.build();
    let mut name = command.get_name().to_owned();
    for argument in arguments.iter().skip(1) {
        let Some(sub) = command.find_subcommand(argument) else {
            break;
        };
        name = format!("{name} {}", sub.get_name());
        command = sub.clone();
    }
    let mut pairs = arguments.windows(2).filter(|pair| pair[0] == "--json");
    let behind = pairs.next().map(|pair| pair[1].to_string_lossy());
    let taken = behind.filter(|word| !word.starts_with('-'));
    Chosen {
        command,
        name,
        taken: taken.map(Cow::into_owned),
    }
}

impl Chosen {
    /// Returns the reference to the help.
    fn see(&self) -> String {
        format!("see `{} -h`", self.name)
    }

    fn commands(&self) -> String {
        let all = self.command.get_subcommands();
        let shown = all.filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
        let names: Vec<_> = shown.map(Command::get_name).collect();
        names.join(", ")
    }

    /// Returns the name of the argument behind --, if there is one.
    fn program(&self) -> Option<String> {
        let last = self
            .command
            .get_positionals()
            .find(|arg| arg.is_last_set())?;
        last.get_value_names()?.first().map(ToString::to_string)
    }

    /// Returns a missing argument as it is written. If a program can take the place of files, both
    /// are named.
    fn required(&self, text: &str) -> String {
        if self.program() != Some(option(text)) {
            let names = text.trim_end_matches("...").replace(['<', '>'], "");
            return names.replace('|', ", or ");
        }
        let mut others = self
            .command
            .get_positionals()
            .filter(|arg| !arg.is_last_set());
        let other = others.next().and_then(|arg| arg.get_value_names()?.first());
        other.map_or_else(String::new, |other| format!("{other}, or ")) + "a program behind --"
    }
}

fn sentence(error: &clap::Error, chosen: &Chosen) -> String {
    let Chosen { name, .. } = chosen;
    let see = chosen.see();
    let about = |kind| texts(error.get(kind)).into_iter().next();
    let option = || option(&about(ContextKind::InvalidArg).unwrap_or_default());
    let value = about(ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let similar = about(ContextKind::SuggestedArg);
            unknown(chosen, &option(), similar.as_deref())
        }
        ErrorKind::InvalidSubcommand => {
            let given = about(ContextKind::InvalidSubcommand).unwrap_or_default();
            if chosen.program().is_some() {
                return unknown(chosen, &given, None);
            }
            // The most similar is the last.
            let similar = texts(error.get(ContextKind::SuggestedSubcommand)).into_iter();
            let rest = match similar.last() {
                Some(similar) => format!("do you mean {similar}?"),
                None => format!("there are {}", chosen.commands()),
            };
            format!("`{given}` is no command of `{name}`; {rest}")
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let commands = chosen.commands();
            format!("no command was given behind `{name}`; there are {commands}")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = texts(error.get(ContextKind::InvalidArg));
            let verb = if missing.len() == 1 { "is" } else { "are" };
            let missing: Vec<_> = missing.iter().map(|text| chosen.required(text)).collect();
            let missing = format!("{} {verb} missing", missing.join(" and "));
            match &chosen.taken {
                Some(file) => format!(
                    "{missing}, as --json writes to `{file}`; to read that, write --json=- or put --json last"
                ),
                None => format!("{missing}; {see}"),
            }
        }
        ErrorKind::ArgumentConflict => {
            let others = texts(error.get(ContextKind::PriorArg));
            let others: Vec<_> = others.iter().map(|text| self::option(text)).collect();
            conflict(&option(), &others)
        }
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map_or(String::new(), |e| e.to_string());
            format!("{}: {reason}", option())
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{} needs a value; {see}", option()),
        ErrorKind::InvalidValue => {
            let names = texts(error.get(ContextKind::ValidValue)).join(", ");
            format!("{}: `{value}` is none of {names}", option())
        }
        ErrorKind::TooManyValues => format!("{} takes no value `{value}`; {see}", option()),
        ErrorKind::InvalidUtf8 => {
            format!("an argument is not UTF-8, which only the names of files need not be; {see}")
        }
        other => format!("the command line is wrong ({other}); {see}"),
    }
}

fn unknown(chosen: &Chosen, given: &str, similar: Option<&str>) -> String {
    let name = &chosen.name;
    match similar {
        Some(similar) => format!(
            "{given} is no option of `{name}`; do you mean {}?",
            option(similar)
        ),
        None if given.starts_with('-') => {
            format!("{given} is no option of `{name}`; {}", chosen.see())
        }
        None if chosen.program().is_some() => format!(
            "`{given}` is one argument too many; write the program and its arguments behind --"
        ),
        None => format!("`{given}` is one argument too many; {}", chosen.see()),
    }
}

fn conflict(option: &str, others: &[String]) -> String {
    match others {
        [] => format!("{option} stands alone; leave out the other arguments"),
        [other] if other == option => format!("{option} is given twice; give it once"),
        others => format!(
            "{option} and {} exclude each other; leave one out",
            others.join(", ")
        ),
    }
}

/// Returns the texts of a value of clap, whether it is one or several.
fn texts(value: Option<&ContextValue>) -> Vec<String> {
    match value {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        _ => Vec::new(),
    }
}

/// Returns the name alone of what clap calls `--dram <SIZE>`, `<TRACE>...` or `[PROGRAM]...`.
fn option(text: &str) -> String {
    let text = text.strip_prefix("-- ").unwrap_or(text);
    let name = match text.starts_with('-') {
        true => text.split([' ', '=']).next().unwrap_or(text),
        false => text,
    };
    let name = name.trim_end_matches("...");
    let inner = name
        .strip_prefix(['<', '['])
        .and_then(|rest| rest.strip_suffix(['>', ']']));
    inner.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(line: &str) -> String {
        let words = std::iter::once("terrace").chain(line.split_whitespace());
        let arguments: Vec<_> = words.map(OsString::from).collect();
        match read(&arguments) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{line} is right"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn each_kind_of_wrong_usage_has_its_sentence() {
        for (line, sentence) in [
            (
                "run --dram 1M --prefetc off",
                "--prefetc is no option of `terrace run`; do you mean --prefetch?",
            ),
            (
                "run --dram 1M --zzz",
                "--zzz is no option of `terrace run`; see `terrace run -h`",
            ),
            (
                "run --dram 1M program",
                "`program` is one argument too many; write the program and its arguments behind --",
            ),
            (
                "heap info a b",
                "`b` is one argument too many; see `terrace heap info -h`",
            ),
            (
                "recor",
                "`recor` is no command of `terrace`; do you mean record?",
            ),
            (
                "heap",
                "no command was given behind `terrace heap`; there are info, check, dump, compact, copy, create, remove, salvage",
            ),
            ("heap info", "FILE is missing; see `terrace heap info -h`"),
            (
                "heap info --json app.pool",
                "FILE is missing, as --json writes to `app.pool`; to read that, write --json=- or put --json last",
            ),
            (
                "record",
                "a program behind -- is missing; see `terrace record -h`",
            ),
            (
                "sim llc",
                "TRACE, or a program behind -- is missing; see `terrace sim llc -h`",
            ),
            (
                "sim pages",
                "--dram SIZE and TRACE are missing; see `terrace sim pages -h`",
            ),
            (
                "heap info --json=- --json a",
                "--json is given twice; give it once",
            ),
            (
                "doctor --clean=yes",
                "--clean takes no value `yes`; see `terrace doctor -h`",
            ),
            (
                "record --level words -- a",
                "--level: `words` is none of accesses, lines, pages",
            ),
            (
                "record --level",
                "--level needs a value; see `terrace record -h`",
            ),
            (
                "run --dram 0 -- a",
                "--dram: `0` is not a size (it is zero); write it as 4G, 512MiB or plain bytes",
            ),
            (
                "run --dram 25 -- a",
                "--dram: `25` is 25 B: 25%? Write it with a unit, as 25%, 25M, or as 25 B if it is that",
            ),
            (
                "run --dram 25% --footprint 300 -- a",
                "--footprint: `300` is 300 B: 300M? Write it with a unit, as 300M, or as 300 B if it is that",
            ),
            (
                "sim curve --dram 25 a",
                "--dram: `25` is 25 B: 25%? Write it with a unit, as 25%, 25M, or as 25 B if it is that",
            ),
            (
                "run --dram 1M --repeat -1 -- a",
                "--repeat: `-1` is no whole number from 1 to 1000",
            ),
            (
                "bench --table a b",
                "--table and SUITE exclude each other; leave one out",
            ),
            (
                "sim pages --dram 1M --machine a --memory b c",
                "--machine and --memory exclude each other; leave one out",
            ),
        ] {
            assert_eq!(wrong(line), sentence, "{line}");
        }
    }

    #[test]
    fn settings_are_named_as_options_and_nothing_else_is() {
        let sentence =
            "‘tier-size’ and ‘dram’ are for `dram`, and ‘unknown’ isn't in 'dram'; give ‘l1’ off";
        assert_eq!(
            with_options(sentence.to_owned()),
            "--tier-size and --dram are for `dram`, and ‘unknown’ isn't in 'dram'; give --l1 off"
        );
    }
}
