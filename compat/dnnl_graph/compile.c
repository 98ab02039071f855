/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - from a partition and descriptions of its tensors to a vjp plan.
 *
 * Descriptions are copied and completed (layouts chosen, output shapes inferred), matched with the
 * operation's tensors by id, and handed to vjp, which checks what remains: shapes that must agree,
 * attributes in range, outputs that do not repeat an element.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void dg_compilation_destroy(dg_compilation *compilation)
{
    if (compilation) {
        vjp_plan_destroy(compilation->plan);
        dg_engine_release(compilation->engine);
        free(compilation);
    }
}

/* ---- the tensors -------------------------------------------------------------------------- */

static int make_dense(dg_lt *lt)
{
    lt->layout_type = dnnl_graph_layout_type_strided;
    return dg_lt_dense_strides(lt->ndims, lt->dims, lt->layout.strides);
}

/* take_tensor - copy a description. That of an input must be complete, and becomes strided. */
static int take_tensor(const dg_lt *given, int is_output, dg_lt *tensor)
{
    if (!given || given->data_type == dnnl_data_type_undef || given->ndims > DNNL_MAX_NDIMS)
        return 0;
    int is_any = given->layout_type == dnnl_graph_layout_type_any;
    if (!is_any && given->layout_type != dnnl_graph_layout_type_strided)
        return 0;
    if (dg_lt_has_negative_stride(given))
        return 0;
    *tensor = *given;
    if (is_output)
        return 1;
    if (is_any)
        return dg_lt_has_dims(tensor) && make_dense(tensor);
    return dg_lt_has_strides(tensor);
}

static int take_tensors(dg_compilation *made, const dg_lt **inputs, const dg_lt **outputs)
{
    for (size_t i = 0; i < made->ninputs; i++)
        if (!take_tensor(inputs[i], 0, &made->tensors[i]))
            return 0;
    for (size_t i = 0; i < made->noutputs; i++)
        if (!take_tensor(outputs[i], 1, &made->tensors[made->ninputs + i]))
            return 0;
    return 1;
}

/* find_tensors - fill made->source; 0 if one of the operation's tensors was not given. */
static int find_tensors(const_dnnl_graph_partition_t partition, dg_compilation *made)
{
    const_dnnl_graph_op_t op = partition->op;
    for (size_t i = 0; i < DG_MAX_TENSORS; i++)
        made->source[i] = DG_NOT_GIVEN;
    for (size_t i = 0; i < op->ninputs + op->noutputs; i++) {
        int is_output = i >= op->ninputs;
        size_t id = is_output ? op->outputs[i - op->ninputs].id : op->inputs[i].id;
        size_t j = is_output ? made->ninputs : 0;
        size_t end = is_output ? made->ninputs + made->noutputs : made->ninputs;
        while (j < end && made->tensors[j].id != id)
            j++;
        if (j == end)
            return 0;
        if (partition->place[i] != DG_NOWHERE)
            made->source[partition->place[i]] = j;
    }
    return 1;
}

/* tensor_of - the description of vjp's tensor i; NULL if it is not given. */
static dg_lt *tensor_of(dg_compilation *made, int32_t i)
{
    return made->source[i] == DG_NOT_GIVEN ? NULL : &made->tensors[made->source[i]];
}

static int takes_dtypes(const_dnnl_graph_partition_t partition, dg_compilation *made)
{
    const_dnnl_graph_op_t op = partition->op;
    const dg_lt *tensors[DG_MAX_TENSORS];
    for (size_t i = 0; i < op->ninputs + op->noutputs; i++)
        tensors[i] = partition->place[i] == DG_NOWHERE ? &op->inputs[i]
                                                       : tensor_of(made, partition->place[i]);
    return dg_schema_takes_dtypes(dg_schema_of(op->kind), op->ninputs, tensors, op->noutputs,
                                  tensors + op->ninputs);
}

/* attr_value - an attribute of vjp's as the operation has it, or its default. */
static vjp_attr attr_value(const_dnnl_graph_op_t op, const vjp_attr_info *info)
{
    vjp_attr value = info->default_value;
    for (const dg_attr_schema *a = dg_schema_of(op->kind)->attrs; a->id; a++)
        if (dg_attr_is_passed(a) && strcmp(a->value.name, info->name) == 0) {
            const dg_attr *set = dg_op_attr(op, a->id);
            value = set ? set->value : a->value;
        }
    return value;
}

/* ---- shapes ------------------------------------------------------------------------------- */

