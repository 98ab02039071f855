/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h - the operators' mathematics: forward functions as their definitions have them, one
 * table line per operator (forward/). Gradients are found by differentiating them (dual.h,
 * answer.h); no formula of the library is used. Where a derivative does not exist, the side taken
 * is the one docs/operators/ states. */

/* Attributes of one problem that were asked for, by the very address of the name: comparing names
 * takes as long as an exponential. */
typedef struct attr_memory {
    const char *names[PROBLEM_ATTRS];
    vjp_attr attrs[PROBLEM_ATTRS];
    int count;
} attr_memory;

/* One element and its row, as a forward function sees them. */
typedef struct scene {
    const problem *p;
    const double *x;             /* the inputs' values here, 0 where they are not given */
    dual in[PROBLEM_TENSORS];    /* the same; those that are differentiated are variables */
    dual most;                   /* the largest exponent of the row */
    dual sums[DUAL_SUMS];        /* over the row, of the terms */
    double index, count;         /* the position in the row, and its length */
    attr_memory *memory;         /* of the attributes asked for; NULL: none is kept */
} scene;

typedef dual (*forward_function)(const scene *s);

typedef struct oracle_entry {
    const char *op;
    oracle_domain domains[PROBLEM_TENSORS]; /* of the inputs; labels, lengths and masks have none */
    oracle_domain chosen;                   /* of input 0 where the operator's CHOICE is 1 */
    int from_result; /* where it is 1, `forward` sees its result, not input 0 */
    int by_x, by_w;                         /* the inputs that are differentiated; -1: none */
    forward_function forward;               /* that gradients flow back through */
    forward_function outputs[4];            /* that are not gradients, in their order */
    forward_function magnitudes[4]; /* of their bounds, or of the terms that cancel in them */
    forward_function exponent;              /* s->most is its maximum; NULL: it is not needed */
    forward_function terms[DUAL_SUMS];      /* of the sums over the row */
    int staged;                             /* the first term that uses the sums of those before */
    forward_function known[2];              /* the first sums, as the inputs known_by imply them */
    int known_by[2];
    int passed;                             /* an input that is added to the gradient of by_x */
    forward_function factor;                /* of the gradient's magnitude */
    forward_function saved[PROBLEM_TENSORS]; /* inputs that the forward pass computed from others */
} oracle_entry;

static vjp_attr attr_of(const scene *s, const char *name)
{
    attr_memory *memory = s->memory;
    for (int i = 0; memory != NULL && i < memory->count; i++)
        if (memory->names[i] == name)
            return memory->attrs[i];
    vjp_attr attr = problem_attr(s->p, name);
    if (memory != NULL && memory->count < COUNT_OF(memory->names)) {
        memory->names[memory->count] = name;
        memory->attrs[memory->count++] = attr;
    }
    return attr;
}

static double real_of(const scene *s, const char *name) { return attr_of(s, name).value.f64; }

/* As the library's compute type has it. */
static double rounded_real_of(const scene *s, const char *name)
{
    double value = real_of(s, name);
    return s->p->tensors[0].dtype == VJP_F64 ? value : (double)(float)value;
}

static int given(const scene *s, int input) { return problem_has(s->p, input); }

#include "forward/piecewise.h"
#include "forward/roots.h"
#include "forward/smooth.h"
#include "forward/gated.h"
#include "forward/rows.h"

static const oracle_entry *find_entry(const char *op)
{
    static const struct {
        const oracle_entry *entries;
        int64_t count;
    } families[] = {
        { piecewise_entries, COUNT_OF(piecewise_entries) },
        { smooth_entries, COUNT_OF(smooth_entries) },
        { gated_entries, COUNT_OF(gated_entries) },
        { rows_entries, COUNT_OF(rows_entries) },
    };
    for (int64_t f = 0; f < COUNT_OF(families); f++)
        for (int64_t i = 0; i < families[f].count; i++)
            if (strcmp(families[f].entries[i].op, op) == 0)
                return &families[f].entries[i];
    return NULL;
}

/* The function itself, of an operator with or without a gradient. */
static inline forward_function function_of(const oracle_entry *entry)
{
    return entry->forward != NULL ? entry->forward : entry->outputs[0];
}

static const oracle_entry *entry_of(const char *op)
{
    const oracle_entry *entry = find_entry(op);
    if (entry == NULL)
        broken("the oracle has no line for %s", op);
    return entry;
}
