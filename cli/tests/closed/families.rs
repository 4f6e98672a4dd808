//! A program that uses every family of instructions: each instruction on all pairs of some numbers that it reads from memory, so that no
//! compiler computes them before. What comes out is written one after another.

use std::fmt::Write as _;

/// The place in memory and the count of a type's numbers.
struct Numbers {
    ty: &'static str,
    at: usize,
    n_bytes: usize,
    bytes: Vec<u8>,
}

impl Numbers {
    fn n(&self) -> usize {
        self.bytes.len() / self.n_bytes
    }

    /// Loads the number whose index a local has.
    fn load(&self, local: &str) -> String {
        let (ty, at, n) = (self.ty, self.at, self.n_bytes);
        format!("({ty}.load (i32.add (i32.const {at}) (i32.mul (local.get ${local}) (i32.const {n}))))")
    }
}

/// A module in the making.
#[derive(Default)]
struct Program {
    functions: String,
    calls: String,
    n: usize,
}

impl Program {
    fn function(&mut self, body: &str) {
        let n = self.n;
        self.n += 1;
        let _ = writeln!(
            self.functions,
            "(func $f{n} (local $i i32) (local $j i32) (local $v v128) {body})"
        );
        let _ = write!(self.calls, "(call $f{n})");
    }

    /// An instruction with one operand, whose result has the type `to`.
    fn unary(&mut self, numbers: &Numbers, instruction: &str, to: &str) {
        let applied = format!("(call $put_{to} ({instruction} {}))", numbers.load("i"));
        self.function(&looped("i", numbers.n(), &applied));
    }

    /// An instruction with two operands.
    fn binary(&mut self, (operand, by): (&Numbers, &Numbers), instruction: &str, to: &str) {
        let applied = format!(
            "(call $put_{to} ({instruction} {} {}))",
            operand.load("i"),
            by.load("j")
        );
        let inner = format!("(local.set $j (i32.const 0)) {}", looped("j", by.n(), &applied));
        self.function(&looped("i", operand.n(), &inner));
    }
}

fn looped(local: &str, n: usize, body: &str) -> String {
    format!(
        "(loop ${local} {body} (br_if ${local} (i32.lt_u (local.tee ${local} (i32.add (local.get ${local}) (i32.const 1))) (i32.const {n}))))"
    )
}

