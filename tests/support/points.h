/* SPDX-License-Identifier: Apache-2.0 */
/* points.h - numerically difficult inputs and gradients: where a formula changes branch, where its
 * parts round worst, and where its result is near a rounding boundary.
 */
#ifndef VJP_TESTS_POINTS_H
#define VJP_TESTS_POINTS_H

#include "problem.h"
#include "random.h"

/* A list of finite values, at its end those where the slope changes its sign. */
typedef struct points {
    double *at;
    int64_t count, first_turn;
} points;

/* points_list - of the dtype of tensor 0 of an elementwise problem: every edge value; every power
 * of two, every threshold and every place where the function turns flat or turns back, with their
 * neighbours. Both signs. To be freed with points_free. */
points points_list(const problem *p);
void points_free(points *list);

/* point_draw - a finite input: out of the list or a step or two away, any bits, any binade, near
 * 1, and where the reduction of an exponential's argument changes over. */
double point_draw(random_state *random, vjp_dtype dtype, const points *list);

/* The kinds of gradients. Those below GRADIENTS_FIXED are the same for every input. */
typedef enum gradient_kind {
    GRADIENT_ONE,
    GRADIENT_LARGEST,
    GRADIENT_TINIEST,
    GRADIENT_BELOW_TWO, /* negative, all bits set */
    GRADIENTS_FIXED,
    GRADIENT_MANTISSA = GRADIENTS_FIXED, /* between 1 and 2 */
    GRADIENT_ANY,                        /* any finite bits */
    GRADIENT_BELOW_POWER, /* the result is just below a power of two, where an ULP is smallest */
    GRADIENT_SUBNORMAL,   /* the result is near the smallest normal number */
    GRADIENTS
} gradient_kind;

/* What a draw needs to know of a dtype, worked out once. */
typedef struct gradient_source {
    vjp_dtype dtype;
    double largest, tiniest, normal, unit; /* normal: the smallest; unit: the ULP of 1 */
} gradient_source;

gradient_source gradient_source_of(vjp_dtype dtype);

/* gradient_draw - a finite gradient of that kind for an input with this slope (0: any). */
double gradient_draw(const gradient_source *source, random_state *random, gradient_kind kind,
                     double slope);

/* gradient_probe - the same, but up to three steps lower, by `number`, where the result is near a
 * power of two: across it rounding adds most. The conformance vectors keep gradient_draw's. */
double gradient_probe(const gradient_source *source, random_state *random, gradient_kind kind,
                      double slope, int64_t number);

/* gradients_probe - the same for n slopes, numbered from 0, in loops that become vector code: of up
 * to 32 bits. Where any bits are not finite, the gradient is 0. */
void gradients_probe(const gradient_source *source, random_state *random, gradient_kind kind,
                     int64_t n, const double *slopes, double *gradients);

#endif
