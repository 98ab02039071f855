/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - tensors of 2^31 + 7 and 2^32 + 1 elements are computed correctly to the last element.
 *
 *     large [OPERATOR]...    by default all; with --quick one layout of 2^31 + 7 elements of one
 *                            operator of each kind
 *
 * Every operator, in rows of every kind and with a transposed gradient, on memory that repeats
 * (tiled.h) and so takes about 200 MiB, though it may appear as 2 GiB. Expected values are found
 * without large indices: elements where an index needs one more bit are computed again in a small
 * tensor, and sums are of small integers, exact in any order. `vjp check --large` does the same
 * with memory that does not repeat, where there is enough.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "dtypes.h"
#include "kinds.h"
#include "problem.h"
#include "tiled.h"

enum {
    POISON = 0x6d6d,
    SPARSE = 8191, /* one element in this many of a window is not 0 */
    REST = 1 << 28 /* elements after which to rest */
};

/* The counts, and their two factors. */
static const struct {
    const char *name;
    int64_t rows, columns;
} counts[] = {
    { "2^31 + 7", 3, INT64_C(715827885) },
    { "2^32 + 1", 641, 6700417 },
};

typedef enum layout {
    ONE_ROW,
    LONG_ROWS,
    SHORT_ROWS,
    COLUMNS,    /* as LONG_ROWS, but an axis is the first */
    TRANSPOSED, /* as LONG_ROWS, but the gradient is transposed in memory */
    LAYOUTS
} layout;

static const char *const layout_names[LAYOUTS] = {
    "one row", "long rows", "short rows", "columns", "gradient transposed",
};

typedef struct giant {
    problem p;
    layout layout;
    vjp_dtype dtype;
    int32_t axis; /* -1: the operator has none */
    int sums;     /* whether it has a slope, and so sums over all else */
    int64_t count;
    tiled data[PROBLEM_TENSORS];     /* of tensors in the data's shape */
    uint16_t *slope[PROBLEM_TENSORS]; /* of the others */
} giant;

/* ---- the problem -------------------------------------------------------------------------- */

#define FACTOR 0.25f /* every number among the attributes: softmax_backward's scale, too */

static void choose_attrs(giant *g)
{
    g->axis = -1;
    for (int32_t i = 0; i < g->p.op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(g->p.op, i);
        if (kind_attr_role(info) == ROLE_CONSTANT)
            problem_add_attr(&g->p, vjp_attr_f32(info->name, FACTOR));
        if (kind_attr_role(info) != ROLE_AXIS)
            continue;
        g->axis = g->layout == ONE_ROW || g->layout == COLUMNS ? 0 : 1;
        problem_add_attr(&g->p, vjp_attr_s64(info->name, g->axis));
    }
}

/* One slope, one for each long row, or one for each place in a short row. */
static void choose_shape(giant *g, int64_t rows, int64_t columns)
{
    const int64_t one_row[] = { rows * columns }, one_slope[] = { 1 };
    const int64_t long_rows[] = { rows, columns }, row_slopes[] = { rows, 1 };
    const int64_t short_rows[] = { columns, rows };
    if (g->layout == ONE_ROW)
        problem_contiguous(&g->p, g->dtype, g->dtype, 1, one_row, 1, one_slope);
    else if (g->layout == SHORT_ROWS)
        problem_contiguous(&g->p, g->dtype, g->dtype, 2, short_rows, 1, &rows);
    else
        problem_contiguous(&g->p, g->dtype, g->dtype, 2, long_rows, 2, row_slopes);
    if (g->layout == TRANSPOSED) {
        vjp_tensor *lead = &g->p.tensors[kind_lead(g->p.op)];
        lead->strides[0] = 1;
        lead->strides[1] = rows;
    }
}

/* Rows are whole: check_row knows no others. */
static void drop_masks_and_ends(problem *p)
{
    for (int32_t t = 0; t < p->op->ninputs; t++) {
        const vjp_tensor_info *info = vjp_op_tensor(p->op, t);
        if (info->dtype_rule == VJP_DTYPE_MASK || info->flags & VJP_TENSOR_END)
            problem_drop(p, t);
    }
}

static int is_slope(const giant *g, int32_t tensor)
{
    return kind_is_param(g->p.op, tensor);
}

/* ---- the elements ------------------------------------------------------------------------- */

/* The offset of element `index` of the data's shape in a tensor. */
static int64_t offset_of(const vjp_tensor *tensor, int64_t index)
{
    int64_t offset = 0;
    for (int32_t d = tensor->ndim - 1; d >= 0; d--) {
        offset += index % tensor->shape[d] * tensor->strides[d];
        index /= tensor->shape[d];
    }
    return offset;
}

