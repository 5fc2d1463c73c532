//! The programs of a mix: started together, and each waited for by a thread of its own.

use std::sync::mpsc::{self, Receiver};
use std::thread;

use terrace_base::process::started;
use terrace_base::{Context, Exit, Result, Signals};

use crate::program::{Ended, Invocation, Program};
use crate::system::cpus::Cpus;

/// Programs that were started.
pub(crate) struct Programs {
    /// Their processes, with start times.
    pub roots: Vec<(u32, u64)>,
    ends: Receiver<(usize, Result<Ended>)>,
    ended: Vec<Option<Ended>>,
}

impl Programs {
    /// Starts programs on these CPUs, and prepares `signals` for them.
    ///
    /// # Errors
    /// A usage error if one cannot be run; those that were started before it are killed.
    pub fn start(invocations: &[Invocation], cpus: &Cpus, signals: &Signals) -> Result<Self> {
        let (tell, ends) = mpsc::channel();
        let mut roots = Vec::new();
        let ours = Cpus::of(0).or_fail(|| "cannot tell the CPUs of this process".into())?;
        // A program inherits the CPUs of the thread that starts it.
        cpus.set(0)
            .or_fail(|| format!("cannot use the CPUs {cpus}"))?;
        let started = invocations
            .iter()
            .enumerate()
            .try_for_each(|(index, invocation)| {
                let program = Program::start(invocation, &[], signals)?;
                let pid = program.pid();
                roots.push((pid, started(pid).ok().flatten().unwrap_or(0)));
                let tell = tell.clone();
                let wait = move || drop(tell.send((index, program.wait())));
                let waiting = thread::Builder::new()
                    .name("terrace-wait".into())
                    .spawn(wait);
                waiting.or_fail(|| "cannot start a thread".into()).map(drop)
            });
        let _ = ours.set(0);
        let programs = Self {
            ended: vec![None; invocations.len()],
            roots,
            ends,
        };
        match started {
            Ok(()) => Ok(programs),
            Err(error) => {
                programs.kill();
                Err(error)
            }
        }
    }

    fn kill(&self) {
        for (pid, _) in &self.roots {
            if let Ok(process) = terrace_base::process::hold(*pid) {
                terrace_base::process::signal(&process, libc::SIGKILL);
            }
        }
    }

    /// Returns whether all have ended.
    ///
    /// # Errors
    /// A failure if the kernel refuses the wait.
    pub fn have_ended(&mut self) -> Result<bool> {
        for (index, ended) in self.ends.try_iter() {
            self.ended[index] = Some(ended?);
        }
        Ok(self.ended.iter().all(Option::is_some))
    }

    /// Returns the number of those that run.
    pub fn running(&self) -> usize {
        self.ended.iter().filter(|ended| ended.is_none()).count()
    }

    /// Returns how those have ended that have.
    pub fn ends(&self) -> Vec<Exit> {
        let ended = self.ended.iter().flatten();
        ended.map(|ended| ended.exit).collect()
    }

    /// Returns how a program has ended; `None` while it runs.
    pub fn end_of(&self, index: usize) -> Option<Ended> {
        self.ended.get(index).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shell(script: &str) -> Invocation {
        let words = ["sh", "-c", script].map(Into::into);
        words.to_vec().into()
    }

    #[test]
    fn each_has_its_end_and_its_cpus() {
        let cpus = Cpus::one(Cpus::of(0).unwrap().iter().next().unwrap());
        let before = Cpus::of(0).unwrap();
        let mut programs = Programs::start(
            &[shell("exit 3"), shell("read x")],
            &cpus,
            &Signals::receive().unwrap(),
        )
        .unwrap();
        assert_eq!(Cpus::of(0).unwrap(), before);
        assert_eq!(Cpus::of(programs.roots[1].0).unwrap_or(cpus.clone()), cpus);
        while !programs.have_ended().unwrap() {
            thread::sleep(Duration::from_millis(1));
            if programs.running() == 1 {
                programs.kill();
            }
        }
        let exit = |index| programs.end_of(index).unwrap().exit;
        assert_eq!(exit(0), Exit::Code(3));
    }

    #[test]
    fn if_one_cannot_be_run_none_is_left() {
        let cpus = Cpus::of(0).unwrap();
        let no_such = vec!["/no/such/program".into()].into();
        let error = Programs::start(
            &[shell("sleep 60"), no_such],
            &cpus,
            &Signals::receive().unwrap(),
        )
        .err();
        assert!(error.unwrap().to_string().contains("does not exist"));
    }
}
