//! Options that settings of simulated machines declare.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use terrace_sim::setting::{Given, Machine, Set, Setting, Values, all};

/// The options of all settings of a machine, and the values that were given.
pub struct Settings<M: Machine>(pub Given<M>);

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
            let meanings = setting.meanings.iter().copied().map(Some);
            let meanings = meanings.chain(std::iter::repeat(None));
            let known = names.iter().zip(meanings);
            let known = known.map(|((name, _), meaning)| PossibleValue::new(name).help(meaning));
            let known = PossibleValuesParser::new(known);
            let option = option.value_delimiter(delimiter);
            option.value_parser(known.map(move |text| {
                let set = names.iter().find(|(name, _)| *name == text);
                set.expect("clap lets only these through").1.clone()
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
        let options = M::settings().into_iter().flat_map(|(heading, settings)| {
            let options = settings.into_iter().map(option);
            options.map(move |option| option.help_heading(heading))
        });
        command.args(options)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<M: Machine> FromArgMatches for Settings<M> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = all::<M>().into_iter().map(|setting| {
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
        Ok(Self(Given(given.collect())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
