//! What the columns of a table say, where its header does not: given by the user, or by the name of
//! a layout that is well known.

use terrace_base::{Error, Result};

use crate::text;

/// What a column says of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// When it was; not read.
    Time,
    /// The name of an object, which is a number or a text.
    Object,
    /// A place in memory, in bytes.
    Address,
    /// A place on a disk, in bytes.
    Offset,
    /// Bytes that are touched, or that the object has.
    Size,
    /// Whether it is written.
    Write,
    /// Instructions before it.
    Instruction,
    /// The instruction that makes it.
    Ip,
    /// The process, or the disk.
    Process,
    /// The thread.
    Thread,
    /// How often it is made.
    Repeat,
}

impl Role {
    /// All roles, by the name in `--columns` and the other names of such columns in headers.
    const ALL: [(Self, &str, &[&str]); 11] = [
        (Self::Time, "time", &["timestamp", "clock_time"]),
        (Self::Object, "object", &["key", "obj_id"]),
        (Self::Address, "address", &[]),
        (Self::Offset, "offset", &[]),
        (Self::Size, "size", &["obj_size"]),
        (Self::Write, "op", &["write", "is_write"]),
        (Self::Instruction, "instruction", &[]),
        (Self::Ip, "ip", &[]),
        (Self::Process, "process", &[]),
        (Self::Thread, "thread", &[]),
        (Self::Repeat, "repeat", &["op_count"]),
    ];

    /// Returns the name in `--columns`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns the role of the column that a header, or a user, calls `name`.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let is_named = |(_, known, others): &&(Self, &str, &[&str])| {
            *known == name || others.contains(&&*name)
        };
        Self::ALL.iter().find(is_named).map(|(role, ..)| *role)
    }

    /// Returns whether it says what is touched.
    pub fn is_place(self) -> bool {
        matches!(self, Self::Object | Self::Address | Self::Offset)
    }

    /// Returns whether the column holds numbers.
    pub fn is_number(self) -> bool {
        !matches!(self, Self::Time | Self::Object | Self::Write)
    }
}

/// Where a column stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// The first column is number 1.
    Number(usize),
    /// The header calls it so.
    Name(String),
}

/// What the columns of a table say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The roles, and where their columns stand.
    columns: Vec<(Role, Place)>,
    /// The name, if it is well known.
    name: Option<&'static str>,
}

/// A layout that is well known.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The name.
    pub name: &'static str,
    /// Whose tables have it, and where it is described.
    pub of: &'static str,
    /// The columns that are read, as `--columns` takes them.
    pub roles: &'static str,
    /// All columns, by their names in a header, if tables have one; `|` parts other names.
    header: &'static str,
}

impl Known {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self {
            name: "libcachesim",
            of: "libCacheSim's own CSV (its `data/trace.csv`): version, time, op, size, lbn; an \
                 object is what begins at a block, as libCacheSim takes it",
            roles: "time=2,op=3,size=4,object=5",
            header: "version,time,op,size,lbn",
        },
        Self {
            name: "msr",
            of: "MSR Cambridge's block traces (SNIA): timestamp, hostname, disk, type, offset, \
                 size, response; places on a disk, a disk is a process",
            roles: "time=1,process=3,op=4,offset=5,size=6",
            header: "timestamp,hostname,disknumber|disk,type,offset,size,responsetime|response",
        },
        Self {
            name: "twitter",
            of: "Twitter's cache traces (github.com/twitter/cache-trace): timestamp, key, key \
                 size, value size, client, operation, TTL; an object has the bytes of both",
            roles: "time=1,object=2,size=3+4,op=6",
            header: "timestamp|time,key|anonymizedkey,keysize,valuesize,client|clientid,\
                     op|operation,ttl",
        },
        Self {
            name: "meta",
            of: "Meta's key-value traces (CacheLib, kvcache), by the names in their header; an \
                 object has the bytes of key and value, a line stands for op_count requests",
            roles: "object=key,op=op,size=key_size+size,repeat=op_count",
            header: "",
        },
    ];

    /// Returns the number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.header.split(',').count()
    }

    /// Returns the names.
    pub fn names() -> String {
        Self::ALL.map(|known| known.name).join(", ")
    }

    /// Returns the layout.
    fn layout(&self) -> Layout {
        let columns = parse(self.roles).expect("a test parses all of them");
        Layout {
            columns,
            name: Some(self.name),
        }
    }

    /// Returns the layout whose header this is.
    pub(crate) fn by_header(header: &[&[u8]]) -> Option<Layout> {
        let names: Vec<String> = header.iter().map(|name| plain(name)).collect();
        let same = |known: &&Self| {
            let expected: Vec<&str> = known.header.split(',').collect();
            let is = |(name, names): (&String, &&str)| names.split('|').any(|it| it == name);
            match known.header.is_empty() {
                false => expected.len() == names.len() && names.iter().zip(&expected).all(is),
                true => {
                    let layout = known.layout();
                    let mut columns = layout.columns.iter();
                    columns.all(|(_, place)| place.among(header).is_some())
                }
            }
        };
        Self::ALL.iter().find(same).map(Self::layout)
    }
}

