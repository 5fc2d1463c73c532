//! A predictor with its settings and those of its engine, as people write it.

use std::fmt;
use std::sync::Arc;

use super::registry::{Entry, Future, Made, Make, REGISTRY, by_name};
use super::{Engine, Order, Params, Settings, Trigger};
use crate::params::split_list;

/// The engine's settings that every predictor takes, for `--help`.
pub const ENGINE_KEYS: &str = "queue=lifo|fifo|direct, hints=2048, trigger=faults|first-use";

/// A predictor by name, with settings: `stride:history=1,strides=4,queue=fifo`.
#[derive(Clone)]
pub struct Spec {
    entry: &'static Entry,
    /// As given, without the engine's.
    params: Params,
    settings: Settings,
    text: String,
}

impl Spec {
    /// Reads `name` or `name:key=value,...`.
    ///
    /// # Errors
    /// A sentence where there is no such predictor, or it has no such setting.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, params) = text.split_once(':').unwrap_or((text, ""));
        let entry = by_name(name).ok_or_else(|| {
            let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
            format!(
                "there is no predictor `{name}`; there are: off, {}",
                names.join(", ")
            )
        })?;
        let of = |problem| format!("{name}: {problem}");
        let mut params = Params::parse(params).map_err(of)?;
        let text = match params.to_string() {
            given if given.is_empty() => name.to_owned(),
            given => format!("{name}:{given}"),
        };
        let settings = engine_settings(&mut params, entry).map_err(of)?;
        let spec = Self {
            entry,
            params,
            settings,
            text,
        };
        spec.check().map_err(of)?;
        Ok(spec)
    }

    /// Reads a list with commas. A part with `=` and without `:` is a setting of the one before.
    ///
    /// # Errors
    /// As [`Spec::parse`], by `parse` for each.
    pub fn parse_list<T>(
        text: &str,
        parse: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let specs = split_list(text);
        specs.iter().map(String::as_str).map(parse).collect()
    }

    /// Reads the names of predictors with a `+` between them. A name may have one itself: the
    /// longest that fits is taken.
    ///
    /// # Errors
    /// A sentence where there is no such predictor.
    pub(super) fn parse_sum(text: &str) -> Result<Vec<Self>, String> {
        let mut specs = Vec::new();
        let mut rest = text;
        loop {
            let fits = |name: &&str| {
                rest.strip_prefix(*name)
                    .is_some_and(|tail| tail.is_empty() || tail.starts_with('+'))
            };
            let names = REGISTRY.iter().map(|entry| entry.name);
            let name = names.filter(fits).max_by_key(|name| name.len());
            specs.push(Self::parse(name.unwrap_or(rest))?);
            match rest[name.map_or(0, str::len)..].strip_prefix('+') {
                Some(tail) => rest = tail,
                None => return Ok(specs),
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let mut params = self.params.clone();
        match self.entry.make {
            Make::Online(make) => drop(make(&mut params)?),
            Make::Offline(make) => drop(make(&mut params, &Arc::default())?),
        }
        params.finish(&match self.entry.keys {
            "" => ENGINE_KEYS.to_owned(),
            keys => format!("{keys}, {ENGINE_KEYS}"),
        })
    }

    /// What it is.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Of its engine.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// An engine around a new predictor. `future` is for one that knows it, by thread.
    ///
    /// # Errors
    /// A sentence where the future is needed and not given.
    pub fn engine(&self, future: Option<&Arc<Future>>) -> Result<Engine, String> {
        Ok(Engine::new(self.predictor(future)?, self.settings))
    }

    pub(super) fn predictor(&self, future: Option<&Arc<Future>>) -> Made {
        let params = &mut self.params.clone();
        match (self.entry.make, future) {
            (Make::Online(make), _) => make(params),
            (Make::Offline(make), Some(future)) => make(params, future),
            (Make::Offline(_), None) => Err(format!(
                "{} has to know the future, which only a simulation does",
                self.entry.name
            )),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spec").field(&self.text).finish()
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Takes those of the engine. Who knows the future is told of first uses unless it shall not be.
fn engine_settings(params: &mut Params, entry: &Entry) -> Result<Settings, String> {
    let default = Settings {
        trigger: match entry.make {
            Make::Online(_) => Trigger::Faults,
            Make::Offline(_) => Trigger::FirstUse,
        },
        ..Settings::default()
    };
    Ok(Settings {
        order: params.choice(
            "queue",
            entry.order,
            &[
                ("lifo", Order::Lifo),
                ("fifo", Order::Fifo),
                ("direct", Order::Direct),
            ],
        )?,
        hints: params.number("hints", default.hints, 1..=1 << 20)?,
        trigger: params.choice(
            "trigger",
            default.trigger,
            &[
                ("faults", Trigger::Faults),
                ("first-use", Trigger::FirstUse),
            ],
        )?,
        ..default
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_settings_of_predictor_and_engine() {
        let spec = Spec::parse("spatial:degree=4, queue=fifo").unwrap();
        assert_eq!(spec.entry().name, "spatial");
        assert_eq!(spec.settings().order, Order::Fifo);
        assert_eq!(spec.to_string(), "spatial:degree=4,queue=fifo");
        assert_eq!(Spec::parse("spatial").unwrap().to_string(), "spatial");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("best", "there are: "),
            ("spatial:depth=2", "no setting `depth`; there are: degree=8"),
            ("spatial:degree=0", "from 1 to"),
            ("spatial:queue=lilo", "one of lifo"),
            ("spatial:degree", "key=value"),
        ] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_list_keeps_settings_with_their_predictor() {
        let list = |text| Spec::parse_list(text, Spec::parse).unwrap();
        let texts = |text| -> Vec<String> { list(text).iter().map(Spec::to_string).collect() };
        assert_eq!(
            texts("spatial:degree=4,queue=fifo,stream,spatial"),
            ["spatial:degree=4,queue=fifo", "stream", "spatial"]
        );
    }

    #[test]
    fn every_predictor_is_made_of_nothing_but_its_name() {
        for entry in REGISTRY {
            Spec::parse(entry.name).unwrap_or_else(|problem| panic!("{problem}"));
        }
    }
}