static uint16_t encode(const giant *g, double value)
{
    uint16_t bits;
    element_write(g->dtype, &bits, value);
    return bits;
}

static double value_at(const giant *g, int32_t tensor, int64_t offset)
{
    return element_read(g->dtype, &g->data[tensor].elements[offset]);
}

/* -2 to 2. In a zone whose neighbours differ; denser where nothing is summed. */
static double zone_value(const giant *g, int32_t tensor, int64_t offset)
{
    uint64_t hash = (uint64_t)(offset * 5 + tensor + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    if (g->axis < 0 && !g->sums)
        return (double)(hash % 17) / 4 - 2;
    return offset % 61 == 0 ? (double)(hash % 5) - 2 : 0;
}

static void fill_input(giant *g, int32_t tensor)
{
    tiled *t = &g->data[tensor];
    zone zones[TILED_MOST_ZONES];
    for (int64_t i = 0; i < TILED_WINDOW; i += SPARSE)
        t->window[i] = encode(g, (double)((i / SPARSE + tensor) % 5 - 2));
    for (int z = 0, n = tiled_zones(t->count, zones); z < n; z++)
        for (int64_t i = zones[z].begin; i < zones[z].end; i++)
            t->elements[i] = encode(g, zone_value(g, tensor, i));
}

static void fill_output(tiled *t)
{
    zone zones[TILED_MOST_ZONES];
    for (int64_t i = 0; i < TILED_WINDOW; i++)
        t->window[i] = POISON;
    for (int z = 0, n = tiled_zones(t->count, zones); z < n; z++)
        for (int64_t i = zones[z].begin; i < zones[z].end; i++)
            t->elements[i] = POISON;
}

static void giant_open(giant *g)
{
    for (int32_t t = 0; t < g->p.ntensors; t++) {
        int64_t count = tensor_count(&g->p.tensors[t]);
        if (!problem_has(&g->p, t))
            continue;
        if (is_slope(g, t)) {
            g->slope[t] = unit_malloc((size_t)count * sizeof *g->slope[t]);
            for (int64_t i = 0; i < count; i++)
                g->slope[t][i] = encode(g, (double)(i % 7) / 2 - 1.5);
            continue;
        }
        g->count = count;
        g->data[t] = tiled_open(count);
        if (t < g->p.op->ninputs)
            fill_input(g, t);
        else
            fill_output(&g->data[t]);
    }
}

static void giant_close(giant *g)
{
    for (int32_t t = 0; t < g->p.ntensors; t++) {
        free(g->slope[t]);
        if (!is_slope(g, t) && problem_has(&g->p, t))
            tiled_close(&g->data[t]);
    }
}

static void rest(const giant *g)
{
    for (int32_t t = 0; t < g->p.ntensors; t++)
        if (!is_slope(g, t) && problem_has(&g->p, t))
            tiled_rest(&g->data[t]);
}

/* A parallel-for that rests after each task. */
static void one_by_one(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    for (int64_t i = 0; i < ntasks; i++) {
        task(arg, i);
        rest(user);
    }
}

static void run(vjp_context *ctx, const problem *p, void *const *data)
{
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    char reason[VJP_REASON_SIZE] = "";
    for (int32_t t = 0; t < p->ntensors; t++)
        tensors[t] = problem_has(p, t) ? &p->tensors[t] : NULL;
    if (vjp_compute(ctx, p->op->name, p->attrs, p->nattrs, tensors, p->ntensors,
                    (const void *const *)data, data + p->op->ninputs, reason,
                    sizeof reason) != VJP_OK)
        broken("%s: %s", p->op->name, reason);
}

static void giant_run(giant *g)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = NULL;
    void *data[PROBLEM_TENSORS];
    options.parallel_for = one_by_one;
    options.parallel_for_user = g;
    if (vjp_context_create(&options, &ctx, NULL, 0) != VJP_OK)
        broken("no context");
    for (int32_t t = 0; t < g->p.ntensors; t++)
        data[t] = is_slope(g, t) ? (void *)g->slope[t] : g->data[t].elements;
    run(ctx, &g->p, data);
    vjp_context_destroy(ctx);
}

/* ---- what is right ------------------------------------------------------------------------ */

