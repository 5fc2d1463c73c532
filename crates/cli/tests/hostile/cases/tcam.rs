//! A TCAM that cannot be.

use crate::case::{Case, case};

pub fn cases() -> Vec<Case> {
    vec![
        case("no_rows", "tcam circuit --rows 0").usage("--rows"),
        case("unequal_sections", "tcam circuit --sections 7")
            .usage("cannot have as many cells each"),
        case("gate_above_threshold", "tcam circuit --low-gate 0.8").usage("do not make a TCAM"),
        case("no_number", "tcam circuit --low-gate nan").usage("do not make a TCAM"),
        case("no_card", "tcam circuit --card nowhere.pm").failure("nowhere.pm"),
        case("card_of_zeros", "tcam circuit --card zeros.pm")
            .file("zeros.pm", [0; 4096])
            .usage("no model of an NMOS transistor"),
        case("card_is_output", "tcam circuit --card a.json --json a.json")
            .file("a.json", ".model n nmos vto=0.4")
            .usage("a.json"),
    ]
}
