//! The pipeline against a plain scalar blur: equal to the last bit, on every device and in strips of any height.

mod common;

use common::{Numbers, reference};
use escrow::Device;
use escrow_examples::blur::{Blur, Depth, Gaussian, Layout, MAX_SIGMA};

/// Samples up to `max`, one in four of them 0 or `max`.
fn any_samples(numbers: &mut Numbers, len: usize, max: u16) -> Vec<u16> {
    let mut sample = || match numbers.next() {
        x if x.is_multiple_of(8) => 0,
        x if x % 8 == 1 => max,
        x => ((x >> 16) % (u64::from(max) + 1)) as u16,
    };
    (0..len).map(|_| sample()).collect()
}

/// Blurs `samples`, and checks that the strips reported are the whole picture.
fn blurred(blur: &Blur, layout: &Layout, samples: &[u16], sigma: f64, strip_rows: usize) -> Vec<u16> {
    let gaussian = Gaussian::new(sigma).unwrap();
    let mut picture = blur.create_picture(layout).unwrap();
    picture.copy_from_slice(samples);
    let (mut strips, mut rows) = (0, 0);
    let picture = blur
        .run(picture, layout, &gaussian, strip_rows, |more| {
            strips += 1;
            rows += more;
        })
        .unwrap();
    let height = layout.height() as usize;
    assert_eq!(rows, height);
    assert_eq!(strips, height.div_ceil(strip_rows.max(gaussian.radius()).min(height)));
    picture.to_vec()
}

/// Compares for one picture and several heights of strips.
fn compare(blur: &Blur, numbers: &mut Numbers, size: (u32, u32), channels: u32, depth: Depth, sigma: f64) {
    let layout = Layout::new(size.0, size.1, channels, depth).unwrap();
    let samples = any_samples(numbers, layout.samples(), depth.max());
    let expected = reference(&samples, size.0 as usize, channels as usize, depth.max(), sigma);
    let height = size.1 as usize;
    for strip_rows in [1, 2, 3, height.div_ceil(3), height.div_ceil(2), height, height + 1] {
        let found = blurred(blur, &layout, &samples, sigma, strip_rows);
        assert!(found == expected, "{layout:?}, sigma {sigma}, strips of {strip_rows} rows");
    }
}

#[test]
fn every_channel_count_depth_and_strip() {
    let blur = Blur::new(&Device::cpu()).unwrap();
    let mut numbers = Numbers(1);
    for channels in 1..=4 {
        for depth in [Depth::Eight, Depth::Sixteen] {
            for sigma in [0.01, 0.3, 1.0, 2.5] {
                compare(&blur, &mut numbers, (67, 23), channels, depth, sigma);
            }
        }
    }
}

#[test]
fn every_shape() {
    let blur = Blur::new(&Device::cpu()).unwrap();
    let mut numbers = Numbers(2);
    let sizes =
        [(1, 1), (1, 2), (2, 1), (1, 90), (90, 1), (2, 40), (11, 17), (12, 12), (13, 5), (48, 6), (49, 7), (200, 9)];
    for size in sizes {
        for sigma in [0.5, 3.0, 11.0] {
            compare(&blur, &mut numbers, size, 1, Depth::Eight, sigma);
            compare(&blur, &mut numbers, size, 4, Depth::Sixteen, sigma);
        }
    }
}

#[test]
fn the_widest_bell() {
    let blur = Blur::new(&Device::cpu()).unwrap();
    compare(&blur, &mut Numbers(3), (31, 19), 3, Depth::Eight, MAX_SIGMA);
    compare(&blur, &mut Numbers(4), (5, 701), 1, Depth::Sixteen, MAX_SIGMA);
}

#[test]
fn many_threads_share_a_strip() {
    let blur = Blur::new(&Device::cpu()).unwrap();
    compare(&blur, &mut Numbers(5), (501, 127), 3, Depth::Eight, 2.0);
    compare(&blur, &mut Numbers(6), (259, 101), 2, Depth::Sixteen, 2.0);
    compare(&blur, &mut Numbers(8), (421, 53), 4, Depth::Eight, 2.0);
}