static int64_t slope_of(const giant *g, int64_t index)
{
    int64_t rows = g->p.tensors[0].shape[0], columns = g->p.tensors[0].shape[1];
    return g->layout == ONE_ROW ? 0 : g->layout == SHORT_ROWS ? index % columns
                                                              : index / columns % rows;
}

/* Wrong elements are printed, a few of them, and counted. */
static int64_t compare(const giant *g, int32_t tensor, int64_t index, uint16_t wanted,
                       uint16_t got, int64_t wrong)
{
    if (wanted != got && wrong < 4)
        printf("\n    %s[%" PRId64 "] is %g, should be %g", vjp_op_tensor(g->p.op, tensor)->name,
               index, element_read(g->dtype, &got), element_read(g->dtype, &wanted));
    return wanted != got;
}

/* The elements `indices` of a map once more, in a small tensor that has a slope for each. */
static int64_t check_map(const giant *g, const int64_t *indices, int64_t count)
{
    problem p = g->p;
    void *data[PROBLEM_TENSORS];
    int32_t output = p.op->ninputs;
    int64_t wrong = 0;
    problem_contiguous(&p, g->dtype, g->dtype, 1, &count, 1, &count);
    for (int32_t t = 0; t < p.ntensors; t++) {
        uint16_t *small = data[t] = unit_malloc((size_t)count * sizeof *small);
        for (int64_t i = 0; i < count; i++)
            small[i] = is_slope(g, t)
                           ? g->slope[t][slope_of(g, indices[i])]
                           : g->data[t].elements[offset_of(&g->p.tensors[t], indices[i])];
    }
    run(NULL, &p, data);
    for (int64_t i = 0; i < count; i++)
        wrong += compare(g, output, indices[i], ((uint16_t *)data[output])[i],
                         g->data[output].elements[indices[i]], wrong);
    for (int32_t t = 0; t < p.ntensors; t++)
        free(data[t]);
    return wrong;
}

/* The sum of diff_dst * dst along the axis, from the element whose index on it is 0. */
static double row_sum(const giant *g, int64_t first)
{
    const vjp_tensor *a = &g->p.tensors[0], *b = &g->p.tensors[1];
    const uint16_t *x = g->data[0].elements + offset_of(a, first);
    const uint16_t *y = g->data[1].elements + offset_of(b, first);
    double sum = 0;
    for (int64_t i = 0; i < a->shape[g->axis]; i++, x += a->strides[g->axis]) {
        if (*x != 0)
            sum += element_read(g->dtype, x) *
                   element_read(g->dtype, y + i * b->strides[g->axis]);
        if (i % REST == REST - 1)
            rest(g);
    }
    return sum;
}

/* dst * (diff_dst - sum), which doubles have exactly. */
static int64_t check_row(const giant *g, const int64_t *indices, int64_t count)
{
    const vjp_tensor *data = &g->p.tensors[0];
    int32_t diff_dst = problem_tensor(&g->p, "diff_dst"), dst = problem_tensor(&g->p, "dst");
    int32_t output = g->p.op->ninputs;
    int64_t step = 1, length = data->shape[g->axis], last = -1, wrong = 0;
    double sum = 0;
    for (int32_t d = data->ndim - 1; d > g->axis; d--)
        step *= data->shape[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t first = indices[i] - indices[i] / step % length * step;
        sum = first == last ? sum : row_sum(g, first);
        last = first;
        double dy = value_at(g, diff_dst, offset_of(&g->p.tensors[diff_dst], indices[i]));
        double y = value_at(g, dst, offset_of(&g->p.tensors[dst], indices[i]));
        wrong += compare(g, output, indices[i], encode(g, FACTOR * (y * (dy - sum))),
                         g->data[output].elements[indices[i]], wrong);
    }
    return wrong;
}

/* The sums of diff_dst * src where src is not above 0, rounded once. */
static int64_t check_sums(const giant *g)
{
    int32_t src = problem_tensor(&g->p, "src"), diff_dst = problem_tensor(&g->p, "diff_dst");
    int32_t output = g->p.ntensors - 1;
    int64_t n = tensor_count(&g->p.tensors[output]), wrong = 0;
    double *sums = calloc((size_t)n, sizeof *sums);
    if (sums == NULL)
        broken("no memory for %" PRId64 " sums", n);
    for (int64_t i = 0; i < g->count; i++) {
        if (i % REST == 0)
            rest(g);
        if (g->data[src].elements[i] == 0)
            continue;
        double x = value_at(g, src, i);
        double dy = value_at(g, diff_dst, offset_of(&g->p.tensors[diff_dst], i));
        sums[slope_of(g, i)] += x > 0 ? 0 : dy * x;
    }
    for (int64_t i = 0; i < n; i++)
        wrong += compare(g, output, i, encode(g, sums[i] + 0.0), g->slope[output][i], wrong);
    free(sums);
    return wrong;
}

