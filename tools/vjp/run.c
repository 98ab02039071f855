/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - vjp run: run an operator on .npy files.
 *
 * Besides the fixed options, an operator's tensors and attributes are options by their names. The
 * call is made in steps; the first that fails ends it, and everything that was opened is closed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <vjp/vjp.h>

#include "describe.h"
#include "guess.h"
#include "npy.h"
#include "tool.h"

static const option options[] = {
    { "threads", "N", "use at most N threads; 0, the default: as many as OpenMP offers" },
    { "wide", "DTYPE", "the dtype of outputs that may be wider than the inputs" },
    { "force", NULL, "write to a terminal, and replace a file that is read-only" },
    { NULL, NULL, NULL },
};

/* An operator's tensors and attributes are all arguments, so none has more than these. */
typedef struct call {
    const arguments *args;
    const vjp_op_info *op;
    int32_t ntensors, nattrs, threads;
    vjp_dtype wide; /* 0: not given */
    vjp_attr attrs[MAX_ARGUMENTS];
    npy_input inputs[MAX_ARGUMENTS];
    npy_output outputs[MAX_ARGUMENTS];
    vjp_tensor outcomes[MAX_ARGUMENTS]; /* what the outputs are to be */
    vjp_context *ctx;
    vjp_plan *plan;
    void *workspace;
} call;

static const char *tensor_name(const call *c, int32_t index)
{
    return vjp_op_tensor(c->op, index)->name;
}

static bool is_given(const call *c, int32_t index)
{
    return option_given(c->args, tensor_name(c, index)) != NULL;
}

/* NULL if it is not given. */
static const vjp_tensor *tensor_of(const call *c, int32_t index)
{
    if (!is_given(c, index))
        return NULL;
    return index < c->op->ninputs ? &c->inputs[index].tensor
                                  : &c->outcomes[index - c->op->ninputs];
}

/* ---- the command line ---------------------------------------------------------------------- */

static bool is_known(const call *c, const char *name)
{
    for (const option *o = options; o->name; o++)
        if (!strcmp(name, o->name))
            return true;
    for (int32_t i = 0; i < c->ntensors; i++)
        if (!strcmp(name, tensor_name(c, i)))
            return true;
    for (int32_t i = 0; i < c->op->nattrs; i++)
        if (!strcmp(name, vjp_op_attr(c->op, i)->name))
            return true;
    return false;
}

/* The option by which something else was meant. */
static int unknown(const call *c, const char *name)
{
    char words[GUESS_SIZE];
    guess g = { .word = name };
    for (int32_t i = 0; i < c->ntensors; i++)
        guess_try(&g, tensor_name(c, i));
    for (int32_t i = 0; i < c->op->nattrs; i++)
        guess_try(&g, vjp_op_attr(c->op, i)->name);
    guess_options(&g, c->args->command);
    return complain(c->args->command, MISUSED,
                    "--%s: %s has no such tensor or attribute;%s see vjp run %s --help", name,
                    c->op->name, guess_words(&g, "--", words), c->op->name);
}

static int check_names(call *c)
{
    const command *command = c->args->command;
    const char *name = operand(c->args, 0);
    if (!name)
        return complain(command, MISUSED, "which operator? `vjp ops` lists them");
    c->op = find_op(command, name);
    if (!c->op)
        return MISUSED;
    c->ntensors = c->op->ninputs + c->op->noutputs;
    for (int i = 0; i < c->args->count; i++)
        if (c->args->at[i].name && !is_known(c, c->args->at[i].name))
            return unknown(c, c->args->at[i].name);
    return DONE;
}

/* Every tensor that is not optional has a file; standard input and output are one tensor's at
 * most. */
static int check_files(call *c)
{
    const char *standard[2] = { NULL, NULL };
    for (int32_t i = 0; i < c->ntensors; i++) {
        const char *name = tensor_name(c, i), *file = option_given(c->args, name);
        bool output = i >= c->op->ninputs;
        if (!file && vjp_op_tensor(c->op, i)->flags & VJP_TENSOR_OPTIONAL)
            continue;
        if (!file)
            return complain(c->args->command, MISUSED, "--%s FILE is missing: %s of %s", name,
                            output ? "an output" : "an input", c->op->name);
        if (!*file)
            return complain(c->args->command, MISUSED, "--%s: the file name is empty", name);
        if (strcmp(file, "-"))
            continue;
        if (standard[output])
            return complain(c->args->command, MISUSED, "--%s: - is taken by --%s", name,
                            standard[output]);
        standard[output] = name;
    }
    return DONE;
}

