/* SPDX-License-Identifier: Apache-2.0 */
/* question.c - see question.h. */
#include "question.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- shapes and layouts ------------------------------------------------------------------- */

static void draw_shape(random_state *random, int least, logical_tensor *lt)
{
    lt->ndims = (int)random_between(random, least, 5);
    for (int i = 0; i < lt->ndims; i++)
        lt->dims[i] = random_chance(random, 3) ? 0 : random_between(random, 1, 9);
}

/* make_strided - strides in a random order of the dims, sometimes with gaps; most often dense. */
static void make_strided(random_state *random, logical_tensor *lt)
{
    int32_t order[DNNL_MAX_NDIMS];
    for (int i = 0; i < lt->ndims; i++)
        order[i] = i;
    if (random_chance(random, 30))
        random_shuffle(random, order, lt->ndims);
    int64_t step = random_chance(random, 10) ? 2 : 1;
    for (int i = lt->ndims - 1; i >= 0; i--) {
        lt->layout.strides[order[i]] = step;
        step *= lt->dims[order[i]] ? lt->dims[order[i]] : 1;
        step += random_chance(random, 10) ? 3 : 0;
    }
    lt->layout_type = dnnl_graph_layout_type_strided;
}

/* describe - a tensor of that shape. */
static logical_tensor describe(random_state *random, size_t id, dnnl_data_type_t dtype,
                               const logical_tensor *shape)
{
    logical_tensor lt;
    memset(&lt, 0, sizeof(lt));
    lt.id = id;
    lt.data_type = dtype;
    lt.property = dnnl_graph_tensor_property_variable;
    lt.ndims = shape->ndims;
    memcpy(lt.dims, shape->dims, sizeof(lt.dims));
    make_strided(random, &lt);
    return lt;
}

static int is_slope(const dg_tensor_schema *tensor)
{
    return tensor && strstr(tensor->name, "slope") != NULL;
}

/* has_slope - of these, src of fewer than 2 dims and inputs of layout any are not drawn: oneDNN 3.2
 * crashes or does not return. */
static int has_slope(const dg_schema *schema)
{
    return is_slope(dg_schema_tensor(schema, 0, 1));
}

/* slope_shape - one that PReLU may have beside src, most often. */
static logical_tensor slope_shape(random_state *random, const logical_tensor *src)
{
    logical_tensor slope = *src;
    if (src->ndims == 0)
        return slope;
    int ndims = (int)random_between(random, 1, src->ndims);
    if (random_chance(random, 50))
        ndims = 1;
    slope.ndims = ndims;
    for (int i = 0; i < ndims; i++) {
        slope.dims[i] = src->dims[src->ndims - ndims + i];
        if (random_chance(random, 20))
            slope.dims[i] = 1;
    }
    if (ndims == 1 && src->ndims > 1 && random_chance(random, 30))
        slope.dims[0] = src->dims[1]; /* the channels of NCX */
    return slope;
}

/* ---- the operation ------------------------------------------------------------------------ */

static size_t draw_count(random_state *random, const dg_schema *schema, int is_output)
{
    size_t count = (size_t)random_below(random, SIDE + 1);
    if (random_chance(random, 5))
        return count;
    while (!dg_schema_takes_count(schema, is_output, count))
        count = (size_t)random_below(random, SIDE + 1);
    return count;
}

static dnnl_data_type_t draw_dtype(random_state *random, const dg_tensor_schema *tensor,
                                   dnnl_data_type_t t)
{
    if (random_chance(random, 2)) /* any of those that both libraries know */
        return (dnnl_data_type_t)random_below(random, dnnl_boolean + 1);
    if (tensor && tensor->rule == DG_F32_ONLY)
        return dnnl_f32;
    if (tensor && tensor->rule != DG_T && random_chance(random, 20))
        return dnnl_f32;
    return t;
}

