//! Several admission policies: `sequential+second-read+write-budget:bytes-per-day=20G`.

use std::fmt;
use std::time::Duration;

use super::{Admission, Answer, Entry, Machine, Made, Request, Spec};

/// Policies with `+` between them, each with its settings. A page is admitted if all admit it; the
/// first that refuses it is named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain(Vec<Spec>);

impl Chain {
    /// Reads names with their settings and `+` between them.
    ///
    /// # Errors
    /// Returns the message of [`Spec::parse`], or one about a policy that is named twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        let specs = text.split('+').map(Spec::parse);
        let specs = specs.collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<&str> = specs.iter().map(|spec| spec.entry().name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("`{}` is named twice in `{text}`", pair[0])),
            None => Ok(Self(specs)),
        }
    }

    /// Reads a list with commas between chains.
    ///
    /// # Errors
    /// Returns the message of [`Chain::parse`].
    pub fn parse_list(text: &str) -> Result<Vec<Self>, String> {
        let chains = crate::registry::split_list(text);
        chains.iter().map(|chain| Self::parse(chain)).collect()
    }

    /// Returns the chain with a further policy at its end; one of the same name gives way to it.
    #[must_use]
    pub fn with(mut self, spec: Spec) -> Self {
        self.0.retain(|own| own.entry().name != spec.entry().name);
        self.0.push(spec);
        self
    }

    /// The policies.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        self.0.iter().map(Spec::entry)
    }

    /// Makes the policies for a machine.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn policy(&self, machine: &Machine) -> Made {
        let links = self.0.iter().map(|spec| spec.policy(machine));
        Ok(Box::new(Links(links.collect::<Result<_, _>>()?)))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links: Vec<String> = self.0.iter().map(Spec::to_string).collect();
        f.write_str(&links.join("+"))
    }
}

struct Links(Vec<Box<dyn Admission>>);

impl Links {
    fn each(&mut self, tell: impl FnMut(&mut Box<dyn Admission>)) {
        self.0.iter_mut().for_each(tell);
    }
}

impl Admission for Links {
    fn missed(&mut self, request: &Request) {
        self.each(|link| link.missed(request));
    }

    fn hit(&mut self, request: &Request) {
        self.each(|link| link.hit(request));
    }

    fn wants(&self, request: &Request) -> Answer {
        let mut answers = self.0.iter().map(|link| link.wants(request));
        let refused = answers.find(|answer| *answer != Answer::Admit);
        refused.unwrap_or(Answer::Admit)
    }

    fn affords(&self, request: &Request) -> bool {
        self.0.iter().all(|link| link.affords(request))
    }

    fn admitted(&mut self, request: &Request) {
        self.each(|link| link.admitted(request));
    }

    fn wrote(&mut self, bytes: u64, time: Duration) {
        self.each(|link| link.wrote(bytes, time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_read_as_they_are_written() {
        let text = "sequential+sketch:reads=3,sample=4+write-budget:bytes-per-day=20G";
        let chain = Chain::parse(text).unwrap();
        assert_eq!(chain.to_string(), text);
        let list = Chain::parse_list("all,size:most=1M+second-read:ghosts=2,sequential").unwrap();
        let texts: Vec<String> = list.iter().map(Chain::to_string).collect();
        assert_eq!(
            texts,
            ["all", "size:most=1M+second-read:ghosts=2", "sequential"]
        );
        let error = Chain::parse("all+all").unwrap_err();
        assert_eq!(error, "`all` is named twice in `all+all`");
        let error = Chain::parse("all+").unwrap_err();
        assert!(
            error.starts_with("there is no admission policy ``"),
            "{error}"
        );
    }

    #[test]
    fn a_policy_gives_way_to_one_of_its_name() {
        let chain = Chain::parse("write-budget:bytes-per-day=1G+sequential").unwrap();
        let other = Spec::parse("write-budget:bytes-per-day=2G").unwrap();
        let text = chain.with(other).to_string();
        assert_eq!(text, "sequential+write-budget:bytes-per-day=2G");
    }

    #[test]
    fn the_first_that_refuses_is_named() {
        let chain = Chain::parse("size:most=4K+second-read").unwrap();
        let mut policy = chain.policy(&Machine::default()).unwrap();
        let mut read = |size| {
            let time = Duration::ZERO;
            let request = Request {
                page: 7,
                size,
                time,
            };
            policy.missed(&request);
            policy.wants(&request)
        };
        assert_eq!(read(4097), Answer::Refuse("size"));
        assert_eq!(read(4096), Answer::Admit);
    }
}
