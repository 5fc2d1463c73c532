//! The machines that are simulated: every option takes a list, and all combinations are run.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use terrace_base::Result;
use terrace_device::Catalogue;
use terrace_sim::pages::options::settings;
use terrace_sim::pages::setting::{Set, Setting, Values};
use terrace_sim::pages::{Grid, Machine};

const HEADING: &str = "Machine (each takes a list: a,b,c)";

/// Lists of values of the settings, with commas; all their combinations are simulated. The options
/// are those that [`settings`] declares.
pub struct Machines {
    /// Values that were given, by setting.
    values: Vec<(&'static str, Vec<Set>)>,
    machine: Option<PathBuf>,
    memories: Option<PathBuf>,
}

impl Machines {
    /// The files that are read, by the options that name them.
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        let machine = self.machine.as_deref().map(|path| ("--machine", path));
        let memories = self.memories.as_deref().map(|path| ("--memories", path));
        machine.into_iter().chain(memories).collect()
    }

    /// The memories that there are.
    pub fn catalogue(&self) -> Result<Catalogue> {
        match &self.memories {
            Some(path) => Catalogue::load(path),
            None => Ok(Catalogue::builtin()),
        }
    }

    /// All values of all settings.
    pub fn grid(&self) -> Result<Grid> {
        let grid = Grid::new(|setting| {
            let given = self.values.iter().find(|(name, _)| *name == setting.name);
            Ok(given.map(|(_, sets)| sets.clone()))
        })?;
        match &self.machine {
            Some(path) => Ok(grid.measured(&Machine::load(path)?)),
            None => Ok(grid),
        }
    }
}

/// Returns the option of a setting.
fn option(setting: Setting) -> Arg {
    let summary = setting.summary();
    let option = Arg::new(setting.name)
        .long(setting.name)
        .value_name(setting.value_name)
        .help_heading(HEADING)
        .action(ArgAction::Append)
        .value_delimiter(',')
        .allow_hyphen_values(setting.may_begin_with_hyphen)
        .hide_short_help(!setting.is_common)
        .required(setting.default.is_none() && setting.otherwise.is_none());
    let option = match setting.details {
        "" => option,
        details => option.long_help(format!("{summary}\n\n{details}")),
    };
    let option = option.help(summary).default_values(setting.default);
    match setting.values {
        Values::Names(names) => {
            let known = PossibleValuesParser::new(names.iter().map(|(name, _)| *name));
            option.value_parser(known.map(move |text| {
                let set = names.iter().find(|(name, _)| *name == text);
                set.expect("clap lets only these through").1.clone()
            }))
        }
        Values::Each(parse) => option.value_parser(move |text: &str| parse(text)),
        Values::One(parse) => option
            .value_delimiter(None)
            .action(ArgAction::Set)
            .value_parser(move |text: &str| parse(text)),
        Values::List(parse) => option
            .value_delimiter(None)
            .value_parser(move |text: &str| parse(text)),
    }
}

/// Returns the option of a file.
fn file(name: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("FILE")
        .help_heading(HEADING)
        .value_parser(value_parser!(PathBuf))
}

impl Args for Machines {
    fn augment_args(command: Command) -> Command {
        let machine = "A measured machine, of `terrace calibrate --machine`";
        let further = "Its tier and its fault cost are used.";
        command
            .args(settings().into_iter().map(option))
            .arg(
                file("machine")
                    .help(machine)
                    .long_help(format!("{machine}\n\n{further}"))
                    .conflicts_with_all(["memory", "memories", "fault-cost"]),
            )
            .arg(
                file("memories")
                    .help("A TOML file of memories of your own")
                    .hide_short_help(true),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Machines {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let given = settings().into_iter().filter_map(|setting| {
            let sets = match setting.values {
                Values::List(_) => matches
                    .get_many::<Vec<Set>>(setting.name)?
                    .flatten()
                    .cloned()
                    .collect(),
                _ => matches.get_many(setting.name)?.cloned().collect(),
            };
            Some((setting.name, sets))
        });
        let path = |name| matches.get_one::<PathBuf>(name).cloned();
        Ok(Self {
            values: given.collect(),
            machine: path("machine"),
            memories: path("memories"),
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