fn numbers<const N: usize>(ty: &'static str, at: usize, numbers: &[[u8; N]]) -> Numbers {
    Numbers {
        ty,
        at,
        n_bytes: N,
        bytes: numbers.concat(),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

fn scalar(program: &mut Program, all: &[Numbers; 4], [of_i32s, of_i64s, small]: &[Numbers; 3]) {
    let [i32s, i64s, f32s, f64s] = all;
    for (numbers, divisors) in [(i32s, of_i32s), (i64s, of_i64s)] {
        let ty = numbers.ty;
        for name in words("clz ctz popcnt extend8_s extend16_s") {
            program.unary(numbers, &format!("{ty}.{name}"), ty);
        }
        program.unary(numbers, &format!("{ty}.eqz"), "i32");
        for name in words("add sub mul and or xor shl shr_s shr_u rotl rotr") {
            program.binary((numbers, numbers), &format!("{ty}.{name}"), ty);
        }
        for name in words("eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u") {
            program.binary((numbers, numbers), &format!("{ty}.{name}"), "i32");
        }
        for name in words("div_s div_u rem_s rem_u") {
            program.binary((numbers, divisors), &format!("{ty}.{name}"), ty);
        }
    }
    for numbers in [f32s, f64s] {
        let ty = numbers.ty;
        for name in words("abs neg ceil floor trunc nearest sqrt") {
            program.unary(numbers, &format!("{ty}.{name}"), ty);
        }
        for name in words("add sub mul div min max copysign") {
            program.binary((numbers, numbers), &format!("{ty}.{name}"), ty);
        }
        for name in words("eq ne lt gt le ge") {
            program.binary((numbers, numbers), &format!("{ty}.{name}"), "i32");
        }
        for (to, sign) in [("i32", "s"), ("i32", "u"), ("i64", "s"), ("i64", "u")] {
            program.unary(numbers, &format!("{to}.trunc_sat_{ty}_{sign}"), to);
        }
    }
    for (to, name, numbers) in [
        ("i64", "extend_i32_s", i32s),
        ("i64", "extend_i32_u", i32s),
        ("i64", "extend32_s", i64s),
        ("i32", "wrap_i64", i64s),
        ("f32", "convert_i32_s", i32s),
        ("f32", "convert_i32_u", i32s),
        ("f32", "convert_i64_s", i64s),
        ("f32", "convert_i64_u", i64s),
        ("f64", "convert_i32_s", i32s),
        ("f64", "convert_i32_u", i32s),
        ("f64", "convert_i64_s", i64s),
        ("f64", "convert_i64_u", i64s),
        ("f32", "demote_f64", f64s),
        ("f64", "promote_f32", f32s),
        ("i32", "reinterpret_f32", f32s),
        ("i64", "reinterpret_f64", f64s),
        ("f32", "reinterpret_i32", i32s),
        ("f64", "reinterpret_i64", i64s),
    ] {
        program.unary(numbers, &format!("{to}.{name}"), to);
    }
    // these trap where the number does not fit
    for name in words("i32.trunc_f64_s i32.trunc_f64_u i64.trunc_f64_s i64.trunc_f64_u") {
        program.unary(small, name, &name[..3]);
    }
}

fn vectors(program: &mut Program, numbers: &Numbers) {
    let each = |shapes: &'static str, names: &'static str| {
        words(shapes).flat_map(move |shape| words(names).map(move |name| format!("{shape}.{name}")))
    };
    let unary = each("i8x16 i16x8 i32x4 i64x2", "abs neg")
        .chain(each("f32x4 f64x2", "abs neg sqrt ceil floor trunc nearest"))
        .chain(each(
            "i16x8",
            "extadd_pairwise_i8x16_s extadd_pairwise_i8x16_u extend_low_i8x16_s extend_high_i8x16_u",
        ))
        .chain(each(
            "i32x4",
            "extadd_pairwise_i16x8_s extadd_pairwise_i16x8_u extend_low_i16x8_u extend_high_i16x8_s",
        ))
        .chain(each("i64x2", "extend_low_i32x4_s extend_high_i32x4_u"))
        .chain(each(
            "i32x4",
            "trunc_sat_f32x4_s trunc_sat_f32x4_u trunc_sat_f64x2_s_zero trunc_sat_f64x2_u_zero",
        ))
        .chain(each("f32x4", "convert_i32x4_s convert_i32x4_u demote_f64x2_zero"))
        .chain(each(
            "f64x2",
            "convert_low_i32x4_s convert_low_i32x4_u promote_low_f32x4",
        ))
        .chain(each("v128", "not"))
        .chain(each("i8x16", "popcnt"));
    for name in unary {
        program.unary(numbers, &name, "v128");
    }
    for name in each("i8x16 i16x8 i32x4 i64x2", "all_true bitmask").chain(each("v128", "any_true")) {
        program.unary(numbers, &name, "i32");
    }
    let binary = each("i8x16 i16x8 i32x4 i64x2 f32x4 f64x2", "add sub eq ne")
        .chain(each("i16x8 i32x4 i64x2 f32x4 f64x2", "mul"))
        .chain(each("f32x4 f64x2", "div min max pmin pmax lt gt le ge"))
        .chain(each(
            "i8x16 i16x8 i32x4",
            "min_s min_u max_s max_u lt_u gt_u le_u ge_u",
        ))
        .chain(each("i8x16 i16x8 i32x4 i64x2", "lt_s gt_s le_s ge_s"))
        .chain(each(
            "i8x16 i16x8",
            "add_sat_s add_sat_u sub_sat_s sub_sat_u avgr_u",
        ))
        .chain(each("i8x16", "narrow_i16x8_s narrow_i16x8_u swizzle"))
        .chain(each(
            "i16x8",
            "narrow_i32x4_s narrow_i32x4_u q15mulr_sat_s extmul_low_i8x16_s extmul_high_i8x16_u",
        ))
        .chain(each(
            "i32x4",
            "dot_i16x8_s extmul_low_i16x8_s extmul_high_i16x8_u",
        ))
        .chain(each("i64x2", "extmul_low_i32x4_s extmul_high_i32x4_u"))
        .chain(each("v128", "and andnot or xor"));
    for name in binary {
        program.binary((numbers, numbers), &name, "v128");
    }
    for name in each("i8x16 i16x8 i32x4 i64x2", "shl shr_s shr_u") {
        let applied = format!(
            "(call $put_v128 ({name} {} (i32.mul (local.get $j) (i32.const 7))))",
            numbers.load("i")
        );
        let inner = format!("(local.set $j (i32.const 0)) {}", looped("j", 6, &applied));
        program.function(&looped("i", numbers.n(), &inner));
    }
    let lanes = format!(
        "(local.set $v {0})
        (call $put_v128 (v128.bitselect {0} (v128.not {0}) (i8x16.splat (local.get $i))))
        (call $put_v128 (i8x16.shuffle 0 17 2 19 4 21 6 23 8 25 10 27 12 29 14 31 {0} (i16x8.splat (local.get $i))))
        (call $put_i32 (i8x16.extract_lane_s 3 (local.get $v))) (call $put_i32 (i16x8.extract_lane_u 5 (local.get $v)))
        (call $put_i64 (i64x2.extract_lane 1 (local.get $v))) (call $put_f64 (f64x2.extract_lane 0 (local.get $v)))
        (call $put_v128 (f32x4.replace_lane 2 (local.get $v) (f32.convert_i32_u (local.get $i))))
        (call $put_v128 (i64x2.replace_lane 0 (local.get $v) (i64.const -2)))
        (call $put_v128 (v128.load8x8_s offset=3 (local.get $i))) (call $put_v128 (v128.load32_splat offset=4096 (local.get $i)))
        (call $put_v128 (v128.load64_zero offset=4096 (local.get $i))) (call $put_v128 (v128.load16_lane offset=4097 1 (local.get $i) (local.get $v)))",
        numbers.load("i")
    );
    program.function(&looped("i", numbers.n(), &lanes));
}

/// Memory, tables, calls and control.
const OTHERS: &str = r"
(func $others (local $i i32) (local $n i32)
    (loop $again
        (call $put_i32 (i32.load8_s offset=4096 (local.get $i))) (call $put_i32 (i32.load16_u offset=4096 (local.get $i)))
        (call $put_i64 (i64.load32_s offset=4352 (local.get $i))) (call $put_i64 (i64.load8_u offset=4352 (local.get $i)))
        (i32.store8 offset=12288 (local.get $i) (local.get $i)) (i64.store16 offset=12290 (local.get $i) (i64.const -3))
        (i64.store32 offset=12300 (local.get $i) (i64.extend_i32_u (local.get $i)))
        (call $put_i64 (i64.load offset=12288 (local.get $i)))
        (call $put_i32 (call $chosen (local.get $i)))
        (call $put_i32 (call_indirect (type $number) (local.get $i) (i32.rem_u (local.get $i) (i32.const 3))))
        (call $put_i32 (select (local.get $i) (i32.const -1) (i32.and (local.get $i) (i32.const 4))))
        (call $two (local.get $i)) (call $put_i32) (call $put_i64)
        (call $put_i64 (call $factorial (i64.extend_i32_u (local.get $i)) (i64.const 1)))
        (call $put_i32 (call $fibonacci (local.get $i)))
        (global.set $turn (i32.add (global.get $turn) (i32.const 3))) (call $put_i32 (global.get $turn))
        (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 20))))
    (memory.fill (i32.const 20000) (i32.const 171) (i32.const 1000))
    (memory.init $words (i32.const 20100) (i32.const 2) (i32.const 9)) (data.drop $words)
    (memory.copy (i32.const 20105) (i32.const 20100) (i32.const 300)) ;; which overlap
    (call $put_i64 (i64.load (i32.const 20104))) (call $put_i64 (i64.load (i32.const 20400)))
    (call $put_i32 (memory.grow (i32.const 1))) (call $put_i32 (memory.size))
    (call $put_i32 (table.grow $table (ref.func $square) (i32.const 5))) (call $put_i32 (table.size $table))
    (table.set $table (i32.const 4) (table.get $table (i32.const 1))) (table.copy $table $table (i32.const 5) (i32.const 0) (i32.const 3))
    (table.fill $table (i32.const 7) (ref.null func) (i32.const 1))
    (call $put_i32 (ref.is_null (table.get $table (i32.const 7)))) (call $put_i32 (ref.is_null (table.get $table (i32.const 6))))
    (call $put_i32 (call_indirect (type $number) (i32.const 9) (i32.const 4))))
