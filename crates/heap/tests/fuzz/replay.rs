//! The corpus of a target, and changes to it: the same in each run.

use std::fs;
use std::path::Path;

/// Has a target try what its corpus holds, and as many inputs made of it as are asked for.
pub fn replay(corpus: &Path, made: usize, target: fn(&[u8])) {
    let entries = fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.collect();
    files.sort();
    assert!(
        !files.is_empty(),
        "there is nothing in {}",
        corpus.display()
    );
    let inputs: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    for (input, file) in inputs.iter().zip(&files) {
        attempt(target, input, &file.display().to_string());
    }
    let mut random = random(1);
    for number in 0..made {
        let input = change(&inputs, &mut random);
        attempt(
            target,
            &input,
            &format!("input {number}, which is {input:?}"),
        );
    }
}

/// Says which input it was that failed.
fn attempt(target: fn(&[u8]), input: &[u8], name: &str) {
    let done = std::panic::catch_unwind(|| target(input));
    assert!(done.is_ok(), "the target fails for {name}");
}

/// An input like one of those, or made of two.
fn change(inputs: &[Vec<u8>], random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut input = inputs[random(inputs.len())].clone();
    if random(3) == 0 {
        let other = &inputs[random(inputs.len())];
        input.truncate(random(input.len() + 1));
        input.extend(&other[random(other.len() + 1)..]);
    }
    for _ in 0..=random(6) {
        let at = random(input.len().max(1));
        match random(4) {
            0 => input.insert(at.min(input.len()), random(256) as u8),
            1 if !input.is_empty() => drop(input.remove(at)),
            2 if !input.is_empty() => input[at] ^= 1 << random(8),
            _ if !input.is_empty() => input[at] = random(256) as u8,
            _ => {}
        }
    }
    input
}

/// Numbers below the bound that each call names, the same ones for the same seed.
fn random(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |bound| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) as usize % bound
    }
}