static vjp_attr draw_value_of(random_state *random, const dg_attr_schema *attr)
{
    static const float numbers[] = { -1, 0, 0.2f, 0.5f, 1, 3 };
    static const char *const texts[] = { "NXC", "NCX", "gelu_erf", "gelu_tanh", "none", "NHWC" };
    vjp_attr value = attr->value;
    switch (value.type) {
    case VJP_ATTR_BOOL:
        return vjp_attr_bool(NULL, (int)random_below(random, 2));
    case VJP_ATTR_S64:
        return vjp_attr_s64(NULL, random_between(random, -3, 3));
    case VJP_ATTR_F32:
        return vjp_attr_f32(NULL, numbers[random_below(random, 6)]);
    default:
        do
            value = vjp_attr_str(NULL, texts[random_below(random, 6)]);
        while (!dg_is_choice(attr->choices, value.value.str) && random_chance(random, 95));
        return value;
    }
}

static void set(question *q, dnnl_graph_op_attr_t id, vjp_attr value, size_t length)
{
    q->settings[q->nsettings++] = (setting){ id, length, value };
}

static void draw_settings(random_state *random, question *q)
{
    for (const dg_attr_schema *attr = q->schema->attrs; attr->id; attr++) {
        if (!random_chance(random, attr->required ? 97 : 60))
            continue;
        int is_number = attr->value.type == VJP_ATTR_F32 || attr->value.type == VJP_ATTR_S64;
        set(q, attr->id, draw_value_of(random, attr), !(is_number && random_chance(random, 10)));
    }
    if (random_chance(random, 2))
        set(q, dnnl_graph_op_attr_use_dst, vjp_attr_bool(NULL, 1), 1);
    if (random_chance(random, 2))
        set(q, dnnl_graph_op_attr_axis, vjp_attr_f32(NULL, 1), 1);
}

/* ---- what is compiled --------------------------------------------------------------------- */

/* bend_shape - change one dim, or the rank. */
static void bend_shape(random_state *random, logical_tensor *lt)
{
    if (lt->ndims > 0 && random_chance(random, 70)) {
        lt->dims[random_below(random, lt->ndims)] += random_chance(random, 50) ? 1 : 2;
    } else if (lt->ndims < 5) {
        lt->dims[lt->ndims++] = random_between(random, 1, 3);
    }
    make_strided(random, lt);
}

static void bend(random_state *random, question *q)
{
    size_t i = (size_t)random_below(random, (int64_t)(q->ninputs + q->noutputs));
    logical_tensor *lt = &q->compiled[i];
    switch (random_below(random, 5)) {
    case 0:
        bend_shape(random, lt);
        break;
    case 1:
        lt->layout_type = dnnl_graph_layout_type_undef;
        break;
    case 2:
        lt->data_type = dnnl_data_type_undef;
        break;
    case 3:
        lt->id += NTENSORS; /* the operation's tensor is missing */
        break;
    default:
        lt->ndims = DNNL_GRAPH_UNKNOWN_NDIMS;
    }
}

/* loosen - leave something of a tensor to the library, as a program may. */
static void loosen(random_state *random, int is_output, int allows_any, logical_tensor *lt)
{
    if (random_chance(random, is_output ? 25 : 5) && allows_any)
        lt->layout_type = dnnl_graph_layout_type_any;
    if (!is_output)
        return;
    if (random_chance(random, 15))
        lt->ndims = DNNL_GRAPH_UNKNOWN_NDIMS;
    else if (lt->ndims > 0 && random_chance(random, 15))
        lt->dims[random_below(random, lt->ndims)] = DNNL_GRAPH_UNKNOWN_DIM;
    else
        return;
    for (int i = 0; i < DNNL_MAX_NDIMS; i++)
        lt->layout.strides[i] = DNNL_GRAPH_UNKNOWN_DIM;
}

