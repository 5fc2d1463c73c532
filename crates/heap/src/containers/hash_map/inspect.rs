//! Looking into a map: whether what it holds is where it is looked for.

use std::collections::HashSet;

use crate::error::Result;
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::LINE_BYTES;
use crate::sink::Source;

use super::super::inspecting::{Inspecting, Order};
use super::chain::Chain;
use super::layout::{LINES, group_of, line_of, tag_of};
use super::table::Table;

impl Inspecting for Table {
    fn inspect(
        &self,
        source: &impl Source,
        _: Option<Order>,
        wrong: &mut dyn FnMut(u64, String),
    ) -> Result<Vec<u64>> {
        let groups = self.groups();
        let mut chain = Chain::default();
        self.expect(source)?;
        for group in 0..groups {
            for line in 0..LINES {
                chain.clear();
                chain.add(source, self.group(group) + line * LINE_BYTES)?;
                let mut keys = HashSet::new();
                for slot in &chain.slots {
                    let at = slot & FIELD_MAX;
                    let key = self.entries.read(source, at)?.key::<[u8]>(source)?;
                    let hash = self.hash(&key);
                    let here = group_of(hash, groups) == group && line_of(hash) == line;
                    if source.word(at)? != self.entries.stored_hash(hash)
                        || u64::from(tag_of(hash)) != slot >> FIELD_BITS
                    {
                        wrong(at, format!("the key of the entry at {at} has another hash"));
                    } else if !here {
                        wrong(
                            at,
                            format!("the entry at {at} is where it is not looked for"),
                        );
                    }
                    if !keys.insert(key) {
                        wrong(at, format!("the key of the entry at {at} is there twice"));
                    }
                }
            }
        }
        self.objects(source)
    }
}
