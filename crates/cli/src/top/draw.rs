//! The screen of `terrace top`.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar::NINE_LEVELS;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table};
use terrace_base::Bytes;
use terrace_daemon::protocol::{State, Status, Target};

use super::view::View;

/// Characters of the line of a target.
const LINE: usize = 20;
/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// Draws the screen.
pub fn draw(frame: &mut Frame, view: &View) {
    let targets = view.status.targets.len() as u16;
    let rows = [
        Constraint::Length(2),
        Constraint::Min((targets + 2).min(frame.area().height / 2)),
        Constraint::Fill(1),
    ];
    let [head, table, log] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(tier(&view.status)), head);
    draw_targets(frame, table, view);
    draw_log(frame, log, view);
}

fn tier(status: &Status) -> Line<'static> {
    let tier = &status.tier;
    let mut text = format!(
        "terraced {}   {} of {} in the tier",
        status.daemon,
        Bytes(tier.used),
        Bytes(tier.size)
    );
    if let Some(budget) = &tier.budget {
        text += &format!("   {} a day may be written", Bytes(budget.a_day));
        if let Some(days) = budget.life_days {
            text += &format!("   life {:.1} years", days / 365.25);
        }
    }
    Line::from(text).style(Modifier::BOLD)
}

fn draw_targets(frame: &mut Frame, area: Rect, view: &View) {
    let titles = [
        "target",
        "DRAM",
        "tier",
        "stands still",
        "limit",
        "written",
        "DRAM so far",
        "now",
    ];
    let widths = [
        Constraint::Length(16),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(12),
        Constraint::Length(6),
        Constraint::Length(9),
        Constraint::Length(LINE as u16),
        Constraint::Fill(1),
    ];
    let rows = view.status.targets.iter().map(|target| {
        let drams = view.drams.get(&target.name);
        row(target, drams.into_iter().flatten().copied().collect())
    });
    let head = Row::new(titles).style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_widget(Table::new(rows, widths).header(head), area);
}

fn row(target: &Target, drams: Vec<u64>) -> Row<'static> {
    let bytes = |of: fn(&terrace_daemon::protocol::Instance) -> u64| {
        Bytes(target.instances.iter().map(of).sum()).to_string()
    };
    let stalled = target
        .instances
        .iter()
        .map(|it| it.stalled)
        .fold(0.0, f64::max);
    let is_too_much = target.limit.is_some_and(|limit| stalled > limit);
    let (name, written) = (
        target.name.clone(),
        Bytes(target.counts.written).to_string(),
    );
    let limit = target.limit.map_or(String::new(), percent);
    if target.state == State::Waiting {
        let cells = [
            name,
            String::new(),
            String::new(),
            String::new(),
            limit,
            written,
        ];
        let doing = target
            .trouble
            .clone()
            .unwrap_or_else(|| "waits for it".to_owned());
        return Row::new(cells.into_iter().chain([String::new(), doing]));
    }
    let doing = target.instances.iter().map(|it| it.doing.as_str());
    let doing = target
        .trouble
        .clone()
        .unwrap_or_else(|| doing.collect::<Vec<_>>().join("; "));
    let red = Style::new().fg(Color::Red);
    let loud = |is_bad: bool| if is_bad { red } else { Style::new() };
    Row::new([
        Cell::from(name),
        Cell::from(bytes(|it| it.resident)),
        Cell::from(bytes(|it| it.swapped)),
        Cell::from(percent(stalled)).style(loud(is_too_much)),
        Cell::from(limit),
        Cell::from(written),
        Cell::from(line(&drams)),
        Cell::from(doing).style(loud(target.trouble.is_some())),
    ])
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Returns amounts over time as bars of a character each; the top is the largest of them.
fn line(amounts: &[u64]) -> String {
    let most = amounts.iter().copied().max().unwrap_or(0).max(1);
    let per_bar = amounts.len().div_ceil(LINE).max(1);
    let bars = amounts.chunks(per_bar).map(|part| {
        let mean = part.iter().map(|one| u128::from(*one)).sum::<u128>() / part.len() as u128;
        let level = (mean * 8).div_ceil(u128::from(most));
        [
            NINE_LEVELS.empty,
            NINE_LEVELS.one_eighth,
            NINE_LEVELS.one_quarter,
            NINE_LEVELS.three_eighths,
            NINE_LEVELS.half,
            NINE_LEVELS.five_eighths,
            NINE_LEVELS.three_quarters,
            NINE_LEVELS.seven_eighths,
            NINE_LEVELS.full,
        ][level as usize]
    });
    bars.collect()
}

