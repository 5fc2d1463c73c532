//! The registry that all kinds of policies share: entries by name, and specifications such as
//! `stride:depth=4` that name an entry with its settings.
//!
//! A policy declares one [`Entry`] in its own file, and its kind lists the entries in
//! [`Kind::ENTRIES`]. A new kind of policy implements [`Kind`] for the type that makes its
//! policies. A policy of another crate is added by [`register`].

use std::any::Any;
use std::fmt;
use std::sync::{PoisonError, RwLock};

use crate::params::{Params, Setting};

/// Entries that other crates added, of all kinds, with their versions.
static ADDED: RwLock<Vec<Added>> = RwLock::new(Vec::new());

struct Added {
    entry: &'static (dyn Any + Send + Sync),
    version: &'static str,
}

impl Added {
    /// Returns whether it is the entry of a kind with this name.
    fn is<M: 'static>(&self, name: &str) -> bool {
        let entry = self.entry.downcast_ref::<Entry<M>>();
        entry.is_some_and(|entry| entry.name == name)
    }
}

/// A named policy: what users read about it, and how to make one.
pub struct Entry<M> {
    /// The name on the command line.
    pub name: &'static str,
    /// One line of help, without a capital letter and a full stop.
    pub summary: &'static str,
    /// Paper and section, or the origin if there is no paper.
    pub paper: &'static str,
    /// When to use it, in one or two sentences.
    pub when: &'static str,
    /// What its paper leaves open, and with what it was compared.
    pub evidence: Evidence,
    /// How to make one; it declares the settings. A constructor that has captured something is
    /// leaked ([`Box::leak`]): an entry stays until the process ends.
    pub make: M,
}

impl<M> fmt::Debug for Entry<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({})", self.name)
    }
}

/// What there is to know of how far a policy is that of its paper.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// What the paper leaves open or could not be checked, and what is done here; empty if nothing
    /// is known.
    pub open: &'static str,
    /// With what it was compared, and the result; empty if it was not.
    pub compared: &'static str,
}

impl Evidence {
    /// Nothing is known to be open, and nothing was compared.
    pub const NONE: Self = Self {
        open: "",
        compared: "",
    };
}

/// A kind of policy, implemented by the type that makes its policies.
pub trait Kind: Sized + 'static {
    /// The noun for one policy in messages: `predictor`.
    const NOUN: &'static str;
    /// The policies of this kind that stand in its registry.
    const ENTRIES: &'static [Entry<Self>];
    /// Further names that users can write instead, for messages.
    const ALSO: &'static [&'static str] = &[];

    /// Makes a policy for an example of its environment and drops it, which takes and declares its
    /// settings.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    fn declare(&self, params: &mut Params) -> Result<(), String>;

    /// Checks given settings as soon as they are parsed. A kind whose ranges depend on the
    /// environment checks them when a policy is made.
    ///
    /// # Errors
    /// Returns a message if there is no such setting, or it has a wrong value.
    fn check(&self, mut params: Params) -> Result<(), String> {
        self.declare(&mut params)?;
        params.finish()
    }
}

/// Adds a policy of another crate to those of its kind: what names a policy, lists or explains
/// policies knows it from then on. It stays until the process ends.
///
/// The version is any text that the policy's author changes whenever its decisions change. It is in
/// the keys under which sweeps keep results, so that those of an older version are not taken for
/// those of this one.
///
/// # Errors
/// Returns a message if the name is taken or cannot be part of a list, if the help or the version
/// is missing, or if no policy can be made of the name alone.
pub fn register<M: Kind + Send + Sync>(
    entry: Entry<M>,
    version: &'static str,
) -> Result<&'static Entry<M>, String> {
    let (name, noun) = (entry.name, M::NOUN);
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!(
            "`{name}` is no name for a {noun}: a name has small letters, digits and hyphens"
        ));
    }
    if [entry.summary, entry.paper, entry.when].contains(&"") {
        return Err(format!(
            "the {noun} `{name}` needs a summary, its paper or origin, and when to use it"
        ));
    }
    if version.is_empty() {
        return Err(format!(
            "the {noun} `{name}` needs a version: a text that changes whenever its decisions do"
        ));
    }
    let declared = entry.make.check(Params::default());
    declared.map_err(|problem| format!("{name}: {problem}"))?;
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if M::ALSO.contains(&name)
        || M::ENTRIES.iter().any(|one| one.name == name)
        || added.iter().any(|one| one.is::<M>(name))
    {
        return Err(format!("there is a {noun} `{name}` already"));
    }
    let entry: &'static Entry<M> = Box::leak(Box::new(entry));
    added.push(Added { entry, version });
    Ok(entry)
}

/// Gives a policy that [`register`] has added another version: one whose code changes while the
/// process runs, as a class of another language may. Keys that were made before stay as they are.
pub fn renew<M: Kind>(name: &str, version: &'static str) {
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(one) = added.iter_mut().find(|one| one.is::<M>(name)) {
        one.version = version;
    }
}

