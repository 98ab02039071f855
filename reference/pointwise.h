/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise.h - the elementwise functions of forward.h at one point after another. After dual.h with
 * one variable and forward.h. */

/* A function, and the scene that it sees: what does not change from point to point is set once. */
typedef struct pointwise {
    const oracle_entry *entry;
    forward_function function;
    scene s;
    double values[PROBLEM_TENSORS];
} pointwise;

/* Differentiated by w or by x. */
static inline void pointwise_start(pointwise *f, const problem *p, const oracle_entry *entry,
                                   attr_memory *memory, int by_w)
{
    number zero = number_from(0);
    f->entry = entry;
    f->function = function_of(entry);
    f->s.p = p;
    f->s.x = f->values;
    f->s.count = 1;
    f->s.memory = memory;
    f->s.in[entry->by_x] = by_w ? constant(zero) : variable(zero, BY_X);
    if (entry->by_w >= 0)
        f->s.in[entry->by_w] = by_w ? variable(zero, BY_W) : constant(zero);
}

/* To x, and w if there are two variables. */
static inline void pointwise_move(pointwise *f, double x, double w)
{
    f->values[f->entry->by_x] = x;
    f->s.in[f->entry->by_x].value = number_from(x);
    if (f->entry->by_w >= 0) {
        f->values[f->entry->by_w] = w;
        f->s.in[f->entry->by_w].value = number_from(w);
    }
}

static inline dual pointwise_result(const pointwise *f) { return f->function(&f->s); }
