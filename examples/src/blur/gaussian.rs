//! The weights of the blur.

use super::error::BlurError;

/// The largest standard deviation, in pixels. It is far above what changes a picture any further.
pub const MAX_SIGMA: f64 = 200.0;

/// A Gaussian bell, cut off at three standard deviations.
#[derive(Clone, Debug)]
pub struct Gaussian {
    sigma: f64,
    weights: Vec<f32>,
}

impl Gaussian {
    /// The bell with standard deviation `sigma`, in pixels.
    ///
    /// # Errors
    /// [`BlurError::Sigma`] if `sigma` is not above 0 and at most [`MAX_SIGMA`].
    pub fn new(sigma: f64) -> Result<Gaussian, BlurError> {
        // Written so that NaN is refused, too.
        if !(sigma > 0.0 && sigma <= MAX_SIGMA) {
            return Err(BlurError::Sigma(sigma));
        }
        let radius = (3.0 * sigma).ceil() as i32;
        // Divided before it is squared: the square of a tiny sigma would be 0.
        let bell = |x: i32| (-0.5 * (f64::from(x) / sigma).powi(2)).exp();
        let sum: f64 = (-radius..=radius).map(bell).sum();
        let weights = (-radius..=radius).map(|x| (bell(x) / sum) as f32).collect();
        Ok(Gaussian { sigma, weights })
    }

    /// The standard deviation, in pixels.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Pixels that a pixel reaches to each side.
    pub fn radius(&self) -> usize {
        self.weights.len() / 2
    }

    /// The weights from `-radius` to `radius`. Their sum is 1 but for rounding.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }
}