impl<M: Kind> Entry<M> {
    /// Returns all policies of the kind: ours, and behind them those that other crates added.
    pub fn all() -> Vec<&'static Self> {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
        let added = added.iter().filter_map(|one| one.entry.downcast_ref());
        M::ENTRIES.iter().chain(added).collect()
    }

    /// Returns the entry called `name`.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().into_iter().find(|entry| entry.name == name)
    }

    /// Returns the settings with their defaults.
    pub fn settings(&self) -> Vec<Setting> {
        let mut params = Params::default();
        // A policy with a setting that must be given is not made, but has declared its settings.
        let _ = self.make.declare(&mut params);
        params.declared().to_vec()
    }
}

/// A policy by name with given settings: `stride:history=1,strides=4`.
#[derive(Clone)]
pub struct Spec<M: 'static> {
    entry: &'static Entry<M>,
    params: Params,
}

impl<M: Kind> Spec<M> {
    /// Reads `name` or `name:key=value,...`.
    ///
    /// # Errors
    /// Returns a message if there is no such policy, it has no such setting, or the setting has a
    /// wrong value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, params) = text.split_once(':').unwrap_or((text, ""));
        let entry = Entry::<M>::by_name(name).ok_or_else(|| {
            let names = Entry::<M>::all().into_iter().map(|entry| entry.name);
            let names: Vec<&str> = M::ALSO.iter().copied().chain(names).collect();
            let names = names.join(", ");
            format!("there is no {} `{name}`; there are: {names}", M::NOUN)
        })?;
        let of = |problem| format!("{name}: {problem}");
        let params = Params::parse(params).map_err(of)?;
        entry.make.check(params.clone()).map_err(of)?;
        Ok(Self { entry, params })
    }

    /// Reads a list with commas between the specifications; see [`split_list`].
    ///
    /// # Errors
    /// Returns the message of [`Spec::parse`].
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        let specs = split_list(text);
        specs.iter().map(|spec| Self::parse(spec)).collect()
    }

    /// Reads names with `+` between them. A name can contain a `+` itself: the longest name that
    /// fits is taken.
    ///
    /// # Errors
    /// Returns a message if there is no such policy.
    pub fn parse_sum(text: &str) -> Result<Vec<Self>, String> {
        let mut specs = Vec::new();
        let mut rest = text;
        loop {
            let fits = |name: &&str| {
                rest.strip_prefix(*name)
                    .is_some_and(|tail| tail.is_empty() || tail.starts_with('+'))
            };
            let names = Entry::<M>::all().into_iter().map(|entry| entry.name);
            let name = names.filter(fits).max_by_key(|name| name.len());
            specs.push(Self::parse(name.unwrap_or(rest))?);
            match rest[name.map_or(0, str::len)..].strip_prefix('+') {
                Some(tail) => rest = tail,
                None => return Ok(specs),
            }
        }
    }

    /// Makes something with the entry's constructor and the given settings, and checks that all of
    /// these are taken.
    ///
    /// # Errors
    /// Returns the message of `make`, or one about a setting that was not taken.
    pub fn make<T>(
        &self,
        make: impl FnOnce(&M, &mut Params) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut params = self.params.clone();
        let made = make(&self.entry.make, &mut params);
        made.and_then(|made| params.finish().map(|()| made))
            .map_err(|problem| format!("{}: {problem}", self.entry.name))
    }
}

impl<M: 'static> Entry<M> {
    /// Returns the version that a policy of another crate was registered with. It is empty for
    /// ours, whose results change with the version of the simulator.
    pub fn version(&self) -> &'static str {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
        let this = added.iter().find(|one| one.is::<M>(self.name));
        this.map_or("", |one| one.version)
    }
}

impl<M> Spec<M> {
    /// The entry that the name stands for.
    pub fn entry(&self) -> &'static Entry<M> {
        self.entry
    }
}

/// The first entry of the kind with its default settings.
impl<M: Kind> Default for Spec<M> {
    fn default() -> Self {
        (&M::ENTRIES[0]).into()
    }
}

/// The entry with its default settings.
impl<M> From<&'static Entry<M>> for Spec<M> {
    fn from(entry: &'static Entry<M>) -> Self {
        let params = Params::default();
        Self { entry, params }
    }
}

impl<M> PartialEq for Spec<M> {
    fn eq(&self, other: &Self) -> bool {
        (self.entry.name, &self.params) == (other.entry.name, &other.params)
    }
}

/// Writes the name and the settings as they were given.
impl<M> fmt::Display for Spec<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        match self.params.to_string() {
            params if params.is_empty() => Ok(()),
            params => write!(f, ":{params}"),
        }
    }
}