/// To the last bit, from other code on another machine.
#[cfg(feature = "cuda")]
#[test]
fn on_a_gpu() {
    let blur = Blur::new(&Device::cuda(0).unwrap()).unwrap();
    let mut numbers = Numbers(9);
    for channels in 1..=4 {
        for (depth, sigma) in [(Depth::Eight, 0.3), (Depth::Sixteen, 2.5)] {
            compare(&blur, &mut numbers, (27, 13), channels, depth, sigma);
        }
    }
    compare(&blur, &mut numbers, (300, 7), 4, Depth::Sixteen, 11.0);
}

#[test]
fn any_order_of_the_streams() {
    for seed in 0..12 {
        let blur = Blur::new(&Device::cpu_chaos(seed)).unwrap();
        let mut numbers = Numbers(seed);
        for sigma in [0.3, 1.5, 4.0] {
            compare(&blur, &mut numbers, (19, 31), 1 + seed as u32 % 4, Depth::Sixteen, sigma);
        }
    }
}

#[test]
fn one_blur_serves_several_threads() {
    let blur = Blur::new(&Device::cpu()).unwrap();
    std::thread::scope(|scope| {
        for seed in 10..14 {
            let blur = &blur;
            scope.spawn(move || compare(blur, &mut Numbers(seed), (40, 30), 3, Depth::Eight, 1.0));
        }
    });
}

#[test]
fn a_colour_stays_under_any_alpha() {
    let blur = Blur::new(&Device::cpu()).unwrap();
    let layout = Layout::new(40, 30, 4, Depth::Eight).unwrap();
    let mut samples = any_samples(&mut Numbers(7), layout.samples(), 255);
    for pixel in samples.chunks_mut(4) {
        pixel[..3].copy_from_slice(&[200, 17, 90]);
        // Where alpha is 0 there is no colour.
        pixel[3] = pixel[3].max(1);
    }
    for pixel in blurred(&blur, &layout, &samples, 3.0, 10).chunks(4) {
        assert_eq!(pixel[..3], [200, 17, 90]);
    }
}

#[test]
fn what_is_transparent_does_not_shine_through() {
    let blur = Blur::new(&Device::cpu()).unwrap();
    let layout = Layout::new(3, 1, 2, Depth::Eight).unwrap();
    // Black and opaque between two pixels of transparent white.
    let found = blurred(&blur, &layout, &[255, 0, 0, 255, 255, 0], 1.0, 1);
    assert!(found.chunks(2).all(|pixel| pixel[0] == 0 && pixel[1] > 0), "{found:?}");
}

#[test]
fn bells() {
    for sigma in [1e-300, 0.2, 1.0, 3.0, 77.7, MAX_SIGMA] {
        let gaussian = Gaussian::new(sigma).unwrap();
        let weights = gaussian.weights();
        assert_eq!(gaussian.radius(), (3.0 * sigma).ceil() as usize);
        assert_eq!(weights.len(), 2 * gaussian.radius() + 1);
        assert!(weights.iter().eq(weights.iter().rev()));
        assert!((weights.iter().map(|&weight| f64::from(weight)).sum::<f64>() - 1.0).abs() < 1e-6);
    }
    for sigma in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, MAX_SIGMA + 1e-9] {
        Gaussian::new(sigma).unwrap_err();
    }
}

#[test]
fn layouts() {
    let layout = |width, height, channels| Layout::new(width, height, channels, Depth::Eight);
    assert_eq!(layout(5, 7, 3).unwrap().samples(), 105);
    assert!(layout(1 << 16, 1 << 15, 1).is_some());
    for (width, height, channels) in
        [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 5), (1 << 16, 1 << 15, 2), (u32::MAX, u32::MAX, u32::MAX)]
    {
        assert!(layout(width, height, channels).is_none());
    }
}