/* model_of - an input whose shape an output has: the first given that follows the same rule. */
static int32_t model_of(const vjp_op_info *core, dg_compilation *made, int32_t output)
{
    for (int32_t i = 0; i < core->ninputs; i++)
        if (tensor_of(made, i) &&
            vjp_op_tensor(core, i)->shape_rule == vjp_op_tensor(core, output)->shape_rule)
            return i;
    return 0;
}

/* axis_of - the first dim that rows run along; -1 if there is none. *to_last: they run along all
 * dims from there on. */
static int axis_of(const_dnnl_graph_partition_t partition, int ndims, int *to_last)
{
    const vjp_op_info *core = partition->core;
    for (int32_t i = 0; i < core->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(core, i);
        if (info->role != VJP_ROLE_AXIS && info->role != VJP_ROLE_AXES)
            continue;
        int64_t axis = attr_value(partition->op, info).value.s64;
        axis += axis < 0 ? ndims : 0;
        *to_last = info->role == VJP_ROLE_AXES;
        return axis >= 0 && axis < ndims ? (int)axis : -1;
    }
    return -1;
}

/* shape_row - what has one element per row: 1 in place of the axis, or the dims before the axes. */
static void shape_row(const_dnnl_graph_partition_t partition, dg_lt *model)
{
    int to_last = 0, axis = axis_of(partition, model->ndims, &to_last);
    if (axis >= 0 && to_last)
        model->ndims = axis;
    else if (axis >= 0)
        model->dims[axis] = 1;
}

/* shape_param - what has one element for each of a row's. */
static void shape_param(const_dnnl_graph_partition_t partition, dg_lt *model)
{
    int to_last = 0, axis = axis_of(partition, model->ndims, &to_last);
    if (axis < 0 || !to_last)
        return;
    model->ndims -= axis;
    memmove(model->dims, model->dims + axis, (size_t)model->ndims * sizeof(*model->dims));
}

/* infer - complete an output from one that has its shape. Known dims must agree; known strides are
 * kept. */
static dnnl_status_t infer(const dg_lt *model, dg_lt *output)
{
    if (output->ndims >= 0 && output->ndims != model->ndims)
        return dnnl_invalid_shape;
    for (int i = 0; i < output->ndims; i++)
        if (output->dims[i] != DNNL_GRAPH_UNKNOWN_DIM && output->dims[i] != model->dims[i])
            return dnnl_invalid_shape;
    int keep_strides = output->ndims >= 0;
    output->ndims = model->ndims;
    memcpy(output->dims, model->dims, sizeof(output->dims));
    if (keep_strides && dg_lt_has_strides(output))
        return dnnl_success;
    return make_dense(output) ? dnnl_success : dnnl_invalid_arguments;
}

static dnnl_status_t infer_outputs(const_dnnl_graph_partition_t partition, dg_compilation *made)
{
    const vjp_op_info *core = partition->core;
    for (int32_t i = core->ninputs; i < core->ninputs + core->noutputs; i++) {
        dg_lt *output = tensor_of(made, i), model;
        if (!output)
            continue;
        int32_t from = model_of(core, made, i);
        model = *tensor_of(made, from);
        vjp_shape_rule rule = vjp_op_tensor(core, i)->shape_rule;
        int is_model = vjp_op_tensor(core, from)->shape_rule == rule;
        if (rule == VJP_SHAPE_ROW && !is_model)
            shape_row(partition, &model);
        if (rule == VJP_SHAPE_PARAM && !is_model)
            shape_param(partition, &model);
        dnnl_status_t status = infer(&model, output);
        if (status)
            return status;
    }
    return dnnl_success;
}

/* looks_like_inputs - whether a tensor has the data type, shape and strides of all inputs. */
static int looks_like_inputs(const_dnnl_graph_partition_t partition, dg_compilation *made,
                             const dg_lt *tensor)
{
    for (size_t i = 0; i < partition->op->ninputs; i++) {
        if (partition->place[i] == DG_NOWHERE)
            continue;
        const dg_lt *in = tensor_of(made, partition->place[i]);
        if (in->data_type != tensor->data_type || !dg_lt_same_shape(in, tensor) ||
            !dg_lt_same_strides(in, tensor))
            return 0;
    }
    return 1;
}

/* find_pairs - report the pairs of input 0 and an output that oneDNN reports, which are fewer than
 * would do. One at most for an output: two would mislead a planner that merges buffers. */
