//! Every predictor, by the name that users write.

use std::sync::Arc;

use super::make::{Entry, Make};
use super::{
    EngineSettings, Params, auto, combo, leap, markov, oracle, readahead, replay, spatial, stream,
    stride, stride_markov, temporal, vldp,
};
use crate::registry::Kind;

/// Every predictor, by name.
pub const REGISTRY: &[Entry] = &[
    auto::ENTRY,
    combo::ENTRY,
    readahead::ENTRY,
    oracle::ENTRY,
    leap::ENTRY,
    markov::ENTRY,
    replay::ENTRY,
    spatial::ENTRY,
    stream::ENTRY,
    stride::ENTRY,
    stride_markov::ENTRY,
    temporal::ENTRY,
    vldp::ENTRY,
];

impl Kind for Make {
    const NOUN: &'static str = "predictor";
    const ENTRIES: &'static [Entry] = REGISTRY;
    const ALSO: &'static [&'static str] = &["off"];

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        let predictor = self.predictor(params, Some(&Arc::default()))?;
        EngineSettings::take(params, predictor.engine())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::Spec;
    use crate::registry;

    #[test]
    fn every_predictor_is_documented_and_made_of_its_name() {
        registry::check::<Make>();
    }

    #[test]
    fn a_name_with_settings_of_predictor_and_engine() {
        let spec = Spec::parse("spatial:degree=4, queue=direct").unwrap();
        assert_eq!(spec.entry().name, "spatial");
        assert!(spec.engine(None).unwrap().is_direct());
        assert_eq!(spec.to_string(), "spatial:degree=4,queue=direct");
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, why) in [
            ("best", "there are: off, "),
            ("spatial:depth=2", "no setting `depth`; there are: degree=8"),
            ("spatial:degree=0", "from 1 to"),
            ("spatial:queue=lilo", "one of lifo"),
            ("spatial:degree", "key=value"),
            ("corp:throttle=occupancy", "no hint waits in a queue"),
        ] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_list_keeps_settings_with_their_predictor() {
        let list = Spec::parse_list("spatial:degree=4,queue=fifo,stream,spatial").unwrap();
        let texts: Vec<String> = list.iter().map(Spec::to_string).collect();
        assert_eq!(texts, ["spatial:degree=4,queue=fifo", "stream", "spatial"]);
    }
}
