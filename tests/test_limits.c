/* SPDX-License-Identifier: Apache-2.0 */
/* test_limits.c - as many dims as there may be, dims of 1 wherever they may be, and extents at the
 * edge of 62 bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "contexts.h"
#include "kinds.h"
#include "refusal.h"
#include "trial.h"
#include "unit.h"
#include "variants.h"

enum {
    POISON = 0xa5,
    OTHER_POISON = 0x5a
};

/* ---- shapes ------------------------------------------------------------------------------- */

/* The results keep the oracle's bounds and are the same bits on every instruction set. */
static void check_problem(const problem *p, uint64_t number)
{
    trial t;
    trial_open(&t, p, number);
    trial_run(&t, isa_contexts[0], POISON);
    trial_check(&t);
    trial_result wanted = trial_bits(&t);
    for (int isa = 1; isa < ISAS; isa++)
        if (isa_contexts[isa] != NULL) {
            trial_run(&t, isa_contexts[isa], OTHER_POISON);
            trial_check_same(&t, wanted, all_isas[isa]);
        }
    free(wanted.bits);
    trial_close(&t);
}

/* The problems of an operator for a shape: each axis, or each shape of a slope. */
typedef struct asked {
    problem p;
    int32_t ndim;
    const int64_t *shape;
    case_dtypes dtypes;
} asked;

static int has_slope(const problem *p)
{
    return vjp_op_tensor(p->op, p->ntensors - 1)->shape_rule == VJP_SHAPE_PARAM;
}

static const char *axis_of(const vjp_op_info *op)
{
    for (int32_t i = 0; i < op->nattrs; i++)
        if (kind_attr_role(vjp_op_attr(op, i)) == ROLE_AXIS)
            return vjp_op_attr(op, i)->name;
    return NULL;
}

/* Dense dims in another order for each tensor, some of them downwards; a dim of 1 has a stride that
 * leads nowhere. */
static void stir(vjp_tensor *tensor, int32_t turn)
{
    int64_t step = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        int32_t d = (i * 13 + turn) % tensor->ndim; /* each once, for up to 12 dims */
        tensor->strides[d] = d % 3 == turn % 3 ? -step : step;
        step *= tensor->shape[d];
        if (tensor->shape[d] == 1)
            tensor->strides[d] = INT64_C(1) << 61;
    }
}

static void check_layouts(const asked *a, int32_t slope_ndim, const int64_t *slope_shape)
{
    problem p = a->p;
    problem_contiguous(&p, a->dtypes.dtype, a->dtypes.wide, a->ndim, a->shape, slope_ndim,
                       slope_shape);
    check_problem(&p, 0);
    for (int32_t t = 0; t < p.ntensors; t++)
        stir(&p.tensors[t], t);
    check_problem(&p, 1);
}

/* A slope of every mask: its dims are the data's or 1. */
static void check_slopes(const asked *a, int32_t step)
{
    for (int32_t mask = 0; mask < 1 << a->ndim; mask += step) {
        int64_t slope[VJP_MAX_DIMS];
        for (int32_t d = 0; d < a->ndim; d++)
            slope[d] = mask >> d & 1 ? a->shape[d] : 1;
        check_layouts(a, a->ndim, slope);
    }
}

static void check_shape(const vjp_op_info *op, case_dtypes dtypes, int32_t ndim,
                        const int64_t *shape, int32_t step)
{
    asked a = { variant_problem(op, 0), ndim, shape, dtypes };
    const char *axis = axis_of(op);
    for (int32_t i = 0; axis != NULL && i < ndim; i++) {
        a.p = variant_problem(op, 0);
        problem_add_attr(&a.p, vjp_attr_s64(axis, i % 2 == 0 ? i : i - ndim));
        check_layouts(&a, 0, NULL);
    }
    if (has_slope(&a.p))
        check_slopes(&a, step);
    else if (axis == NULL)
        check_layouts(&a, 0, NULL);
}

/* Twelve dims of 2, which no layout makes fewer; and of 1, 2 and 3. */
static void twelve_dims(void **state)
{
    const vjp_op_info *op = *state;
    const int64_t twos[] = { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };
    const int64_t mixed[] = { 1, 2, 1, 3, 2, 1, 1, 3, 1, 2, 3, 1 };
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(op->name, pairs);
    for (int32_t i = 0; i < npairs; i += unit_quick() ? npairs : 1) {
        check_shape(op, pairs[i], VJP_MAX_DIMS, twos, 313);
        check_shape(op, pairs[i], VJP_MAX_DIMS, mixed, 313);
    }
}

