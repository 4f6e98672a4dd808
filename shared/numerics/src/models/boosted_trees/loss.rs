//! The logistic loss: probabilities, gradients and curvatures, bit for bit.

/// Bits of 2^(i/32), correctly rounded.
const POWERS: [u64; 32] = [
    0x3ff0_0000_0000_0000,
    0x3ff0_59b0_d315_8574,
    0x3ff0_b558_6cf9_890f,
    0x3ff1_1301_d012_5b51,
    0x3ff1_72b8_3c7d_517b,
    0x3ff1_d487_3168_b9aa,
    0x3ff2_387a_6e75_6238,
    0x3ff2_9e9d_f51f_dee1,
    0x3ff3_06fe_0a31_b715,
    0x3ff3_71a7_373a_a9cb,
    0x3ff3_dea6_4c12_3422,
    0x3ff4_4e08_6061_892d,
    0x3ff4_bfda_d536_2a27,
    0x3ff5_342b_569d_4f82,
    0x3ff5_ab07_dd48_5429,
    0x3ff6_247e_b03a_5585,
    0x3ff6_a09e_667f_3bcd,
    0x3ff7_1f75_e8ec_5f74,
    0x3ff7_a114_73eb_0187,
    0x3ff8_2589_994c_ce13,
    0x3ff8_ace5_422a_a0db,
    0x3ff9_3737_b0cd_c5e5,
    0x3ff9_c491_82a3_f090,
    0x3ffa_5503_b23e_255d,
    0x3ffa_e89f_995a_d3ad,
    0x3ffb_7f76_f2fb_5e47,
    0x3ffc_199b_dd85_529c,
    0x3ffc_b720_dcef_9069,
    0x3ffd_5818_dcfb_a487,
    0x3ffd_fc97_337b_9b5f,
    0x3ffe_a4af_a2a4_90da,
    0x3fff_5076_5b6e_4540,
];
/// 32 / ln 2.
const INVERSE_STEP: f64 = f64::from_bits(0x4047_1547_652b_82fe);
/// The minimax polynomial of 2^(r/32) - 1 for |r| <= 1/2, highest power first.
const POLYNOMIAL: [f64; 3] = [
    f64::from_bits(0x3ebc_6af8_4b91_2394),
    f64::from_bits(0x3f2e_bfce_50fa_c4f3),
    f64::from_bits(0x3f96_2e42_ff0c_52d6),
];
/// Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// The library's limit on the exponent.
const MAX_EXPONENT: f32 = 88.7;
/// The library's least curvature, and the number that keeps its quotient finite.
const EPSILON: f32 = 1e-16;

/// e to the power `x` for -88.7 <= x <= 88.7: the same bits as the C library's `expf` on processors with fused
/// multiply-add, which is what the real library calls.
///
/// # Source
/// The algorithm of Arm's optimized routines, which glibc has used since 2.27: 32 steps an octave and a cubic.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = f64::from(x);
    let shifted = x.mul_add(INVERSE_STEP, ROUNDER);
    let r = x.mul_add(INVERSE_STEP, -(shifted - ROUNDER));
    let k = shifted.to_bits();
    let power = POWERS[(k % 32) as usize].wrapping_add((k & !31) << 47);
    let [c0, c1, c2] = POLYNOMIAL;
    let polynomial = c0.mul_add(r, c1).mul_add(r * r, c2.mul_add(r, 1.0));
    (polynomial * f64::from_bits(power)) as f32
}

/// The probability of class 1 at a margin.
#[inline(always)]
pub(super) fn probability(margin: f32) -> f32 {
    1.0 / (exp((-margin).clamp(-MAX_EXPONENT, MAX_EXPONENT)) + 1.0 + EPSILON)
}

/// The first and second derivative of a row's loss by its margin.
#[inline(always)]
pub(super) fn derivatives(margin: f32, label: f32) -> (f32, f32) {
    let p = probability(margin);
    (p - label, (p * (1.0 - p)).max(EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 2.2 billion floats have been compared once; the test takes one in a thousand. Without fused multiply-add the C library's
    /// own last bit differs now and then.
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn exponentials_are_the_c_librarys() {
        let (mut n, mut n_differ) = (0, 0);
        for bits in (0..=MAX_EXPONENT.to_bits()).step_by(997) {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                n += 1;
                n_differ += u64::from(exp(x).to_bits() != x.exp().to_bits());
            }
        }
        assert!(n_differ * 1_000_000 <= n, "{n_differ} of {n} differ");
    }

    #[test]
    fn limits() {
        assert_eq!(derivatives(0.0, 0.0), (0.5, 0.25));
        assert_eq!(derivatives(0.0, 1.0), (-0.5, 0.25));
        assert_eq!(probability(200.0).to_bits(), 1f32.to_bits());
        assert!(probability(-200.0) > 0.0 && probability(-200.0) < 1e-38);
        assert_eq!(derivatives(200.0, 1.0), (0.0, EPSILON));
    }
}
