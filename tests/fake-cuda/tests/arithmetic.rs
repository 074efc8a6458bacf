//! Arithmetic of the PTX interpreter, bit by bit as an NVIDIA H200 does it.
//!
//! `arithmetic.txt` has an instruction a line, with the kind of its result and a hash of what 256 threads got for it.
//! It was made on 2026-11-30 by this same kernel and input on an H200, driver 580.159.04.
#![allow(clippy::undocumented_unsafe_blocks, reason = "one contract for all: handles and pointers of this test, alive")]
#![allow(clippy::cast_ptr_alignment, reason = "pinned memory is aligned to 512 bytes")]

mod common;

use std::ffi::{CString, c_void};
use std::fmt::Write;
use std::ptr;

use common::*;

const THREADS: usize = 256;

/// What stands for an operand in the list.
const OPERANDS: [(&str, &str); 16] = [
    ("A", "%r2"),
    ("B", "%r3"),
    ("C", "%r4"),
    ("NZ", "%r5"),
    ("X", "%rd4"),
    ("Y", "%rd5"),
    ("FA", "%f1"),
    ("FB", "%f2"),
    ("FC", "%f3"),
    ("GA", "%g1"),
    ("GB", "%g2"),
    ("P", "%p1"),
    ("!P", "!%p1"),
    ("HA", "%h1"),
    ("HB", "%h2"),
    ("", ""),
];

/// (kind, hash, instruction).
fn list() -> Vec<(&'static str, u64, &'static str)> {
    let line = |line: &'static str| {
        let mut parts = line.splitn(3, ' ');
        let (kind, hash) = (parts.next().unwrap(), parts.next().unwrap());
        (kind, u64::from_str_radix(hash, 16).unwrap(), parts.next().unwrap())
    };
    include_str!("arithmetic.txt").lines().map(line).collect()
}

/// A kernel in which each thread loads its input, does each instruction and stores its result as 64 bits.
fn kernel(list: &[(&str, u64, &str)]) -> String {
    let mut text = String::from(
        ".version 6.5\n.target sm_70\n.address_size 64\n.visible .entry ops(.param .u64 in, .param .u64 out) {
         .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<10>; .reg .f64 %g<10>; .reg .pred %p<9>; .reg .b16 %h<9>;
         ld.param.u64 %rd1,[in]; ld.param.u64 %rd2,[out]; mov.u32 %r1,%tid.x;
         mul.wide.u32 %rd3,%r1,16; add.s64 %rd1,%rd1,%rd3;
         ld.global.u32 %r2,[%rd1]; ld.global.u32 %r3,[%rd1+4]; ld.global.u32 %r4,[%rd1+8]; or.b32 %r5,%r3,1;
         ld.global.f32 %f1,[%rd1]; ld.global.f32 %f2,[%rd1+4]; ld.global.f32 %f3,[%rd1+8];
         ld.global.u64 %rd4,[%rd1]; ld.global.u64 %rd5,[%rd1+8]; cvt.f64.f32 %g1,%f1; cvt.f64.f32 %g2,%f2;
         and.b32 %r6,%r4,1; setp.ne.u32 %p1,%r6,0; ld.global.u16 %h1,[%rd1]; ld.global.u16 %h2,[%rd1+4];\n",
    );
    writeln!(text, "mul.wide.u32 %rd3,%r1,{}; add.s64 %rd2,%rd2,%rd3;", list.len() * 8).unwrap();
    for (i, (kind, _, instruction)) in list.iter().enumerate() {
        let (dst, end) = match *kind {
            "r" => ("%r10", "cvt.u64.u32 %rd10,%r10;"),
            "d" => ("%rd10", ""),
            "f" => ("%f9", "mov.b32 %r10,%f9; cvt.u64.u32 %rd10,%r10;"),
            "g" => ("%g9", "mov.b64 %rd10,%g9;"),
            "p" => ("%p2", "selp.u64 %rd10,1,0,%p2;"),
            _ => ("%h5", "cvt.u64.u16 %rd10,%h5;"),
        };
        let (opcode, operands) = instruction.split_once(' ').unwrap();
        let operand = |name: &'_ str| match name {
            "D" => dst.to_owned(),
            _ => OPERANDS.iter().find(|(n, _)| *n == name).map_or(name, |(_, reg)| reg).to_owned(),
        };
        let operands: Vec<_> = operands.split(", ").map(operand).collect();
        writeln!(text, "{opcode} {};{end} st.global.u64 [%rd2+{}],%rd10;", operands.join(","), i * 8).unwrap();
    }
    text + "ret; }\n"
}

/// Random numbers, mixed with edges of integers and floats.
fn input() -> Vec<u32> {
    const SPECIAL: [u32; 20] = [
        0,
        1,
        2,
        31,
        32,
        33,
        0x7FFF_FFFF,
        0x8000_0000,
        0xFFFF_FFFF,
        0xFF,
        0x80,
        0x3F80_0000,
        0xBF80_0000,
        0x4020_0000,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0x4B80_0001,
        0x0000_0001,
        0xC2F6_0000,
    ];
    let mut state = 0x1234_5678_9ABC_DEFF_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u32
    };
    let number = |i: usize| {
        let r = random();
        match i % 7 {
            0 | 3 => SPECIAL[r as usize % 20],
            1 => (r as i32 as f32 / 65536.0).to_bits(),
            5 => r % 40,
            _ => r,
        }
    };
    (0..THREADS * 4).map(number).collect()
}

#[test]
fn every_instruction_gives_what_the_gpu_gives() {
    let list = list();
    let fake = Fake::new();
    let (stream, bytes) = (fake.stream(), THREADS * list.len() * 8);
    let (src, dst, input) = (fake.alloc(THREADS * 16, stream), fake.alloc(bytes, stream), input());
    let mut out = vec![0u64; THREADS * list.len()];
    let text = CString::new(kernel(&list)).unwrap();
    unsafe {
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        ok(cuModuleLoadData(&raw mut module, text.as_ptr().cast()));
        ok(cuModuleGetFunction(&raw mut function, module, c"ops".as_ptr()));
        fake.up(src, input.as_ptr().cast(), THREADS * 16, stream);
        let mut args = [(&raw const src).cast_mut().cast::<c_void>(), (&raw const dst).cast_mut().cast()];
        let threads = THREADS as u32;
        ok(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, args.as_mut_ptr(), ptr::null_mut()));
        fake.down(out.as_mut_ptr().cast(), dst, bytes, stream);
    }
    clean();
    let mut wrong = Vec::new();
    for (i, (_, expected, instruction)) in list.iter().enumerate() {
        let results = (0..THREADS).flat_map(|thread| out[thread * list.len() + i].to_le_bytes());
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        if results.fold(0xcbf2_9ce4_8422_2325, fnv) != *expected {
            wrong.push(*instruction);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
