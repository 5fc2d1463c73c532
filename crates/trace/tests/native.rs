//! The native format: what is written is read, and what is damaged is named.

use proptest::prelude::*;
use terrace_trace::{Access, Block, Columns, create, open};

fn accesses() -> impl Strategy<Value = Vec<Access>> {
    let access = (
        any::<(u64, u64, u64)>(),
        any::<(u16, u16)>(),
        any::<u32>(),
        any::<bool>(),
    )
        .prop_map(
            |((instruction, address, ip), (process, thread), size, write)| Access {
                instruction,
                address,
                ip,
                process,
                thread,
                size,
                write,
            },
        );
    prop::collection::vec(access, 0..300)
}

fn block(accesses: &[Access]) -> Block {
    let mut block = Block::default();
    accesses.iter().for_each(|access| block.push(*access));
    block
}

proptest! {
    #[test]
    fn what_is_written_is_read(accesses in accesses(), pieces in 1usize..50) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let about = [("program".to_owned(), "ls -l".to_owned())];
        let mut sink = create(&path, &about).unwrap();
        for piece in accesses.chunks(pieces) {
            sink.write(&block(piece)).unwrap();
        }
        sink.finish().unwrap();

        let mut source = open(&path, Columns::ALL).unwrap();
        prop_assert_eq!(source.meta().accesses, Some(accesses.len() as u64));
        prop_assert_eq!(&source.meta().about[..], &about);
        let mut read = Vec::new();
        let mut block = Block::default();
        loop {
            source.read(&mut block).unwrap();
            if block.is_empty() {
                break;
            }
            read.extend((0..block.len()).map(|index| block.get(index)));
        }
        prop_assert_eq!(read, accesses);
    }
}
