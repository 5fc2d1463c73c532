//! The catalogue of technologies: built in, or from a file of the user.

use std::collections::BTreeMap;
use std::path::Path;

use terrace_base::{Context, Error, Result};
use toml::Spanned;

use crate::technology::Technology;

const BUILT_IN: &str = include_str!("technologies.toml");

/// Technologies by name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// In the order of the files, the user's after the built-in ones.
    technologies: Vec<Technology>,
}

impl Catalogue {
    /// Returns the built-in technologies (`technologies.toml`).
    pub fn builtin() -> Self {
        let mut catalogue = Self::default();
        let added = catalogue.add(BUILT_IN, "technologies.toml");
        added.expect("the built-in file is read by every test");
        catalogue
    }

    /// Reads the file `path`. Its technologies replace built-in ones of the same name.
    ///
    /// # Errors
    /// Returns a failure if the file cannot be read, and a usage error with file and line where it
    /// is wrong.
    pub fn load(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).or_fail(|| format!("cannot read {name}"))?;
        let mut catalogue = Self::builtin();
        catalogue.add(&text, &name)?;
        Ok(catalogue)
    }

    /// Adds the technologies of a TOML text; `file` names it in errors.
    ///
    /// # Errors
    /// Returns a usage error with file and line where the text is wrong; nothing is added then.
    pub fn add(&mut self, text: &str, file: &str) -> Result<()> {
        let wrong = |at: usize, what: &str| {
            let before = text.get(..at).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            Error::usage(format!("{file}, line {line}: {what}"))
        };
        let entries: BTreeMap<Spanned<String>, Technology> = toml::from_str(text).map_err(|e| {
            let lines: Vec<_> = e.message().lines().collect();
            wrong(e.span().map_or(0, |span| span.start), &lines.join(", "))
        })?;
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);

        let mut with = self.clone();
        for (name, mut technology) in entries {
            if let Some(like) = technology.like.take() {
                let base = with
                    .get(like.get_ref())
                    .map_err(|e| wrong(like.span().start, &e.to_string()))?;
                technology.inherit(base);
            }
            technology.name = name.into_inner();
            with.put(technology);
        }
        *self = with;
        Ok(())
    }

    fn put(&mut self, technology: Technology) {
        let same = |other: &&mut Technology| other.name == technology.name;
        match self.technologies.iter_mut().find(same) {
            Some(other) => *other = technology,
            None => self.technologies.push(technology),
        }
    }

    /// Returns the technology called `name`.
    ///
    /// # Errors
    /// Returns a usage error that lists the names.
    pub fn get(&self, name: &str) -> Result<&Technology> {
        self.get_for(name, |_| true)
    }

    /// Same as [`Catalogue::get`], for a use that some technologies are not known well enough for.
    ///
    /// # Errors
    /// Returns a usage error that lists the technologies that `serves` accepts, if there is none
    /// called `name`.
    pub fn get_for(&self, name: &str, serves: impl Fn(&Technology) -> bool) -> Result<&Technology> {
        self.iter()
            .find(|technology| technology.name == name)
            .ok_or_else(|| {
                let known = self.iter().filter(|technology| serves(technology));
                let names: Vec<_> = known.map(|t| t.name.as_str()).collect();
                Error::usage(format!(
                    "there is no technology `{name}`; there are {}",
                    names.join(", ")
                ))
            })
    }

    /// Returns all technologies, the built-in ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Technology> {
        self.technologies.iter()
    }
}
