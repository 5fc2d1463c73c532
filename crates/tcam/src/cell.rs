//! The flash cell: two transistors in series between the match line and ground (Fedorov 2016,
//! 4.3.4.1).
//!
//! The match line is precharged. A cell conducts, and so pulls the line down, if both of its
//! transistors do; the word matches if no cell has. A transistor conducts if its gate is above its
//! threshold, and `R_H > T_H > R_L > T_L`.

/// The threshold voltage to which a flash transistor is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// `T_L`, of an erased transistor: it conducts at either gate voltage.
    Low,
    /// `T_H`: it conducts at `R_H` alone.
    High,
}

/// The voltage on the gate of a transistor during a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `R_L`, between the thresholds.
    Low,
    /// `R_H`, above both.
    High,
}

impl Gate {
    /// Tells whether a transistor of this threshold conducts.
    fn conducts(self, threshold: Threshold) -> bool {
        self == Self::High || threshold == Threshold::Low
    }
}

/// What a cell stores, as the thresholds of its transistors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// `(T_H, T_L)`.
    Zero,
    /// `(T_L, T_H)`.
    One,
    /// `(T_H, T_H)`: matches either bit.
    Any,
    /// `(T_L, T_L)`: conducts always, so that a row which was erased matches nothing. Figure 4.6
    /// has no column for it, but its rule covers it.
    Erased,
}

impl Cell {
    /// Returns the thresholds of `M1` and `M2`.
    pub fn thresholds(self) -> (Threshold, Threshold) {
        use Threshold::{High, Low};
        match self {
            Self::Zero => (High, Low),
            Self::One => (Low, High),
            Self::Any => (High, High),
            Self::Erased => (Low, Low),
        }
    }

    /// Returns the gate voltages `(a, b)` that look for a bit.
    pub fn gates(bit: bool) -> (Gate, Gate) {
        match bit {
            false => (Gate::Low, Gate::High),
            true => (Gate::High, Gate::Low),
        }
    }

    /// Tells whether the cell pulls the match line down when the bit is looked for.
    pub fn conducts(self, bit: bool) -> bool {
        let ((first, second), (a, b)) = (self.thresholds(), Self::gates(bit));
        a.conducts(first) && b.conducts(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 4.6 a and b: a transistor by gate and threshold.
    #[test]
    fn a_transistor_is_off_only_at_the_low_voltage_with_the_high_threshold() {
        for gate in [Gate::Low, Gate::High] {
            for threshold in [Threshold::Low, Threshold::High] {
                let off = (gate, threshold) == (Gate::Low, Threshold::High);
                assert_eq!(gate.conducts(threshold), !off, "{gate:?} {threshold:?}");
            }
        }
    }

    /// Figure 4.6 c, the whole table: on is a mismatch.
    #[test]
    fn a_cell_conducts_on_the_other_bit_alone() {
        for (cell, on_zero, on_one) in [
            (Cell::Zero, false, true),
            (Cell::One, true, false),
            (Cell::Any, false, false),
            (Cell::Erased, true, true),
        ] {
            assert_eq!(cell.conducts(false), on_zero, "{cell:?}");
            assert_eq!(cell.conducts(true), on_one, "{cell:?}");
        }
    }
}
