//! Where addresses come from: the load, if any, by which the registers of an address got their
//! values.
//!
//! A block of instructions is examined once, when it is translated: an [`Origin`] says of each
//! register what it holds in terms of the loads of the block and the registers at its beginning.
//! When the block is executed, [`Registers`] turn that into the instruction of a load. What passes
//! through memory, flags, or vector registers is not followed.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic,
    OpAccess, Register,
};

/// General registers.
const REGISTERS: usize = 16;
const RBP: usize = 5;
/// The number of no instruction.
const NONE: u64 = 0;

/// Where a value comes from: the last load of the block that it was made of, or else registers at
/// its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// One more than the instruction's place in the block; 0 is none.
    load: u16,
    /// A bit each.
    registers: u16,
}

impl Origin {
    fn of_load(index: usize) -> Self {
        let load = u16::try_from(index + 1).unwrap_or(0);
        Self { load, registers: 0 }
    }

    fn of_register(register: usize) -> Self {
        let registers = 1 << register;
        Self { load: 0, registers }
    }

    fn and(self, other: Self) -> Self {
        Self {
            load: self.load.max(other.load),
            registers: self.registers | other.registers,
        }
    }
}

/// The examination of a block, instruction by instruction.
#[derive(Debug)]
pub struct Analysis {
    /// The origin of what each register holds.
    held: [Origin; REGISTERS],
    /// Instructions so far.
    count: usize,
    factory: InstructionInfoFactory,
}

impl Default for Analysis {
    fn default() -> Self {
        Self {
            held: std::array::from_fn(Origin::of_register),
            count: 0,
            factory: InstructionInfoFactory::new(),
        }
    }
}

/// What executing a block does to registers: what each holds then that holds something else.
#[derive(Debug, Default)]
pub struct Effects {
    /// Instructions of the block.
    pub count: u64,
    changed: Vec<(u8, Origin)>,
}

impl Analysis {
    /// Examines the next instruction, in these bytes, and returns the origin of the addresses that
    /// it accesses.
    pub fn step(&mut self, ip: u64, bytes: &[u8]) -> Origin {
        let instruction = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode();
        let index = self.count;
        self.count += 1;
        let info = self.factory.info(&instruction);
        let address = match instruction.mnemonic() {
            // Which reads where the frame pointer says, and not the stack pointer.
            Mnemonic::Leave => self.held[RBP],
            _ => address(&self.held, info),
        };
        self.held = after(&self.held, &instruction, info, index);
        address
    }

    /// Returns what all instructions together do.
    pub fn effects(&self) -> Effects {
        let held = self.held.iter().enumerate();
        let changed = held.filter(|(register, held)| **held != Origin::of_register(*register));
        Effects {
            count: self.count as u64,
            changed: changed
                .map(|(register, held)| (register as u8, *held))
                .collect(),
        }
    }
}

/// Returns the number of a general register.
fn general(register: Register) -> Option<usize> {
    let full = register.full_register();
    (register != Register::None && full.is_gpr()).then(|| full.number())
}

/// Returns the origin of the addresses of all operands in memory.
fn address(held: &[Origin; REGISTERS], info: &InstructionInfo) -> Origin {
    let operands = info.used_memory().iter();
    let registers = operands.flat_map(|operand| [operand.base(), operand.index()]);
    let origins = registers.filter_map(general).map(|register| held[register]);
    origins.fold(Origin::default(), Origin::and)
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Returns what the registers hold after the instruction at `index` of the block.
fn after(
    held: &[Origin; REGISTERS],
    instruction: &Instruction,
    info: &InstructionInfo,
    index: usize,
) -> [Origin; REGISTERS] {
    let made = if info.used_memory().iter().any(|it| reads(it.access())) {
        Origin::of_load(index)
    } else if is_zero(instruction) {
        Origin::default()
    } else {
        let read = info.used_registers().iter();
        let read = read.filter(|used| reads(used.access()));
        let read = read.filter_map(|used| general(used.register()));
        read.map(|register| held[register])
            .fold(Origin::default(), Origin::and)
    };
    let mut after = *held;
    for used in info
        .used_registers()
        .iter()
        .filter(|used| writes(used.access()))
    {
        let Some(register) = general(used.register()) else {
            continue;
        };
        after[register] = if is_advanced(instruction, used.register().full_register()) {
            match instruction.mnemonic() {
                Mnemonic::Leave => held[RBP],
                _ => held[register],
            }
        } else if used.register().size() < 4 || used.access() == OpAccess::CondWrite {
            made.and(held[register])
        } else {
            made
        };
    }
    after
}

/// Whether the result does not depend on the operands.
fn is_zero(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Xor | Mnemonic::Sub)
        && instruction.op0_register() != Register::None
        && instruction.op0_register() == instruction.op1_register()
}

