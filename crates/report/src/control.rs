//! Results of `terrace mount --control`: sentences, a table, and the JSON of schema
//! `terrace.mount-control/1`.

use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::Bytes;
use terrace_filecache::Warmed;
use terrace_filecache::mount::control::Held;

use terrace_results::document::Document;
use terrace_results::html::Page;
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace mount --control --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ControlDocument {
    /// `terrace.mount-control/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// The command, with its argument.
    pub command: String,
    /// What it has done.
    pub done: Done,
    /// What holds in the mount now; pages have 4096 bytes.
    pub held: Held,
}

/// What a command has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Done {
    /// Files that were warmed, or had pages that were forgotten.
    pub files: u64,
    /// Bytes of files that were warmed.
    pub bytes: u64,
    /// Files and directories that could not be read.
    pub unreadable: u64,
    /// Links, pipes and other things that are no files, which were passed over.
    pub passed_over: u64,
    /// What came of the pages.
    pub warmed: Warmed,
}

impl ControlDocument {
    /// Returns the document of a command.
    pub fn of(command: String, done: Done, held: Held) -> Self {
        Self {
            schema: "terrace.mount-control/1",
            command,
            done,
            held,
        }
    }
}

impl Document for ControlDocument {
    fn rows(&self) -> Rows {
        Rows::flat([&self.done])
    }

    fn page(&self) -> Page {
        Page::new("terrace mount --control")
    }
}

/// Returns what holds in a mount, as `list` shows it.
pub fn list(held: &Held) -> Text {
    let mut rows = table(&["rule", ""]);
    let mut add = |name: &str, value: String| {
        rows.add_row([name.to_owned(), value]);
    };
    for path in &held.rules.pinned {
        let shown = if path.is_empty() { "." } else { path };
        add("pinned", shown.to_owned());
    }
    for pattern in &held.rules.excluded {
        add("excluded", pattern.clone());
    }
    if let Some(largest) = held.rules.largest {
        add("excluded", format!("files larger than {}", Bytes(largest)));
    }
    if held.rules.is_empty() {
        add("none", String::new());
    }
    add("pinned files", Bytes(held.pinned_bytes).to_string());
    let of = |pages, most| format!("{} of {}", count(pages), count(most));
    add(
        "pinned pages on flash",
        of(held.pinned_pages, held.most_pinned),
    );
    add("pages on flash", of(held.flash_pages, held.flash_room));
    Text::default().table(rows).text(limits(held))
}

/// Returns sentences on what is pinned and does not fit, and on what is not known yet.
pub fn limits(held: &Held) -> Text {
    let mut text = Text::default();
    let room = Bytes::of_pages(held.most_pinned);
    if held.pinned_bytes > room.0 {
        text = text.prose(format!(
            "{} are pinned, and {room} can be: three quarters of the flash level. The rest comes and goes as other \
             pages do.\n",
            Bytes(held.pinned_bytes)
        ));
    }
    match held.is_looking {
        true => text.prose("The mount still looks for pinned files.\n"),
        false => text,
    }
}

/// Returns what came of warming.
pub fn warmed(done: &Done, held: &Held) -> Text {
    let pages = &done.warmed;
    let mut text = format!(
        "{} files of {}: {} of {} pages are on flash, {} of them from before.\n",
        count(done.files),
        Bytes(done.bytes),
        count(pages.had + pages.admitted),
        count(pages.pages),
        count(pages.had),
    );
    for (number, why) in [
        (pages.excluded, "their files are excluded"),
        (
            pages.changed,
            "their files have just changed, or are open for writing elsewhere",
        ),
        (pages.budget, "--endurance leaves nothing for them now"),
        (pages.busy, "the flash could not be written in time"),
    ] {
        if number > 0 {
            text += &format!("{} pages are not, because {why}.\n", count(number));
        }
    }
    if pages.pages > held.flash_room {
        text += &format!(
            "The flash level has room for {} pages: the last of these took the places of the first.\n",
            count(held.flash_room)
        );
    }
    Text::default().prose(text).text(passed_over(done))
}

/// Returns a sentence on what is no file.
pub fn passed_over(done: &Done) -> Text {
    match done.passed_over {
        0 => Text::default(),
        number => Text::default().prose(format!(
            "{} links and other things that are no files were passed over.\n",
            count(number)
        )),
    }
}
