//! The tier that all targets share: where their cold pages go, and how long its drive should live.

use std::time::Duration;

use serde::Deserialize;
use terrace_base::{Bytes, Result};
use terrace_live::tier::{Choice, Spec};
use toml::Spanned;

use super::amounts;
use super::place::Source;

/// The tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The slower memory.
    pub memory: Spec,
    /// The same as it is written.
    pub name: String,
    /// Its size; `None` for all of a device, and for the machine's own swap.
    pub size: Option<Bytes>,
    /// What may be written to it; `None` if that does not matter.
    pub wear: Option<Wear>,
}

/// What a drive may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wear {
    /// Bytes that its maker warrants in all.
    pub endurance: u64,
    /// Time for which it should last.
    pub life: Duration,
}

impl Default for Tier {
    /// The machine's own swap, which may be written as much as it is.
    fn default() -> Self {
        Self {
            memory: Spec::Existing,
            name: "existing".into(),
            size: None,
            wear: None,
        }
    }
}

impl Wear {
    /// Returns the bytes that may be written a day.
    pub fn bytes_a_day(&self) -> u64 {
        let days = self.life.as_secs_f64() / 86_400.0;
        (self.endurance as f64 / days) as u64
    }
}

/// The tier as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    memory: Option<Spanned<String>>,
    size: Option<Spanned<String>>,
    endurance: Option<Spanned<String>>,
    life: Option<Spanned<String>>,
}

impl Tier {
    pub(super) fn of(source: &Source<'_>, written: Spanned<Written>) -> Result<Self> {
        let at = written.span().start;
        let written = written.into_inner();
        let mut tier = Self::default();
        if let Some(memory) = &written.memory {
            let wrong = |why: String| source.wrong(memory.span().start, &why);
            tier.memory = Spec::parse(memory.get_ref()).map_err(|e| wrong(e.to_string()))?;
            tier.memory
                .require_swap()
                .map_err(|e| wrong(e.to_string()))?;
            tier.name.clone_from(memory.get_ref());
        }
        tier.size = match (&tier.memory, &written.size) {
            (Spec::Existing, Some(size)) => {
                let why = "the machine's own swap has the size that it has; leave ‘size’ out, or \
                           say by ‘memory’ what is to be made";
                return Err(source.wrong(size.span().start, why));
            }
            (Spec::Existing | Spec::Device { .. }, None) => None,
            (_, None) => {
                let why = "how large shall this tier be? add as size = \"16G\"";
                return Err(source.wrong(at, why));
            }
            (_, Some(size)) => {
                let allowed = Choice::parse_allowed(size.get_ref());
                Some(allowed.map_err(|e| source.wrong(size.span().start, &e.to_string()))?)
            }
        };
        tier.wear = match (&written.endurance, &written.life) {
            (None, None) => None,
            (Some(endurance), Some(life)) => Some(Wear {
                endurance: amounts::endurance(endurance.get_ref())
                    .map_err(|why| source.wrong(endurance.span().start, &why))?,
                life: amounts::life(life.get_ref())
                    .map_err(|why| source.wrong(life.span().start, &why))?,
            }),
            (Some(_), None) => {
                let why = "‘endurance’ has no effect without ‘life’; add as life = \"5years\"";
                return Err(source.wrong(at, why));
            }
            (None, Some(_)) => {
                let why = "‘life’ needs what the drive endures; add as endurance = \"600TB\"";
                return Err(source.wrong(at, why));
            }
        };
        Ok(tier)
    }
}
