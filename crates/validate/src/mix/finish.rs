//! When programs end that start together and share CPUs evenly.

/// Returns when each of the programs ends, in seconds, that need these seconds of a CPU: the CPUs
/// are shared evenly by those that have not ended, and none uses more than one.
pub fn finish(needs: &[f64], cpus: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by(|&a, &b| needs[a].total_cmp(&needs[b]));
    let (mut now, mut had, mut ends) = (0.0, 0.0, vec![0.0; needs.len()]);
    for (ended, &program) in order.iter().enumerate() {
        let left = (needs.len() - ended) as f64;
        now += (needs[program] - had) * (left / cpus.max(1) as f64).max(1.0);
        had = needs[program];
        ends[program] = now;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same in small steps of time.
    fn stepwise(needs: &[f64], cpus: usize) -> Vec<f64> {
        const STEP: f64 = 1e-4;
        let (mut left, mut ends, mut steps) = (needs.to_vec(), vec![0.0; needs.len()], 0);
        while left.iter().any(|left| *left > 0.0) {
            steps += 1;
            let running = left.iter().filter(|left| **left > 0.0).count();
            let part = STEP * (cpus as f64 / running as f64).min(1.0);
            for (left, end) in left.iter_mut().zip(&mut ends).filter(|it| *it.0 > 0.0) {
                *left -= part;
                *end = f64::from(steps) * STEP;
            }
        }
        ends
    }

    #[test]
    fn programs_end_as_step_by_step() {
        for (needs, cpus) in [
            (&[1.0, 1.0, 1.0, 1.0][..], 1),
            (&[0.5, 2.0, 1.0], 1),
            (&[3.0, 0.5, 2.0, 1.0], 2),
            (&[0.7], 4),
            (&[0.3, 0.2], 4),
        ] {
            let pairs = finish(needs, cpus).into_iter().zip(stepwise(needs, cpus));
            for (end, slow) in pairs {
                assert!((end - slow).abs() < 0.01, "{needs:?} {cpus}: {end} {slow}");
            }
        }
        assert_eq!(finish(&[], 2), Vec::<f64>::new());
    }
}
