// The kernels of the heat solver, as src/heat/stencil.rs has them: each result is the same sequence of operations, so it
// has the same bits. README.md says how heat.ptx is made from this; --fmad=false is part of it.

/// One step: next[i] is the mean of the four points around point i, but for those that are held and for the ends of a row.
extern "C" __global__ void step(unsigned width, const float *above, const float *field, const float *below,
                                const unsigned char *held, float *next, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned column = i % width;
    float value = field[i];
    if (column != 0 && column != width - 1 && held[i] == 0) {
        const float up = i < width ? above[i] : field[i - width];
        const float down = n - i <= width ? below[column] : field[i + width];
        value = 0.25f * ((up + down) + (field[i - 1] + field[i + 1]));
    }
    next[i] = value;
}

/// The largest change in each column. Neighbouring threads read neighbouring points.
extern "C" __global__ void change(const float *old_field, const float *new_field, unsigned n, float *largest,
                                  unsigned width) {
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= width) {
        return;
    }
    float most = 0.0f;
    // A sum of i and the width could wrap around.
    for (unsigned i = column; i < n;) {
        most = fmaxf(most, fabsf(new_field[i] - old_field[i]));
        if (n - i <= width) {
            break;
        }
        i += width;
    }
    largest[column] = most;
}
