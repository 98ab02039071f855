/* SPDX-License-Identifier: Apache-2.0 */
/* test_norms.c - LayerNorm, its backward, RMSNorm and SoftMax's stats against the oracle:
 * statistics and parameters of every data type that they may have, shapes that are inferred, and
 * the attributes that say which tensors there are. */
#include <stdlib.h>
#include <string.h>

#include "drop_in.h"
#include "oracle.h"

enum {
    NDIMS = 4
};

/* ---- examples ----------------------------------------------------------------------------- */

static void no_statistics(dnnl_graph_op_t op)
{
    set_bool(op, dnnl_graph_op_attr_keep_stats, 0);
}

static void not_affine(dnnl_graph_op_t op)
{
    set_bool(op, dnnl_graph_op_attr_use_affine, 0);
}

static void two_dims(dnnl_graph_op_t op)
{
    set_s64(op, dnnl_graph_op_attr_begin_norm_axis, 2);
    set_f32(op, dnnl_graph_op_attr_epsilon, 0.125f);
}

/* An operation by the names that vjp has for its tensors, "" for what it does not have. */
typedef struct example {
    const char *name;
    dnnl_graph_op_kind_t kind;
    const char *op;
    size_t ninputs, noutputs;
    const char *tensors[MAX_TENSORS];
    int axis; /* the first dim of the rows, which run to the last; of SoftMax the only one */
    void (*set_attrs)(dnnl_graph_op_t op);
    vjp_attr attrs[3]; /* up to the first without a name */
} example;

