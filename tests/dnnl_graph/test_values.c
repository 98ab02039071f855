/* SPDX-License-Identifier: Apache-2.0 */
/* test_values.c - every served operation, by default and by explicit attributes, in every dtype
 * and in several layouts, against the oracle; the bytes between elements stay as they were;
 * and again with each output in the memory of each input that looks the same. */
#include <stdlib.h>
#include <string.h>

#include "drop_in.h"
#include "kinds.h"
#include "oracle.h"

enum {
    NDIMS = 4,
    GUARD = 0x5a
};

static const dnnl_data_type_t dtypes[] = { dnnl_f32, dnnl_bf16, dnnl_f16 };

/* ---- layouts ------------------------------------------------------------------------------ */

typedef enum layout {
    DENSE,
    CHANNELS_LAST,
    PADDED,
    ANY,
    OPEN
} layout;

static logical_tensor describe(layout layout, dnnl_data_type_t dtype)
{
    static const int64_t channels_last[NDIMS] = { 60, 1, 15, 3 };
    static const int64_t padded[NDIMS] = { 100, 32, 8, 1 };
    switch (layout) {
    case CHANNELS_LAST:
        return strided(0, dtype, NDIMS, block_dims, channels_last);
    case PADDED:
        return strided(0, dtype, NDIMS, block_dims, padded);
    case ANY:
        return with_layout_any(block(dtype));
    case OPEN:
        return open_tensor(0, dtype);
    default:
        return block(dtype);
    }
}

/* Of input 0, of diff_dst (or of the other input) and of diff_src. */
static const layout layouts[][3] = {
    { DENSE, DENSE, DENSE }, { CHANNELS_LAST, CHANNELS_LAST, CHANNELS_LAST },
    { DENSE, DENSE, OPEN },  { DENSE, CHANNELS_LAST, PADDED },
    { PADDED, PADDED, ANY }, { CHANNELS_LAST, DENSE, CHANNELS_LAST },
    { ANY, ANY, OPEN },
};

/* ---- attributes --------------------------------------------------------------------------- */

static void from_src(dnnl_graph_op_t op)
{
    set_bool(op, dnnl_graph_op_attr_use_dst, 0);
}

static void from_dst(dnnl_graph_op_t op)
{
    set_bool(op, dnnl_graph_op_attr_use_dst, 1);
}

static void from_src_then_dst(dnnl_graph_op_t op)
{
    from_src(op);
    from_dst(op); /* the last one counts */
}

static void axis_0(dnnl_graph_op_t op)
{
    set_s64(op, dnnl_graph_op_attr_axis, 0);
}

static void axis_last(dnnl_graph_op_t op)
{
    set_s64(op, dnnl_graph_op_attr_axis, -1);
}

static void inf_as_zero(dnnl_graph_op_t op)
{
    set_str(op, dnnl_graph_op_attr_mode, "inf_as_zero");
}

static void nxc(dnnl_graph_op_t op)
{
    set_str(op, dnnl_graph_op_attr_data_format, "NXC");
}

/* The length passed with a string is ignored, as in oneDNN: its NUL ends it. */
static void ncx(dnnl_graph_op_t op)
{
    assert_ok(dnnl_graph_op_set_attr_str(op, dnnl_graph_op_attr_data_format, "NCX", 1));
}

static void gelu_tanh(dnnl_graph_op_t op)
{
    set_str(op, dnnl_graph_op_attr_mode, "gelu_tanh");
}

static void beta_half(dnnl_graph_op_t op)
{
    set_f32(op, dnnl_graph_op_attr_beta, 0.5f);
}

static void clamp_from_src(dnnl_graph_op_t op)
{
    set_min_max(op);
    from_src(op);
}

static void alpha_from_src(dnnl_graph_op_t op)
{
    set_alpha(op);
    from_src(op);
}

static void one_alignment(dnnl_graph_op_t op)
{
    ncx(op);
    set_bool(op, dnnl_graph_op_attr_per_channel_broadcast, 0);
}

