/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - a small deterministic generator (splitmix64), the same on every machine.
 *
 * Every random test starts from random_seed(), which VJP_TEST_SEED overrides; failures print it.
 */
#ifndef VJP_REFERENCE_RANDOM_H
#define VJP_REFERENCE_RANDOM_H

#include <stdint.h>

typedef struct random_state {
    uint64_t state;
} random_state;

/* random_seed - VJP_TEST_SEED, or a fixed number if it is not set. */
uint64_t random_seed(void);

/* random_start - stream `stream` of the seed; streams are independent of each other. */
random_state random_start(uint64_t seed, uint64_t stream);

/* random_bits - 64 of them. Inline, as random_below and random_unit: loops become vector code. */
static inline uint64_t random_bits(random_state *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* random_below - 0 .. n - 1, n > 0; random_between - low .. high, both included. */
static inline int64_t random_below(random_state *random, int64_t n)
{
    return (int64_t)(random_bits(random) % (uint64_t)n);
}

int64_t random_between(random_state *random, int64_t low, int64_t high);

/* random_chance - true `percent` times in a hundred. */
int random_chance(random_state *random, int percent);

/* random_unit - uniform in [0, 1); random_bell - roughly normal, mean 0, deviation 1. */
static inline double random_unit(random_state *random)
{
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

double random_bell(random_state *random);

/* random_shuffle - a random order of the n indices in `order`. */
void random_shuffle(random_state *random, int32_t *order, int32_t n);

#endif