static int read_attributes(call *c)
{
    static const char *const kinds[] = {
        [VJP_ATTR_BOOL] = "0, 1, false or true",
        [VJP_ATTR_S64] = "a whole number of 64 bits",
        [VJP_ATTR_F32] = "a number in the range of f32",
        [VJP_ATTR_F64] = "a number in the range of f64",
    };
    for (int32_t i = 0; i < c->op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(c->op, i);
        const char *text = option_given(c->args, info->name);
        if (text && !attribute_value(info, text, &c->attrs[c->nattrs++]))
            return complain(c->args->command, MISUSED, "--%s: \"%s\" is not %s", info->name, text,
                            kinds[info->type]);
    }
    return DONE;
}

/* The dtype that --wide names; there must be an output that may have it. */
static int read_wide(call *c)
{
    const char *text = option_given(c->args, "wide");
    bool wanted = false;
    if (!text)
        return DONE;
    c->wide = dtype_named(text, strlen(text));
    if (!c->wide)
        return complain(c->args->command, MISUSED, "--wide: there is no dtype %s", text);
    for (int32_t i = c->op->ninputs; i < c->ntensors; i++)
        wanted |= vjp_op_tensor(c->op, i)->dtype_rule == VJP_DTYPE_WIDE ||
                  vjp_op_tensor(c->op, i)->dtype_rule == VJP_DTYPE_ANY;
    if (!wanted)
        return complain(c->args->command, MISUSED,
                        "--wide: the outputs of %s have the dtype of its inputs", c->op->name);
    return DONE;
}

static int read_options(call *c)
{
    int64_t threads;
    if (!option_number(c->args, "threads", 0, INT16_MAX, 0, &threads))
        return MISUSED;
    c->threads = (int32_t)threads;
    return read_wide(c);
}

/* ---- the tensors --------------------------------------------------------------------------- */

static int open_inputs(call *c)
{
    char reason[NPY_REASON_SIZE];
    for (int32_t i = 0; i < c->op->ninputs; i++)
        if (is_given(c, i) &&
            !npy_open(option_given(c->args, tensor_name(c, i)), &c->inputs[i], reason))
            return complain(c->args->command, FAILED, "--%s: %s", tensor_name(c, i), reason);
    return DONE;
}

/* --wide is for outputs that may have that dtype; there must be one. */
static int check_wide(const call *c)
{
    vjp_dtype dtype = c->inputs[0].tensor.dtype;
    if (!c->wide)
        return DONE;
    for (int32_t i = c->op->ninputs; i < c->ntensors; i++)
        if (vjp_op_tensor(c->op, i)->dtype_rule != VJP_DTYPE_SAME &&
            dtype_fits(vjp_op_tensor(c->op, i)->dtype_rule, dtype, c->wide))
            return DONE;
    return complain(c->args->command, MISUSED,
                    "--wide: %s is not allowed with inputs of %s; outputs may be f32 where inputs "
                    "are f16 or bf16",
                    vjp_dtype_name(c->wide), vjp_dtype_name(dtype));
}

/* As --wide says, else as the first input of the same rule has it. */
static vjp_dtype outcome_dtype(const call *c, int32_t index)
{
    vjp_dtype_rule rule = vjp_op_tensor(c->op, index)->dtype_rule;
    vjp_dtype dtype = c->inputs[0].tensor.dtype;
    if (rule == VJP_DTYPE_STAT)
        return dtype == VJP_F64 ? VJP_F64 : VJP_F32;
    if (c->wide && rule != VJP_DTYPE_SAME && dtype_fits(rule, dtype, c->wide))
        return c->wide;
    for (int32_t i = 0; i < c->op->ninputs; i++)
        if (is_given(c, i) && vjp_op_tensor(c->op, i)->dtype_rule == rule)
            return c->inputs[i].tensor.dtype;
    return dtype;
}

/* Dims of the data that rows run along, first to last - 1; without an axis, the channels. */
static void row_dims(const call *c, int32_t *first, int32_t *last)
{
    int32_t ndim = c->inputs[0].tensor.ndim;
    *first = ndim - 1;
    *last = ndim;
    for (int32_t i = 0; i < c->op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(c->op, i);
        vjp_attr value = info->default_value;
        for (int32_t a = 0; a < c->nattrs; a++)
            if (!strcmp(c->attrs[a].name, info->name))
                value = c->attrs[a];
        if (info->role == VJP_ROLE_FORMAT && !strcmp(value.value.str, "NCX") && ndim > 1)
            *first = 1;
        if (info->role == VJP_ROLE_AXIS || info->role == VJP_ROLE_AXES)
            *first = (int32_t)(value.value.s64 + (value.value.s64 < 0 ? ndim : 0));
        if (info->role == VJP_ROLE_FORMAT || info->role == VJP_ROLE_AXIS)
            *last = *first + 1;
    }
}

/* The shape of an output without one to go by: rows without their axis, or a parameter along
 * them. */
static vjp_tensor shape_by_rule(const call *c, int32_t index)
{
    const vjp_tensor *data = &c->inputs[0].tensor;
    bool along = vjp_op_tensor(c->op, index)->shape_rule == VJP_SHAPE_PARAM;
    vjp_tensor shape = { .ndim = 0 };
    int32_t first, last;
    row_dims(c, &first, &last);
    for (int32_t d = 0; d < data->ndim; d++)
        if ((d >= first && d < last) == along)
            shape.shape[shape.ndim++] = data->shape[d];
    return shape;
}