(func $chosen (param $i i32) (result i32)
    (block $c (block $b (block $a (br_table $a $b $c (i32.rem_u (local.get $i) (i32.const 5)))) (return (i32.const 10))) (return (i32.const 20)))
    (if (result i32) (i32.gt_u (local.get $i) (i32.const 9)) (then (i32.const 30)) (else (i32.const 40))))
(func $two (param $i i32) (result i64 i32) (i64.extend_i32_s (i32.sub (i32.const 5) (local.get $i))) (local.get $i))
(func $factorial (param $n i64) (param $product i64) (result i64)
    (if (i64.eqz (local.get $n)) (then (return (local.get $product))))
    (return_call $factorial (i64.sub (local.get $n) (i64.const 1)) (i64.mul (local.get $product) (local.get $n))))
(func $fibonacci (param $n i32) (result i32)
    (if (result i32) (i32.lt_u (local.get $n) (i32.const 2)) (then (local.get $n))
        (else (i32.add (call $fibonacci (i32.sub (local.get $n) (i32.const 1))) (call $fibonacci (i32.sub (local.get $n) (i32.const 2)))))))
(func $square (param i32) (result i32) (i32.mul (local.get 0) (local.get 0)))
(func $half (param i32) (result i32) (i32.shr_u (local.get 0) (i32.const 1)))
(func $other (param i32) (result i32) (i32.xor (local.get 0) (i32.const -1)))
";