/// Returns the letters and digits of a name, in lower case.
fn plain(name: &[u8]) -> String {
    let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    letters
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect()
}

impl Place {
    /// Returns the index of the column, if the header says it.
    fn among(&self, header: &[&[u8]]) -> Option<usize> {
        match self {
            Self::Number(number) => Some(number - 1),
            Self::Name(name) => {
                let is = |text: &&[u8]| text.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
                header.iter().position(is)
            }
        }
    }
}

impl Layout {
    /// Parses `NAME`, or `ROLE=COLUMN,…`, where a column is a number or a name of the header, and
    /// the sizes of several columns are added up: `size=3+4`.
    ///
    /// # Errors
    /// A usage error that says what is wrong, and what there is.
    pub fn parse(text: &str) -> Result<Self> {
        if !text.contains('=') {
            let known = Known::ALL.iter().find(|known| known.name == text.trim());
            return known.map(Known::layout).ok_or_else(|| {
                Error::usage(format!(
                    "`{text}` is no layout; there are {}, and columns one by one, as in \
                     time=1,object=2,size=3,op=4",
                    Known::names()
                ))
            });
        }
        let columns = parse(text).map_err(Error::usage)?;
        Ok(Self {
            columns,
            name: None,
        })
    }

    /// Returns the name of the layout, if it is well known.
    pub fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Returns whether columns are named as the header does.
    pub(crate) fn needs_header(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|(_, place)| matches!(place, Place::Name(_)))
    }

    /// Returns the role of each column of a table whose first line is `first`.
    ///
    /// # Errors
    /// Says which column there is not.
    pub(crate) fn roles(&self, first: &[&[u8]]) -> std::result::Result<Vec<Option<Role>>, String> {
        let mut roles = vec![None; first.len()];
        for (role, place) in &self.columns {
            let role_name = role.name();
            let index = place.among(first);
            let Some(found) = index.and_then(|index| roles.get_mut(index)) else {
                return Err(match place {
                    Place::Number(number) => format!(
                        "‘columns’ says that {role_name} is column {number}, and the first line \
                         has {}",
                        first.len()
                    ),
                    Place::Name(name) => format!(
                        "‘columns’ says that {role_name} is the column `{name}`, and the first \
                         line has none of this name"
                    ),
                });
            };
            if let Some(other) = found.replace(*role) {
                return Err(format!(
                    "‘columns’ says that one column is {} and {role_name}",
                    other.name()
                ));
            }
        }
        Ok(roles)
    }
}

/// Parses `ROLE=COLUMN,…`.
fn parse(text: &str) -> std::result::Result<Vec<(Role, Place)>, String> {
    let mut columns = Vec::new();
    for part in text.split(',') {
        let (name, places) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is no column; write ROLE=COLUMN, as in object=2"))?;
        let role = Role::of(name).ok_or_else(|| {
            let names = Role::ALL.map(|(_, name, _)| name).join(", ");
            format!("a column says no `{name}`; it says one of {names}")
        })?;
        if columns.iter().any(|(known, _)| *known == role) {
            return Err(format!("{name} is said twice; write it once"));
        }
        let places: std::result::Result<Vec<Place>, String> =
            places.split('+').map(place).collect();
        let places = places?;
        if places.len() > 1 && role != Role::Size {
            return Err(format!("only sizes are added up; {name} is in one column"));
        }
        columns.extend(places.into_iter().map(|place| (role, place)));
    }
    let placed = columns.iter().filter(|(role, _)| role.is_place()).count();
    match placed {
        1 => Ok(columns),
        0 => Err("no column says what is touched; add object, address or offset".into()),
        _ => Err("several columns say what is touched; leave all but one away".into()),
    }
}