/// Whether the instruction only moves this register on, as a stack or string instruction does: what
/// it loads goes elsewhere.
fn is_advanced(instruction: &Instruction, register: Register) -> bool {
    match register {
        Register::RSP => instruction.is_stack_instruction(),
        Register::RSI | Register::RDI | Register::RCX => instruction.is_string_instruction(),
        _ => false,
    }
}

/// The loads by which a thread's registers got their values.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// By register, the number of the thread's instruction; [`NONE`] if no load did.
    loaded: [u64; REGISTERS],
    /// The number of the first instruction of the block that is executed, and what it does.
    block: (u64, Option<&'static Effects>),
}

impl Default for Registers {
    fn default() -> Self {
        Self {
            loaded: [NONE; REGISTERS],
            block: (0, None),
        }
    }
}

impl Registers {
    /// Begins the execution of a block, whose first instruction is number `first` of the thread.
    /// The one before has ended.
    pub fn begin(&mut self, first: u64, effects: &'static Effects) {
        if let (_, Some(ended)) = self.block {
            let before = *self;
            for (register, origin) in &ended.changed {
                self.loaded[usize::from(*register)] = before.load(*origin);
            }
        }
        self.block = (first, Some(effects));
    }

    /// Returns the number of the load that a value of the current block comes from.
    fn load(&self, origin: Origin) -> u64 {
        if origin.load > 0 {
            return self.block.0 + u64::from(origin.load) - 1;
        }
        let mut registers = origin.registers;
        let mut last = NONE;
        while registers != 0 {
            last = last.max(self.loaded[registers.trailing_zeros() as usize]);
            registers &= registers - 1;
        }
        last
    }

