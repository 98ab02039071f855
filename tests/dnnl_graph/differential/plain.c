/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - calls without an operation: logical tensors, settings and names; see compare.h. */
#include "compare.h"

#include <stdio.h>
#include <string.h>

#include "differences.h"
#include "elements.h"

/* ---- logical tensors ---------------------------------------------------------------------- */

/* What a call of one of the three functions is made with. */
typedef struct description {
    int how, ndims;
    dnnl_data_type_t dtype;
    dnnl_graph_layout_type_t layout;
    dnnl_dims_t dims, strides;
} description;

static int64_t draw_dim(random_state *random)
{
    return random_chance(random, 4) ? DNNL_GRAPH_UNKNOWN_DIM : random_between(random, 0, 9);
}

static description draw(random_state *random)
{
    description d = { (int)random_below(random, 3),
                      (int)random_between(random, -1, 6),
                      dnnl_f32,
                      dnnl_graph_layout_type_strided,
                      { 0 },
                      { 0 } };
    d.dtype = (dnnl_data_type_t)random_below(random, dnnl_boolean + 1);
    if (random_chance(random, 30))
        d.layout = (dnnl_graph_layout_type_t)random_below(random, dnnl_graph_layout_type_opaque);
    for (int i = 0; i < d.ndims; i++) {
        d.dims[i] = draw_dim(random);
        d.strides[i] = random_chance(random, 2) ? -1 : draw_dim(random);
    }
    return d;
}

static dnnl_status_t init(const library *lib, const description *d, logical_tensor *lt)
{
    const dnnl_graph_tensor_property_t property = dnnl_graph_tensor_property_variable;
    memset(lt, 0, sizeof(*lt));
    if (d->how == 0)
        return lib->graph_logical_tensor_init(lt, 7, d->dtype, d->ndims, d->layout, property);
    if (d->how == 1)
        return lib->graph_logical_tensor_init_with_dims(lt, 7, d->dtype, d->ndims, d->dims,
                                                        d->layout, property);
    return lib->graph_logical_tensor_init_with_strides(lt, 7, d->dtype, d->ndims, d->dims,
                                                       d->strides, property);
}

/* trait_of - what is unusual in a tensor whose sizes differ. */
static const char *trait_of(const logical_tensor *lt)
{
    if (lt->data_type == dnnl_data_type_undef)
        return "undef";
    if (lt->ndims < 0)
        return "unknown";
    for (int i = 0; i < lt->ndims; i++)
        if (lt->dims[i] < 0 || lt->layout.strides[i] < 0)
            return "unknown";
    for (int i = 0; i < lt->ndims; i++)
        if (lt->dims[i] == 0)
            return "empty";
    for (int i = 0; i < lt->ndims; i++)
        if (lt->dims[i] == 1)
            return "dim of 1";
    return "strided";
}

static void compare_made(const pair *libraries, const logical_tensor *a, const logical_tensor *b,
                         unsigned long number)
{
    const library *there = libraries->there, *here = libraries->here;
    uint8_t equal_there = 2, equal_here = 2;
    size_t size_there = 0, size_here = 0;
    there->graph_logical_tensor_is_equal(a, b, &equal_there);
    here->graph_logical_tensor_is_equal(a, b, &equal_here);
    if (!equal_there || !equal_here)
        differ("logical_tensor", "init", equal_there ? "equal" : "different",
               equal_here ? "equal" : "different", number);
    there->graph_logical_tensor_get_mem_size(a, &size_there);
    here->graph_logical_tensor_get_mem_size(b, &size_here);
    if (size_there == size_here)
        return;
    differ(trait_of(b), "get_mem_size", size_there < size_here ? "less" : "more",
           size_there < size_here ? "more" : "less", number);
}

void compare_descriptions(const pair *libraries, random_state *random, unsigned long number)
{
    const description d = draw(random);
    logical_tensor a, b;
    dnnl_status_t there = init(libraries->there, &d, &a), here = init(libraries->here, &d, &b);
    int is_negative = 0;
    for (int i = 0; i < d.ndims; i++)
        is_negative |= d.how == 2 && d.strides[i] == -1;
    if (there != here)
        differ(is_negative ? "negative stride" : "logical_tensor", "init",
               libraries->here->status2str(there), libraries->here->status2str(here), number);
    else if (!there)
        compare_made(libraries, &a, &b, number);
}

/* ---- settings and names ------------------------------------------------------------------- */

static dnnl_status_t stream_of(const library *lib, unsigned flags)
{
    dnnl_engine_t engine = NULL;
    dnnl_stream_t stream = NULL;
    lib->engine_create(&engine, dnnl_cpu, 0);
    dnnl_status_t status = lib->stream_create(&stream, engine, flags);
    if (!status)
        lib->stream_destroy(stream);
    lib->engine_destroy(engine);
    return status;
}

static dnnl_status_t graph_of(const library *lib, int mode, int policy)
{
    dnnl_graph_graph_t graph = NULL;
    dnnl_status_t status =
        lib->graph_graph_create_with_fpmath_mode(&graph, dnnl_cpu, (dnnl_fpmath_mode_t)mode);
    if (status)
        return status;
    lib->graph_graph_finalize(graph);
    status = lib->graph_graph_filter(graph, (dnnl_graph_partition_policy_t)policy);
    lib->graph_graph_destroy(graph);
    return status;
}

static void compare_text(const char *what, int value, const char *there, const char *here)
{
    char subject[32];
    snprintf(subject, sizeof(subject), "%s %d", what, value);
    if (strcmp(there, here) != 0)
        differ(subject, "name", there, here, 0);
}

static void compare_statuses(const library *here, const char *what, int value, dnnl_status_t a,
                             dnnl_status_t b)
{
    char subject[32];
    snprintf(subject, sizeof(subject), "%s %d", what, value);
    if (a != b)
        differ(subject, "status", here->status2str(a), here->status2str(b), 0);
}

void compare_settings(const pair *libraries)
{
    const library *a = libraries->there, *b = libraries->here;
    for (int i = -1; i < 9; i++) {
        compare_statuses(b, "stream flags", i, stream_of(a, (unsigned)i),
                         stream_of(b, (unsigned)i));
        compare_statuses(b, "policy", i, graph_of(a, 0, i), graph_of(b, 0, i));
        compare_statuses(b, "mode of a graph", i, graph_of(a, i, 1), graph_of(b, i, 1));
        dnnl_fpmath_mode_t mode = (dnnl_fpmath_mode_t)i;
        compare_statuses(b, "default mode", i, a->set_default_fpmath_mode(mode),
                         b->set_default_fpmath_mode(mode));
        compare_text("mode", i, a->fpmath_mode2str(mode), b->fpmath_mode2str(mode));
        compare_text("data type", i, a->dt2str((dnnl_data_type_t)i),
                     b->dt2str((dnnl_data_type_t)i));
        compare_text("engine kind", i, a->engine_kind2str((dnnl_engine_kind_t)i),
                     b->engine_kind2str((dnnl_engine_kind_t)i));
    }
    for (int i = -1; i < 12; i++)
        compare_text("status", i, a->status2str((dnnl_status_t)i), b->status2str((dnnl_status_t)i));
    for (int i = 0; i < 1024; i++)
        compare_text("runtime", i, a->runtime2str((unsigned)i), b->runtime2str((unsigned)i));
    a->set_default_fpmath_mode(dnnl_fpmath_mode_strict);
    b->set_default_fpmath_mode(dnnl_fpmath_mode_strict);
}
