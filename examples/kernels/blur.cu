// The passes of the blur, as src/blur/passes.rs has them: each result is the same sequence of operations, so it has the
// same bits. README.md says how blur.ptx is made from this; --fmad=false is part of it.

/// Weighted sums along the rows: out[i] is that of the pixels left and right of sample i. Colours are multiplied by their
/// alpha.
extern "C" __global__ void rows(unsigned row_len, unsigned channels, const unsigned short *src, const float *weights,
                                unsigned taps, float *out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned column = i % row_len;
    const unsigned channel = column % channels;
    const unsigned pixel = column / channels;
    const unsigned last = row_len / channels - 1;
    const unsigned radius = taps / 2;
    const unsigned short *row = src + (i - column);
    const bool is_color = channels % 2 == 0 && channel != channels - 1;
    float sum = 0.0f;
    for (unsigned tap = 0; tap < taps; tap++) {
        const unsigned at = min(max(pixel + tap, radius) - radius, last) * channels;
        float sample = row[at + channel];
        if (is_color) {
            sample *= (float)row[at + channels - 1];
        }
        sum += weights[tap] * sample;
    }
    out[i] = sum;
}

/// Weighted sums along the columns, divided by alpha, rounded to samples of at most max.
extern "C" __global__ void columns(unsigned row_len, unsigned channels, float max_sample, const float *above,
                                   unsigned above_len, const float *strip, const float *below, unsigned below_len,
                                   const float *weights, unsigned taps, unsigned short *out, unsigned n) {
    typedef unsigned long long u64;
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const u64 strip_end = (u64)above_len + n;
    const u64 last = strip_end + below_len - row_len;
    const unsigned column = i % row_len;
    const unsigned to_alpha = channels - 1 - column % channels;
    const bool is_color = channels % 2 == 0 && to_alpha != 0;
    const u64 radius = (u64)(taps / 2) * row_len;
    u64 row = (u64)above_len + (i - column);
    float sum = 0.0f;
    float sum_of_alpha = 0.0f;
    for (unsigned tap = 0; tap < taps; tap++, row += row_len) {
        const u64 at = min(max(row, radius) - radius, last);
        const float *from = (at < above_len ? above + at : at < strip_end ? strip + (at - above_len) : below + (at - strip_end));
        sum += weights[tap] * from[column];
        if (is_color) {
            sum_of_alpha += weights[tap] * from[column + to_alpha];
        }
    }
    if (sum_of_alpha > 0.0f) {
        sum /= sum_of_alpha;
    }
    out[i] = (unsigned short)min((unsigned)(fminf(sum, max_sample) + 0.5f), 65535u);
}
