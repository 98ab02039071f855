/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - splitmix64; see random.h. */
#include "random.h"

#include <stdlib.h>

uint64_t random_seed(void)
{
    const char *text = getenv("VJP_TEST_SEED");
    return text != NULL ? strtoull(text, NULL, 0) : 20240607u;
}

random_state random_start(uint64_t seed, uint64_t stream)
{
    random_state random = { seed };
    random.state = random_bits(&random) ^ (stream * 0xd1342543de82ef95u);
    return random;
}

int64_t random_between(random_state *random, int64_t low, int64_t high)
{
    return low + random_below(random, high - low + 1);
}

int random_chance(random_state *random, int percent)
{
    return random_below(random, 100) < percent;
}

double random_bell(random_state *random)
{
    /* Six uniforms have a variance of one half. */
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += random_unit(random) - 0.5;
    return sum * 1.4142135623730951;
}

void random_shuffle(random_state *random, int32_t *order, int32_t n)
{
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t j = (int32_t)random_below(random, i + 1);
        int32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}
