//! Settings of the engine, which every predictor takes behind its name.

use crate::params::Params;

/// Order in which hints are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Newest first (Fedorov 2016, 5.4.3); a full queue drops the oldest hints.
    Lifo,
    /// Oldest first; a full queue drops new hints.
    Fifo,
    /// No waiting: all hints go into the device's main queue at once, like demand requests (CORP,
    /// Fedorov 2016, 5.5.2).
    Direct,
}

/// Events that the predictor is asked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Demand faults (Fedorov 2016; Awad 2016).
    Faults,
    /// Demand faults and the first use of a fetched page, which counts as a fault of the thread
    /// that the page was fetched for (Oskin & Loh 2015, V.C).
    FirstUse,
}

/// What lets a fault queue fewer hints than the predictor names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// Nothing: the number is the predictor's own.
    Off,
    /// Occupancy of the secondary queue (Fedorov 2016, 5.4.5). The paper has no formula; here the
    /// best of the named pages are queued, as large a share of them as of the queue is free,
    /// rounded up. A prediction that goes on is not cut, because its predictor would not name again
    /// what was cut.
    Occupancy,
}

/// Settings of the engine around a predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineSettings {
    /// Order in which hints are issued.
    pub order: Order,
    /// Capacity of the secondary queue, in hints.
    pub hints: usize,
    /// Events that the predictor is asked at.
    pub trigger: Trigger,
    /// What lets a fault queue fewer hints.
    pub throttle: Throttle,
    /// How often in a row a prediction that goes on is prolonged when much of it is filtered.
    pub rounds: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            order: Order::Lifo,
            hints: 2048,
            trigger: Trigger::Faults,
            throttle: Throttle::Off,
            rounds: 8,
        }
    }
}

const ORDERS: [(&str, Order); 3] = [
    ("lifo", Order::Lifo),
    ("fifo", Order::Fifo),
    ("direct", Order::Direct),
];

const TRIGGERS: [(&str, Trigger); 2] = [
    ("faults", Trigger::Faults),
    ("first-use", Trigger::FirstUse),
];

const THROTTLES: [(&str, Throttle); 2] =
    [("off", Throttle::Off), ("occupancy", Throttle::Occupancy)];

impl EngineSettings {
    /// Takes the settings that are given; the others are taken from `default`.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value, or no effect beside another.
    pub fn take(params: &mut Params, default: Self) -> Result<Self, String> {
        let order = "which hint goes next: the newest, the oldest, or all at once past the queue";
        let hints = "hints that wait at most; the oldest are forgotten";
        let trigger = "when it is asked: at faults, or also at the first use of a fetched page";
        let throttle = "what makes a fault queue fewer hints: nothing, or occupancy of the queue; what goes on is not cut";
        let settings = Self {
            order: params.take("queue", order, default.order, ORDERS)?,
            hints: params.take("hints", hints, default.hints, 1..=1 << 20)?,
            trigger: params.take("trigger", trigger, default.trigger, TRIGGERS)?,
            throttle: params.take("throttle", throttle, default.throttle, THROTTLES)?,
            ..default
        };
        match (settings.order, settings.throttle) {
            (Order::Direct, Throttle::Occupancy) => {
                Err("throttle=occupancy: with queue=direct no hint waits in a queue".to_owned())
            }
            _ => Ok(settings),
        }
    }
}