static void find_pairs(const_dnnl_graph_partition_t partition, dg_compilation *made)
{
    const_dnnl_graph_op_t op = partition->op;
    size_t input = tensor_of(made, partition->place[0])->id;
    for (size_t o = 0; o < op->noutputs; o++) {
        const dg_lt *out = tensor_of(made, partition->place[op->ninputs + o]);
        if (dg_schema_tensor(dg_schema_of(op->kind), 1, o)->role == DG_OUT_IN_PLACE &&
            looks_like_inputs(partition, made, out))
            made->pairs[made->npairs++] = (dnnl_graph_inplace_pair_t){ input, out->id };
    }
}

/* ---- the plan ----------------------------------------------------------------------------- */

static vjp_status to_core(const dg_lt *lt, vjp_tensor *tensor)
{
    vjp_dtype dtype = lt->data_type == dnnl_f32    ? VJP_F32
                      : lt->data_type == dnnl_f16  ? VJP_F16
                      : lt->data_type == dnnl_bf16 ? VJP_BF16
                                                   : (vjp_dtype)0;
    return vjp_tensor_strided(dtype, lt->ndims, lt->dims, lt->layout.strides, tensor);
}

/* collect_attrs - every attribute of the schema, as set or by its default. */
static int32_t collect_attrs(const_dnnl_graph_op_t op, vjp_attr *attrs)
{
    int32_t nattrs = 0;
    for (const dg_attr_schema *a = dg_schema_of(op->kind)->attrs; a->id; a++) {
        const dg_attr *set = a->use == DG_FIXED ? NULL : dg_op_attr(op, a->id);
        if (!dg_attr_is_passed(a))
            continue;
        attrs[nattrs] = a->value;
        if (set)
            attrs[nattrs].value = set->value.value;
        nattrs++;
    }
    return nattrs;
}

static dnnl_status_t make_plan(const_dnnl_graph_partition_t partition, dg_compilation *made)
{
    const vjp_op_info *core = partition->core;
    int32_t ntensors = core->ninputs + core->noutputs;
    vjp_tensor tensors[DG_MAX_TENSORS];
    const vjp_tensor *pointers[DG_MAX_TENSORS];
    for (int32_t i = 0; i < ntensors; i++) {
        const dg_lt *given = tensor_of(made, i);
        vjp_status status = given ? to_core(given, &tensors[i]) : VJP_OK;
        if (status)
            return dg_status_of(status);
        pointers[i] = given ? &tensors[i] : NULL;
    }
    vjp_attr attrs[DG_MAX_ATTRS];
    int32_t nattrs = collect_attrs(partition->op, attrs);
    return dg_status_of(vjp_plan_create(made->engine->ctx, core->name, attrs, nattrs, pointers,
                                        ntensors, &made->plan, NULL, 0));
}

static dnnl_status_t compile(const_dnnl_graph_partition_t partition, dg_compilation *made,
                             const dg_lt **inputs, const dg_lt **outputs)
{
    if (!take_tensors(made, inputs, outputs) || !find_tensors(partition, made))
        return dnnl_invalid_arguments;
    if (!takes_dtypes(partition, made))
        return dnnl_invalid_data_type;
    dnnl_status_t status = infer_outputs(partition, made);
    if (!status)
        status = make_plan(partition, made);
    if (status)
        return status;
    made->workspace_size = vjp_plan_workspace_size(made->plan);
    find_pairs(partition, made);
    return dnnl_success;
}

dnnl_status_t dnnl_graph_partition_compile(dnnl_graph_partition_t partition,
                                           dnnl_graph_compiled_partition_t compiled_partition,
                                           size_t in_num, const dg_lt **inputs, size_t out_num,
                                           const dg_lt **outputs, dnnl_engine_t engine)
{
    const size_t limit = SIZE_MAX / sizeof(dg_lt) / 4;
    if (!partition || !compiled_partition || !inputs || !outputs || !engine || in_num > limit ||
        out_num > limit)
        return dnnl_invalid_arguments;
    if (compiled_partition->partition != partition || !partition->core ||
        engine->kind != partition->kind)
        return dnnl_invalid_arguments;
    dg_compilation *made = calloc(1, sizeof(*made) + (in_num + out_num) * sizeof(dg_lt));
    if (!made)
        return dnnl_out_of_memory;
    made->engine = dg_engine_retain(engine);
    made->ninputs = in_num;
    made->noutputs = out_num;
    dnnl_status_t status = compile(partition, made, inputs, outputs);
    if (status) {
        dg_compilation_destroy(made);
        return status;
    }
    dg_compilation_destroy(compiled_partition->compilation);
    compiled_partition->compilation = made;
    return dnnl_success;
}
