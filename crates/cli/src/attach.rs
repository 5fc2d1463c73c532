//! `terrace attach`.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_live::measure::compare::Step;
use terrace_live::run::attach::perform;
use terrace_live::run::{Policies, Way};
use terrace_report::attach::{AttachDocument, text};

use crate::args::Attach;
use crate::lines::Lines;
use crate::results::Outputs;
use crate::screen::{Place, Screen, say};

pub fn attach(arguments: &Attach) -> Result<ExitCode> {
    let others: Vec<_> = Lines::named(&arguments.meanwhile).into_iter().collect();
    let outputs = Outputs::open(&arguments.results, &[], &others)?;
    let mut lines = Lines::open(&arguments.meanwhile)?;
    let request = arguments.request();
    let step = Step {
        way: Way::Terrace(Policies::fetching(request.prefetch.clone())),
        run: 1,
        of: 1,
    };
    let mut screen = Screen::new(Place::Line, arguments.quiet);
    let results = perform(&request, &mut |event| {
        lines.tell(&step, &event);
        screen.tell(step.clone(), event);
    });
    screen.clear();
    let results = results?;
    if let Some(error) = &results.left_behind {
        say(&format!(
            "terrace: {error}; it is put back as soon as that is possible, or then by: terrace doctor --clean\n"
        ));
    }
    let document = AttachDocument::of(&results, arguments.endurance);
    let code = outputs.show(&document, &text(&document))?;
    lines.end()?;
    Ok(code)
}
