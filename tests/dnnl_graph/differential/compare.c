/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - one question to both libraries; see compare.h. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "differences.h"
#include "dtypes.h"

typedef struct comparison {
    answer there, here;
    const question *q;
    char subject[96];
    unsigned long number;
} comparison;

static void note(const comparison *c, const char *stage, const char *there, const char *here)
{
    differ(c->subject, stage, there, here, c->number);
}

/* say - a name for a status; from our library, whose names test_abi.c checks. */
static const char *say(const comparison *c, dnnl_status_t status)
{
    return status == EXCEPTION ? "an exception" : c->here.lib->status2str(status);
}

static void compare_status(const comparison *c, const char *stage, dnnl_status_t there,
                           dnnl_status_t here)
{
    if (there != here)
        note(c, stage, say(c, there), say(c, here));
}

static void compare_count(const comparison *c, const char *stage, size_t there, size_t here)
{
    char a[24], b[24];
    if (there == here)
        return;
    snprintf(a, sizeof(a), "%zu", there);
    snprintf(b, sizeof(b), "%zu", here);
    note(c, stage, a, b);
}

/* both - do a stage on both sides and compare the statuses; whether both succeeded. */
static int both(comparison *c, const char *stage, void (*run)(answer *))
{
    run(&c->here);
    differ_if_it_ends(c->subject, stage, say(c, c->here.status), c->number);
    run(&c->there);
    compare_status(c, stage, c->there.status, c->here.status);
    return !c->there.status && !c->here.status;
}

/* ---- values ------------------------------------------------------------------------------- */

/* magnitude - 1 + the largest finite input, multiplied over the inputs: what rounding errors of a
 * sum or a product are measured by. */
static double magnitude(const answer *a)
{
    double product = 1;
    for (size_t i = 0; i < a->q->ninputs; i++) {
        double largest = 0;
        for (int64_t k = 0; k < count_of(&a->resolved[i]); k++) {
            double value = fabs(value_at(&a->resolved[i], a->data[i], k));
            largest = isfinite(value) && value > largest ? value : largest;
        }
        product *= 1 + largest;
    }
    return product;
}

static const char *class_of(double value)
{
    if (isnan(value))
        return "NaN";
    if (isinf(value))
        return "an infinity";
    return value == 0 ? signbit(value) ? "-0" : "0" : "a number";
}

static int agree(vjp_dtype dtype, double there, double here, double slack)
{
    if (isnan(there) || isnan(here))
        return isnan(there) && isnan(here);
    if (isinf(there) || isinf(here))
        return there == here;
    if (there == 0 && here == 0)
        return !signbit(there) == !signbit(here);
    double ulp = dtype == VJP_F32 ? 0 : (double)dtype_ulp(dtype, here);
    return fabs(there - here) <=
           ulp + slack + 0x1p-20 * fabs(here); /* exp: a few ULP of a large result */
}

static void compare_values(const comparison *c)
{
    const answer *there = &c->there, *here = &c->here;
    /* Sums of n terms in f32, in one order or another; n is at most the largest tensor's. */
    double slack = 0x1p-20 * magnitude(here) * sqrt((double)count_of(&here->resolved[0]) + 1);
    for (size_t i = c->q->ninputs; i < c->q->ninputs + c->q->noutputs; i++) {
        const logical_tensor *a = &there->resolved[i], *b = &here->resolved[i];
        for (int64_t k = 0; k < count_of(b); k++) {
            double x = value_at(a, there->data[i], k), y = value_at(b, here->data[i], k);
            if (!agree(dtype_of(b), x, y, slack))
                note(c, c->q->has_specials ? "special values" : "values", class_of(x), class_of(y));
        }
    }
}

/* ---- stages ------------------------------------------------------------------------------- */

static int same_shape(const logical_tensor *a, const logical_tensor *b)
{
    size_t size = sizeof(a->dims[0]) * (size_t)(a->ndims > 0 ? a->ndims : 0);
    return a->ndims == b->ndims && memcmp(a->dims, b->dims, size) == 0 &&
           a->data_type == b->data_type && a->layout_type == b->layout_type;
}

static int same_strides(const logical_tensor *a, const logical_tensor *b)
{
    for (int i = 0; i < a->ndims; i++)
        if (a->dims[i] > 1 && a->layout.strides[i] != b->layout.strides[i])
            return 0;
    return 1;
}

/* compare_compiled - the outputs' descriptions and the in-place pairs; whether to execute. */
static int compare_compiled(const comparison *c)
{
    int shapes = 1, strides = 1;
    for (size_t i = 0; i < c->q->ninputs + c->q->noutputs; i++) {
        shapes &= same_shape(&c->there.resolved[i], &c->here.resolved[i]);
        strides &= same_strides(&c->there.resolved[i], &c->here.resolved[i]);
    }
    if (!shapes)
        note(c, "query_logical_tensor", "a shape", "another");
    else if (!strides)
        note(c, "query_logical_tensor", "strides", "others");
    compare_count(c, "get_inplace_ports", c->there.npairs, c->here.npairs);
    if (c->there.npairs == c->here.npairs &&
        memcmp(c->there.pairs, c->here.pairs, c->here.npairs * sizeof(c->here.pairs[0])) != 0)
        note(c, "get_inplace_ports", "some pairs", "others");
    return shapes;
}

static int run_stages(comparison *c)
{
    both(c, "op_create", answer_describe);
    for (size_t i = 0; i < c->q->nsettings; i++)
        compare_status(c, "set_attr", c->there.settings[i], c->here.settings[i]);
    if (!both(c, "add_op", answer_add))
        return 0;
    if (!both(c, "filter", answer_partition))
        return 1;
    compare_count(c, "get_partition_num", c->there.npartitions, c->here.npartitions);
    if (c->there.npartitions != 1 || c->here.npartitions != 1)
        return 1;
    compare_count(c, "is_supported", c->there.supported, c->here.supported);
    compare_count(c, "get_input_ports_num", c->there.ninputs, c->here.ninputs);
    compare_count(c, "get_output_ports_num", c->there.noutputs, c->here.noutputs);
    if (!c->there.supported || !c->here.supported)
        return 2;
    if (!both(c, "compile", answer_compile) || !compare_compiled(c))
        return 3;
    if (!both(c, "execute", answer_execute))
        return 4;
    compare_values(c);
    return 5;
}

int compare_question(const pair *libraries, dnnl_graph_op_kind_t kind, random_state *random,
                     unsigned long number)
{
    static dnnl_engine_t engines[2];
    static dnnl_stream_t streams[2];
    if (!engines[0]) {
        libraries->there->engine_create(&engines[0], dnnl_cpu, 0);
        libraries->here->engine_create(&engines[1], dnnl_cpu, 0);
        libraries->there->stream_create(&streams[0], engines[0], dnnl_stream_default_flags);
        libraries->here->stream_create(&streams[1], engines[1], dnnl_stream_default_flags);
    }
    const question q = draw_question(kind, random);
    comparison c = {
        .there = { .lib = libraries->there, .q = &q, .engine = engines[0], .stream = streams[0] },
        .here = { .lib = libraries->here, .q = &q, .engine = engines[1], .stream = streams[1] },
        .q = &q,
        .number = number
    };
    dnnl_data_type_t dtype = q.ninputs ? q.added[0].data_type : dnnl_data_type_undef;
    name_question(&q, libraries->here->dt2str(dtype), c.subject, sizeof(c.subject));
    int stages = run_stages(&c);
    answer_end(&c.there);
    answer_end(&c.here);
    return stages;
}
