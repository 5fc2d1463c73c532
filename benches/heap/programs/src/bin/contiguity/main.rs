//! How contiguous the frames behind memory are, by how they are requested from the kernel (Kannan
//! 2013, section 4.1): two programs touch new pages in turn. Needs root, for frame numbers.

mod frames;
mod report;
mod trial;

use terrace_heap::contiguity::Backing;

use trial::trial;

const BYTES: u64 = 64 << 20;
const PROGRAMS: usize = 2;

fn main() {
    let ways = [
        ("on touch (JIT)", Backing::OnTouch),
        ("batches of 4 (CAA-4)", Backing::batches(4)),
        ("batches of 16 (CAA-16)", Backing::batches(16)),
        ("batches of 64", Backing::batches(64)),
        ("huge pages", Backing::Huge),
    ];
    println!(
        "{PROGRAMS} programs of {} MiB each, touched in turn; the first one:",
        BYTES >> 20
    );
    for (name, backing) in ways {
        match trial(backing, PROGRAMS, BYTES) {
            Ok(all) => println!("{name:24}{}", all[0]),
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
    }
}