/* Every combination of dims of 1 in a shape of five, and of no elements. */
static void dims_of_1_in_every_combination(void **state)
{
    const vjp_op_info *op = *state;
    const int64_t full[] = { 3, 4, 2, 5, 3 };
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(op->name, pairs), ndim = COUNT_OF(full);
    for (int32_t mask = 0; mask < 1 << COUNT_OF(full); mask++) {
        int64_t shape[COUNT_OF(full)];
        for (int32_t d = 0; d < ndim; d++)
            shape[d] = mask >> d & 1 ? full[d] : 1;
        for (int32_t i = 0; i < npairs; i += unit_quick() ? 3 : 1)
            check_shape(op, pairs[i], ndim, shape, unit_quick() ? 5 : 1);
        shape[mask % ndim] = 0;
        check_shape(op, pairs[0], ndim, shape, 5);
    }
}

/* ---- extents ------------------------------------------------------------------------------ */

#define MOST_BYTES (INT64_MAX / 2) /* 62 bits */
#define MOST_ROW_ELEMENTS (INT64_C(1) << 54) /* of an operator that works on rows */

/* small - dense data of (17, 3), slopes of 3. */
static problem small(const vjp_op_info *op, case_dtypes dtypes)
{
    const int64_t shape[] = { 17, 3 };
    problem p = variant_problem(op, 0);
    problem_contiguous(&p, dtypes.dtype, dtypes.wide, 2, shape, 1, &shape[1]);
    return accepted(p);
}

/* One tensor reaches further and further along one dim: what does not fit is refused, and the
 * tensor, the dim and the stride are named. */
static void check_reach(problem p, int32_t tensor, int32_t d)
{
    vjp_tensor *far = &p.tensors[tensor];
    int64_t size = (int64_t)vjp_dtype_size(far->dtype), rest = size;
    for (int32_t other = 0; other < far->ndim; other++)
        rest += other == d ? 0 : (far->shape[other] - 1) * far->strides[other] * size;
    int64_t most = (MOST_BYTES - rest) / (size * (far->shape[d] - 1));
    int64_t wraps = (INT64_C(1) << 60) / size; /* 16 times as many bytes are 0, in 64 bits */
    const int64_t good[] = { most, -most };
    const int64_t bad[] = { most + 1, -most - 1, INT64_MAX, INT64_MIN, wraps, -wraps };
    for (int64_t i = 0; i < COUNT_OF(good); i++) {
        far->strides[d] = good[i];
        accepted(p);
    }
    for (int64_t i = 0; i < COUNT_OF(bad); i++) {
        char dim[16], stride[32];
        if (bad[i] >= -most && bad[i] <= most)
            continue;
        far->strides[d] = bad[i];
        snprintf(dim, sizeof dim, "dim %d ", (int)d);
        snprintf(stride, sizeof stride, "stride %lld,", (long long)bad[i]);
        /* The dim that is named is the one at which the sum passes 62 bits. */
        int64_t alone = (MOST_BYTES - size) / (size * (far->shape[d] - 1));
        int at_last = d == 0 && far->ndim > 1 && bad[i] >= -alone && bad[i] <= alone;
        refused(&p, VJP_TOO_LARGE,
                WORDS(vjp_op_tensor(p.op, tensor)->name, at_last ? "dim 1 " : dim,
                      at_last ? "stride 1," : stride));
    }
}

static void strides_that_reach_too_far(void **state)
{
    const vjp_op_info *op = *state;
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(op->name, pairs);
    for (int32_t i = 0; i < npairs; i++) {
        problem p = small(op, pairs[i]);
        for (int32_t t = 0; t < p.ntensors; t++)
            for (int32_t d = 0; d < p.tensors[t].ndim; d++)
                check_reach(p, t, d);
    }
}

/* spread - all inputs repeat one element, so that the count of the elements alone is large. */
static problem spread(const vjp_op_info *op, vjp_dtype dtype, int32_t ndim, const int64_t *shape)
{
    problem p = refusal_shaped(op, dtype, ndim, shape);
    for (int32_t t = 0; t < op->ninputs; t++)
        memset(p.tensors[t].strides, 0, sizeof p.tensors[t].strides);
    return p;
}

