//! `MurmurHash3` for 32-bit processors (Austin Appleby, public domain), as scikit-learn hashes features with it.

const BLOCK_FACTORS: (u32, u32) = (0xcc9e_2d51, 0x1b87_3593);

/// The hash of some bytes with the seed 0, as a signed number.
///
/// # Source
/// `MurmurHash3_x86_32` of <https://github.com/aappleby/smhasher>; scikit-learn 1.2.2, `sklearn/utils/murmurhash.pyx`,
/// `murmurhash3_bytes_s32`.
///
/// ```
/// assert_eq!(dataperf_numerics::text::murmur3(b"foo"), -156_908_512);
/// ```
pub fn murmur3(bytes: &[u8]) -> i32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = 0_u32;
    for block in blocks {
        hash ^= mixed(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let mut last = [0; 4];
        last[..tail.len()].copy_from_slice(tail);
        hash ^= mixed(u32::from_le_bytes(last));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    (hash ^ (hash >> 16)).cast_signed()
}

fn mixed(block: u32) -> u32 {
    block
        .wrapping_mul(BLOCK_FACTORS.0)
        .rotate_left(15)
        .wrapping_mul(BLOCK_FACTORS.1)
}