fn place(text: &str) -> std::result::Result<Place, String> {
    let text = text.trim();
    match text::number(text.as_bytes(), 10).and_then(|number| usize::try_from(number).ok()) {
        Some(0) => Err("columns are numbered from 1".into()),
        Some(number) => Ok(Place::Number(number)),
        None if text.is_empty() => Err("a column has no name; write its number or name".into()),
        None => Ok(Place::Name(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str, first: &str) -> Result<Vec<Option<Role>>> {
        let first: Vec<&[u8]> = first.split(',').map(str::as_bytes).collect();
        Layout::parse(text)?.roles(&first).map_err(Error::usage)
    }

    #[test]
    fn columns_are_found_by_number_and_by_name() {
        let found = roles("time=1,object=2,size=3+4,op=5", "1,k,3,4,get,6").unwrap();
        let expected = [
            Role::Time,
            Role::Object,
            Role::Size,
            Role::Size,
            Role::Write,
        ];
        assert_eq!(found[..5], expected.map(Some));
        assert_eq!(found[5], None);
        let named = roles("object=Key,op=3", "a, KEY ,b").unwrap();
        assert_eq!(named, [None, Some(Role::Object), Some(Role::Write)]);
        assert_eq!(
            roles("msr", "1,h,0,Read,4096,8,9").unwrap()[2],
            Some(Role::Process)
        );
    }

    #[test]
    fn what_cannot_be_a_layout_is_refused_with_what_there_is() {
        for (text, first, says) in [
            ("cheese", "a", "there are libcachesim, msr, twitter, meta"),
            ("", "a", "is no layout"),
            ("time=1", "a", "no column says what is touched"),
            ("object=1,address=2", "a,b", "several columns say"),
            ("object=0", "a", "numbered from 1"),
            ("object=", "a", "has no name"),
            ("object=1,object=2", "a,b", "said twice"),
            ("object=1,key=2", "a,b", "said twice"),
            ("object=1+2", "a,b", "only sizes are added up"),
            ("object=1,cheese=2", "a,b", "one of time, object"),
            ("object=1,2", "a,b", "write ROLE=COLUMN"),
            ("object=3", "a,b", "is column 3, and the first line has 2"),
            ("object=1,op=1", "a,b", "one column is object and op"),
            ("object=id", "a,b", "has none of this name"),
            (
                "object=99999999999999999999999",
                "a",
                "has none of this name",
            ),
        ] {
            let error = roles(text, first).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn known_layouts_show_in_their_headers() {
        for (header, name) in [
            ("version,time,op,size,lbn", "libcachesim"),
            (
                "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
                "msr",
            ),
            ("timestamp,key,keysize,valuesize,client,op,ttl", "twitter"),
            (
                "timestamp,anonymized key,key size,value size,client id,operation,TTL",
                "twitter",
            ),
            ("key,op,size,op_count,key_size", "meta"),
            (
                "op_time,key,key_size,op,op_count,size,cache_hits,ttl",
                "meta",
            ),
        ] {
            let names: Vec<&[u8]> = header.split(',').map(str::as_bytes).collect();
            let layout = Known::by_header(&names).expect(header);
            assert_eq!(layout.name(), Some(name));
        }
        assert!(Known::by_header(&[b"address", b"op"]).is_none());
    }

    #[test]
    fn each_role_stands_at_its_place_in_the_list() {
        for (role, name, others) in Role::ALL {
            assert_eq!(role.name(), name);
            assert!(others.iter().all(|other| Role::of(other) == Some(role)));
        }
    }
}