/* An operation, and what the oracle is to compute for it: every attribute that the call has,
 * whether set or by default, as one of vjp's operator of the same name. */
typedef struct example {
    const char *name;
    dnnl_graph_op_kind_t kind;
    const char *op;
    void (*set_attrs)(dnnl_graph_op_t op);
    vjp_attr attrs[2]; /* up to the first without a name */
    int slope_ndims;
    int64_t slope_dims[NDIMS];
} example;

#define CASE(name, kind, set, ...) \
    { name, dnnl_graph_op_##kind, #kind, set, { __VA_ARGS__ }, 0, { 0 } }
#define SLOPE_CASE(name, kind, set, attr, ndims, ...) \
    { name, dnnl_graph_op_##kind, #kind, set, { attr }, ndims, { __VA_ARGS__ } }
#define NO_ATTR { 0 }
#define BOOL_ATTR(name, value) { name, VJP_ATTR_BOOL, { .b = value } }
#define S64_ATTR(name, value) { name, VJP_ATTR_S64, { .s64 = value } }
#define REAL_ATTR(name, value) { name, VJP_ATTR_F64, { .f64 = value } }
#define STR_ATTR(name, value) { name, VJP_ATTR_STR, { .str = value } }
#define ALPHA REAL_ATTR("alpha", 0.25)
#define BETA REAL_ATTR("beta", 0.5)
#define MIN_MAX REAL_ATTR("min", -0.5), REAL_ATTR("max", 1)
#define FROM_SRC BOOL_ATTR("use_dst", 0)
#define FROM_DST BOOL_ATTR("use_dst", 1)
#define NXC STR_ATTR("data_format", "NXC")
#define NCX STR_ATTR("data_format", "NCX")

#define NO_CHANNELS NCX, BOOL_ATTR("per_channel_broadcast", 0)

static const example examples[] = {
    CASE("relu", relu_backward, NULL, FROM_DST),
    CASE("relu from src", relu_backward, from_src, FROM_SRC),
    CASE("relu from dst", relu_backward, from_dst, FROM_DST),
    CASE("sigmoid", sigmoid_backward, NULL, FROM_DST),
    CASE("sigmoid from src", sigmoid_backward, from_src, FROM_SRC),
    CASE("sigmoid from dst", sigmoid_backward, from_src_then_dst, FROM_DST),
    CASE("hard sigmoid", hard_sigmoid_backward, set_hard_sigmoid, ALPHA, BETA),
    CASE("abs", abs, NULL, NO_ATTR),
    CASE("abs backward", abs_backward, NULL, NO_ATTR),
    CASE("clamp", clamp, set_min_max, MIN_MAX),
    CASE("clamp backward", clamp_backward, set_min_max, MIN_MAX),
    CASE("clamp backward from src", clamp_backward, clamp_from_src, MIN_MAX),
    CASE("elu", elu, set_alpha, ALPHA),
    CASE("elu backward", elu_backward, set_alpha, ALPHA, FROM_DST),
    CASE("elu backward from src", elu_backward, alpha_from_src, ALPHA, FROM_SRC),
    CASE("exp", exp, NULL, NO_ATTR),
    CASE("gelu", gelu, NULL, STR_ATTR("mode", "gelu_erf")),
    CASE("gelu tanh", gelu, gelu_tanh, STR_ATTR("mode", "gelu_tanh")),
    CASE("gelu backward", gelu_backward, NULL, STR_ATTR("mode", "gelu_erf")),
    CASE("gelu tanh backward", gelu_backward, gelu_tanh, STR_ATTR("mode", "gelu_tanh")),
    CASE("hard sigmoid forward", hard_sigmoid, set_hard_sigmoid, ALPHA, BETA),
    CASE("hard swish", hard_swish, NULL, NO_ATTR),
    CASE("hard swish backward", hard_swish_backward, NULL, NO_ATTR),
    CASE("leaky relu", leaky_relu, set_alpha, ALPHA),
    CASE("log", log, NULL, NO_ATTR),
    CASE("mish", mish, NULL, NO_ATTR),
    CASE("mish backward", mish_backward, NULL, NO_ATTR),
    CASE("reciprocal", reciprocal, NULL, NO_ATTR),
    CASE("relu forward", relu, NULL, NO_ATTR),
    CASE("round", round, NULL, NO_ATTR),
    CASE("sigmoid forward", sigmoid, NULL, NO_ATTR),
    CASE("softplus", softplus, NULL, REAL_ATTR("beta", 1)),
    CASE("softplus beta", softplus, beta_half, BETA),
    CASE("softplus backward", softplus_backward, NULL, REAL_ATTR("beta", 1)),
    CASE("softplus backward beta", softplus_backward, beta_half, BETA),
    CASE("sqrt", sqrt, NULL, NO_ATTR),
    CASE("sqrt backward", sqrt_backward, NULL, FROM_DST),
    CASE("sqrt backward from src", sqrt_backward, from_src, FROM_SRC),
    CASE("square", square, NULL, NO_ATTR),
    CASE("tanh", tanh, NULL, NO_ATTR),
    CASE("tanh backward", tanh_backward, NULL, FROM_DST),
    CASE("tanh backward from src", tanh_backward, from_src, FROM_SRC),
    SLOPE_CASE("prelu forward", prelu, NULL, NXC, 1, 5),
    SLOPE_CASE("prelu forward NCX", prelu, ncx, NCX, 1, 3),
    SLOPE_CASE("prelu forward, no channels", prelu, one_alignment, NO_CHANNELS, 1, 5),
    SLOPE_CASE("prelu forward src[1:]", prelu, NULL, NXC, 3, 3, 4, 5),
    CASE("softmax forward", softmax, NULL, S64_ATTR("axis", 1)),
    CASE("softmax forward, inf as zero", softmax, inf_as_zero, S64_ATTR("axis", 1),
         STR_ATTR("mode", "inf_as_zero")),
    CASE("log softmax forward", log_softmax, NULL, S64_ATTR("axis", 3)),
    CASE("log softmax forward axis 0", log_softmax, axis_0, S64_ATTR("axis", 0)),
    CASE("log softmax", log_softmax_backward, NULL, S64_ATTR("axis", 3)),
    CASE("log softmax axis 0", log_softmax_backward, axis_0, S64_ATTR("axis", 0)),
    CASE("softmax", softmax_backward, NULL, S64_ATTR("axis", 1)),
    CASE("softmax axis 0", softmax_backward, axis_0, S64_ATTR("axis", 0)),
    CASE("softmax axis -1", softmax_backward, axis_last, S64_ATTR("axis", 3)),
    SLOPE_CASE("prelu", prelu_backward, NULL, NXC, 1, 5),
    SLOPE_CASE("prelu NXC", prelu_backward, nxc, NXC, 1, 5),
    SLOPE_CASE("prelu NCX", prelu_backward, ncx, NCX, 1, 3),
    SLOPE_CASE("prelu per tensor", prelu_backward, ncx, NCX, 1, 1),
    SLOPE_CASE("prelu src[1:]", prelu_backward, NULL, NXC, 3, 3, 4, 5),
    SLOPE_CASE("prelu broadcast", prelu_backward, ncx, NCX, 4, 2, 1, 4, 1),
};

/* ---- problems ----------------------------------------------------------------------------- */

static operation make_operation(const example *e, const layout *l, dnnl_data_type_t dtype,
                                dnnl_data_type_t diff_src_dtype)
{
    logical_tensor first = describe(l[0], dtype), second = describe(l[1], dtype);
    logical_tensor diff_src = describe(l[2], diff_src_dtype);
    operation o = elementwise(e->kind, first);
    if (e->kind == dnnl_graph_op_prelu) {
        o.tensors[1] = with_id(dense(0, dtype, e->slope_ndims, e->slope_dims), 1);
        o.tensors[2] = with_id(diff_src, 2);
    } else if (kind_gradient(problem_start(e->op).op) < 0) {
        o = forward(e->kind, first);
        o.tensors[1] = with_id(diff_src, 1);
    } else if (e->kind == dnnl_graph_op_prelu_backward) {
        o = prelu(first, dense(0, dtype, e->slope_ndims, e->slope_dims));
        o.tensors[2] = with_id(second, 2);
        o.tensors[3] = with_id(diff_src, 3);
        if (l[2] == OPEN)
            o.tensors[4] = open_tensor(4, dtype);
    } else {
        o.tensors[1] = with_id(second, 1);
        o.tensors[2] = with_id(diff_src, 2);
    }
    o.set_attrs = e->set_attrs;
    return o;
}

/* problem_of - the example as the oracle sees it; vjp has the tensors in the same order, and
 * optional ones after them. */
static problem problem_of(const example *e, const operation *o)
{
    problem p = problem_start(e->op);
    for (size_t i = 0; i < COUNT_OF(e->attrs) && e->attrs[i].name; i++)
        problem_add_attr(&p, e->attrs[i]);
    for (int32_t i = 0; i < p.ntensors; i++) {
        const vjp_tensor_info *info = vjp_op_tensor(p.op, i);
        int is_slope = info->shape_rule == VJP_SHAPE_PARAM, is_output = i >= p.op->ninputs;
        size_t index = (size_t)(is_output ? i - p.op->ninputs : i);
        if (index >= (is_output ? o->noutputs : o->ninputs)) {
            problem_drop(&p, i);
            continue;
        }
        assert_int_equal(vjp_tensor_contiguous(dtype_of(&o->tensors[is_output ? o->ninputs + index
                                                                              : index]),
                                               is_slope ? e->slope_ndims : NDIMS,
                                               is_slope ? e->slope_dims : block_dims,
                                               &p.tensors[i]),
                         VJP_OK);
    }
    return p;
}

/* input_value - exact in every dtype, of both signs and 0, where the operation takes them. */
static double input_value(const problem *p, int32_t tensor, int64_t index)
{
    int64_t mixed = index * 37 + (int64_t)tensor * 11;
    oracle_domain domain = oracle_home_domain(p, tensor);
    return domain == ORACLE_FRACTION    ? (double)(mixed % 63 + 1) / 64
           : domain == ORACLE_LOGARITHM ? -(double)(mixed % 61) / 16
                                        : (double)(mixed % 61 - 30) / 16;
}

static void make_data(const machine *m, const problem *p, void **data)
{
    for (size_t i = 0; i < m->o.ninputs + m->o.noutputs; i++) {
        size_t size = bytes_of(&m->resolved[i]);
        data[i] = malloc(size);
        assert_non_null(data[i]);
        memset(data[i], GUARD, size);
        for (int64_t k = 0; i < m->o.ninputs && k < count_of(&m->resolved[i]); k++)
            put_at(&m->resolved[i], data[i], k, input_value(p, (int32_t)i, k));
    }
}

static void free_data(void **data)
{
    for (size_t i = 0; i < MAX_TENSORS; i++)
        free(data[i]);
}

/* The outputs of a run, as the oracle's visitor sees them. */
typedef struct outcome {
    const machine *m;
    const example *e;
    void *const *outputs;
} outcome;

static void check_element(void *user, int32_t output, int64_t index, long double value,
                          bound within)
{
    const outcome *o = user;
    const logical_tensor *lt = &o->m->resolved[o->m->o.ninputs + (size_t)output];
    double got = value_at(lt, o->outputs[output], index);
    if (!bound_holds(within, dtype_of(lt), value, got))
        fail_msg("%s: output %d, element %lld is %.9g, expected %.9g", o->e->name, (int)output,
                 (long long)index, got, (double)value);
}

/* check_outputs - against the oracle's answer for the inputs as make_data writes them. */
static void check_outputs(const machine *m, const example *e, const problem *p,
                          void *const *outputs)
{
    outcome o = { m, e, outputs };
    double *inputs[MAX_TENSORS] = { NULL };
    for (int32_t i = 0; i < p->op->ninputs && problem_has(p, i); i++) {
        int64_t count = tensor_count(&p->tensors[i]);
        inputs[i] = malloc((size_t)count * sizeof(**inputs));
        assert_non_null(inputs[i]);
        for (int64_t k = 0; k < count; k++)
            inputs[i][k] = input_value(p, i, k);
    }
    oracle_answer(p, (const double *const *)inputs, check_element, &o);
    for (int32_t i = 0; i < p->op->ninputs; i++)
        free(inputs[i]);
}

/* check_guards - bytes that belong to no element are as they were. */
static void check_guards(const logical_tensor *lt, const unsigned char *data)
{
    size_t size = bytes_of(lt), element = lt->data_type == dnnl_f32 ? 4 : 2;
    char *used = calloc(size, 1);
    assert_non_null(used);
    for (int64_t k = 0; k < count_of(lt); k++)
        memset(used + (size_t)offset_of(lt, k) * element, 1, element);
    for (size_t i = 0; i < size; i++)
        assert_true(used[i] || data[i] == GUARD);
    free(used);
}

/* check_pair - an output in the memory of an input is as right as in memory of its own. */
static void check_pair(const machine *m, const example *e, const problem *p, size_t input,
                       size_t output)
{
    void *own[MAX_TENSORS] = { NULL }, *used[MAX_TENSORS];
    make_data(m, p, own);
    memcpy(used, own, sizeof(used));
    used[output] = own[input];
    assert_ok(machine_run(m, used, NULL));
    check_outputs(m, e, p, used + m->o.ninputs);
    free_data(own);
}

/* check_in_place - each input that has the dtype, shape and strides of an output can be it, whether
 * the library reports the pair or not. */
static void check_in_place(const machine *m, const example *e, const problem *p)
{
    size_t first_output = m->o.ninputs;
    for (size_t o = first_output; o < first_output + m->o.noutputs; o++)
        for (size_t i = 0; i < m->o.ninputs; i++) {
            logical_tensor like = with_id(m->resolved[i], o);
            if (are_equal(&like, &m->resolved[o]))
                check_pair(m, e, p, i, o);
        }
}

static void run_example(const example *e, const layout *l, dnnl_data_type_t dtype,
                        dnnl_data_type_t diff_src_dtype)
{
    operation o = make_operation(e, l, dtype, diff_src_dtype);
    machine m = machine_start(&o, NULL);
    problem p = problem_of(e, &o);
    void *data[MAX_TENSORS] = { NULL };
    make_data(&m, &p, data);
    void *scratchpad = malloc(scratchpad_size(&m) + 1);
    assert_ok(machine_run(&m, data, scratchpad));
    check_outputs(&m, e, &p, data + o.ninputs);
    for (size_t i = 0; i < o.noutputs; i++)
        check_guards(&m.resolved[o.ninputs + i], data[o.ninputs + i]);
    check_in_place(&m, e, &p);
    free(scratchpad);
    free_data(data);
    machine_stop(&m);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void values_agree_in_every_dtype_and_layout(void **state)
{
    const example *e = *state;
    for (size_t d = 0; d < COUNT_OF(dtypes); d++)
        for (size_t l = 0; l < COUNT_OF(layouts); l++) {
            run_example(e, layouts[l], dtypes[d], dtypes[d]);
            if (e->kind == dnnl_graph_op_softmax_backward)
                run_example(e, layouts[l], dtypes[d], dnnl_f32);
        }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(examples)];
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        tests[i] = (struct CMUnitTest){ examples[i].name, values_agree_in_every_dtype_and_layout,
                                        NULL, NULL, (void *)&examples[i] };
    return _cmocka_run_group_tests("values", tests, COUNT_OF(tests), NULL, NULL);
}
