//! Writes results in every form that the options ask for.

use std::process::ExitCode;

use terrace_base::apart::Named;
use terrace_base::output::print;
use terrace_base::{Output, Result};
use terrace_results::document::Document;
use terrace_results::html::{Look, Page, Plot};
use terrace_results::text::Text;

use crate::args::Results;
use crate::args::results::{Form, is_standard};
use crate::screen::say;

/// Destination of the tables for people.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum People {
    /// Standard output, unless another form of the results goes there.
    Standard,
    /// Standard error, as standard output belongs to the program that was run.
    Error,
    /// Nowhere.
    Nobody,
}

impl People {
    /// Returns the destination beside a program that was run.
    pub fn beside_a_program(quiet: bool) -> Self {
        match quiet {
            true => Self::Nobody,
            false => Self::Error,
        }
    }
}

/// Outputs, opened before the work begins, so that hours of work do not end in a path that cannot
/// be written.
#[derive(Debug, Default)]
pub struct Outputs {
    forms: Vec<(Form, Option<Output>)>,
    look: Look,
    /// Heat maps, which precede the plots of the results.
    heat: Vec<Plot>,
}

impl Outputs {
    /// Opens the outputs of `results`. The command reads `inputs` and writes `others` as well.
    ///
    /// # Errors
    /// Returns a usage error if an output cannot be written, or is an input or another output.
    pub fn open(results: &Results, inputs: &[Named], others: &[Named]) -> Result<Self> {
        results.check(inputs, others)?;
        let given = results.given().into_iter();
        let opened = given.map(|(form, path)| {
            let file = match is_standard(path) {
                true => None,
                false => Some(Output::create(path)?),
            };
            Ok((form, file))
        });
        Ok(Self {
            forms: opened.collect::<Result<_>>()?,
            look: results.look(),
            heat: Vec::new(),
        })
    }

    /// Adds heat maps, which precede the plots of the results.
    pub fn with_heat(mut self, plots: Vec<Plot>) -> Self {
        self.heat = plots;
        self
    }

    /// Whether plots are drawn.
    pub fn draws(&self) -> bool {
        let mut forms = self.forms.iter();
        forms.any(|(form, _)| matches!(form, Form::Html | Form::Svg))
    }

    /// Writes results in all forms, and the text for people to standard output, which ends a
    /// command well.
    ///
    /// # Errors
    /// Returns a failure if one of them cannot be written.
    pub fn show(self, document: &impl Document, text: &Text) -> Result<ExitCode> {
        self.say(document, text, People::Standard)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Writes results in all forms, and the text for people last.
    ///
    /// # Errors
    /// Returns a failure if one of them cannot be written.
    pub fn say(self, document: &impl Document, text: &Text, people: People) -> Result<()> {
        let mut printed = false;
        let page = || {
            let heat = self.heat.iter().rev().cloned();
            heat.fold(document.page(), Page::first)
        };
        for (form, file) in self.forms {
            let bytes = match form {
                Form::Json => document.to_json().into_bytes(),
                Form::Csv => document.csv()?,
                Form::Parquet => document.parquet()?,
                Form::Svg => page().svg(&self.look)?.into_bytes(),
                Form::Html => page().html(text, &command_line()).into_bytes(),
            };
            match file {
                Some(file) => file.finish(&bytes)?,
                None => {
                    print(bytes)?;
                    printed = true;
                }
            }
        }
        match people {
            People::Standard if !printed => print(text.to_string()),
            People::Error => {
                say(&text.to_string());
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Returns the command line as it was given.
fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let quoted = shlex::try_join(words.iter().map(String::as_str));
    quoted.unwrap_or_else(|_| words.join(" "))
}
