//! Constructors of predictors, and their entries and specifications in the registry.

use std::sync::Arc;

use super::{Engine, EngineSettings, Params, Predictor};
use crate::page::Location;
use crate::registry;
use crate::replacement::PageId;

/// Description of a sum of predictors as the value of a setting.
pub(super) const PREDICTORS: &str = "names of predictors with + between them";

/// All future touches: 4 bytes each, and 16 bytes a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Future {
    /// Location of each page, by its number.
    pub pages: Vec<Location>,
    /// The pages that each thread will touch, in order, by the thread's number.
    pub touches: Vec<Vec<PageId>>,
}

/// A new predictor, or a message about one of its settings.
pub type Made = Result<Box<dyn Predictor>, String>;

/// Constructor of a predictor.
#[derive(Clone, Copy)]
pub enum Make {
    /// Takes the settings.
    Online(&'static (dyn Fn(&mut Params) -> Made + Send + Sync)),
    /// Takes the settings and the future.
    Offline(&'static (dyn Fn(&mut Params, &Arc<Future>) -> Made + Send + Sync)),
}

impl Make {
    pub(super) fn predictor(self, params: &mut Params, future: Option<&Arc<Future>>) -> Made {
        match (self, future) {
            (Self::Online(make), _) => make(params),
            (Self::Offline(make), Some(future)) => make(params, future),
            (Self::Offline(_), None) => {
                Err("it has to know the future, which only a simulation does".to_owned())
            }
        }
    }
}

/// A predictor in the registry.
pub type Entry = registry::Entry<Make>;

/// A predictor with its settings and its engine's: `stride:strides=4,queue=fifo`.
pub type Spec = registry::Spec<Make>;

impl Entry {
    /// Whether the predictor is made from the future.
    pub fn knows_future(&self) -> bool {
        matches!(self.make, Make::Offline(_))
    }
}

impl Spec {
    /// Makes an engine around a new predictor. `future` is needed by a predictor that knows it.
    ///
    /// # Errors
    /// Returns a message if the future is needed and not given.
    pub fn engine(&self, future: Option<&Arc<Future>>) -> Result<Engine, String> {
        self.make(|make, params| {
            let predictor = make.predictor(params, future)?;
            let settings = EngineSettings::take(params, predictor.engine())?;
            Ok(Engine::new(predictor, settings))
        })
    }

    /// Makes a predictor that is part of another one.
    pub(super) fn predictor(&self) -> Made {
        self.make(|make, params| make.predictor(params, None))
    }
}
