/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_plan.c - plans of arbitrary descriptors, and the check of arbitrary addresses; no data.
 *
 * The input starts from an operator with dense tensors that fit, and then changes any part of it:
 * names, counts, attributes, dtypes, ranks, dims, strides, struct sizes. A refusal has a status, a
 * reason and no plan; a plan keeps the promises that can be tested without running it: its
 * workspace, outputs that repeat no element, addresses that do not overlap.
 */
#include "kinds.h"
#include "bytes.h"
#include "problem.h"

enum {
    TENSORS = PROBLEM_TENSORS,
    ATTRS = PROBLEM_ATTRS + 2,
    FEW = 256 /* elements that can be compared each with each */
};

typedef struct draft {
    const vjp_op_info *info; /* what it started from */
    char *op;
    vjp_attr *attrs;
    int32_t nattrs, ntensors;
    char *texts[2 * ATTRS]; /* the names and strings of the attributes */
    int32_t ntexts;
    vjp_tensor *tensors[TENSORS]; /* each an allocation of its own */
} draft;

/* ---- the context --------------------------------------------------------------------------- */

static int out_of_memory, blocks;

static void *allocate(void *user, size_t size)
{
    (void)user;
    blocks += !out_of_memory;
    return out_of_memory ? NULL : malloc(size);
}

static void deallocate(void *user, void *memory)
{
    (void)user;
    blocks--;
    free(memory);
}

/* One for each input, since a context keeps the tables that plans have made. */
static vjp_context *context(void)
{
    vjp_context *ctx;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.allocate = allocate;
    options.deallocate = deallocate;
    expect(vjp_context_create(&options, &ctx, NULL, 0) == VJP_OK, "no context");
    return ctx;
}

/* Options of which one thing may be bent: a refusal has a reason and no context. */
static void check_options(bytes *b)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = NULL;
    char reason[VJP_REASON_SIZE];
    int32_t bend = bytes_below(b, 8);
    int64_t number = bytes_number(b);
    options.allocate = bend == 1 ? NULL : allocate;
    options.deallocate = bend == 2 ? NULL : deallocate;
    if (bend == 3) /* what is behind it may not be there: smaller, or too large for any version */
        options.struct_size =
            number > (int64_t)sizeof(options) && number <= 4096 ? 8 : (size_t)number;
    if (bend == 4)
        options.num_threads = (int32_t)number;
    if (bend == 5)
        options.device = (vjp_device)(int32_t)number;
    if (bend == 6)
        options.device_id = (int32_t)number;
    vjp_status status = vjp_context_create(&options, &ctx, reason, sizeof(reason));
    expect((status == VJP_OK) == (ctx != NULL), "a context in spite of an error, or none");
    expect((status == VJP_OK) == (reason[0] == 0), "a reason without a refusal, or none with one");
    expect(bend != 7 || status == VJP_OK || out_of_memory, "no context though nothing is wrong");
    int32_t threads = vjp_context_threads(ctx);
    expect(threads >= 0 && threads <= 256, "a team of no size, or of too many");
    vjp_context_destroy(ctx);
}

/* ---- the descriptors ----------------------------------------------------------------------- */

static char *keep(draft *d, char *text)
{
    return d->texts[d->ntexts++] = text;
}

/* An attribute of the operator as announced, then perhaps of another name, type or value. */
static vjp_attr draw_attr(bytes *b, draft *d)
{
    const vjp_attr_info *info =
        d->info->nattrs > 0 ? vjp_op_attr(d->info, bytes_below(b, d->info->nattrs)) : NULL;
    int32_t bend = bytes_below(b, 16);
    vjp_attr attr = { .name = info ? info->name : "alpha",
                      .type = info ? info->type : VJP_ATTR_F64 };
    if (bend == 0)
        attr.name = keep(d, bytes_copy(b, bytes_u8(b), NULL));
    if (bend == 1)
        attr.name = NULL;
    if (bend == 2)
        attr.type = (vjp_attr_type)(int32_t)bytes_number(b);
    attr.value.s64 = bytes_number(b);
    if (attr.type == VJP_ATTR_F32 || attr.type == VJP_ATTR_F64) {
        uint64_t bits = bytes_u64(b); /* any that an F32, too, has in it */
        memcpy(&attr.value.f64, &bits, sizeof(bits));
    }
    if (attr.type == VJP_ATTR_STR) {
        const char *choices = info && info->choices ? info->choices : "";
        attr.value.str = bend == 3   ? NULL
                         : bend == 4 ? keep(d, bytes_copy(b, bytes_u8(b), NULL))
                                     : keep(d, bytes_choice(b, choices));
    }
    return attr;
}

