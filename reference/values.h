/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - numbers worth testing: ordinary ones, every binade, and the edges of a format. */
#ifndef VJP_REFERENCE_VALUES_H
#define VJP_REFERENCE_VALUES_H

#include "oracle.h"
#include "random.h"

/* value_draw - a value of the dtype out of the domain. `specials` percent are NaN or, where the
 * domain goes beyond fractions, infinite; ORACLE_ANY has some of its own. */
double value_draw(random_state *random, vjp_dtype dtype, oracle_domain domain, int specials);

/* value_draw_input - a value for an element of input t: of its domain, or a label, length or mask.
 * values_save - the inputs that the forward pass computed from the others, once those are drawn; in
 * dense order. */
double value_draw_input(random_state *random, const problem *p, int32_t t, int specials);
void values_save(const problem *p, double *const *inputs);

/* value_same - the same number and, for zeros, the same sign; any NaN is the same as any other. */
int value_same(double a, double b);

enum {
    VALUE_EDGES = 31
};

/* value_edge - edge value `index`: zeros, subnormals, powers of two and their neighbours, the
 * largest numbers, infinities, NaN. */
double value_edge(vjp_dtype dtype, int32_t index);

#endif
