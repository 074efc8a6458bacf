//! What goes where.

/// A word, by its hash: everything about a token follows from it.
pub type Token = u64;

/// The tokens of a text: one for each word.
pub fn hash_words(text: &str) -> Vec<Token> {
    text.split_whitespace()
        .map(|word| word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| mixed(hash ^ u64::from(byte))))
        .collect()
}

/// A number without a pattern for each number (splitmix64).
pub(super) fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A float from -1 to 1 for each number, exact in an `f32`.
pub(super) fn float(x: u64) -> f32 {
    (mixed(x) >> 40) as f32 / (1 << 23) as f32 - 1.0
}

/// The elements of a token's vector.
pub(super) fn vector(token: Token, dim: usize) -> impl Iterator<Item = f32> {
    (0..dim as u64).map(move |i| float(token ^ mixed(i)))
}

/// Where a token goes: two experts, and how much each of them counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// Their numbers, which differ.
    pub experts: [usize; 2],
    /// Their weights.
    pub weights: [f32; 2],
}

impl Route {
    /// The route of a token among `experts` experts, of which there are at least 2.
    pub fn new(token: Token, experts: usize) -> Route {
        let first = (token % experts as u64) as usize;
        let step = 1 + (mixed(token) % (experts as u64 - 1)) as usize;
        let weight = 0.75 + 0.25 * float(!token);
        Route { experts: [first, (first + step) % experts], weights: [weight, 1.0 - weight] }
    }
}