/* What the fields say, whether or not vjp_tensor_contiguous can agree. */
static vjp_tensor *new_tensor(vjp_dtype dtype, int32_t ndim, const int64_t *shape)
{
    vjp_tensor *tensor = calloc(1, sizeof(*tensor));
    expect(tensor, "out of memory");
    *tensor = (vjp_tensor){ .struct_size = sizeof(*tensor), .dtype = dtype, .ndim = ndim };
    memcpy(tensor->shape, shape, sizeof(tensor->shape));
    vjp_tensor before = *tensor;
    if (vjp_tensor_contiguous(dtype, ndim, shape, tensor) != VJP_OK)
        expect(!memcmp(&before, tensor, sizeof(before)), "a refusal has changed the tensor");
    return tensor;
}

static vjp_tensor *draw_slope(bytes *b, const draft *d, vjp_dtype dtype)
{
    int64_t shape[VJP_MAX_DIMS] = { 1, 1 };
    const vjp_tensor *data = d->tensors[0];
    int32_t kind = bytes_below(b, 4), ndim = 1;
    if (kind == 1)
        shape[0] = data->shape[bytes_below(b, VJP_MAX_DIMS)];
    if (kind == 2) {
        ndim = data->ndim;
        memcpy(shape, data->shape, sizeof(shape));
        shape[bytes_below(b, VJP_MAX_DIMS)] = 1;
    }
    if (kind == 3)
        shape[0] = bytes_number(b);
    return new_tensor(dtype, ndim, shape);
}

/* Change one thing about a tensor, or nothing. */
static vjp_tensor *bend_tensor(bytes *b, vjp_tensor *tensor)
{
    int64_t number;
    switch (bytes_below(b, 24)) {
    case 0:
        free(tensor);
        return NULL;
    case 1:
        number = bytes_number(b);
        tensor->struct_size = (size_t)number;
        if (number >= (int64_t)sizeof(size_t) && number <= 4096) { /* another version's ends here */
            tensor = realloc(tensor, (size_t)number);
            expect(tensor, "out of memory");
            for (size_t i = sizeof(*tensor); i < (size_t)number; i++)
                ((unsigned char *)tensor)[i] = i + 1 == (size_t)number ? bytes_u8(b) : 0;
        }
        break;
    case 2:
        tensor->dtype = (vjp_dtype)(int32_t)bytes_number(b);
        break;
    case 3:
        tensor->ndim = (int32_t)bytes_number(b);
        break;
    case 4:
        tensor->shape[bytes_below(b, VJP_MAX_DIMS)] = bytes_number(b);
        break;
    case 5:
    case 6:
    case 7:
        for (int32_t d = 0; d < tensor->ndim && d < VJP_MAX_DIMS; d++)
            tensor->strides[d] = (int8_t)bytes_u8(b);
        break;
    case 8:
        tensor->strides[bytes_below(b, VJP_MAX_DIMS)] = bytes_number(b);
        break;
    case 9:
        for (int32_t d = 0; d < VJP_MAX_DIMS; d++)
            tensor->strides[d] = bytes_number(b);
        break;
    case 10:
        tensor->shape[0] = bytes_below(b, 2);
        vjp_tensor_broadcast(tensor, bytes_below(b, 14), (const int64_t[14]){ 2, 3, 4 }, tensor);
        break;
    }
    return tensor;
}

