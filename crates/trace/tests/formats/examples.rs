//! An example of each format, and how bytes are read as one.

use std::fs;
use std::io::Write;

use terrace_trace::formats::{caffeine, champsim, csv, lackey, lcs, oracle_general, perf, vscsi};
use terrace_trace::{Access, Columns, Format, open};

use crate::common::read_as;

pub fn access(instruction: u64, address: u64, ip: u64, size: u32, write: bool) -> Access {
    Access {
        instruction,
        address,
        ip,
        size,
        write,
        ..Access::default()
    }
}

/// Reads `bytes` as a file of any name.
pub fn read(bytes: &[u8], format: Format) -> Result<Vec<Access>, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some-trace");
    fs::write(&path, bytes).unwrap();
    let read = read_as(&path, format);
    read.map(|(_, accesses)| accesses).map_err(|error| {
        let error = error.to_string();
        assert!(error.contains("some-trace"), "{error}");
        error
    })
}

/// The format that shows in `bytes`, in a file called `name`.
pub fn detect(name: &str, bytes: &[u8]) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    open(&path, Columns::ALL)
        .map(|source| source.meta().format.clone())
        .map_err(|error| error.to_string())
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 1);
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

pub const LACKEY: &str = "==7== Lackey\nI  0401b770,3\n L 1fff000748,8\n S 1fff000740,4\nI  0401b773,5\n M 0421C7CC,4\n==7== \n";
pub const CAFFEINE: &str = "s 0x1fffff50 1\nl 0x1fffff58 1\nl 0x1fffff88 6\n";
pub const CSV: &str = "op,Address, size\nr,0x10,8\nw,32,4\n";

/// One instruction of ChampSim's.
pub fn champsim(ip: u64, stores: [u64; 2], loads: [u64; 4]) -> Vec<u8> {
    let mut record = ip.to_le_bytes().to_vec();
    record.extend([1, 0, 25, 0, 6, 25, 0, 0]);
    for address in stores.iter().chain(&loads) {
        record.extend(address.to_le_bytes());
    }
    record
}

pub fn champsim_trace() -> Vec<u8> {
    [
        champsim(0x400, [0, 0], [0, 0, 0, 0]),
        champsim(0x404, [0x30, 0], [0x10, 0, 0x20, 0]),
        champsim(0x408, [0, 0], [0x40, 0, 0, 0]),
    ]
    .concat()
}

pub fn request(time: u32, id: u64, size: u32, next: i64) -> Vec<u8> {
    let mut record = time.to_le_bytes().to_vec();
    record.extend(id.to_le_bytes());
    record.extend(size.to_le_bytes());
    record.extend(next.to_le_bytes());
    record
}

pub fn oracle_general() -> Vec<u8> {
    [
        request(5, 7, 512, 2),
        request(5, u64::MAX, 100, -1),
        request(6, 7, 512, i64::MAX),
        request(6, 1 << 51, 1, -1),
    ]
    .concat()
}

/// Requests of libCacheSim, of version 1, behind their header.
pub fn lcs() -> Vec<u8> {
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    let mut bytes = vec![0; 1024];
    bytes[..8].copy_from_slice(&magic);
    bytes[8] = 1;
    bytes[24] = 2;
    bytes[1016..].copy_from_slice(&magic);
    bytes.extend(request(5, 7, 512, -1));
    bytes.extend(request(5, 8, 9000, -1));
    bytes
}

/// Commands of a virtual disk, of version 2.
pub fn vscsi() -> Vec<u8> {
    let command = |cmd: u8, block: u64| {
        let mut record = vec![cmd, 0, 1, 2];
        [7_u32, 4096, 1]
            .iter()
            .for_each(|field| record.extend(field.to_le_bytes()));
        [block, 5, 6]
            .iter()
            .for_each(|field| record.extend(field.to_le_bytes()));
        record
    };
    [command(0x28, 8), command(0x2a, 64)].concat()
}

pub const PERF: &str = "a 7/7 1.5: 1 cpu/mem-loads/: 7f001000 142 |OP LOAD|LVL L1 hit|\n\
                        a 7/8 1.6: 1 cpu/mem-stores/: 7f002000 144 |OP STORE|LVL L1 hit|\n";

/// An example of every format of others.
pub fn examples() -> [(Format, Vec<u8>); 8] {
    [
        (lackey::FORMAT, LACKEY.into()),
        (caffeine::FORMAT, CAFFEINE.into()),
        (csv::FORMAT, CSV.into()),
        (champsim::FORMAT, champsim_trace()),
        (oracle_general::FORMAT, oracle_general()),
        (lcs::FORMAT, lcs()),
        (vscsi::FORMAT, vscsi()),
        (perf::FORMAT, PERF.into()),
    ]
}
