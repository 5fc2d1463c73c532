//! Instructions that the processor has and the emulator lacks: a program that reaches one ends by
//! SIGILL.

use iced_x86::{Code, Decoder, DecoderOptions};

/// The most bytes of an instruction.
pub const LONGEST: usize = 15;

/// Returns the name of the instruction in `bytes`, with the extensions of the processor that it
/// belongs to; none where it is no instruction, or is one that raises SIGILL on every processor.
pub fn name(bytes: &[u8; LONGEST]) -> Option<String> {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let raises = matches!(
        instruction.code(),
        Code::INVALID
            | Code::Ud0
            | Code::Ud0_r16_rm16
            | Code::Ud0_r32_rm32
            | Code::Ud0_r64_rm64
            | Code::Ud1_r16_rm16
            | Code::Ud1_r32_rm32
            | Code::Ud1_r64_rm64
            | Code::Ud2
    );
    // Zeros are what is read before anything was translated.
    let is_none = bytes.iter().all(|&byte| byte == 0);
    if raises || is_none {
        return None;
    }
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    let extensions = instruction.cpuid_features().iter();
    let extensions: Vec<String> = extensions.map(|each| format!("{each:?}")).collect();
    Some(format!("{name} ({})", extensions.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Option<String> {
        let mut all = [0x90; LONGEST];
        all[..bytes.len()].copy_from_slice(bytes);
        name(&all)
    }

    #[test]
    fn an_instruction_is_named_with_what_it_belongs_to() {
        // vpaddd zmm0, zmm1, zmm2
        let named = of(&[0x62, 0xf1, 0x75, 0x48, 0xfe, 0xc2]);
        assert_eq!(named.as_deref(), Some("vpaddd (AVX512F)"));
    }

    #[test]
    fn what_raises_everywhere_is_no_lack() {
        for bytes in [
            &[0x0f, 0x0b][..],
            &[0x0f, 0xff, 0xc0],
            &[0x06],
            &[0; LONGEST],
        ] {
            assert_eq!(of(bytes), None, "{bytes:x?}");
        }
    }
}