#define AXIS(value) { "axis", VJP_ATTR_S64, { .s64 = value } }
#define EPSILON(value) { "epsilon", VJP_ATTR_F32, { .f32 = value } }
#define VARIANCE { "statistics", VJP_ATTR_STR, { .str = "variance" } }
#define DEFAULTS EPSILON(1e-5f), VARIANCE
#define TWO_DIMS AXIS(2), EPSILON(0.125f), VARIANCE
#define LIST(...) __VA_ARGS__
#define CASE(name, kind, nin, nout, tensors, axis, set, ...) \
    { name, dnnl_graph_op_##kind, #kind, nin, nout, { LIST tensors }, axis, set, { __VA_ARGS__ } }
#define STATISTICS "dst", "mean", "rstd"
#define GRADIENTS "diff_src", "diff_gamma", "diff_beta"
#define SAVED "src", "diff_dst", "mean", "rstd"

static const example examples[] = {
    CASE("layer norm", layer_norm, 3, 3, ("src", "gamma", "beta", STATISTICS), 3, NULL, DEFAULTS),
    CASE("layer norm of two dims", layer_norm, 3, 3, ("src", "gamma", "beta", STATISTICS), 2,
         two_dims, TWO_DIMS),
    CASE("layer norm, not affine", layer_norm, 1, 3, ("src", STATISTICS), 3, not_affine, DEFAULTS),
    CASE("layer norm, dst alone", layer_norm, 3, 1, ("src", "gamma", "beta", "dst"), 3,
         no_statistics, DEFAULTS),
    CASE("layer norm backward", layer_norm_backward, 6, 3, (SAVED, "gamma", "", GRADIENTS), 3, NULL,
         DEFAULTS),
    CASE("layer norm backward of two dims", layer_norm_backward, 5, 3, (SAVED, "gamma", GRADIENTS),
         2, two_dims, TWO_DIMS),
    CASE("layer norm backward without gamma", layer_norm_backward, 4, 3, (SAVED, GRADIENTS), 3,
         NULL, DEFAULTS),
    CASE("layer norm backward, not affine", layer_norm_backward, 4, 1, (SAVED, "diff_src"), 3,
         not_affine, DEFAULTS),
    CASE("rms norm", rms_norm, 2, 1, ("src", "gamma", "dst"), 3, NULL, EPSILON(1e-5f)),
    CASE("rms norm without gamma", rms_norm, 1, 1, ("src", "dst"), 3, NULL, EPSILON(1e-5f)),
    CASE("rms norm of two dims", rms_norm, 2, 1, ("src", "gamma", "dst"), 2, two_dims, AXIS(2),
         EPSILON(0.125f)),
    CASE("softmax and stats", softmax, 1, 2, ("src", "dst", "stats"), 1, NULL, AXIS(1)),
};

/* ---- one example -------------------------------------------------------------------------- */

static int is_output(const example *e, size_t i)
{
    return i >= e->ninputs;
}

static vjp_shape_rule rule_of(const problem *p, const example *e, size_t i)
{
    return e->tensors[i][0] ? vjp_op_tensor(p->op, problem_tensor(p, e->tensors[i]))->shape_rule
                            : VJP_SHAPE_PARAM;
}

static logical_tensor describe(const problem *p, const example *e, size_t i, dnnl_data_type_t dtype,
                               dnnl_data_type_t stats)
{
    int64_t dims[NDIMS];
    memcpy(dims, block_dims, sizeof dims);
    switch (rule_of(p, e, i)) {
    case VJP_SHAPE_PARAM:
        return dense(i, stats, NDIMS - e->axis, dims + e->axis);
    case VJP_SHAPE_ROW:
        if (e->kind != dnnl_graph_op_softmax)
            return dense(i, stats, e->axis, dims);
        dims[e->axis] = 1;
        return dense(i, stats, NDIMS, dims);
    default:
        return dense(i, dtype, NDIMS, dims);
    }
}

/* What the oracle is asked; drops what the operation does not have. */
static problem problem_of(const example *e)
{
    problem p = problem_start(e->op);
    for (size_t i = 0; i < COUNT_OF(e->attrs) && e->attrs[i].name; i++)
        problem_add_attr(&p, e->attrs[i]);
    for (int32_t t = 0; t < p.ntensors; t++) {
        size_t i = 0;
        while (i < e->ninputs + e->noutputs &&
               strcmp(e->tensors[i], vjp_op_tensor(p.op, t)->name) != 0)
            i++;
        if (i == e->ninputs + e->noutputs)
            problem_drop(&p, t);
    }
    return p;
}

/* Exact in every dtype; a variance is above 0. */
static double value_of(const example *e, size_t tensor, int64_t index)
{
    int64_t mixed = index * 37 + (int64_t)tensor * 11;
    if (strcmp(e->tensors[tensor], "rstd") == 0)
        return (double)(mixed % 7 + 1) / 4;
    return (double)(mixed % 61 - 30) / 16;
}

typedef struct outcome {
    const machine *m;
    const example *e;
    const problem *p;
    void *const *data;
    int checked;
} outcome;

static void check_element(void *user, int32_t output, int64_t index, long double value,
                          bound within)
{
    outcome *o = user;
    const char *name = vjp_op_tensor(o->p->op, o->p->op->ninputs + output)->name;
    size_t i = o->e->ninputs;
    while (strcmp(o->e->tensors[i], name) != 0)
        i++;
    double got = value_at(&o->m->resolved[i], o->data[i], index);
    if (!bound_holds(within, dtype_of(&o->m->resolved[i]), value, got))
        fail_msg("%s: %s[%lld] is %.9g, expected %.9g", o->e->name, name, (long long)index, got,
                 (double)value);
    o->checked++;
}

static void check_outputs(const machine *m, const example *e, problem *p, void *const *data)
{
    double *inputs[PROBLEM_TENSORS] = { NULL };
    outcome o = { m, e, p, data, 0 };
    for (size_t i = 0; i < e->ninputs + e->noutputs; i++) {
        int32_t t = e->tensors[i][0] ? problem_tensor(p, e->tensors[i]) : -1;
        const logical_tensor *lt = &m->resolved[i];
        if (t < 0)
            continue;
        assert_int_equal(vjp_tensor_contiguous(dtype_of(lt), lt->ndims, lt->dims, &p->tensors[t]),
                         VJP_OK);
        if (is_output(e, i))
            continue;
        inputs[t] = malloc((size_t)count_of(lt) * sizeof(double));
        for (int64_t k = 0; k < count_of(lt); k++)
            inputs[t][k] = value_of(e, i, k);
    }
    oracle_answer(p, (const double *const *)inputs, check_element, &o);
    assert_true(o.checked > 0);
    for (int32_t t = 0; t < p->op->ninputs; t++)
        free(inputs[t]);
}

/* open: the outputs' shapes are not given. */
static void run_example(const example *e, dnnl_data_type_t dtype, dnnl_data_type_t stats, int open)
{
    operation o = { e->kind, e->ninputs, e->noutputs, { { 0 } }, e->set_attrs };
    problem p = problem_of(e);
    void *data[MAX_TENSORS] = { NULL };
    for (size_t i = 0; i < e->ninputs + e->noutputs; i++) {
        o.tensors[i] = describe(&p, e, i, dtype, stats);
        if (open && is_output(e, i))
            o.tensors[i] = open_tensor(i, o.tensors[i].data_type);
    }
    machine m = machine_start(&o, NULL);
    for (size_t i = 0; i < e->ninputs + e->noutputs; i++) {
        logical_tensor wanted = describe(&p, e, i, dtype, stats);
        assert_int_equal(m.resolved[i].ndims, wanted.ndims);
        data[i] = calloc(bytes_of(&m.resolved[i]), 1);
        for (int64_t k = 0; !is_output(e, i) && k < count_of(&m.resolved[i]); k++)
            put_at(&m.resolved[i], data[i], k, value_of(e, i, k));
    }
    assert_ok(machine_run(&m, data, NULL));
    check_outputs(&m, e, &p, data);
    for (size_t i = 0; i < MAX_TENSORS; i++)
        free(data[i]);
    machine_stop(&m);
}

static void values_agree_in_every_dtype(void **state)
{
    static const dnnl_data_type_t dtypes[] = { dnnl_f32, dnnl_bf16, dnnl_f16 };
    const example *e = *state;
    for (size_t d = 0; d < COUNT_OF(dtypes); d++)
        for (int open = 0; open < 2; open++)
            run_example(e, dtypes[d], dnnl_f32, open);
    if (e->kind != dnnl_graph_op_softmax)
        run_example(e, dnnl_bf16, dnnl_bf16, 0);
}

/* ---- what is refused ---------------------------------------------------------------------- */

static dnnl_status_t added(const example *e, size_t ninputs, size_t noutputs,
                           dnnl_data_type_t dtype, dnnl_data_type_t stats,
                           void (*set_attrs)(dnnl_graph_op_t op))
{
    operation o = { e->kind, ninputs, noutputs, { { 0 } }, set_attrs };
    problem p = problem_of(e);
    dnnl_graph_graph_t graph;
    for (size_t i = 0; i < ninputs + noutputs; i++)
        o.tensors[i] = describe(&p, e, i < ninputs ? i : e->ninputs + i - ninputs, dtype, stats);
    for (size_t i = 0; i < ninputs + noutputs; i++)
        o.tensors[i].id = i;
    dnnl_graph_op_t op = make_op(&o, 0);
    assert_ok(dnnl_graph_graph_create(&graph, dnnl_cpu));
    dnnl_status_t status = dnnl_graph_add_op(graph, op);
    assert_ok(dnnl_graph_graph_destroy(graph));
    assert_ok(dnnl_graph_op_destroy(op));
    return status;
}

static void statistics_must_be_there_unless_an_attribute_says_otherwise(void **state)
{
    const example *forward_norm = &examples[0], *backward = &examples[4];
    (void)state;
    assert_ok(added(forward_norm, 3, 3, dnnl_f32, dnnl_f32, NULL));
    assert_dnnl(dnnl_invalid_graph_op, added(forward_norm, 3, 1, dnnl_f32, dnnl_f32, NULL));
    assert_ok(added(forward_norm, 3, 1, dnnl_f32, dnnl_f32, no_statistics));
    assert_dnnl(dnnl_invalid_graph_op, added(backward, 6, 1, dnnl_f32, dnnl_f32, NULL));
    assert_ok(added(backward, 6, 1, dnnl_f32, dnnl_f32, not_affine));
}

static void parameters_are_f32_or_bf16_beside_bf16(void **state)
{
    const example *e = &examples[0];
    (void)state;
    assert_ok(added(e, 3, 3, dnnl_bf16, dnnl_bf16, NULL));
    assert_ok(added(e, 3, 3, dnnl_f16, dnnl_f32, NULL));
    assert_dnnl(dnnl_invalid_graph_op, added(e, 3, 3, dnnl_f16, dnnl_f16, NULL));
    assert_dnnl(dnnl_invalid_graph_op, added(e, 3, 3, dnnl_f32, dnnl_bf16, NULL));
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(examples) + 2] = {
        cmocka_unit_test(statistics_must_be_there_unless_an_attribute_says_otherwise),
        cmocka_unit_test(parameters_are_f32_or_bf16_beside_bf16),
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        tests[2 + i] = (struct CMUnitTest){ examples[i].name, values_agree_in_every_dtype, NULL,
                                            NULL, (void *)&examples[i] };
    return _cmocka_run_group_tests("norms", tests, COUNT_OF(tests), NULL, NULL);
}
