/* SPDX-License-Identifier: Apache-2.0 */
/* test_values.c - every served operation, by default and by explicit attributes, in every dtype
 * and in several layouts, against the reference; the bytes between elements stay as they were;
 * and again with each output in the memory of each input that looks the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drop_in.h"
#include "dtypes.h"
#include "reference.h"

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

static void nxc(dnnl_graph_op_t op)
{
    set_str(op, dnnl_graph_op_attr_data_format, "NXC");
}

/* The length that goes with a string does not count, as in oneDNN: its NUL ends it. */
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

typedef struct example {
    const char *name;
    dnnl_graph_op_kind_t kind;
    void (*set_attrs)(dnnl_graph_op_t op);
    parameters parameters;
    int slope_ndims;
    int64_t slope_dims[NDIMS];
    int is_forward; /* one input, one output */
} example;

static const example examples[] = {
    { "relu", dnnl_graph_op_relu_backward, NULL, { .use_dst = 1 }, 0, { 0 }, 0 },
    { "relu from src", dnnl_graph_op_relu_backward, from_src, { .use_dst = 0 }, 0, { 0 }, 0 },
    { "relu from dst", dnnl_graph_op_relu_backward, from_dst, { .use_dst = 1 }, 0, { 0 }, 0 },
    { "sigmoid", dnnl_graph_op_sigmoid_backward, NULL, { .use_dst = 1 }, 0, { 0 }, 0 },
    { "sigmoid from src", dnnl_graph_op_sigmoid_backward, from_src, { .use_dst = 0 }, 0, { 0 }, 0 },
    { "sigmoid from dst",
      dnnl_graph_op_sigmoid_backward,
      from_src_then_dst,
      { .use_dst = 1 },
      0,
      { 0 }, 0 },
    { "hard sigmoid",
      dnnl_graph_op_hard_sigmoid_backward,
      set_hard_sigmoid,
      { .alpha = 0.25, .beta = 0.5 },
      0,
      { 0 }, 0 },
#define FORWARD(name, kind, set, ...) \
    { name, dnnl_graph_op_##kind, set, { __VA_ARGS__ }, 0, { 0 }, 1 }
#define BACKWARD(name, kind, set, ...) \
    { name, dnnl_graph_op_##kind, set, { __VA_ARGS__ }, 0, { 0 }, 0 }
    FORWARD("abs", abs, NULL, 0),
    BACKWARD("abs backward", abs_backward, NULL, 0),
    FORWARD("clamp", clamp, set_min_max, .min = -0.5, .max = 1),
    BACKWARD("clamp backward", clamp_backward, set_min_max, .min = -0.5, .max = 1, .use_dst = 1),
    BACKWARD("clamp backward from src", clamp_backward, clamp_from_src, .min = -0.5, .max = 1),
    FORWARD("elu", elu, set_alpha, .alpha = 0.25),
    BACKWARD("elu backward", elu_backward, set_alpha, .alpha = 0.25, .use_dst = 1),
    BACKWARD("elu backward from src", elu_backward, alpha_from_src, .alpha = 0.25),
    FORWARD("exp", exp, NULL, 0),
    FORWARD("gelu", gelu, NULL, 0),
    FORWARD("gelu tanh", gelu, gelu_tanh, .tanh_form = 1),
    BACKWARD("gelu backward", gelu_backward, NULL, 0),
    BACKWARD("gelu tanh backward", gelu_backward, gelu_tanh, .tanh_form = 1),
    FORWARD("hard sigmoid forward", hard_sigmoid, set_hard_sigmoid, .alpha = 0.25, .beta = 0.5),
    FORWARD("hard swish", hard_swish, NULL, 0),
    BACKWARD("hard swish backward", hard_swish_backward, NULL, 0),
    FORWARD("leaky relu", leaky_relu, set_alpha, .alpha = 0.25),
    FORWARD("log", log, NULL, 0),
    FORWARD("mish", mish, NULL, 0),
    BACKWARD("mish backward", mish_backward, NULL, 0),
    FORWARD("reciprocal", reciprocal, NULL, 0),
    FORWARD("relu forward", relu, NULL, 0),
    FORWARD("round", round, NULL, 0),
    FORWARD("sigmoid forward", sigmoid, NULL, 0),
    FORWARD("softplus", softplus, NULL, .beta = 1),
    FORWARD("softplus beta", softplus, beta_half, .beta = 0.5),
    BACKWARD("softplus backward", softplus_backward, NULL, .beta = 1),
    BACKWARD("softplus backward beta", softplus_backward, beta_half, .beta = 0.5),
    FORWARD("sqrt", sqrt, NULL, 0),
    BACKWARD("sqrt backward", sqrt_backward, NULL, .use_dst = 1),
    BACKWARD("sqrt backward from src", sqrt_backward, from_src, 0),
    FORWARD("square", square, NULL, 0),
    FORWARD("tanh", tanh, NULL, 0),
    BACKWARD("tanh backward", tanh_backward, NULL, .use_dst = 1),
    BACKWARD("tanh backward from src", tanh_backward, from_src, 0),
    { "prelu forward", dnnl_graph_op_prelu, NULL, { .channel_dim = 3 }, 1, { 5 }, 0 },
    { "prelu forward NCX", dnnl_graph_op_prelu, ncx, { .channel_dim = 1 }, 1, { 3 }, 0 },
    { "prelu forward, no channels", dnnl_graph_op_prelu, one_alignment, { .channel_dim = 3 }, 1, { 5 }, 0 },
    { "prelu forward src[1:]", dnnl_graph_op_prelu, NULL, { 0 }, 3, { 3, 4, 5 }, 0 },
    { "softmax", dnnl_graph_op_softmax_backward, NULL, { .axis = 1 }, 0, { 0 }, 0 },
    { "softmax axis 0", dnnl_graph_op_softmax_backward, axis_0, { .axis = 0 }, 0, { 0 }, 0 },
    { "softmax axis -1", dnnl_graph_op_softmax_backward, axis_last, { .axis = 3 }, 0, { 0 }, 0 },
    { "prelu", dnnl_graph_op_prelu_backward, NULL, { .channel_dim = 3 }, 1, { 5 }, 0 },
    { "prelu NXC", dnnl_graph_op_prelu_backward, nxc, { .channel_dim = 3 }, 1, { 5 }, 0 },
    { "prelu NCX", dnnl_graph_op_prelu_backward, ncx, { .channel_dim = 1 }, 1, { 3 }, 0 },
    { "prelu per tensor", dnnl_graph_op_prelu_backward, ncx, { .channel_dim = 1 }, 1, { 1 }, 0 },
    { "prelu src[1:]", dnnl_graph_op_prelu_backward, NULL, { 0 }, 3, { 3, 4, 5 }, 0 },
    { "prelu broadcast", dnnl_graph_op_prelu_backward, ncx, { 0 }, 4, { 2, 1, 4, 1 }, 0 },
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
    } else if (e->is_forward) {
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

/* The domain of roots, logarithms and reciprocals, and the output of a sigmoid, a tanh or a root. */
static int is_between_0_and_1(const example *e)
{
    switch (e->kind) {
    case dnnl_graph_op_log:
    case dnnl_graph_op_reciprocal:
    case dnnl_graph_op_sqrt:
    case dnnl_graph_op_sqrt_backward:
        return 1;
    case dnnl_graph_op_sigmoid_backward:
    case dnnl_graph_op_tanh_backward:
    case dnnl_graph_op_elu_backward:
        return e->parameters.use_dst;
    default:
        return 0;
    }
}

/* input_value - exact in every dtype, of both signs and 0, where the operation takes them. */
static double input_value(const example *e, size_t tensor, int64_t index)
{
    int64_t mixed = index * 37 + (int64_t)tensor * 11;
    int is_probability = (e->kind == dnnl_graph_op_softmax_backward && tensor == 1) ||
                         (tensor == 0 && is_between_0_and_1(e));
    return is_probability ? (double)(mixed % 63 + 1) / 64 : (double)(mixed % 61 - 30) / 16;
}

static void make_data(const machine *m, const example *e, void **data)
{
    for (size_t i = 0; i < m->o.ninputs + m->o.noutputs; i++) {
        size_t size = bytes_of(&m->resolved[i]);
        data[i] = malloc(size);
        assert_non_null(data[i]);
        memset(data[i], GUARD, size);
        for (int64_t k = 0; i < m->o.ninputs && k < count_of(&m->resolved[i]); k++)
            put_at(&m->resolved[i], data[i], k, input_value(e, i, k));
    }
}

static void free_data(void **data)
{
    for (size_t i = 0; i < MAX_TENSORS; i++)
        free(data[i]);
}

/* check_output - against values computed from `inputs`, which are not the ones overwritten. */
static void check_output(const machine *m, const example *e, void *const *inputs, size_t output,
                         const void *data)
{
    const logical_tensor *lt = &m->resolved[m->o.ninputs + output];
    for (int64_t k = 0; k < count_of(lt); k++) {
        wanted w = reference(&m->o, m->resolved, &e->parameters, inputs, output, k);
        double got = value_at(lt, data, k);
        double slack = w.slack + 0.5 * (double)dtype_ulp(dtype_of(lt), w.value);
        if (!(fabs(got - w.value) <= slack))
            fail_msg("%s: output %zu, element %lld is %.9g, wanted %.9g", e->name, output,
                     (long long)k, got, w.value);
    }
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

/* check_pair - an output in the memory of an input gets the same bytes as in memory of its own. */
static void check_pair(const machine *m, const example *e, void *const *data, size_t input,
                       size_t output)
{
    void *own[MAX_TENSORS] = { NULL }, *used[MAX_TENSORS];
    make_data(m, e, own);
    memcpy(used, own, sizeof(used));
    used[output] = own[input];
    assert_ok(machine_run(m, used, NULL));
    for (size_t i = 0; i < m->o.noutputs; i++)
        check_output(m, e, data, i, used[m->o.ninputs + i]);
    free_data(own);
}

/* check_in_place - each input that has the dtype, shape and strides of an output can be it, whether
 * the library reports the pair or not. */
static void check_in_place(const machine *m, const example *e, void *const *data)
{
    size_t first_output = m->o.ninputs;
    for (size_t o = first_output; o < first_output + m->o.noutputs; o++)
        for (size_t i = 0; i < m->o.ninputs; i++) {
            logical_tensor like = with_id(m->resolved[i], o);
            if (are_equal(&like, &m->resolved[o]))
                check_pair(m, e, data, i, o);
        }
}

static void run_example(const example *e, const layout *l, dnnl_data_type_t dtype,
                        dnnl_data_type_t diff_src_dtype)
{
    operation o = make_operation(e, l, dtype, diff_src_dtype);
    machine m = machine_start(&o, NULL);
    void *data[MAX_TENSORS] = { NULL };
    make_data(&m, e, data);
    void *scratchpad = malloc(scratchpad_size(&m) + 1);
    assert_ok(machine_run(&m, data, scratchpad));
    for (size_t i = 0; i < o.noutputs; i++) {
        check_output(&m, e, data, i, data[o.ninputs + i]);
        check_guards(&m.resolved[o.ninputs + i], data[o.ninputs + i]);
    }
    check_in_place(&m, e, data);
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
