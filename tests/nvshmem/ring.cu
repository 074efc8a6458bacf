// A kernel that calls NVSHMEM on the device: each PE puts its values into its neighbour's `inbox`, element by element.
//
// Built where nvcc and NVSHMEM's device library are, for the test `a_kernel_that_calls_nvshmem` of `tests/tests/nvshmem.rs`:
//   nvcc -arch=sm_90 -rdc=true -I $NVSHMEM/include -dc ring.cu -o ring.o
//   nvlink -arch=sm_90 ring.o -L $NVSHMEM/lib -lnvshmem_device -o ring.cubin
// and named to it by ESCROW_TEST_RING_CUBIN.
#include <nvshmem.h>
#include <nvshmemx.h>

extern "C" __global__ void ring(const float *mine, float *inbox, unsigned n, int to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        nvshmem_float_p(inbox + i, mine[i], to);
    }
}

// A kernel that writes another PE's memory in place, where the GPU reaches it.
extern "C" __global__ void store(const float *mine, float *there, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        there[i] = 2 * mine[i];
    }
}
