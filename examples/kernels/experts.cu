// The kernel of the experts, as src/dispatch/experts.rs has it: each result is the same sequence of operations, so it has the
// same bits. README.md says how experts.ptx is made from this; --fmad=false is part of it.

/// Each token's vector times its expert's matrix, and 0 where that is negative.
extern "C" __global__ void apply(unsigned dim, unsigned experts, const float *matrices, const unsigned *expert,
                                 const float *tokens, float *out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned token = i / dim;
    const unsigned column = i % dim;
    const float *matrix = matrices + (unsigned long long)min(expert[token], experts - 1) * dim * dim + column;
    const float *vector = tokens + (i - column);
    float sum = 0.0f;
    for (unsigned row = 0; row < dim; row++) {
        sum += vector[row] * *matrix;
        matrix += dim;
    }
    out[i] = fmaxf(sum, 0.0f);
}
