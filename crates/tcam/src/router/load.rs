//! Loading a table: all its routes are in flash when the router goes on-line.

use terrace_base::{Error, Nanos, Result};
use terrace_device::Wear;

use super::{Lane, Queue, Router};
use crate::bound::Bound;
use crate::chip::Chip;
use crate::golden::Golden;
use crate::images::Images;
use crate::length::Length;
use crate::levelling;
use crate::policy::Sum;
use crate::pool::{self, Allocation, Pool};
use crate::route::Route;
use crate::settings::Settings;
use crate::shadows::Shadows;

impl<C: Chip> Router<C> {
    /// Loads a table into an empty chip of the size of the settings. Of several routes for a prefix
    /// the last counts. Loading wears nothing.
    ///
    /// # Errors
    /// Returns a usage error if a setting is wrong or the table does not fit.
    pub fn load(
        chip: C,
        settings: Settings,
        policy: Sum,
        table: impl IntoIterator<Item = Route>,
    ) -> Result<Self> {
        settings.check()?;
        let levelling = levelling::make(&settings.levelling)?;
        let (golden, routes) = by_length(table);
        let used = blocks_used(&routes, settings.rows);
        let divided = match settings.allocation {
            Allocation::Shared => (used.iter().sum::<u32>() <= settings.blocks)
                .then(|| Pool::shared(settings.blocks, levelling.order, settings.seed)),
            Allocation::Static => {
                let has = |length: Length| golden.is_empty() || golden.has(length.family);
                pool::shares(settings.blocks, &used, settings.blocks_a_flush() + 1, has)
                    .map(|shares| Pool::divided(&shares, levelling.order, settings.seed))
            }
        };
        let pool = divided.ok_or_else(|| too_few(&settings, &used))?;
        let wear = Wear::new(levelling.moving, settings.blocks.into(), settings.seed)?;
        let mut router = Self {
            chip,
            policy,
            golden,
            images: Images::new(settings.blocks, settings.rows),
            pool,
            shadows: Shadows::new(settings.shadow_rows, settings.buffers),
            lanes: (0..Length::COUNT).map(|_| Lane::default()).collect(),
            ends: Default::default(),
            stuck: Vec::new(),
            invalid: Default::default(),
            order: 0,
            now: Nanos::ZERO,
            wear,
            bound: Bound::new(settings.shadow_rows),
            flushed: Vec::new(),
            queue: Queue::default(),
            settings,
        };
        for (length, routes) in Length::all().zip(routes) {
            router.fill(length, &routes);
        }
        Ok(router)
    }

    /// Fills blocks with the routes of a length.
    fn fill(&mut self, length: Length, routes: &[Route]) {
        for routes in routes.chunks(self.settings.rows as usize) {
            let block = self.pool.of(length).take().expect("blocks were counted");
            let valid = vec![true; routes.len()];
            self.chip.program(block, length, routes);
            self.chip.start(block, routes, &valid);
            self.images.write(block, routes.to_vec());
            self.images.start(block, length, &valid);
        }
    }
}

/// Returns the golden copy, and the routes in the order of lengths.
fn by_length(table: impl IntoIterator<Item = Route>) -> (Golden, Vec<Vec<Route>>) {
    let mut golden = Golden::default();
    let mut routes = vec![Vec::new(); Length::COUNT];
    let mut has_doubles = false;
    for route in table {
        match golden.insert(route) {
            None => routes[Length::of(route.prefix).index()].push(route),
            Some(_) => has_doubles = true,
        }
    }
    if has_doubles {
        for route in routes.iter_mut().flatten() {
            route.port = golden.get(route.prefix).unwrap_or(route.port);
        }
    }
    (golden, routes)
}

/// Returns the blocks that the routes of each length take.
fn blocks_used(routes: &[Vec<Route>], rows: u32) -> [u32; Length::COUNT] {
    let mut used = [0; Length::COUNT];
    for (used, routes) in used.iter_mut().zip(routes) {
        *used = routes.len().div_ceil(rows as usize) as u32;
    }
    used
}

fn too_few(settings: &Settings, used: &[u32; Length::COUNT]) -> Error {
    let used: u32 = used.iter().sum();
    let (blocks, rows) = (settings.blocks, settings.rows);
    let further = match settings.allocation {
        Allocation::Shared => "",
        Allocation::Static => ", and some for every prefix length beside them",
    };
    Error::usage(format!(
        "the table takes {used} flash blocks of {rows} rows{further}, and the TCAM has {blocks}; give it more"
    ))
}
