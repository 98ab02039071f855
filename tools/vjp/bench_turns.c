/* SPDX-License-Identifier: Apache-2.0 */
/* bench_turns.c - time several contenders in turn.
 *
 * A machine's speed changes from second to second, so what counts is a ratio within a round. The
 * order rotates as well, so that none always follows the same one, whose data it may find in the
 * cache. Small work is run several times for each reading of the clock, and once before it. */
#include <math.h>

#include "bench.h"

static double seconds_of(contender *c, int64_t times)
{
    bool well = true;
    double start = bench_now();
    for (int64_t i = 0; i < times && well; i++)
        well = c->run(c->state);
    return well ? (bench_now() - start) / (double)times : NAN;
}

/* How often to run for one reading of the clock: 100 us of work, by the faster of two. */
static double calibrate(contender *c)
{
    double first = seconds_of(c, 1);
    double once = first < 1 ? fmin(first, seconds_of(c, 1)) : first;
    c->times = once > 100e-6 ? 1 : (int64_t)(100e-6 / (once + 1e-9)) + 1;
    return once;
}

static bool take_turn(contender *c, int round)
{
    if (round >= c->pairs)
        return true;
    if (c->times > 1)
        c->run(c->state);
    c->seconds[round] = seconds_of(c, c->times);
    return !isnan(c->seconds[round]);
}

/* A ratio of more than ten needs no precision. */
static bool is_slow(double once, double beside)
{
    return once > 1 || (once > 20e-3 && once > 10 * beside);
}

bool turns_take(contender *all, int count, double seconds)
{
    double together = 0, once[MOST_CONTENDERS];
    for (int i = 0; i < count; i++) {
        once[i] = calibrate(&all[i]);
        if (isnan(once[i]))
            return false;
    }
    for (int i = 0; i < count; i++) {
        bool slow = is_slow(once[i], all[i].beside ? once[all[i].beside - all] : once[i]);
        all[i].pairs = slow ? SLOW_PAIRS : 0;
        together += slow ? 0 : fmax(once[i], 100e-6);
    }
    int rounds = (int)fmax(LEAST_PAIRS, fmin(MOST_PAIRS, seconds / together));
    for (int i = 0; i < count; i++)
        all[i].pairs = all[i].pairs ? all[i].pairs : rounds;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            if (!take_turn(&all[(round + i) % count], round))
                return false;
    return true;
}

contender *turns_fastest(contender *all, int count)
{
    contender *best = &all[0];
    double least = 0;
    for (int i = 0; i < count; i++) {
        calibrate(&all[i]);
        for (int round = 0; round < 3; round++) {
            double seconds = seconds_of(&all[i], all[i].times);
            if (least == 0 || seconds < least) {
                least = seconds;
                best = &all[i];
            }
        }
    }
    return best;
}

double turns_median(const contender *c)
{
    double values[MOST_PAIRS];
    for (int i = 0; i < c->pairs; i++)
        values[i] = c->seconds[i];
    return bench_median(values, c->pairs);
}

double turns_ratio(const contender *a, const contender *b)
{
    double values[MOST_PAIRS];
    int pairs = a->pairs < b->pairs ? a->pairs : b->pairs;
    for (int i = 0; i < pairs; i++)
        values[i] = a->seconds[i] / b->seconds[i];
    return bench_median(values, pairs);
}
