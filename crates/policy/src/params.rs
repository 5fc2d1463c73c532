//! Settings as they are written behind a policy's name: `stride:depth=4,history=1`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Takes a list with commas apart. A part with `=` and without `:` is a setting of the one before.
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

/// Keys and values, each to be taken once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Reads `key=value,key=value`; nothing is no settings.
    ///
    /// # Errors
    /// A sentence where a part is not of this form, or a key comes twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut params = Self::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("`{part}` is no setting; write it as key=value"));
            };
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            if params.0.iter().any(|(known, _)| *known == key) {
                return Err(format!("`{key}` is set twice"));
            }
            params.0.push((key, value));
        }
        Ok(params)
    }

    /// Takes the number called `key`, or `default` where it is not given.
    ///
    /// # Errors
    /// A sentence where it is no number, or outside of `range`.
    pub fn number<T>(
        &mut self,
        key: &str,
        default: T,
        range: RangeInclusive<T>,
    ) -> Result<T, String>
    where
        T: FromStr + PartialOrd + fmt::Display,
    {
        let Some(text) = self.text(key) else {
            return Ok(default);
        };
        match text.parse() {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(format!(
                "{key}={text}: it is a number from {} to {}",
                range.start(),
                range.end()
            )),
        }
    }

    /// Takes the value called `key` by its name among `choices`, or `default` where it is not
    /// given.
    ///
    /// # Errors
    /// A sentence where it is none of them.
    pub fn choice<T: Copy>(
        &mut self,
        key: &str,
        default: T,
        choices: &[(&str, T)],
    ) -> Result<T, String> {
        let Some(text) = self.text(key) else {
            return Ok(default);
        };
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let found = choices.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("{key}={text}: it is one of {}", names.join(", ")))
    }

    /// Takes the text called `key`, if it is given.
    pub fn text(&mut self, key: &str) -> Option<String> {
        let place = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(place).1)
    }

    /// All have to be taken by now.
    ///
    /// # Errors
    /// A sentence that names one that was not; `keys` says which there are.
    pub fn finish(self, keys: &str) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((key, _)) => Err(format!("it has no setting `{key}`; there are: {keys}")),
        }
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_taken_once_and_by_name() {
        let mut params = Params::parse("depth=4, order=fifo").unwrap();
        assert_eq!(params.number("depth", 1, 1..=8), Ok(4));
        assert_eq!(params.number("depth", 1, 1..=8), Ok(1));
        let orders = [("lifo", 1), ("fifo", 2)];
        assert_eq!(params.choice("order", 1, &orders), Ok(2));
        assert_eq!(params.choice("order", 1, &orders), Ok(1));
        assert_eq!(params.finish("depth"), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [("depth", "key=value"), ("a=1,a=2", "twice")] {
            let error = Params::parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let params = || Params::parse("depth=9").unwrap();
        assert!(
            params()
                .number("depth", 1, 1..=8)
                .unwrap_err()
                .contains("from 1 to 8")
        );
        assert!(
            params()
                .choice("depth", 1, &[("on", 1)])
                .unwrap_err()
                .contains("one of on")
        );
        assert!(params().finish("history").unwrap_err().contains("history"));
    }
}