static void draw_tensors(bytes *b, draft *d)
{
    int64_t shape[VJP_MAX_DIMS] = { 0 };
    vjp_dtype dtype = (vjp_dtype)(1 + bytes_below(b, 4)), wide = dtype;
    int32_t ndim = bytes_below(b, VJP_MAX_DIMS + 2);
    if (bytes_below(b, 4) == 0)
        wide = VJP_F32;
    for (int32_t i = 0; i < ndim && i < VJP_MAX_DIMS; i++)
        shape[i] = bytes_number(b);
    d->ntensors = d->info->ninputs + d->info->noutputs;
    for (int32_t i = 0; i < d->ntensors; i++) {
        const vjp_tensor_info *info = vjp_op_tensor(d->info, i);
        vjp_dtype own = info->dtype_rule == VJP_DTYPE_WIDE ? wide : dtype;
        if (info->shape_rule == VJP_SHAPE_PARAM && i > 1 && bytes_below(b, 16))
            d->tensors[i] = new_tensor(own, d->tensors[1]->ndim, d->tensors[1]->shape);
        else if (info->shape_rule == VJP_SHAPE_PARAM)
            d->tensors[i] = draw_slope(b, d, own);
        else
            d->tensors[i] = new_tensor(own, ndim, shape);
    }
    for (int32_t i = 0; i < d->ntensors; i++)
        d->tensors[i] = bend_tensor(b, d->tensors[i]);
    if (bytes_below(b, 32) == 1)
        d->ntensors = (int32_t)bytes_number(b);
}

static draft draw(bytes *b)
{
    draft d = { .info = vjp_op_at(bytes_below(b, vjp_op_count())) };
    int32_t bend = bytes_below(b, 32);
    if (bend == 1)
        d.op = bytes_copy(b, bytes_u8(b), NULL);
    else if (bend != 2)
        d.op = strdup(d.info->name);
    draw_tensors(b, &d);
    d.nattrs = bytes_below(b, ATTRS + 1);
    d.attrs = malloc((size_t)d.nattrs * sizeof(*d.attrs));
    expect(d.attrs || d.nattrs == 0, "out of memory");
    for (int32_t i = 0; i < d.nattrs; i++)
        d.attrs[i] = draw_attr(b, &d);
    return d;
}

static void drop(draft *d)
{
    free(d->op);
    free(d->attrs);
    for (int32_t i = 0; i < d->ntexts; i++)
        free(d->texts[i]);
    for (int32_t i = 0; i < TENSORS; i++)
        free(d->tensors[i]);
}

/* ---- what a plan promises ------------------------------------------------------------------ */

/* Is tensor i part of the call? */
static int has(const draft *d, int32_t i)
{
    return i < d->ntensors && d->tensors[i];
}

/* The first `FEW` offsets of a tensor in bytes, in dense order; returns how many there are. NULL
 * has none. */
static int64_t offsets_of(const vjp_tensor *tensor, int64_t offsets[FEW])
{
    int64_t n = 0, size;
    if (!tensor || tensor_count(tensor) > FEW)
        return 0;
    size = (int64_t)vjp_dtype_size(tensor->dtype);
    for (walk w = walk_tensor(tensor); w.more; walk_next(&w))
        offsets[n++] = w.offset * size;
    return n;
}

/* Whether an element of `a` at address pa and one of `b` at pb have a byte in common. */
static int touch(const vjp_tensor *a, uint64_t pa, const vjp_tensor *b, uint64_t pb)
{
    int64_t of_a[FEW], of_b[FEW], na = offsets_of(a, of_a), nb = offsets_of(b, of_b);
    int64_t size_a = (int64_t)vjp_dtype_size(a->dtype), size_b = (int64_t)vjp_dtype_size(b->dtype);
    for (int64_t i = 0; i < na; i++)
        for (int64_t j = 0; j < nb; j++) {
            int64_t apart = (int64_t)(pb + (uint64_t)of_b[j] - pa - (uint64_t)of_a[i]);
            if (apart > -size_b && apart < size_a)
                return 1;
        }
    return 0;
}

static int same_view(const vjp_tensor *a, const vjp_tensor *b)
{
    if (a->dtype != b->dtype || !tensor_same_shape(a, b))
        return 0;
    for (int32_t d = 0; d < a->ndim; d++)
        if (a->shape[d] > 1 && a->strides[d] != b->strides[d])
            return 0;
    return 1;
}

static void check_outputs(const draft *d)
{
    int64_t offsets[FEW];
    for (int32_t o = d->info->ninputs; o < d->ntensors; o++) {
        int64_t n = offsets_of(d->tensors[o], offsets); /* 0 where it is not wanted */
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                expect(offsets[i] != offsets[j], "an output that repeats an element was accepted");
    }
}