/// The numbers of each scalar type, with those at which results turn.
fn scalars() -> [Numbers; 4] {
    [
        numbers(
            "i32",
            4096,
            &[0, 1, -1, 7, -13, i32::MAX, i32::MIN, 123_456_789, 31, 33].map(i32::to_le_bytes),
        ),
        numbers(
            "i64",
            4352,
            &[0, 1, -1, 7, -13, i64::MAX, i64::MIN, 1 << 40, 63, 65].map(i64::to_le_bytes),
        ),
        numbers(
            "f32",
            4608,
            &[
                0.0,
                -0.0,
                1.5,
                -2.5,
                0.1,
                3e38,
                1e-45,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::NAN,
            ]
            .map(f32::to_le_bytes),
        ),
        numbers(
            "f64",
            4864,
            &[
                0.0,
                -0.0,
                1.5,
                -2.5,
                0.1,
                1e308,
                5e-324,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
            ]
            .map(f64::to_le_bytes),
        ),
    ]
}

/// Numbers that nothing traps with: divisors, and floats that fit whole numbers.
fn divisors() -> [Numbers; 3] {
    [
        numbers(
            "i32",
            8192,
            &[3, -7, 1_000_003, 0x4000_0000].map(i32::to_le_bytes),
        ),
        numbers(
            "i64",
            8320,
            &[3, -7, 1_000_003, 0x4000_0000_0000].map(i64::to_le_bytes),
        ),
        numbers("f64", 8448, &[0.0, -0.9, 1.5, 1e9].map(f64::to_le_bytes)),
    ]
}

/// Vectors of floats, of bits at the edges, and of anything.
fn mixed() -> Numbers {
    let mixed: Vec<[u8; 16]> = (0..8_u32)
        .map(|n| {
            let word =
                |lane: u32| (n.wrapping_mul(0x9e37_79b9) ^ lane.wrapping_mul(0x85eb_ca6b)).to_le_bytes();
            let [a, b, c, d] = match n {
                0 => [0.0_f32, -1.5, f32::NAN, 2e10].map(f32::to_le_bytes),
                1 => [[0xff; 4], [0x80; 4], [0x7f; 4], [0; 4]],
                _ => [word(0), word(1), word(2), word(3)],
            };
            let mut vector = [0; 16];
            for (to, from) in vector.as_chunks_mut::<4>().0.iter_mut().zip([a, b, c, d]) {
                *to = from;
            }
            vector
        })
        .collect();
    numbers("v128", 5120, &mixed)
}

/// The program as text. It writes what comes out of everything.
pub(crate) fn program() -> String {
    let (all, vector, divisors) = (scalars(), mixed(), divisors());
    let mut made = Program::default();
    scalar(&mut made, &all, &divisors);
    vectors(&mut made, &vector);
    let mut data = String::new();
    for Numbers { at, bytes, .. } in all.iter().chain([&vector]).chain(&divisors) {
        let _ = write!(data, "(data (i32.const {at}) \"");
        for byte in bytes {
            let _ = write!(data, "\\{byte:02x}");
        }
        data += "\")\n";
    }
    let mut puts = String::new();
    for (ty, n_bytes) in [("i32", 4), ("i64", 8), ("f32", 4), ("f64", 8), ("v128", 16)] {
        let _ = writeln!(
            puts,
            "(func $put_{ty} (param {ty}) ({ty}.store (global.get $out) (local.get 0))
            (global.set $out (i32.add (global.get $out) (i32.const {n_bytes}))))"
        );
    }
    let Program { functions, calls, .. } = made;
    format!(
        r#"(module
        (type $number (func (param i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 12)
        (table $table 8 funcref)
        (elem (table $table) (i32.const 0) func $square $half $other)
        (global $out (mut i32) (i32.const 65536))
        (global $turn (mut i32) (i32.const 1))
        {data} (data $words "some words of text")
        {puts} {functions} {OTHERS}
        (func (export "_start")
            {calls} (call $others)
            (i32.store (i32.const 0) (i32.const 65536))
            (i32.store (i32.const 4) (i32.sub (global.get $out) (i32.const 65536)))
            (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#
    )
}