fn draw_log(frame: &mut Frame, area: Rect, view: &View) {
    let title = match view.skipped {
        0 => " decisions ".to_owned(),
        skipped => format!(" decisions, {skipped} newer above "),
    };
    let lines = view.events.iter().skip(view.skipped).map(|event| {
        let seconds = event.time_ms % DAY_MS / 1000;
        let time = format!(
            "{:02}:{:02}:{:02} UTC  ",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        let target = event
            .target
            .as_ref()
            .map_or(String::new(), |target| format!("{target}: "));
        Line::from(vec![
            Span::styled(time, Style::new().add_modifier(Modifier::DIM)),
            Span::raw(target + &event.text),
        ])
    });
    let lines: Vec<Line> = lines.take(usize::from(area.height)).collect();
    let block = Block::new().borders(Borders::TOP).title(title);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use terrace_daemon::protocol::{Counts, Event, Events, Instance, Kind, Tier};

    use super::*;

    fn status(resident: u64) -> Status {
        let running = Target {
            name: "postgres".to_owned(),
            limit: Some(0.02),
            state: State::Running,
            counts: Counts {
                written: 5 << 20,
                ..Counts::default()
            },
            instances: vec![Instance {
                resident,
                swapped: 1 << 30,
                stalled: 0.031,
                doing: "gave back 128 MiB".to_owned(),
                ..Instance::default()
            }],
            ..Target::default()
        };
        let waiting = Target {
            name: "a\x1b[31m\nb".to_owned(),
            ..Target::default()
        };
        Status {
            daemon: "0.1.0".to_owned(),
            tier: Tier {
                size: 8 << 30,
                used: 1 << 30,
                ..Tier::default()
            },
            targets: vec![running, waiting],
            ..Status::default()
        }
    }

    fn events(from: u64, count: u64) -> Events {
        let event = |number| Event {
            number,
            time_ms: number * 1000,
            target: Some("postgres".to_owned()),
            kind: Kind::Reclaimed,
            bytes: 0,
            text: format!("event {number}"),
        };
        Events {
            events: (from..from + count).map(event).collect(),
            next: from + count - 1,
            lost: 0,
        }
    }

    fn screen(view: &View, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, view)).unwrap();
        let buffer = terminal.backend().buffer();
        let lines = buffer.content.chunks(usize::from(width));
        lines
            .map(|line| line.iter().map(|cell| cell.symbol()).collect::<String>())
            .collect()
    }

    #[test]
    fn a_row_a_target_and_the_newest_decisions_first() {
        let mut view = View::default();
        view.add(status(4 << 30), events(1, 3));
        view.add(status(2 << 30), events(4, 1));
        let lines = screen(&view, 140, 20);
        assert!(lines[0].starts_with("terraced 0.1.0   1.00 GiB of 8.00 GiB in the tier"));
        let row = &lines[3];
        for part in [
            "postgres",
            "2.00 GiB",
            "1.00 GiB",
            "3.10 %",
            "2.00 %",
            "█▄",
            "gave back 128 MiB",
        ] {
            assert!(row.contains(part), "{part}: {row}");
        }
        // Names are text.
        assert!(
            lines[4].contains("waits for it") && !lines[4].contains('\x1b'),
            "{}",
            lines[4]
        );
        let log: Vec<&String> = lines
            .iter()
            .filter(|line| line.contains("postgres: "))
            .collect();
        assert!(
            log[0].starts_with("00:00:04 UTC  postgres: event 4"),
            "{}",
            log[0]
        );
        assert_eq!(log.len(), 4);
    }

    #[test]
    fn who_reads_older_decisions_goes_on_reading_them() {
        let mut view = View::default();
        view.add(status(1), events(1, 10));
        view.older(3);
        view.add(status(1), events(11, 2));
        let lines = screen(&view, 80, 20);
        assert!(
            lines.iter().any(|line| line.contains("5 newer above")),
            "{lines:?}"
        );
        let first = lines.iter().find(|line| line.contains("event"));
        assert!(
            first.is_some_and(|line| line.contains("event 7")),
            "{first:?}"
        );
        view.older(usize::MAX);
        assert_eq!(view.skipped, 11);
        view.newer(usize::MAX);
        assert_eq!(view.skipped, 0);
    }

    #[test]
    fn a_screen_of_any_size_is_drawn() {
        let mut view = View::default();
        view.add(status(1), events(1, 5));
        for (width, height) in [(1, 1), (3, 2), (20, 5), (300, 100)] {
            assert_eq!(screen(&view, width, height).len(), usize::from(height));
        }
    }
}
