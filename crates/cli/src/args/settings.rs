//! Options that settings of simulated machines declare.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_sim::setting::{Given, Machine, Set, Setting, Values, all};

/// The options of all settings of a machine, and the file of the memories that one of them names.
pub struct Settings<M: Machine> {
    /// The values that were given.
    pub given: Given<M>,
    /// The file, if one was given.
    pub memories: Option<PathBuf>,
    /// The settings whose values are on the command line.
    pub asked: Vec<&'static str>,
}

/// The option of the file of memories.
#[derive(Args)]
struct Memories {
    /// A TOML file of memories of your own
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    memories: Option<PathBuf>,
}

/// Returns the memories of a file of --memories beside the built-in ones.
///
/// # Errors
/// A failure where the file cannot be read.
pub fn catalogue(memories: Option<&Path>) -> Result<Catalogue> {
    memories.map_or_else(|| Ok(Catalogue::builtin()), Catalogue::load)
}

/// Whether a setting names a memory.
fn names_memory<M: Machine>(setting: &Setting<M>) -> bool {
    setting.name == "memory"
}

/// Returns the option of a setting.
fn option<M: Machine>(setting: Setting<M>) -> Arg {
    let summary = setting.summary();
    let option = Arg::new(setting.name)
        .long(setting.name)
        .value_name(setting.value_name)
        .allow_hyphen_values(setting.may_begin_with_hyphen)
        .hide_short_help(!setting.is_common)
        .required(setting.is_required);
    let (action, delimiter) = match setting.is_single {
        true => (ArgAction::Set, None),
        false => (ArgAction::Append, Some(',')),
    };
    let option = option.action(action);
    let option = match setting.needs_results {
        true => option.requires("Results"),
        false => option,
    };
    let option = match setting.details {
        "" => option,
        details => option.long_help(format!("{summary}\n\n{details}")),
    };
    let option = option.help(summary).default_values(setting.default);
    match setting.values {
        Values::Names(names) => {
            let known = names.iter().map(|known| {
                let help = Some(known.help).filter(|help| !help.is_empty());
                PossibleValue::new(known.name).help(help)
            });
            let known = PossibleValuesParser::new(known);
            let option = option.value_delimiter(delimiter);
            option.value_parser(known.map(move |text| {
                let known = names.iter().find(|known| known.name == text);
                let known = known.expect("clap lets only these through");
                known.set.clone()
            }))
        }
        Values::Each(parse) => option
            .value_delimiter(delimiter)
            .value_parser(move |text: &str| parse(text)),
        Values::List(parse) => option.value_parser(move |text: &str| parse(text)),
    }
}

impl<M: Machine> Args for Settings<M> {
    fn augment_args(command: Command) -> Command {
        let add = |command: Command, (heading, settings): (_, Vec<Setting<M>>)| {
            let has_memory = settings.iter().any(names_memory);
            let options = settings.into_iter().map(option);
            let command = command.args(options.map(|option| option.help_heading(heading)));
            match has_memory {
                true => Memories::augment_args(command)
                    .mut_arg("memories", |option| option.help_heading(heading)),
                false => command,
            }
        };
        M::settings().into_iter().fold(command, add)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<M: Machine> FromArgMatches for Settings<M> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let settings = all::<M>();
        let memories = match settings.iter().any(names_memory) {
            true => Memories::from_arg_matches(matches)?.memories,
            false => None,
        };
        let is_asked =
            |name: &&'static str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let names = settings.iter().map(|setting| setting.name);
        let asked = names.filter(is_asked).collect();
        let given = settings.into_iter().map(|setting| {
            let sets: Vec<Set<M>> = match setting.values {
                Values::List(_) => {
                    let lists = matches.get_many::<Vec<Set<M>>>(setting.name);
                    lists.into_iter().flatten().flatten().cloned().collect()
                }
                _ => {
                    let sets = matches.get_many(setting.name);
                    sets.into_iter().flatten().cloned().collect()
                }
            };
            (setting.name, sets)
        });
        Ok(Self {
            given: Given(given.collect()),
            memories,
            asked,
        })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
