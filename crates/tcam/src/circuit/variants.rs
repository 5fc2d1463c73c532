//! What the match lines of table 4.1 would follow from: the model with one assumption changed.

use super::block::Block;
use super::figures::Figures;
use super::flash::Flash;
use super::technology::Technology;

/// The model with an assumption changed.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// What is changed.
    pub name: &'static str,
    /// The flash block.
    pub flash: Figures,
    /// The CMOS block.
    pub cmos: Figures,
}

/// By how much the CMOS block's transistors are wider, where they are.
const WIDER: f64 = 4.0;

/// Returns the model as it is, and with each assumption changed that table 4.1 leaves open.
/// `match_ps` is the delay that weaker flash transistors are to give the TCAM cells of the flash
/// block.
pub fn variants(flash: &Block, cmos: &Block, match_ps: f64) -> [Variant; 4] {
    let stated = Technology::default();
    let slow = stated.as_slow_as_its_inverter();
    let wide = Technology {
        cmos_width_um: WIDER * slow.cmos_width_um,
        ..slow.clone()
    };
    let fitted = Flash::fitted(&stated);
    let figures = |block: &Block, technology: &Technology| {
        block.figures(&Flash::fitted(technology), technology)
    };
    let weak = weaker(flash, &fitted, &stated, match_ps);
    [
        Variant {
            name: "as stated",
            flash: figures(flash, &stated),
            cmos: figures(cmos, &stated),
        },
        Variant {
            name: "flash transistors weaker",
            flash: flash.figures(&weak, &stated),
            cmos: figures(cmos, &stated),
        },
        Variant {
            name: "CMOS transistors as slow as the inverter with a fan-out of 4",
            flash: figures(flash, &slow),
            cmos: figures(cmos, &slow),
        },
        Variant {
            name: "the same, those of the CMOS block 4 times as wide",
            flash: figures(flash, &slow),
            cmos: figures(cmos, &wide),
        },
    ]
}

/// Returns a flash transistor so weak that the TCAM cells take `match_ps`, if nothing else is
/// slower.
fn weaker(block: &Block, flash: &Flash, technology: &Technology, match_ps: f64) -> Flash {
    let with = |times: f64| Flash {
        kohm_at_a_volt: times * flash.kohm_at_a_volt,
    };
    let cell_ps = |times: f64| block.figures(&with(times), technology).parts.cell_ps;
    // The delay of the cell is linear in the resistance.
    let (one, two) = (cell_ps(1.0), cell_ps(2.0));
    let lacking_ps = match_ps - block.figures(flash, technology).tcam_ps();
    with(1.0 + lacking_ps.max(0.0) / (two - one))
}
