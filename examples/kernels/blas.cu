// saxpy, and a sum in two passes. README.md says how blas.ptx is made from this.

/// y += a * x
extern "C" __global__ void saxpy(unsigned n, float a, const float *x, float *y) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += a * x[i];
    }
}

/// Each block adds up its part of x, and writes it to parts[block]. Launched again over the parts, with one block, it
/// adds up these. The block has a power of two threads, and a float of dynamic shared memory for each.
extern "C" __global__ void sum(const float *x, unsigned n, float *parts) {
    extern __shared__ float sums[];
    const unsigned stride = gridDim.x * blockDim.x;
    float sum = 0.0f;
    // A sum of i and the stride could wrap around.
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n;) {
        sum += x[i];
        if (n - i <= stride) {
            break;
        }
        i += stride;
    }
    sums[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sums[0];
    }
}
