/* SPDX-License-Identifier: Apache-2.0 */
/* bench_ceiling.h - the fastest that two reads and one write can go: out[i] = a[i] | b[i].
 *
 * In several versions, since none is the fastest everywhere: vectors of 256 and 512 bits, ordinary
 * stores within the caches and non-temporal ones beyond. */
#ifndef VJP_BENCH_CEILING_H
#define VJP_BENCH_CEILING_H

#include <stdint.h>

/* `size` is the bytes of each buffer, a multiple of 128; buffers are aligned to 64 bytes. */
typedef void (*ceiling_function)(void *out, const void *a, const void *b, int64_t size);

enum {
    CEILINGS = 4
};

/* ceiling_at - version 0 .. CEILINGS - 1; NULL if this machine cannot run it. */
ceiling_function ceiling_at(int version);

/* ceiling_run - shared among threads of OpenMP, if the program is built with it. */
void ceiling_run(ceiling_function version, void *out, const void *a, const void *b, int64_t size,
                 int threads);

#endif
