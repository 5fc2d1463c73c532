//! The figures of a 45 nm process that the model uses, each with its source.
//!
//! What no source gives is marked `assumed`; the one figure that is fitted says to what. None is
//! fitted to the figures by which the model is judged.

/// A figure of the process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// What it is.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// The unit of the value.
    pub unit: &'static str,
    /// Where it is from.
    pub source: &'static str,
}

macro_rules! technology {
    ($($(#[doc = $doc:literal])* $name:ident = $value:literal, $unit:literal, $source:literal;)*) => {
        /// The figures of a process.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Technology {
            $($(#[doc = $doc])* #[doc = concat!("In ", $unit, ".")] pub $name: f64,)*
        }

        impl Default for Technology {
            fn default() -> Self {
                Self { $($name: $value,)* }
            }
        }

        impl Technology {
            /// Returns each figure with its unit and source.
            pub fn parameters(&self) -> Vec<Parameter> {
                vec![$(Parameter {
                    name: stringify!($name),
                    value: self.$name,
                    unit: $unit,
                    source: $source,
                },)*]
            }
        }
    };
}

technology! {
    /// Half the pitch of the closest wires: F.
    feature_um = 0.045, "um", "Fedorov 2016, 4.4";
    /// Supply voltage, which is also the high level of search lines, R_H.
    supply_v = 1.1, "V", "Fedorov 2016, 4.4";
    /// Current of a fully driven NMOS transistor a um of width, at `rated_v`.
    nmos_current_ua_um = 1360.0, "uA/um", "Mistry et al., A 45nm Logic Technology with High-k+Metal Gate Transistors, IEDM 2007";
    /// The same of a PMOS transistor.
    pmos_current_ua_um = 1070.0, "uA/um", "Mistry et al., IEDM 2007";
    /// Voltage at which these currents are given.
    rated_v = 1.0, "V", "Mistry et al., IEDM 2007";
    /// Threshold voltage of the CMOS transistors.
    cmos_threshold_v = 0.35, "V", "assumed";
    /// Exponent of the alpha-power law.
    alpha = 1.3, "1", "Sakurai and Newton, Alpha-Power Law MOSFET Model, IEEE JSSC 25(2), 1990: about 1.3 at short channels";
    /// Drain voltage at which the current is saturated, with the gate at `rated_v`; for ngspice
    /// alone.
    saturation_v = 0.4, "V", "assumed";
    /// Capacitance of a gate a um of width.
    gate_ff_um = 1.0, "fF/um", "assumed: 1 to 2 fF/um over many generations";
    /// Capacitance of a drain a um of width.
    drain_ff_um = 0.8, "fF/um", "assumed";
    /// Capacitance of a wire a um of length.
    wire_ff_um = 0.2, "fF/um", "Ho, Mai and Horowitz, The Future of Wires, Proc. IEEE 89(4), 2001: about constant over generations";
    /// Resistance of a wire a um of length.
    wire_ohm_um = 3.0, "ohm/um", "assumed: copper of 2.5 uohm cm, 70 nm wide and 126 nm high";
    /// Delay of an inverter that drives four like it.
    fan_out_4_ps = 16.2, "ps", "Ho, Mai and Horowitz 2001: 360 ps for each um of gate length";
    /// Width of the CMOS transistors in cells and of the smallest in a section.
    cmos_width_um = 0.18, "um", "assumed: 4 F";
    /// Width of a flash transistor.
    flash_width_um = 0.045, "um", "assumed: F";
    /// Subthreshold swing of a flash transistor, seen from its control gate.
    flash_swing_v = 0.1, "V/decade", "assumed";
    /// Current of a flash transistor at its threshold.
    flash_threshold_na = 100.0, "nA", "assumed: the usual definition by a constant current, for W/L = 1";
    /// Voltage between bitlines that a sense amplifier of the CMOS port memory needs.
    sense_v = 0.1, "V", "assumed";
    /// Delay of that sense amplifier, in delays of an inverter with a fan-out of 4.
    sense_fan_outs = 2.0, "1", "assumed";
    /// Share of the search lines that change from one address to the next.
    activity = 0.5, "1", "assumed: addresses at random";
    /// Packets of the smallest size.
    packet_bytes = 48.0, "bytes", "Fedorov 2016, 4.4";
}

impl Technology {
    /// Returns the resistance of a fully driven NMOS transistor of this width (um), in kohm: 3/4 of
    /// the supply over its saturation current (Rabaey, Chandrakasan and Nikolic, Digital Integrated
    /// Circuits, 2003, 3.3.2).
    pub fn nmos_kohm(&self, width_um: f64) -> f64 {
        self.driven_kohm(self.nmos_current_ua_um * width_um)
    }

    /// The same of a PMOS transistor.
    pub fn pmos_kohm(&self, width_um: f64) -> f64 {
        self.driven_kohm(self.pmos_current_ua_um * width_um)
    }

    /// `rated_ua`: the current at `rated_v`.
    fn driven_kohm(&self, rated_ua: f64) -> f64 {
        let overdrive = |gate_v: f64| gate_v - self.cmos_threshold_v;
        let more = (overdrive(self.supply_v) / overdrive(self.rated_v)).powf(self.alpha);
        0.75 * self.supply_v * 1e3 / (rated_ua * more)
    }

    /// Returns the process with transistors so weak that an inverter with a fan-out of 4, as
    /// resistances and capacitances, takes `fan_out_4_ps`. The published currents make it faster:
    /// they are those of a process of high performance, and charge no capacitance but gates and
    /// drains.
    pub fn as_slow_as_its_inverter(&self) -> Self {
        // Four gates and its own drains, all with a PMOS transistor twice as wide.
        let width_um = self.cmos_width_um;
        let load_ff = 3.0 * width_um * (4.0 * self.gate_ff_um + self.drain_ff_um);
        let share = super::halved_ps(self.nmos_kohm(width_um), load_ff) / self.fan_out_4_ps;
        Self {
            nmos_current_ua_um: share * self.nmos_current_ua_um,
            pmos_current_ua_um: share * self.pmos_current_ua_um,
            ..self.clone()
        }
    }

    /// Returns the current (nA) through a flash transistor whose gate is this far (V) below its
    /// threshold.
    pub fn flash_leak_na(&self, below_v: f64) -> f64 {
        self.flash_threshold_na * 10f64.powf(-below_v / self.flash_swing_v)
    }

    /// Returns the delay (ps) of a chain of growing buffers from the smallest inverter to a load
    /// (fF): an inverter with a fan-out of 4 for each factor of 4.
    pub fn buffer_ps(&self, load_ff: f64) -> f64 {
        let smallest_ff = 3.0 * self.cmos_width_um * self.gate_ff_um;
        self.fan_out_4_ps * (load_ff / smallest_ff).max(4.0).log(4.0)
    }
}
