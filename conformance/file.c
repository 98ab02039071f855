/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - the cases of an operator in one file: tensors "CASE/TENSOR", and the list of cases. */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "dtypes.h"
#include "json.h"
#include "variants.h"
#include "vectors.h"

enum {
    NAME = 128
};

void file_open(vector_file *f)
{
    *f = (vector_file){ .ncases = 0 };
    f->list = open_memstream(&f->list_text, &f->list_size);
    if (f->list == NULL)
        broken("out of memory");
}

/* ---- tensors ------------------------------------------------------------------------------ */

static void add_tensor(vector_file *f, const char *case_name, const char *name, const char *suffix,
                       const vjp_tensor *tensor, const double *values)
{
    int64_t count = tensor_count(tensor);
    size_t element_size = vjp_dtype_size(tensor->dtype);
    unsigned char *data = unit_malloc((size_t)count * element_size);
    safetensor t = { .dtype = tensor->dtype, .ndim = tensor->ndim, .data = data };
    t.size = (size_t)count * element_size;
    t.name = unit_malloc(NAME);
    snprintf(t.name, NAME, "%s/%s%s", case_name, name, suffix);
    memcpy(t.shape, tensor->shape, sizeof t.shape);
    for (int64_t i = 0; i < count; i++) /* one NaN: an operation's has another sign elsewhere */
        element_write(tensor->dtype, data + (size_t)i * element_size,
                      isnan(values[i]) ? (double)NAN : values[i]);
    f->s.tensors = realloc(f->s.tensors, (size_t)(f->s.ntensors + 1) * sizeof t);
    if (f->s.tensors == NULL)
        broken("out of memory");
    f->s.tensors[f->s.ntensors++] = t;
}

static void add_outputs(vector_file *f, const char *case_name, const problem *p, const answer *a)
{
    for (int32_t o = 0; o < p->op->noutputs; o++) {
        const vjp_tensor *tensor = &p->tensors[p->op->ninputs + o];
        const char *name = vjp_op_tensor(p->op, p->op->ninputs + o)->name;
        if (!problem_has(p, p->op->ninputs + o))
            continue;
        add_tensor(f, case_name, name, "", tensor, a[o].expected);
        add_tensor(f, case_name, name, ".low", tensor, a[o].low);
        add_tensor(f, case_name, name, ".high", tensor, a[o].high);
    }
}

/* ---- the list of cases -------------------------------------------------------------------- */

static void put_attribute(FILE *out, const vjp_attr *attr)
{
    char text[VARIANT_TEXT];
    json_put_string(out, attr->name);
    fputc(':', out);
    if (attr->type == VJP_ATTR_STR)
        json_put_string(out, attr->value.str);
    else if (attr->type == VJP_ATTR_BOOL)
        fputs(attr->value.b ? "true" : "false", out);
    else if (attr->type == VJP_ATTR_F32) /* readers take it for an f64: all digits */
        fprintf(out, "%.17g", (double)attr->value.f32);
    else
        fputs(variant_value(attr, text), out);
}

static int is_dense(const vjp_tensor *tensor)
{
    vjp_tensor dense;
    vjp_tensor_contiguous(tensor->dtype, tensor->ndim, tensor->shape, &dense);
    return memcmp(dense.strides, tensor->strides, sizeof dense.strides) == 0;
}

static void put_strides(FILE *out, const problem *p)
{
    int n = 0;
    for (int32_t t = 0; t < p->ntensors; t++) {
        const vjp_tensor *tensor = &p->tensors[t];
        if (!problem_has(p, t) || is_dense(tensor))
            continue;
        fputs(n++ > 0 ? "," : ",\"strides\":{", out);
        json_put_string(out, vjp_op_tensor(p->op, t)->name);
        for (int32_t d = 0; d < tensor->ndim; d++)
            fprintf(out, "%s%" PRId64, d > 0 ? "," : ":[", tensor->strides[d]);
        fputc(']', out);
    }
    fputs(n > 0 ? "}" : "", out);
}

/* {"name":"1-f32-strided","attributes":{...},"strides":{...}} */
static void put_case(vector_file *f, const problem *p, const char *name)
{
    fputs(f->ncases++ > 0 ? ",\n" : "[", f->list);
    fputs("{\"name\":", f->list);
    json_put_string(f->list, name);
    fputs(",\"attributes\":{", f->list);
    for (int32_t i = 0; i < p->nattrs; i++) {
        fputs(i > 0 ? "," : "", f->list);
        put_attribute(f->list, &p->attrs[i]);
    }
    fputc('}', f->list);
    put_strides(f->list, p);
    fputc('}', f->list);
}

static int may_differ(const problem *p, int32_t t)
{
    vjp_dtype_rule rule = vjp_op_tensor(p->op, t)->dtype_rule;
    return rule == VJP_DTYPE_WIDE || rule == VJP_DTYPE_ANY;
}

/* "0-bf16-f32-rows": the dtype of the data and, if there is one, that of tensors that may
 * differ. */
static void name_case(const problem *p, int32_t number, const char *what, char name[NAME])
{
    vjp_dtype dtype = p->tensors[0].dtype, other = dtype;
    for (int32_t t = 0; t < p->ntensors; t++)
        if (may_differ(p, t) && p->tensors[t].dtype != dtype)
            other = p->tensors[t].dtype;
    snprintf(name, NAME, "%d-%s%s%s-%s", (int)number, vjp_dtype_name(dtype),
             other != dtype ? "-" : "", other != dtype ? vjp_dtype_name(other) : "", what);
}

/* ---- the file ----------------------------------------------------------------------------- */

void file_add(vector_file *f, const problem *p, int32_t number, const char *what, double **inputs)
{
    char name[NAME];
    answer answers[PROBLEM_TENSORS];
    name_case(p, number, what, name);
    answers_find(p, inputs, answers);
    for (int32_t t = 0; t < p->op->ninputs; t++) {
        if (problem_has(p, t))
            add_tensor(f, name, vjp_op_tensor(p->op, t)->name, "", &p->tensors[t], inputs[t]);
        free(inputs[t]);
    }
    add_outputs(f, name, p, answers);
    answers_free(p, answers);
    put_case(f, p, name);
}

void file_write(vector_file *f, const char *directory, const char *op)
{
    char path[4096], reason[SAFETENSORS_REASON_SIZE];
    fputs("]", f->list);
    if (fclose(f->list) != 0)
        broken("out of memory");
    safetensors_text texts[] = { { "operator", (char *)op }, { "cases", f->list_text } };
    f->s.texts = texts;
    f->s.ntexts = COUNT_OF(texts);
    snprintf(path, sizeof path, "%s/%s.safetensors", directory, op);
    if (!safetensors_write(path, &f->s, reason))
        broken("%s", reason);
    for (int64_t i = 0; i < f->s.ntensors; i++) {
        free(f->s.tensors[i].name);
        free((void *)f->s.tensors[i].data);
    }
    free(f->s.tensors);
    free(f->list_text);
}
