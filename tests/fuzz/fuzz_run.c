/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_run.c - small problems computed between guard pages and compared with the oracle.
 *
 * The input chooses operator, dtypes, shape, attributes, strides, sharing and values. Whatever the
 * library accepts must touch nothing but the outputs, keep its stated bounds, and have the same
 * bits with every instruction set, in any order of the tasks and with non-temporal stores. (There
 * are several tasks only in a build with VJP_TASK_ELEMENTS, as the preset fuzz has it.)
 */
#include "base.h"
#include "bytes.h"
#include "cases.h"
#include "cpu/stage.h"
#include "dtypes.h"
#include "isas.h"
#include "trial.h"

enum {
    REACH = 1 << 14 /* elements from the first of a tensor to its last */
};

/* The most elements of a problem: mostly few, which is quick; some with more than one tile. */
static const int64_t rooms[] = { 32, 64, 96, 160, 256, 512, 1024, 2048 };

/* ---- contexts ------------------------------------------------------------------------------ */

static void backwards(void *user, int64_t ntasks, vjp_task task, void *arg)
{
    (void)user;
    while (ntasks-- > 0)
        task(arg, ntasks);
}

/* For each instruction set that this machine has, one as it is and one whose tasks run backwards
 * and that uses non-temporal stores, as if the caches could not hold even a small problem. */
typedef struct contexts {
    vjp_context *at[2 * ISAS];
    int32_t count;
} contexts;

static void add_context(contexts *all, const char *isa, const vjp_context_options *options)
{
    all->at[all->count] = context_for_isa(isa, options);
    all->count += all->at[all->count] != NULL;
}

static const contexts *all_contexts(void)
{
    static contexts all;
    vjp_context_options as_it_is = VJP_CONTEXT_DEFAULTS, turned = VJP_CONTEXT_DEFAULTS;
    as_it_is.num_threads = 1;
    turned.parallel_for = backwards;
    if (all.count > 0)
        return &all;
    for (int32_t i = 0; i < ISAS; i++)
        add_context(&all, all_isas[i], &as_it_is);
    for (int32_t i = 0, n = all.count; i < n; i++) {
        add_context(&all, vjp_context_isa(all.at[i]), &turned);
        ((vjpi_cpu_context *)(void *)all.at[n + i]->state)->cache_size = 0;
    }
    return &all;
}

/* ---- the problem --------------------------------------------------------------------------- */

static vjp_attr draw_attr(bytes *b, const vjp_attr_info *info)
{
    uint32_t bits;
    float real;
    vjp_attr attr = info->default_value;
    attr.name = info->name;
    attr.type = info->type;
    switch (info->type) {
    case VJP_ATTR_BOOL:
        attr.value.b = bytes_below(b, 2);
        break;
    case VJP_ATTR_S64:
        attr.value.s64 = (int8_t)bytes_u8(b);
        break;
    case VJP_ATTR_F32: /* an operator has F64 only */
    case VJP_ATTR_F64:
        bits = (uint32_t)bytes_u64(b);
        memcpy(&real, &bits, sizeof(bits));
        attr = vjp_attr_f32(info->name, real);
        break;
    case VJP_ATTR_STR:
        attr.value.str = bytes_choice(b, info->choices);
        break;
    }
    return attr;
}

static void draw_strides(bytes *b, vjp_tensor *tensor)
{
    int64_t step = 1;
    switch (bytes_below(b, 4)) {
    case 0:
        return;
    case 1: /* anything small */
        for (int32_t d = 0; d < tensor->ndim; d++)
            tensor->strides[d] = (int8_t)bytes_u8(b);
        return;
    default: /* one after the other from either end, turned and padded */
        for (int32_t i = 0, first = bytes_below(b, 2); i < tensor->ndim; i++) {
            int32_t d = first ? i : tensor->ndim - 1 - i, bend = bytes_below(b, 8);
            tensor->strides[d] = bend == 1 ? -step : bend == 2 ? 0 : step;
            step = (step + (bend == 3)) * (tensor->shape[d] > 0 ? tensor->shape[d] : 1);
        }
    }
}

static int32_t draw_shape(bytes *b, int64_t shape[VJP_MAX_DIMS])
{
    int32_t ndim = bytes_below(b, VJP_MAX_DIMS + 1);
    int64_t room = rooms[bytes_below(b, COUNT_OF(rooms))];
    for (int32_t d = 0; d < ndim; d++) {
        int64_t dim = bytes_u8(b);
        if (dim > 200)
            dim = (dim - 200) * 32;
        shape[d] = dim <= room ? dim : 1;
        room /= shape[d] > 0 ? shape[d] : 1;
    }
    return ndim;
}

/* A slope is one element, one for each channel, or part of the data's shape. */
static int32_t draw_slope(bytes *b, int32_t ndim, const int64_t *shape, int64_t *slope)
{
    int32_t kind = bytes_below(b, 3), skip = ndim > 0 ? bytes_below(b, ndim) : 0;
    slope[0] = 1;
    if (kind == 0 || ndim == 0)
        return bytes_below(b, 2);
    if (kind == 1) {
        slope[0] = shape[bytes_below(b, ndim)];
        return 1;
    }
    for (int32_t d = skip; d < ndim; d++)
        slope[d - skip] = bytes_below(b, 2) ? 1 : shape[d];
    return ndim - skip;
}

