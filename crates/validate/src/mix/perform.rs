//! A validation of a mix from beginning to end.

use terrace_base::{Error, Nanos, Result};
use terrace_live::program::Invocation;
use terrace_live::sched::cache::Cache;
use terrace_live::sched::compare::Runs;
use terrace_live::sched::run::Settings;
use terrace_live::system::cpus::Cpus;
use terrace_policy::sched::Spec;
use terrace_trace::record::{Level, RecordSettings, Recorded, Tools, command};

use super::live::{cpu_time, extend, mean_turn, measure};
use super::machine::machine;
use super::predict::{Predicted, Task, predict};
use crate::record::{Unnamed, record};

/// The kernel's turns where they cannot be seen: a tick of 250 a second.
const TURN: Nanos = Nanos(4_000_000);

/// What is validated.
pub struct Request {
    /// The programs. Their standard input should be empty.
    pub programs: Vec<Invocation>,
    /// Policies of turns; the first leaves them to the kernel.
    pub policies: Vec<Spec>,
    /// How they run live.
    pub settings: Settings,
    /// How often each way is run live.
    pub repeat: usize,
    /// Rows that are recorded of each program; the later half of them is simulated.
    pub rows: u64,
}

/// The results of both halves.
pub struct Results {
    /// The programs.
    pub names: Vec<String>,
    /// The last-level cache as programs get it.
    pub cache: Cache,
    /// CPUs that the programs shared.
    pub cpus: Cpus,
    /// Mean turn under the kernel alone, measured; the simulated scheduler has the same.
    pub kernel_turn: Nanos,
    /// CPU time of each program alone in seconds, measured.
    pub alone: Vec<f64>,
    /// Rows of each program's trace that were simulated.
    pub rows: Vec<u64>,
    /// What was measured, by policy.
    pub live: Vec<Runs>,
    /// What was predicted, by policy and program.
    pub predicted: Vec<Vec<Predicted>>,
}

/// A program with its trace, which several of the mix may share.
struct Traced {
    recorded: Recorded,
    trace: Unnamed,
}

/// Carries a request out; `told` is called with what happens.
///
/// # Errors
/// A usage error if the programs cannot be run or shared evenly by the CPUs; otherwise a failure.
pub fn perform(request: &Request, told: &mut dyn FnMut(&str)) -> Result<Results> {
    let programs = &request.programs;
    programs.iter().try_for_each(|it| it.find().map(drop))?;
    let cpus = shared_by(&request.settings, programs.len())?;
    let tools = Tools::find()?;
    let distinct = distinct(programs);
    let (mut caches, mut live) = (Vec::new(), Vec::new());
    let mut alone = vec![Vec::new(); distinct.len()];
    for _ in 0..request.repeat {
        told("measuring the last-level cache");
        caches.push(Cache::measure());
        for (&first, alone) in distinct.iter().zip(&mut alone) {
            told(&format!("running {} alone", name(&programs[first])));
            let program = &programs[first..=first];
            let results = measure(
                program,
                &request.policies[..1],
                &request.settings,
                &mut |_| {},
            )?;
            extend(alone, results.runs);
        }
        let results = measure(
            programs,
            &request.policies,
            &request.settings,
            &mut |policy| {
                told(&format!("running all together: {policy}"));
            },
        )?;
        extend(&mut live, results.runs);
    }
    let cache = middle(caches)?;
    let traced = distinct.iter().map(|&first| {
        let program = &programs[first];
        told(&format!("recording {}", name(program)));
        traced(&tools, program, request.rows)
    });
    let traced = traced.collect::<Result<Vec<_>>>()?;
    told("simulating them");
    let names: Vec<String> = programs.iter().map(name).collect();
    let tasks = programs.iter().zip(&names).map(|(program, name)| {
        let same = distinct
            .iter()
            .position(|&first| is_same(&programs[first], program));
        let index = same.unwrap_or_default();
        let Traced { recorded, trace } = &traced[index];
        Task {
            name,
            trace: trace.path(),
            beginning: recorded.accesses / 2,
            alone: cpu_time(&alone[index][0].outcomes),
        }
    });
    let tasks: Vec<Task> = tasks.collect();
    let seen = live
        .first()
        .and_then(|runs: &Runs| mean_turn(&runs.outcomes));
    let kernel_turn = seen.map_or(TURN, |turn| Nanos(turn.as_nanos() as u64));
    let with = |policy: &Spec| machine(&cache, cpus.count(), policy.clone(), kernel_turn);
    let predicted = predict(&tasks, &request.policies, with)?;
    let (alone, rows) = tasks
        .iter()
        .map(|task| (task.alone, task.beginning))
        .unzip();
    Ok(Results {
        kernel_turn,
        names: names.clone(),
        alone,
        rows,
        predicted,
        cache,
        cpus,
        live,
    })
}

/// Returns the CPUs, which this number of programs has to share evenly, as the simulated ones do.
fn shared_by(settings: &Settings, programs: usize) -> Result<Cpus> {
    let allowed = Cpus::of(0).or_else(|_| Cpus::online())?;
    let cpus = settings
        .cpus
        .as_ref()
        .map_or(allowed.clone(), |it| it.and(&allowed));
    match cpus.count() {
        0 => Err(Error::usage(format!(
            "none of the CPUs in ‘cpus’ is for this process, which may use {allowed}"
        ))),
        count if programs.is_multiple_of(count) => Ok(cpus),
        count => Err(Error::usage(format!(
            "the programs ({programs}) cannot be shared evenly by {count} CPUs; name fewer with ‘cpus’"
        ))),
    }
}

/// Returns the numbers of the programs without those that are the same as an earlier one.
fn distinct(programs: &[Invocation]) -> Vec<usize> {
    let first = |index: &usize| {
        let same = programs
            .iter()
            .position(|it| is_same(it, &programs[*index]));
        same == Some(*index)
    };
    (0..programs.len()).filter(first).collect()
}

fn is_same(one: &Invocation, other: &Invocation) -> bool {
    one.words == other.words
}

fn name(program: &Invocation) -> String {
    command(&program.words)
}

/// Returns the cache whose size is in the middle.
fn middle(mut caches: Vec<Cache>) -> Result<Cache> {
    caches.sort_by_key(|cache| cache.effective_bytes);
    let middle = caches.len() / 2;
    let cache = caches.into_iter().nth(middle);
    cache.ok_or_else(|| Error::failure("nothing was measured"))
}

/// Records the lines that a program touches.
fn traced(tools: &Tools, program: &Invocation, rows: u64) -> Result<Traced> {
    let settings = RecordSettings {
        level: Level::Lines,
        ..RecordSettings::default()
    };
    let (recorded, trace) = record(tools, program, settings, Some(rows))?;
    match recorded.accesses {
        0 => Err(Error::failure(format!(
            "{} touched no memory",
            name(program)
        ))),
        _ => Ok(Traced { recorded, trace }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(text: &str) -> Invocation {
        let words = text.split(' ').map(Into::into);
        words.collect::<Vec<_>>().into()
    }

    #[test]
    fn the_same_program_is_recorded_once() {
        let programs = ["a 1", "b", "a 1", "a 2", "b"].map(program);
        assert_eq!(distinct(&programs), [0, 1, 3]);
    }
}