static void check_workspace(const draft *d, size_t size)
{
    double bytes_in = 0;
    for (int32_t i = 0; i < d->info->ninputs; i++)
        if (has(d, i))
            bytes_in += (double)tensor_count(d->tensors[i]) *
                        (double)vjp_dtype_size(d->tensors[i]->dtype);
    double limit = bytes_in / 16;
    if (kind_has_rows(d->info)) /* as many as there are elements, if each is a row */
        limit += 64 * (double)tensor_count(d->tensors[0]);
    expect(size <= 256 * 1024 || (double)size <= limit, "the workspace is too large");
}

/* Addresses that the plan accepts do not overlap, except for an output in place of an input. */
static void check_addresses(bytes *b, const draft *d, const vjp_plan *plan)
{
    void *buffers[TENSORS] = { NULL };
    char reason[VJP_REASON_SIZE];
    size_t size = vjp_plan_workspace_size(plan);
    for (int32_t i = 0; i < d->ntensors; i++) {
        uint64_t address = (uint64_t)(i + 1) << 40;
        int32_t kind = bytes_below(b, 4);
        if (kind == 1)
            address = bytes_u64(b);
        if (kind >= 2 && i > 0)
            address = (uintptr_t)buffers[bytes_below(b, i)] + (uint64_t)(int8_t)bytes_u8(b);
        buffers[i] = (void *)(uintptr_t)address;
    }
    vjp_status status =
        vjp_plan_check(plan, (const void *const *)buffers, buffers + d->info->ninputs, reason, size,
                       reason, sizeof(reason));
    expect((status == VJP_OK) == (reason[0] == 0), "a reason without a refusal, or none with one");
    if (status != VJP_OK)
        return;
    for (int32_t i = d->info->ninputs; i < d->ntensors; i++)
        for (int32_t j = 0; j < i; j++) {
            if (!has(d, i) || !has(d, j))
                continue;
            int in_place = j < d->info->ninputs && buffers[i] == buffers[j] &&
                           same_view(d->tensors[i], d->tensors[j]);
            expect(in_place || !touch(d->tensors[i], (uintptr_t)buffers[i], d->tensors[j],
                                      (uintptr_t)buffers[j]),
                   "tensors that overlap were accepted");
        }
}

static void check_refusal(vjp_status status, const vjp_plan *plan, const char *reason, size_t size)
{
    expect(!plan, "a refusal has left a plan");
    expect(status > VJP_OK && status <= VJP_DEVICE_ERROR, "a refusal has no status");
    expect((status == VJP_NO_MEMORY) <= out_of_memory, "memory was said to lack");
    expect(status != VJP_BAD_ALIAS && status != VJP_BAD_ALIGNMENT && status != VJP_BAD_WORKSPACE &&
               status != VJP_NO_DEVICE && status != VJP_DEVICE_ERROR,
           "a refusal for what creating cannot know");
    if (size > 0)
        expect(memchr(reason, 0, size), "the reason does not end");
    if (size > 1)
        expect(reason[0], "a refusal has no reason");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes b = { data, size };
    int before = blocks;
    out_of_memory = 0;
    vjp_context *ctx = context();
    draft d = draw(&b);
    const vjp_tensor *const *tensors = (const vjp_tensor *const *)d.tensors;
    vjp_plan *plan = (vjp_plan *)&d, *again = plan;
    size_t reason_size = bytes_below(&b, 4) ? VJP_REASON_SIZE : bytes_u8(&b);
    char *reason = malloc(reason_size);
    out_of_memory = bytes_below(&b, 64) == 1;
    memset(reason, '?', reason_size);
    vjp_status status = vjp_plan_create(ctx, d.op, d.attrs, d.nattrs, tensors, d.ntensors, &plan,
                                        reason, reason_size);
    expect(vjp_plan_create(ctx, d.op, d.attrs, d.nattrs, tensors, d.ntensors, &again, NULL, 0) ==
               status,
           "the same call has two answers");
    if (status != VJP_OK) {
        check_refusal(status, plan, reason, reason_size);
    } else {
        expect(plan && (reason_size == 0 || !reason[0]), "success has no plan, or a reason");
        check_outputs(&d);
        check_workspace(&d, vjp_plan_workspace_size(plan));
        check_addresses(&b, &d, plan);
    }
    vjp_plan_destroy(plan);
    vjp_plan_destroy(again);
    vjp_context_destroy(ctx);
    check_options(&b);
    expect(blocks == before, "memory was not given back");
    free(reason);
    drop(&d);
    return 0;
}