/// As [`Display`](fmt::Display), and the version of a policy of another crate. Keys of results are
/// made of it.
impl<M> fmt::Debug for Spec<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry.version() {
            "" => write!(f, "Spec({self})"),
            version => write!(f, "Spec({self} {version:?})"),
        }
    }
}

/// Splits a list at its commas. A part with `=` and without `:` is a setting of the part before it.
pub fn split_list(text: &str) -> Vec<String> {
    let mut specs: Vec<String> = Vec::new();
    for part in text.split(',') {
        match specs.last_mut() {
            Some(spec) if part.contains('=') && !part.contains(':') => {
                spec.push(',');
                spec.push_str(part);
            }
            _ => specs.push(part.to_owned()),
        }
    }
    specs
}

/// Checks that every entry of a kind is documented, and can be made of its name alone.
#[cfg(test)]
pub(crate) fn check<M: Kind>() {
    for entry in M::ENTRIES {
        let name = entry.name;
        for text in [entry.summary, entry.paper, entry.when] {
            assert!(!text.is_empty(), "{name}");
        }
        assert!(entry.summary.len() <= 110, "{name}: {}", entry.summary);
        for setting in entry.settings() {
            assert!(!setting.meaning.is_empty(), "{name}: {}", setting.key);
        }
        let spec = Spec::<M>::parse(name).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(spec.to_string(), name);
        let same = M::ENTRIES.iter().filter(|other| other.name == name);
        assert_eq!(same.count(), 1, "{name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::lru;
    use crate::replacement::{Entry, Spec};

    fn refusal(change: impl FnOnce(&mut Entry)) -> String {
        let mut entry = lru::ENTRY;
        entry.name = "refused";
        change(&mut entry);
        register(entry, "1").unwrap_err()
    }

    #[test]
    fn a_policy_of_another_crate_is_one_of_its_kind() {
        let mut entry = lru::ENTRY;
        entry.name = "of-another-crate";
        assert!(Entry::by_name(entry.name).is_none());
        let added = register(entry, "of 1999").unwrap();
        assert_eq!(Entry::all().last().map(|last| last.name), Some(added.name));
        let list = Spec::parse_list("of-another-crate,lru").unwrap();
        assert_eq!(list[0].to_string(), "of-another-crate");
        let sum = Spec::parse_sum("lru+of-another-crate").unwrap();
        assert_eq!(sum[1].entry().name, added.name);
        let told = [&list[0], &list[1]].map(|spec| format!("{spec:?}"));
        assert_eq!(told, ["Spec(of-another-crate \"of 1999\")", "Spec(lru)"]);
        let versions = [&list[0], &list[1]].map(|spec| spec.entry().version());
        assert_eq!(versions, ["of 1999", ""]);
        renew::<crate::replacement::Make>("of-another-crate", "of 2000");
        assert_eq!(added.version(), "of 2000");
        let error = Spec::parse("of-another").unwrap_err();
        assert!(error.ends_with(", of-another-crate"), "{error}");
        // Another kind does not have it.
        assert!(crate::llc::Spec::parse("of-another-crate").is_err());
        let twice = refusal(|entry| entry.name = "of-another-crate");
        assert_eq!(
            twice,
            "there is a replacement policy `of-another-crate` already"
        );
    }

    /// A constructor has what it was made with, as a class of another language.
    #[test]
    fn a_constructor_can_capture() {
        let made = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = std::sync::Arc::clone(&made);
        let constructor = move |capacity, _: &mut Params, _| -> crate::replacement::Made {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(Box::new(lru::Lru::new(capacity)))
        };
        let mut entry = lru::ENTRY;
        entry.name = "captured";
        entry.make = crate::replacement::Make::Online(Box::leak(Box::new(constructor)));
        register(entry, "1").unwrap();
        let before = made.load(std::sync::atomic::Ordering::Relaxed);
        let policy = Spec::parse("captured").unwrap().policy(3, 0, None);
        assert_eq!(policy.unwrap().resident(), 0);
        assert!(made.load(std::sync::atomic::Ordering::Relaxed) > before);
    }

    #[test]
    fn what_cannot_be_named_or_explained_is_refused() {
        for name in ["", "a,b", "a:b", "a=b", "a+b", "A", "a b"] {
            let error = refusal(|entry| entry.name = name);
            assert!(error.contains("small letters"), "{error}");
        }
        assert!(refusal(|entry| entry.name = "lru").contains("already"));
        assert!(refusal(|entry| entry.summary = "").contains("summary"));
        let mut entry = lru::ENTRY;
        entry.name = "refused";
        assert!(register(entry, "").unwrap_err().contains("a version"));
        let make = crate::replacement::Make::Online(&|_, _, _| Err("it has no pages".to_owned()));
        let error = refusal(|entry| entry.make = make);
        assert_eq!(error, "refused: it has no pages");
        assert!(Entry::by_name("refused").is_none());
    }
}
