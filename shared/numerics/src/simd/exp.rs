//! The exponential function, without branches or tables so that loops over it vectorise.

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// The upper 33 bits of ln 2: its product with an exponent of up to 11 bits is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// e to the power `x`, within 1 unit in the last place, the same bits on every processor.
///
/// Below -745.2 it is 0, above 709.8 infinite; subnormal results are rounded twice.
///
/// # Source
/// Cody and Waite's argument reduction, Taylor polynomial of degree 13 on |r| <= ln(2)/2.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-746.0, 710.0);
    let shifted = x.mul_add(LOG2_E, ROUNDER);
    let k = shifted - ROUNDER;
    let r = k.mul_add(-LN_2_LOW, k.mul_add(-LN_2_HIGH, x));
    // 1 + r + r^2 (1/2 + r/6 + ...): the two largest terms are added last
    let mut tail: f64 = 1.0 / 6_227_020_800.0;
    tail = tail.mul_add(r, 1.0 / 479_001_600.0);
    tail = tail.mul_add(r, 1.0 / 39_916_800.0);
    tail = tail.mul_add(r, 1.0 / 3_628_800.0);
    tail = tail.mul_add(r, 1.0 / 362_880.0);
    tail = tail.mul_add(r, 1.0 / 40_320.0);
    tail = tail.mul_add(r, 1.0 / 5_040.0);
    tail = tail.mul_add(r, 1.0 / 720.0);
    tail = tail.mul_add(r, 1.0 / 120.0);
    tail = tail.mul_add(r, 1.0 / 24.0);
    tail = tail.mul_add(r, 1.0 / 6.0);
    tail = tail.mul_add(r, 0.5);
    let p = 1.0 + (tail * r).mul_add(r, r);
    // two factors, because 2^k itself may be subnormal or overflow where the result does not
    let k = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()).cast_signed();
    let half = k >> 1;
    p * power_of_two(half) * power_of_two(k.wrapping_sub(half))
}

/// 2 to the power `k`, for `k` in -1022..=1023.
#[inline(always)]
fn power_of_two(k: i64) -> f64 {
    f64::from_bits((k.wrapping_add(1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn agrees_with_the_platform_within_one_unit() {
        let mut worst = 0;
        for i in 0..2_000_000 {
            let x = f64::from(i - 1_000_000) * 7.0e-4;
            let (ours, reference) = (exp(x), libm::exp(x));
            worst = worst.max(ours.to_bits().abs_diff(reference.to_bits()));
        }
        assert!(worst <= 1, "off by {worst} units");
    }

    #[test]
    fn limits() {
        assert_eq!(exp(0.0).to_bits(), 1.0f64.to_bits());
        assert_eq!(exp(-800.0).to_bits(), 0);
        assert!(exp(800.0).is_infinite());
        assert!(exp(-740.0) > 0.0);
    }
}
