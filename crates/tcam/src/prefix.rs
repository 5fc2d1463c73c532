//! An IP prefix: the leading bits that an address must have for a route to match it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use terrace_base::{Error, Result};

/// A version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4: addresses of 32 bits.
    V4,
    /// IPv6: addresses of 128 bits.
    V6,
}

impl Family {
    /// Returns the family of `address`.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// Returns the bits of an address.
    pub fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// A prefix of IPv4 or IPv6 addresses. Bits behind its length are zero.
///
/// Prefixes are ordered by family, then by value, then by length: a prefix comes before the longer
/// ones that it contains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    family: Family,
    /// The value, whose first bit is the most significant one.
    bits: u128,
    length: u8,
}

impl Prefix {
    /// Makes the prefix of the first `length` bits of `address`; its other bits are dropped.
    ///
    /// # Errors
    /// Returns a usage error if an address has fewer bits than `length`.
    pub fn new(address: IpAddr, length: u8) -> Result<Self> {
        let family = Family::of(address);
        let most = family.bits();
        if length > most {
            return Err(Error::usage(format!(
                "a prefix of {length} bits is longer than the {most} bits of an {family} address"
            )));
        }
        Ok(Self::truncated(family, left_aligned(address), length))
    }

    /// Makes the prefix of all bits of `address`.
    pub fn host(address: IpAddr) -> Self {
        let family = Family::of(address);
        Self {
            family,
            bits: left_aligned(address),
            length: family.bits(),
        }
    }

    /// Makes the prefix of the first `length` of the bits, which is at most those of the family.
    pub(crate) fn truncated(family: Family, bits: u128, length: u8) -> Self {
        let bits = bits & mask(length);
        Self {
            family,
            bits,
            length,
        }
    }

    /// Returns the version of the protocol.
    pub fn family(self) -> Family {
        self.family
    }

    /// Returns the value: its first bit is the most significant one, and bits behind the length are
    /// zero.
    pub fn bits(self) -> u128 {
        self.bits
    }

    /// Returns the number of bits that an address must match.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Returns the first address of the prefix.
    pub fn address(self) -> IpAddr {
        match self.family {
            Family::V4 => Ipv4Addr::from_bits((self.bits >> 96) as u32).into(),
            Family::V6 => Ipv6Addr::from_bits(self.bits).into(),
        }
    }

    /// Returns the address of the prefix that has these bits behind its length; the first one is
    /// the most significant.
    pub fn address_with(self, bits: u128) -> IpAddr {
        let host = Self::truncated(self.family, bits & !mask(self.length), self.family.bits());
        let bits = self.bits | host.bits;
        Self { bits, ..self }.address()
    }

    /// Tells whether `address` begins with the prefix.
    pub fn contains(self, address: IpAddr) -> bool {
        Family::of(address) == self.family
            && (left_aligned(address) ^ self.bits) & mask(self.length) == 0
    }

    /// Returns the first `length` bits of the prefix as one; the prefix itself if it is no longer.
    pub fn shortened(self, length: u8) -> Self {
        match length < self.length {
            true => Self::truncated(self.family, self.bits, length),
            false => self,
        }
    }
}

/// Returns the address with its first bit as the most significant one.
fn left_aligned(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns as many ones as `length`, which is at most 128, from the most significant bit on.
fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.length)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads `10.0.0.0/8` and `2001:db8::/32`.
impl FromStr for Prefix {
    type Err = Error;

    /// # Errors
    /// Returns a usage error if the text is no prefix, or has bits behind its length that are not
    /// zero.
    fn from_str(text: &str) -> Result<Self> {
        let no_prefix = || {
            Error::usage(format!(
                "`{text}` is not a prefix; write it as 10.0.0.0/8 or 2001:db8::/32"
            ))
        };
        let (address, length) = text.split_once('/').ok_or_else(no_prefix)?;
        let address: IpAddr = address.parse().map_err(|_| no_prefix())?;
        if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(no_prefix());
        }
        // A length of too many digits is too long as well.
        let length = length.parse().unwrap_or(u8::MAX);
        let prefix = Self::new(address, length)
            .map_err(|problem| Error::usage(format!("`{text}` is not a prefix: {problem}")))?;
        match prefix.bits == left_aligned(address) {
            true => Ok(prefix),
            false => Err(Error::usage(format!(
                "`{text}` has bits behind its length that are not zero; its prefix is {prefix}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prefixes_as_people_write_them() {
        for text in [
            "0.0.0.0/0",
            "10.0.0.0/8",
            "193.0.10.128/25",
            "1.2.3.4/32",
            "::/0",
            "2001:db8::/32",
            "::1/128",
        ] {
            let prefix: Prefix = text.parse().unwrap();
            assert_eq!(prefix.to_string(), text);
        }
        for (text, why) in [
            ("10.0.0.0", "is not a prefix"),
            ("10.0.0.0/", "is not a prefix"),
            ("10.0.0.0/+8", "is not a prefix"),
            ("10.0.0/8", "is not a prefix"),
            ("10.0.0.0/33", "longer than the 32 bits of an IPv4 address"),
            ("::/129", "longer than the 128 bits"),
            ("::/1000", "longer than the 128 bits"),
            ("10.0.0.1/8", "its prefix is 10.0.0.0/8"),
        ] {
            let error = text.parse::<Prefix>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_prefix_comes_before_those_it_contains() {
        let parse = |text: &str| text.parse::<Prefix>().unwrap();
        let mut prefixes = [
            "::/0",
            "10.1.0.0/16",
            "10.0.0.0/16",
            "10.0.0.0/8",
            "9.0.0.0/8",
        ]
        .map(parse);
        prefixes.sort();
        let order = [
            "9.0.0.0/8",
            "10.0.0.0/8",
            "10.0.0.0/16",
            "10.1.0.0/16",
            "::/0",
        ];
        assert_eq!(prefixes, order.map(parse));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-f.:/ ]{0,24}") {
            if let Ok(prefix) = text.parse::<Prefix>() {
                prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
            }
        }

        /// Bits as text beside bits as numbers.
        #[test]
        fn it_contains_the_addresses_that_begin_with_it(
            bits: u32, other: u32, same in 0u32..=32, length in 0u8..=32,
        ) {
            let shared = u32::MAX.checked_shl(32 - same).unwrap_or(0);
            let other = (bits & shared) | (other & !shared);
            let prefix = Prefix::new(Ipv4Addr::from_bits(bits).into(), length).unwrap();
            let begin = |bits: u32| format!("{bits:032b}")[..usize::from(length)].to_owned();
            let address = Ipv4Addr::from_bits(other).into();
            prop_assert_eq!(prefix.contains(address), begin(bits) == begin(other));
            prop_assert_eq!(Prefix::host(address).shortened(length) == prefix, begin(bits) == begin(other));
            prop_assert!(prefix.contains(prefix.address_with(u128::from(other) << 96)));
            prop_assert!(!prefix.contains(Ipv6Addr::from_bits(other.into()).into()));
        }
    }
}