    /// Returns how many instructions before number `instruction` the load was from which an address
    /// comes; 0 if it comes from none, or from one more than 255 before.
    pub fn distance(&self, origin: Origin, instruction: u64) -> u8 {
        match self.load(origin) {
            NONE => 0,
            load => u8::try_from(instruction.wrapping_sub(load)).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Instructions of a small language, on registers 0 to 15.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Load(u8, u8),
        Store(u8, u8),
        Move(u8, u8),
        Add(u8, u8),
        Set(u8),
        Zero(u8),
        Nothing,
    }
    use Step::{Add, Load, Move, Nothing, Set, Store, Zero};

    impl Step {
        /// Returns the machine code: REX.W, the operation, and the operands.
        fn code(self) -> Vec<u8> {
            let direct = |operation, register: u8, other: u8| {
                let rex = 0x48 | (register >> 3) << 2 | other >> 3;
                vec![rex, operation, 0xc0 | (register & 7) << 3 | other & 7]
            };
            let memory = |operation, register: u8, base: u8| {
                let mut code = direct(operation, register, base);
                code[2] &= 0xbf; // a displacement of 32 bits
                if base & 7 == 4 {
                    code.push(0x24);
                }
                code.extend([0; 4]);
                code
            };
            match self {
                Load(to, base) => memory(0x8b, to, base),
                Store(base, from) => memory(0x89, from, base),
                Move(to, from) => direct(0x89, from, to),
                Add(to, from) => direct(0x01, from, to),
                Set(to) => [direct(0xc7, 0, to), vec![1, 0, 0, 0]].concat(),
                Zero(to) => direct(0x31, to, to),
                Nothing => vec![0x90],
            }
        }
    }

    fn step() -> impl Strategy<Value = Step> {
        let register = || 0..16_u8;
        prop_oneof![
            4 => (register(), register()).prop_map(|(to, base)| Load(to, base)),
            1 => (register(), register()).prop_map(|(base, from)| Store(base, from)),
            2 => (register(), register()).prop_map(|(to, from)| Move(to, from)),
            2 => (register(), register()).prop_map(|(to, from)| Add(to, from)),
            1 => register().prop_map(Set),
            1 => register().prop_map(Zero),
            3 => Just(Nothing),
        ]
    }

    /// Distances of loads and stores, instruction by instruction: 0 for other instructions.
    fn slowly(steps: &[Step]) -> Vec<u8> {
        let mut loaded: [Option<usize>; 16] = [None; 16];
        let distances = steps.iter().enumerate().map(|(now, step)| {
            let of = |register: u8| loaded[usize::from(register)];
            let base = match *step {
                Load(_, base) | Store(base, _) => of(base),
                _ => None,
            };
            match *step {
                Load(to, _) => loaded[usize::from(to)] = Some(now),
                Move(to, from) => loaded[usize::from(to)] = of(from),
                Add(to, from) => loaded[usize::from(to)] = of(to).max(of(from)),
                Set(to) | Zero(to) => loaded[usize::from(to)] = None,
                Store(..) | Nothing => {}
            }
            base.map_or(0, |load| u8::try_from(now - load).unwrap_or(0))
        });
        distances.collect()
    }

    /// The same in blocks of these lengths.
    fn in_blocks(steps: &[Step], lengths: &[usize]) -> Vec<u8> {
        let mut lengths = lengths.iter().cycle();
        let (mut registers, mut rest, mut distances) = (Registers::default(), steps, Vec::new());
        // No load is number 0 of a thread that counts from 1.
        let mut first = 1;
        while !rest.is_empty() {
            let (block, more) = rest.split_at(rest.len().min(*lengths.next().unwrap()));
            rest = more;
            let mut analysis = Analysis::default();
            let addresses: Vec<_> = block
                .iter()
                .map(|step| analysis.step(0, &step.code()))
                .collect();
            let effects: &'static Effects = Box::leak(Box::new(analysis.effects()));
            registers.begin(first, effects);
            for (index, address) in (first..).zip(addresses) {
                distances.push(registers.distance(address, index));
            }
            first += block.len() as u64;
        }
        distances
    }

    proptest! {
        #[test]
        fn distances_are_those_of_a_slow_look(
            steps in prop::collection::vec(step(), 1..600),
            lengths in prop::collection::vec(1..40_usize, 1..8),
        ) {
            prop_assert_eq!(in_blocks(&steps, &lengths), slowly(&steps));
        }
    }

    fn distances(code: &[&[u8]]) -> Vec<u8> {
        let mut analysis = Analysis::default();
        let addresses: Vec<_> = code.iter().map(|bytes| analysis.step(0, bytes)).collect();
        let mut registers = Registers::default();
        registers.begin(1, Box::leak(Box::new(analysis.effects())));
        (1..)
            .zip(addresses)
            .map(|(at, address)| registers.distance(address, at))
            .collect()
    }

    #[test]
    fn the_usual_loops_are_known() {
        // p = p->next, twice.
        assert_eq!(
            distances(&[&[0x48, 0x8b, 0x00], &[0x48, 0x8b, 0x00]]),
            [0, 1]
        );
        // mov eax, [rcx+rdx*4]; lea rsi, [rdi+rax*8], which accesses nothing; mov rsi, [rsi]
        let gather: [&[u8]; 3] = [
            &[0x8b, 0x04, 0x91],
            &[0x48, 0x8d, 0x34, 0xc7],
            &[0x48, 0x8b, 0x36],
        ];
        assert_eq!(distances(&gather), [0, 0, 2]);
        // pop rax; pop rbx; mov rcx, [rsp]; mov rcx, [rax]: the stack pointer moves by itself
        let stack: [&[u8]; 4] = [
            &[0x58],
            &[0x5b],
            &[0x48, 0x8b, 0x0c, 0x24],
            &[0x48, 0x8b, 0x08],
        ];
        assert_eq!(distances(&stack), [0, 0, 0, 3]);
        // lodsb; movsb; mov rax, [rsi]: so do those of strings
        let strings: [&[u8]; 3] = [&[0xac], &[0xa4], &[0x48, 0x8b, 0x06]];
        assert_eq!(distances(&strings), [0, 0, 0]);
        // pop rbp; leave; mov rax, [rsp]
        let frame: [&[u8]; 3] = [&[0x5d], &[0xc9], &[0x48, 0x8b, 0x04, 0x24]];
        assert_eq!(distances(&frame), [0, 1, 2]);
        // mov al, [rbx]; mov rcx, [rax]; mov eax, 1; mov rcx, [rax]
        let parts: [&[u8]; 4] = [
            &[0x8a, 0x03],
            &[0x48, 0x8b, 0x08],
            &[0xb8, 1, 0, 0, 0],
            &[0x48, 0x8b, 0x08],
        ];
        assert_eq!(distances(&parts), [0, 1, 0, 0]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_at(code in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..16), 1..20)) {
            let mut analysis = Analysis::default();
            for bytes in &code {
                analysis.step(0x1000, bytes);
            }
            prop_assert_eq!(analysis.effects().count, code.len() as u64);
        }
    }
}
