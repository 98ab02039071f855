/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - one run of an operator on one thread, for model.py to trace.
 *
 * call OPERATOR f32|bf16 SHAPE... [FLAG=0|1]... - a shape, such as 2x1024, for each tensor: inputs,
 * then outputs; "-" omits one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vjp/vjp.h>

enum { MAX_TENSORS = 16, MAX_ATTRS = 4 };

static void fail(const char *what)
{
    fprintf(stderr, "call: %s\n", what);
    exit(1);
}

/* Where the trace of a run begins and ends. */
__attribute__((noinline)) void run_begins(void) { __asm__ volatile(""); }
__attribute__((noinline)) void run_ends(void) { __asm__ volatile(""); }

/* Reads a shape and returns the number of elements. */
static size_t describe(const char *text, vjp_dtype dtype, vjp_tensor *tensor)
{
    int64_t shape[VJP_MAX_DIMS];
    size_t count = 1;
    int32_t ndim = 0;
    for (char *end; *text && ndim < VJP_MAX_DIMS; text = *end == 'x' ? end + 1 : end)
        count *= (size_t)(shape[ndim++] = strtoll(text, &end, 10));
    if (vjp_tensor_contiguous(dtype, ndim, shape, tensor) != VJP_OK)
        fail("bad shape");
    return count;
}

/* Ordinary numbers from -2 to 2: no branch for rare ones is taken. A bf16 is the upper half. */
static void *numbers(size_t count, size_t size)
{
    char *data = aligned_alloc(64, (count * size + 63) / 64 * 64);
    for (size_t i = 0; data && i < count; i++) {
        float value = (float)((int)(i * 37 % 64) - 32) / 16;
        memcpy(data + i * size, (const char *)&value + sizeof(value) - size, size);
    }
    return data;
}

/* The attributes of a call, all of which are flags. */
static int32_t read_flags(char **words, int count, vjp_attr *attrs)
{
    for (int i = 0; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (!value || count > MAX_ATTRS)
            fail("attributes are up to four of NAME=0 and NAME=1");
        *value = '\0';
        attrs[i] = vjp_attr_bool(words[i], value[1] == '1');
    }
    return count;
}

static vjp_plan *plan_for(const vjp_op_info *op, const vjp_attr *attrs, int32_t nattrs,
                          const vjp_tensor *const *tensors)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx;
    vjp_plan *plan;
    char reason[VJP_REASON_SIZE];
    options.num_threads = 1;
    if (vjp_context_create(&options, &ctx, reason, sizeof reason) != VJP_OK ||
        vjp_plan_create(ctx, op->name, attrs, nattrs, tensors, op->ninputs + op->noutputs, &plan,
                        reason, sizeof reason) != VJP_OK)
        fail(reason);
    return plan;
}

int main(int argc, char **argv)
{
    const vjp_op_info *op = argc > 2 ? vjp_op_find(argv[1]) : NULL;
    int32_t count = op ? op->ninputs + op->noutputs : MAX_TENSORS;
    if (count >= MAX_TENSORS || argc < 3 + count)
        fail("usage: call OPERATOR f32|bf16 SHAPE... [FLAG=0|1]...");
    vjp_dtype dtype = strcmp(argv[2], "bf16") ? VJP_F32 : VJP_BF16;
    vjp_tensor descriptions[MAX_TENSORS];
    const vjp_tensor *tensors[MAX_TENSORS];
    void *data[MAX_TENSORS] = { NULL };
    for (int32_t i = 0; i < count; i++) {
        tensors[i] = strcmp(argv[3 + i], "-") ? &descriptions[i] : NULL;
        if (tensors[i])
            data[i] = numbers(describe(argv[3 + i], dtype, &descriptions[i]),
                              vjp_dtype_size(dtype));
    }
    vjp_attr attrs[MAX_ATTRS];
    int32_t nattrs = read_flags(argv + 3 + count, argc - 3 - count, attrs);
    vjp_plan *plan = plan_for(op, attrs, nattrs, tensors);
    size_t size = vjp_plan_workspace_size(plan);
    void *workspace = malloc(size + 1);
    run_begins();
    vjp_status status = vjp_plan_run(plan, (const void *const *)data, data + op->ninputs, workspace,
                                     size, NULL);
    run_ends();
    return status == VJP_OK ? 0 : 1;
}
