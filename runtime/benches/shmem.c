/* What the engine costs by itself: the same operations as in `shmem.rs`, in C on the same Open MPI. PE 0 measures while PE 1
 * waits in a barrier. Each line of the output is a name and a number: nanoseconds, or GB/s for what ends in `_gbs`. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int smaller(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of some rounds, by operation. */
#define MEASURE(name, rounds, count, scale, ...)                                                                           \
    do {                                                                                                                   \
        double each[rounds];                                                                                               \
        for (int round = 0; round < rounds; round++) {                                                                     \
            double start = now();                                                                                          \
            for (long i = 0; i < count; i++) { __VA_ARGS__; }                                                              \
            shmem_quiet();                                                                                                 \
            each[round] = (now() - start) / count;                                                                         \
        }                                                                                                                  \
        qsort(each, rounds, sizeof(double), smaller);                                                                      \
        double ns = each[rounds / 2];                                                                                      \
        if (shmem_my_pe() == 0) printf(name " %.2f\n", scale);                                                             \
    } while (0)

int main(void) {
    const size_t large = 2 << 20;
    shmem_init();
    char *there = shmem_align(64, large), *mine = aligned_alloc(64, large);
    memset(mine, 1, large);
    memset(there, 0, large);
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        MEASURE("put_8_quiet", 41, 20000, ns, shmem_putmem(there, mine, 8, 1); shmem_quiet());
        MEASURE("put_8", 41, 20000, ns, shmem_putmem(there, mine, 8, 1));
        MEASURE("get_8", 41, 20000, ns, shmem_getmem(mine, there, 8, 1));
        MEASURE("add", 41, 20000, ns, shmem_ulong_atomic_add((unsigned long *)there, 1, 1));
        MEASURE("put_8_+_wait", 41, 20000, ns, shmem_putmem(there, mine, 8, 1); shmem_quiet());
        MEASURE("get_8_+_wait", 41, 20000, ns, shmem_getmem(mine, there, 8, 1));
        MEASURE("fetch_add_+_wait", 41, 20000, ns, shmem_ulong_atomic_fetch_add((unsigned long *)there, 1, 1));
        MEASURE("put_32_KiB_gbs", 21, 2000, (32 << 10) / ns, shmem_putmem(there, mine, 32 << 10, 1));
        MEASURE("put_128_KiB_gbs", 21, 500, (128 << 10) / ns, shmem_putmem(there, mine, 128 << 10, 1));
        MEASURE("put_2_MiB_gbs", 21, 50, (2 << 20) / ns, shmem_putmem(there, mine, 2 << 20, 1));
    }
    shmem_barrier_all();
    MEASURE("barrier", 21, 2000, ns, shmem_barrier_all());
    MEASURE("barrier_+_wait", 21, 2000, ns, shmem_barrier_all());
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
