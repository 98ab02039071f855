/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise.h - the elementwise functions of forward.h at one point. After dual.h with one variable
 * and forward.h. */

/* The function at x, and w if it has two variables, differentiated by w or by x. */
static inline dual result_at(const problem *p, const oracle_entry *entry, attr_memory *memory,
                             int by_w, double x, double w)
{
    double values[PROBLEM_TENSORS];
    scene s;
    s.p = p;
    s.x = values;
    s.count = 1;
    s.memory = memory;
    values[entry->by_x] = x;
    s.in[entry->by_x] = by_w ? constant(x) : variable(x, BY_X);
    if (entry->by_w >= 0) {
        values[entry->by_w] = w;
        s.in[entry->by_w] = by_w ? variable(w, BY_W) : constant(w);
    }
    return function_of(entry)(&s);
}
