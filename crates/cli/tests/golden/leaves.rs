//! Documents as the values in them, each with its path and as it is written.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The values of a JSON document, numbers as their digits.
pub fn of_json(text: &str) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    add(serde_json::from_str(text).expect("JSON"), "", &mut leaves);
    leaves
}

fn add(value: &RawValue, path: &str, leaves: &mut BTreeMap<String, String>) {
    let text = value.get();
    if let Ok(fields) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(text) {
        for (name, value) in &fields {
            add(value, &format!("{path}.{name}"), leaves);
        }
    } else if let Ok(items) = serde_json::from_str::<Vec<Box<RawValue>>>(text) {
        for (index, value) in items.iter().enumerate() {
            add(value, &format!("{path}[{index}]"), leaves);
        }
        leaves.insert(format!("{path}.length"), items.len().to_string());
    } else {
        leaves.insert(path.trim_start_matches('.').to_owned(), text.to_owned());
    }
}

/// The cells of a table by row and the name of their column. None holds a quoted comma.
pub fn of_csv(text: &str) -> BTreeMap<String, String> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("a header");
    let cells = lines.enumerate().flat_map(|(row, cells)| {
        assert_eq!(cells.len(), names.len(), "row {row}");
        let named = names.iter().zip(cells);
        named.map(move |(name, cell)| (format!("[{row}].{name}"), cell.to_owned()))
    });
    cells.collect()
}