static void draw_compiled(random_state *random, question *q)
{
    size_t count = q->ninputs + q->noutputs;
    memcpy(q->compiled, q->added, sizeof(q->compiled));
    for (size_t i = 0; i < count; i++)
        loosen(random, i >= q->ninputs, i >= q->ninputs || !has_slope(q->schema), &q->compiled[i]);
    if (count && random_chance(random, 15))
        bend(random, q);
}

/* ---- the whole ---------------------------------------------------------------------------- */

question draw_question(dnnl_graph_op_kind_t kind, random_state *random)
{
    static const dnnl_data_type_t floats[] = { dnnl_f32, dnnl_f32, dnnl_bf16, dnnl_f16 };
    question q;
    logical_tensor shape, slope;
    memset(&q, 0, sizeof(q));
    memset(&shape, 0, sizeof(shape));
    q.kind = kind;
    q.schema = dg_schema_of(kind);
    q.ninputs = draw_count(random, q.schema, 0);
    q.noutputs = draw_count(random, q.schema, 1);
    dnnl_data_type_t t = floats[random_below(random, 4)];
    draw_shape(random, has_slope(q.schema) ? 2 : 0, &shape);
    slope = slope_shape(random, &shape);
    for (size_t i = 0; i < q.ninputs + q.noutputs; i++) {
        int is_output = i >= q.ninputs;
        const dg_tensor_schema *tensor =
            dg_schema_tensor(q.schema, is_output, is_output ? i - q.ninputs : i);
        q.added[i] =
            describe(random, i, draw_dtype(random, tensor, t), is_slope(tensor) ? &slope : &shape);
    }
    draw_settings(random, &q);
    draw_compiled(random, &q);
    q.has_specials = random_chance(random, 15);
    q.data = random_start(random_bits(random), 0);
    return q;
}

static int is_mixed(const question *q)
{
    for (size_t i = 1; i < q->ninputs + q->noutputs; i++)
        if (q->added[i].data_type != q->added[0].data_type)
            return 1;
    return 0;
}

static int is_empty(const question *q)
{
    for (size_t i = 0; i < q->ninputs; i++)
        if (q->compiled[i].ndims > 0 && count_of(&q->compiled[i]) == 0)
            return 1;
    return 0;
}

static int has_any_input(const question *q)
{
    for (size_t i = 0; i < q->ninputs; i++)
        if (q->compiled[i].layout_type == dnnl_graph_layout_type_any)
            return 1;
    return 0;
}

/* is_strided - whether a tensor is given in strides that are not dense row-major. */
static int is_strided(const question *q)
{
    for (size_t i = 0; i < q->ninputs + q->noutputs; i++) {
        const logical_tensor *lt = &q->compiled[i];
        int64_t step = 1;
        for (int d = lt->ndims - 1; d >= 0 && lt->layout_type == dnnl_graph_layout_type_strided;
             d--) {
            if (lt->layout.strides[d] != step && lt->layout.strides[d] != DNNL_GRAPH_UNKNOWN_DIM)
                return 1;
            step *= lt->dims[d];
        }
    }
    return 0;
}

void name_question(const question *q, const char *dtype, char *name, size_t size)
{
    int is_0d = q->ninputs && q->added[0].ndims == 0;
    snprintf(name, size, "%s%s %s%s%s%s%s%s", q->schema->is_open ? "unserved " : "",
             q->schema->name, dtype, is_mixed(q) ? " mixed" : "", is_0d ? " 0-d" : "",
             is_empty(q) ? " empty" : "", is_strided(q) ? " strided" : "",
             has_any_input(q) ? " any" : "");
}

double draw_value(const question *q, size_t i, random_state *random)
{
    static const double specials[] = { 0, -0.0, INFINITY, -INFINITY, NAN };
    if (q->has_specials && random_chance(random, 20))
        return specials[random_below(random, 5)];
    if (strcmp(dg_schema_tensor(q->schema, 0, i)->name, "dst") == 0)
        return random_unit(random);
    return 2 * random_bell(random);
}
