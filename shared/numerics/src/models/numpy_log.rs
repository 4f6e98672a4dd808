//! The natural logarithm as `NumPy` 1.26 computes it on processors with AVX-512.
//!
//! On such processors it differs from the C library's in the last bit or two in a quarter of the cases, and where features tie,
//! that bit decides in a boosted model. This crate uses this logarithm on every processor, because scikit-learn gives it on today's
//! servers.

/// `-log(1 + k/16)`, from `k = 8` on with `log(2)` added.
const MINUS_LOG: [f64; 16] = [
    0.0,
    -0.060_624_621_816_434_84,
    -0.117_783_035_656_383_46,
    -0.171_850_256_926_659_23,
    -0.223_143_551_314_209_76,
    -0.271_933_715_483_641_76,
    -0.318_453_731_118_534_6,
    -0.362_905_493_689_368_5,
    0.287_682_072_451_780_9,
    0.246_860_077_931_525_78,
    0.207_639_364_778_244_5,
    0.169_899_036_795_397_47,
    0.133_531_392_624_522_63,
    0.098_440_072_813_252_52,
    0.064_538_521_137_571_18,
    0.031_748_698_314_580_3,
];
/// `(log(1 + r) - r) / r^2`, the highest power first.
const POLYNOMIAL: [f64; 8] = [
    0.111_355_614_060_345_11,
    -0.125_220_000_081_181,
    0.142_856_909_395_973_26,
    -0.166_666_505_466_956_66,
    0.200_000_000_092_809_38,
    -0.250_000_000_043_737_3,
    0.333_333_333_333_320_05,
    -0.499_999_999_999_996_8,
];

/// The logarithm of a positive, normal number.
///
/// # Source
/// Intel's short vector math library as `NumPy` ships it (BSD-3), `linux/avx512/svml_z0_log_d_la.s`: its constants, and
/// its order of operations, without which the last bit would be another.
pub(crate) fn log(x: f64) -> f64 {
    const FRACTION_BITS: u32 = 52;
    let bits = x.to_bits();
    let exponent = (bits >> FRACTION_BITS) as f64 - 1023.0;
    let mantissa = f64::from_bits(bits & ((1 << FRACTION_BITS) - 1) | 1.0f64.to_bits());
    // the library rounds the processor's estimate of 1/mantissa, which gives another result only next to a tie
    let reciprocal = (32.0 / mantissa).round_ties_even() / 32.0;
    let r = reciprocal.mul_add(mantissa, -1.0);
    let exponent = if reciprocal < 0.75 {
        exponent + 1.0
    } else {
        exponent
    };
    let table = MINUS_LOG[(reciprocal.to_bits() >> 48) as usize % 16];
    let [c9, c8, c7, c6, c5, c4, c3, c2] = POLYNOMIAL;
    let r2 = r * r;
    let high = r.mul_add(c9, c8).mul_add(r2, r.mul_add(c7, c6));
    let low = r.mul_add(c5, c4).mul_add(r2, r.mul_add(c3, c2));
    let tail = high.mul_add(r2 * r2, low).mul_add(r2, r);
    exponent.mul_add(std::f64::consts::LN_2, tail + table)
}

#[cfg(test)]
mod tests {
    use super::log;

    /// `numpy.log(p / (1 - p))`, `p = n_positive / n_rows`, of `NumPy` 1.26.4 on a processor with AVX-512, in cases for which the C
    /// library gives other last bits.
    #[test]
    fn gives_numpys_bits() {
        for (n_positive, n_rows, bits) in [
            (348.0, 4061.0, 0xc002_f06b_ba4e_b700),
            (216.0, 913.0, 0xbff2_be7e_2093_f788),
            (739.0, 923.0, 0x3ff6_3eec_6552_3433),
            (2531.0, 4348.0, 0x3fd5_361c_7eb1_2f3e),
            (3622.0, 3788.0, 0x4008_a98f_d273_765e),
            (1943.0, 3320.0, 0x3fd6_096f_b64c_d753),
            (73.0, 2382.0, 0xc00b_a204_9de1_c204),
            (909.0, 1286.0, 0x3fec_29c7_4793_b3f0),
        ] {
            let p = n_positive / n_rows;
            assert_eq!(log(p / (1.0 - p)).to_bits(), bits, "{n_positive} of {n_rows}");
        }
    }

    #[test]
    fn is_a_logarithm() {
        assert_eq!(log(1.0).to_bits(), 0);
        for k in 1..100_000 {
            let x = f64::from(k) * 1.7e-3;
            assert!(
                (log(x) - libm::log(x)).abs() <= 4e-16 * libm::log(x).abs().max(1.0),
                "{x}"
            );
        }
    }
}