/* Where every tensor is dense an output repeats as its inputs do: all of the window. */
static int64_t check_window(const giant *g)
{
    problem p = g->p;
    void *data[PROBLEM_TENSORS];
    const int64_t count = TILED_WINDOW;
    int32_t output = p.op->ninputs;
    int64_t wrong = 0;
    uint16_t *wanted = unit_malloc((size_t)count * sizeof *wanted);
    problem_contiguous(&p, g->dtype, g->dtype, 1, &count, 0, NULL);
    for (int32_t t = 0; t < p.ntensors; t++)
        data[t] = t == output ? wanted : g->data[t].window;
    run(NULL, &p, data);
    for (int64_t i = 0; i < count; i++)
        wrong += compare(g, output, i, wanted[i], g->data[output].window[i], wrong);
    free(wanted);
    return wrong;
}

/* The elements that are checked: all of the zones, or only some for columns, where each takes a sum
 * over pages far apart. */
static int64_t choose_elements(const giant *g, int64_t **indices)
{
    zone zones[TILED_MOST_ZONES];
    int64_t n = 0, most = 0, step = g->axis == 0 && g->layout == COLUMNS ? 61 : 1;
    int nzones = tiled_zones(g->count, zones);
    for (int z = 0; z < nzones; z++)
        most += zones[z].end - zones[z].begin;
    *indices = unit_malloc((size_t)most * sizeof **indices);
    for (int z = 0; z < nzones; z++)
        for (int64_t i = zones[z].begin; i < zones[z].end; i++)
            if (i % step == 0 || i >= g->count - 8)
                (*indices)[n++] = i;
    return n;
}

/* ---- all of them -------------------------------------------------------------------------- */

/* Whether what is right can be found here: for maps, and for the row operators and sums that
 * check_row and check_sums know. `vjp check --large` has them all. */
static int is_known(const vjp_op_info *op)
{
    if (kind_has_rows(op))
        return strcmp(op->name, "softmax_backward") == 0;
    return !kind_has_sums(op) || strcmp(op->name, "prelu_backward") == 0;
}

/* Returns how many elements are wrong. */
static int64_t check(int32_t op, int64_t size, layout layout)
{
    giant g = { problem_start(vjp_op_at(op)->name), layout, .dtype = VJP_BF16 };
    int64_t *indices, wrong = 0;
    g.dtype = (op + (int)layout + size) % 2 ? VJP_F16 : VJP_BF16;
    g.sums = kind_has_sums(g.p.op);
    choose_attrs(&g);
    if (layout == COLUMNS && g.axis < 0)
        return 0; /* the same as LONG_ROWS */
    choose_shape(&g, counts[size].rows, counts[size].columns);
    drop_masks_and_ends(&g.p);
    printf("%s, %s, %s of %s elements:", g.p.op->name, layout_names[layout],
           vjp_dtype_name(g.dtype), counts[size].name);
    fflush(stdout);
    giant_open(&g);
    giant_run(&g);
    int64_t count = choose_elements(&g, &indices);
    wrong += g.axis >= 0 ? check_row(&g, indices, count) : check_map(&g, indices, count);
    wrong += g.sums ? check_sums(&g) : 0;
    wrong += g.axis < 0 && !kind_has_params(g.p.op) && layout != TRANSPOSED ? check_window(&g) : 0;
    printf(wrong ? "\n    %" PRId64 " are wrong\n" : " ok\n", wrong);
    free(indices);
    giant_close(&g);
    return wrong;
}

static int is_wanted(const char *op, int argc, char **argv)
{
    int named = 0, found = 0;
    for (int i = 1; i < argc; i++) {
        named |= argv[i][0] != '-';
        found |= !strcmp(argv[i], op);
    }
    return !named || found;
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "--quick");
    int64_t wrong = 0;
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        if (quick && !kind_is_first(vjp_op_at(op)))
            continue;
        for (int64_t size = 0; size < (quick ? 1 : COUNT_OF(counts)); size++)
            for (int layout = 0; layout < (quick ? 1 : LAYOUTS); layout++)
                if (is_known(vjp_op_at(op)) && is_wanted(vjp_op_at(op)->name, argc, argv))
                    wrong += check(op, size, (enum layout)layout);
    }
    return wrong != 0;
}