/* Outputs are dense. */
static int describe_outputs(call *c)
{
    if (check_wide(c) != DONE)
        return MISUSED;
    for (int32_t i = c->op->ninputs; i < c->ntensors; i++) {
        int32_t model = shape_model(c->op, i);
        while (model >= 0 && !tensor_of(c, model))
            model = shape_model(c->op, model);
        vjp_tensor shape = model >= 0 ? *tensor_of(c, model) : shape_by_rule(c, i);
        if (vjp_tensor_contiguous(outcome_dtype(c, i), shape.ndim, shape.shape,
                                  &c->outcomes[i - c->op->ninputs]) != VJP_OK)
            return complain(c->args->command, FAILED, "--%s would be too large", tensor_name(c, i));
    }
    return DONE;
}

/* ---- the work ------------------------------------------------------------------------------ */

static int make_plan(call *c)
{
    const vjp_tensor *tensors[MAX_ARGUMENTS];
    vjp_context_options how = VJP_CONTEXT_DEFAULTS;
    char reason[VJP_REASON_SIZE];
    how.num_threads = c->threads;
    for (int32_t i = 0; i < c->ntensors; i++)
        tensors[i] = tensor_of(c, i);
    if (vjp_context_create(&how, &c->ctx, reason, sizeof(reason)) != VJP_OK ||
        vjp_plan_create(c->ctx, c->op->name, c->attrs, c->nattrs, tensors, c->ntensors, &c->plan,
                        reason, sizeof(reason)) != VJP_OK)
        return complain(c->args->command, FAILED, "%s: %s", c->op->name, reason);
    return DONE;
}

static int create_outputs(call *c)
{
    char reason[NPY_REASON_SIZE];
    bool force = option_given(c->args, "force");
    for (int32_t i = 0; i < c->op->noutputs; i++) {
        const char *name = tensor_name(c, c->op->ninputs + i);
        if (!is_given(c, c->op->ninputs + i))
            continue;
        if (!npy_create(option_given(c->args, name), force, &c->outcomes[i], &c->outputs[i],
                        reason))
            return complain(c->args->command, FAILED, "--%s: %s", name, reason);
        for (int32_t j = 0; j < i; j++)
            if (c->outputs[i].target && c->outputs[j].target &&
                !strcmp(c->outputs[i].target, c->outputs[j].target))
                return complain(c->args->command, MISUSED, "--%s: %s is also the file of --%s",
                                name, c->outputs[i].target, tensor_name(c, c->op->ninputs + j));
    }
    return DONE;
}

static int compute(call *c)
{
    const void *inputs[MAX_ARGUMENTS];
    void *outputs[MAX_ARGUMENTS];
    char reason[NPY_REASON_SIZE];
    size_t size = vjp_plan_workspace_size(c->plan);
    c->workspace = size ? malloc(size) : NULL;
    if (size && !c->workspace)
        return complain(c->args->command, FAILED, "no memory for a workspace of %zu bytes", size);
    for (int32_t i = 0; i < c->op->ninputs; i++)
        inputs[i] = c->inputs[i].data;
    for (int32_t i = 0; i < c->op->noutputs; i++)
        outputs[i] = c->outputs[i].data;
    if (vjp_plan_run(c->plan, inputs, outputs, c->workspace, size, NULL) != VJP_OK) {
        vjp_plan_check(c->plan, inputs, outputs, c->workspace, size, reason, sizeof(reason));
        return complain(c->args->command, FAILED, "%s: %s", c->op->name, reason);
    }
    if (!npy_commit(c->outputs, c->op->noutputs, reason))
        return complain(c->args->command, FAILED, "%s", reason);
    return DONE;
}

static void give_back(call *c)
{
    free(c->workspace);
    vjp_plan_destroy(c->plan);
    vjp_context_destroy(c->ctx);
    for (int i = 0; i < MAX_ARGUMENTS; i++) {
        npy_abandon(&c->outputs[i]);
        npy_close(&c->inputs[i]);
    }
}

static int run(const arguments *args)
{
    static int (*const steps[])(call *c) = {
        check_names,      check_files, read_attributes, read_options, open_inputs,
        describe_outputs, make_plan,   create_outputs,  compute,
    };
    call c = { .args = args };
    int status = DONE;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == DONE; i++)
        status = steps[i](&c);
    give_back(&c);
    return status;
}

const command command_run = {
    "run", "NAME", "run an operator on .npy files", options,
    "--TENSOR FILE... [--ATTRIBUTE VALUE]...\n\n"
    "`vjp run NAME --help` lists an operator's tensors and attributes. Every tensor has a FILE;\n"
    "- is standard input or standard output.",
    run, run_help
};
