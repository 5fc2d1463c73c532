//! Layout of tables.

use comfy_table::{Cell, CellAlignment, Table, presets};

/// Returns an empty table with this head. The first column is aligned to the left, all others,
/// which hold numbers, to the right.
pub fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let head = head.iter().enumerate();
    table.set_header(head.map(|(at, text)| Cell::new(text).set_alignment(alignment(at))));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(alignment(index));
    }
    table
}

fn alignment(column: usize) -> CellAlignment {
    match column {
        0 => CellAlignment::Left,
        _ => CellAlignment::Right,
    }
}