static int reaches_too_far(const vjp_tensor *tensor)
{
    int64_t lowest, highest;
    tensor_extent(tensor, &lowest, &highest);
    return highest - lowest >= REACH;
}

/* Returns 0 if the problem is larger than it should be. */
static int draw_problem(bytes *b, problem *p)
{
    case_dtypes pairs[CASE_DTYPES];
    int64_t shape[VJP_MAX_DIMS] = { 0 }, slope[VJP_MAX_DIMS] = { 0 };
    *p = problem_start(vjp_op_at(bytes_below(b, vjp_op_count()))->name);
    case_dtypes pair = pairs[bytes_below(b, case_dtypes_of(p->op->name, pairs))];
    int32_t ndim = draw_shape(b, shape), slope_ndim = draw_slope(b, ndim, shape, slope);
    problem_contiguous(p, pair.dtype, pair.wide, ndim, shape, slope_ndim, slope);
    for (int32_t i = 0; i < p->op->nattrs; i++)
        if (vjp_op_attr(p->op, i)->required || bytes_below(b, 2))
            problem_add_attr(p, draw_attr(b, vjp_op_attr(p->op, i)));
    for (int32_t i = 0; i < p->ntensors; i++) {
        draw_strides(b, &p->tensors[i]);
        if (reaches_too_far(&p->tensors[i]))
            return 0;
    }
    for (int32_t o = p->op->ninputs; o < p->ntensors; o++) {
        int32_t i = bytes_below(b, 2 * p->op->ninputs);
        int taken = o > p->op->ninputs && p->home[p->op->ninputs] == i; /* by the output before */
        if (i < p->op->ninputs && !taken && p->tensors[i].dtype == p->tensors[o].dtype &&
            tensor_same_shape(&p->tensors[i], &p->tensors[o]))
            problem_share(p, o, i);
    }
    return 1;
}

/* Attributes that are not finite, or lines that a sum in the oracle's type cannot follow. */
static int oracle_answers(const problem *p)
{
    for (int32_t i = 0; i < p->nattrs; i++)
        if (p->attrs[i].type == VJP_ATTR_F32 && !__builtin_isfinite(p->attrs[i].value.f32))
            return 0;
    return 1;
}

/* What is left of the input are the values of inputs that may have any. */
static void set_values(bytes *b, trial *t)
{
    double values[64];
    for (int32_t i = 0; i < t->p.op->ninputs && b->left > 0; i++) {
        int64_t count = tensor_count(&t->p.tensors[i]), n = 0;
        if (t->p.home[i] != i || count == 0 || oracle_home_domain(&t->p, i) != ORACLE_ANY)
            continue;
        for (; n < count && n < COUNT_OF(values) && (n == 0 || b->left > 0); n++)
            values[n] = element_from_bits(t->p.tensors[i].dtype, bytes_u64(b));
        trial_set(t, i, values, n);
    }
}

static void free_attrs(const problem *p)
{
    for (int32_t i = 0; i < p->nattrs; i++)
        if (p->attrs[i].type == VJP_ATTR_STR)
            free((char *)p->attrs[i].value.str);
}

/* The whole life of a plan in one call, with a workspace of the library's own. */
static void compute(trial *t, vjp_context *ctx)
{
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    char reason[VJP_REASON_SIZE];
    for (int32_t i = 0; i < t->p.ntensors; i++)
        tensors[i] = &t->p.tensors[i];
    trial_prepare(t, 0x33);
    expect(vjp_compute(ctx, t->p.op->name, t->p.attrs, t->p.nattrs, tensors, t->p.ntensors,
                       trial_inputs(t), trial_outputs(t), reason, sizeof(reason)) == VJP_OK,
           reason);
    trial_settle(t);
}

/* Two contexts that the input chooses must agree; chosen twice, one must agree with all. */
static void run(bytes *b, const problem *p)
{
    const contexts *all = all_contexts();
    int32_t first = bytes_below(b, all->count), second = bytes_below(b, all->count);
    trial t;
    trial_open(&t, p, bytes_u8(b));
    set_values(b, &t);
    trial_run(&t, all->at[first], 0xa5);
    if (oracle_answers(p))
        trial_check(&t);
    trial_result wanted = trial_bits(&t);
    for (int32_t i = 0; i < all->count; i++) {
        if (i != second && first != second)
            continue;
        trial_run(&t, all->at[i], 0x5a);
        trial_check_same(&t, wanted, vjp_context_isa(all->at[i]));
    }
    if (first == second) {
        compute(&t, all->at[first]);
        trial_check_same(&t, wanted, "vjp_compute");
    }
    free(wanted.bits);
    trial_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes b = { data, size };
    problem p;
    vjp_plan *plan;
    char reason[VJP_REASON_SIZE];
    if (draw_problem(&b, &p)) {
        vjp_status status = problem_create(&p, all_contexts()->at[0], &plan, reason);
        vjp_plan_destroy(plan);
        if (status == VJP_OK)
            run(&b, &p);
        else
            expect(status == VJP_BAD_STRIDES || status == VJP_BAD_SHAPE ||
                       status == VJP_BAD_ATTRIBUTE,
                   reason);
    }
    free_attrs(&p);
    return 0;
}