/* Whether an operator counts the elements of an axis in its compute type. */
static int counts_elements(const vjp_op_info *op)
{
    for (int32_t t = 0; t < op->ninputs; t++)
        if (vjp_op_tensor(op, t)->dtype_rule == VJP_DTYPE_INDEX)
            return 1;
    return 0;
}

/* The dim of three that rows run along by default. */
static int64_t row_dim(const vjp_op_info *op)
{
    int64_t axis = kind_attr(op, ROLE_AXIS)->default_value.value.s64;
    return axis < 0 ? axis + 3 : axis;
}

/* Whether a tensor's elements are larger than those of the data: then its bytes are the limit. */
static int has_wider_tensors(const vjp_op_info *op, vjp_dtype dtype)
{
    problem p = refusal_shaped(op, dtype, 1, (const int64_t[]){ 1 });
    for (int32_t t = 0; t < p.ntensors; t++)
        if (vjp_dtype_size(p.tensors[t].dtype) > vjp_dtype_size(dtype))
            return 1;
    return 0;
}

/* The most elements that fit, in shapes of every kind, and the fewest that do not. */
static void counts_at_the_edge(void **state)
{
    const vjp_op_info *op = *state;
    const vjp_dtype dtypes[] = { VJP_F64, VJP_F32, VJP_F16, VJP_BF16 };
    int rows = kind_has_rows(op);
    for (int64_t i = 0; i < COUNT_OF(dtypes); i++) {
        if (!rows && has_wider_tensors(op, dtypes[i]))
            continue;
        int64_t most = rows ? MOST_ROW_ELEMENTS : MOST_BYTES / (int64_t)vjp_dtype_size(dtypes[i]);
        int64_t third = most / 3;
        const int64_t good[][3] = { { 1, 1, most },  { 1, most, 1 },  { most, 1, 1 },
                                    { 1, 3, third }, { third, 3, 1 }, { 3, third, 1 },
                                    { third, 1, 3 }, { 1, third, 3 }, { 3, 1, third } };
        for (int64_t s = 0; s < COUNT_OF(good); s++) {
            if (counts_elements(op) && good[s][row_dim(op)] > 1 << 24)
                continue; /* test_refuse.c */
            accepted(spread(op, dtypes[i], 3, good[s]));
            for (int32_t d = 0; d < 3; d++) {
                int64_t bad[3] = { good[s][0], good[s][1], good[s][2] };
                bad[d] += bad[d] < 3 ? 3 : 1;
                problem p = spread(op, dtypes[i], 3, bad);
                refused(&p, VJP_TOO_LARGE,
                        WORDS(vjp_op_tensor(op, 0)->name, rows ? "elements" : "dim "));
            }
        }
    }
}

/* Rows without elements still have values and outputs. */
static void empty_rows_at_the_edge(void **state)
{
    const vjp_op_info *op = *state;
    if (!kind_has_rows(op))
        return;
    int64_t shape[3] = { 1, 1, 1 }, *count = &shape[row_dim(op) == 0];
    shape[row_dim(op)] = 0;
    *count = MOST_ROW_ELEMENTS;
    accepted(spread(op, VJP_BF16, 3, shape));
    *count = MOST_ROW_ELEMENTS + 1;
    problem p = spread(op, VJP_BF16, 3, shape);
    refused(&p, VJP_TOO_LARGE, WORDS(vjp_op_tensor(op, 0)->name, "rows"));
}

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } subjects[] = {
        { "twelve dims", twelve_dims },
        { "dims of 1 in every combination", dims_of_1_in_every_combination },
        { "strides that reach too far", strides_that_reach_too_far },
        { "counts at the edge", counts_at_the_edge },
        { "empty rows at the edge", empty_rows_at_the_edge },
    };
    struct CMUnitTest *tests =
        unit_malloc((size_t)(vjp_op_count() * COUNT_OF(subjects)) * sizeof *tests);
    size_t n = 0;
    isa_contexts_open(NULL);
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t i = 0; i < COUNT_OF(subjects) && unit_tries(vjp_op_at(op)); i++)
            tests[n++] = unit_named(vjp_op_at(op)->name, subjects[i].name, subjects[i].test,
                                    vjp_op_at(op));
    int failures = _cmocka_run_group_tests("limits", tests, n, refusal_open, refusal_close);
    isa_contexts_close(NULL);
    free(tests);
    return failures;
}
