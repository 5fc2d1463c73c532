//! `terrace top`.

mod draw;
mod view;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use terrace_base::{Context, Error, Result};
use terrace_daemon::protocol::Client;

use self::draw::draw;
use self::view::View;
use crate::args::Top;

/// Time between two questions.
const EVERY: Duration = Duration::from_secs(1);
/// Lines of a page of decisions.
const PAGE: usize = 10;

pub fn top(arguments: &Top) -> Result<ExitCode> {
    if !stdout().is_terminal() {
        return Err(Error::failure(
            "terrace top draws on a terminal, and standard output is none; use terrace status",
        ));
    }
    let mut client = Client::connect(&arguments.socket)?;
    let mut view = View::default();
    view.ask(&mut client)?;
    // A panic puts the terminal back as well.
    let mut terminal = ratatui::try_init().or_fail(|| "cannot draw on the terminal".into())?;
    let ended = watch(&mut terminal, &mut client, &mut view);
    ratatui::restore();
    ended.map(|()| ExitCode::SUCCESS)
}

/// Draws until a key ends it, or the daemon does not answer.
fn watch(terminal: &mut DefaultTerminal, client: &mut Client, view: &mut View) -> Result<()> {
    let failed = || "cannot draw on the terminal".to_owned();
    let mut asked = Instant::now();
    loop {
        terminal.draw(|frame| draw(frame, view)).or_fail(failed)?;
        let left = EVERY.saturating_sub(asked.elapsed());
        if event::poll(left).or_fail(failed)? {
            match event::read().or_fail(failed)? {
                Event::Key(key) if key.kind == KeyEventKind::Press && ends(key) => return Ok(()),
                Event::Key(key) if key.kind == KeyEventKind::Press => move_by(view, key.code),
                _ => {}
            }
        }
        if asked.elapsed() >= EVERY {
            view.ask(client)?;
            asked = Instant::now();
        }
    }
}

fn ends(key: KeyEvent) -> bool {
    let is_interrupt = key.modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char('c');
    is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

fn move_by(view: &mut View, key: KeyCode) {
    match key {
        KeyCode::Down => view.older(1),
        KeyCode::Up => view.newer(1),
        KeyCode::PageDown => view.older(PAGE),
        KeyCode::PageUp => view.newer(PAGE),
        KeyCode::Home => view.newer(usize::MAX),
        _ => {}
    }
}
