/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.c - vjp check --vectors DIR: the operators over the files of a folder like
 * conformance/vectors, which conformance/README.md describes. Each case is one check; so is a file
 * or a list of cases that cannot be read. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "bounds.h"
#include "check.h"
#include "dtypes.h"
#include "json.h"
#include "safetensors.h"

enum {
    ENDS = 2 /* the lowest and the highest value allowed */
};

static const char *const suffixes[ENDS] = { ".low", ".high" };

/* One case of a file: what the list of cases says about it, and its tensors. */
typedef struct vector_case {
    const safetensors *file;
    char *name;
    problem p;
    char *values[PROBLEM_ATTRS]; /* as text, which attributes that are strings point to */
    int64_t strides[PROBLEM_TENSORS][VJP_MAX_DIMS];
    int64_t nstrides[PROBLEM_TENSORS]; /* 0: dense */
    const safetensor *tensors[PROBLEM_TENSORS];
    const safetensor *ends[PROBLEM_TENSORS][ENDS]; /* of outputs */
    char failure[VJP_REASON_SIZE];
} vector_case;

static bool refuse(vector_case *v, const char *word, const char *why)
{
    snprintf(v->failure, sizeof(v->failure), "%.100s: %s", word, why);
    return false;
}

/* ---- the list of cases --------------------------------------------------------------------- */

/* "attributes": {"NAME": VALUE, ...} */
static void read_attributes(vector_case *v, json *j)
{
    json_open(j, '{');
    for (int64_t n = 0; json_more(j, '}', n); n++) {
        char *name = json_key(j), *text = json_scalar(j);
        const vjp_attr_info *info = NULL;
        vjp_attr attr;
        for (int32_t i = 0; name && i < v->p.op->nattrs; i++)
            if (!strcmp(vjp_op_attr(v->p.op, i)->name, name))
                info = vjp_op_attr(v->p.op, i);
        if (text && v->p.nattrs < PROBLEM_ATTRS && info && attribute_value(info, text, &attr)) {
            v->values[v->p.nattrs] = text;
            problem_add_attr(&v->p, attr);
        } else {
            json_fail(j, "attributes: there is no such attribute, or it has no such value");
            free(text);
        }
        free(name);
    }
}

/* "strides": {"TENSOR": [NUMBER, ...], ...} */
static void read_strides(vector_case *v, json *j)
{
    json_open(j, '{');
    for (int64_t n = 0; json_more(j, '}', n); n++) {
        char *name = json_key(j);
        int32_t t = 0;
        while (name && t < v->p.ntensors && strcmp(vjp_op_tensor(v->p.op, t)->name, name))
            t++;
        if (name && t == v->p.ntensors)
            json_fail(j, "strides: there is no such tensor");
        free(name);
        json_open(j, '[');
        for (int64_t d = 0; json_more(j, ']', d); d++) {
            if (d == VJP_MAX_DIMS) {
                json_fail(j, "strides: more than a tensor has dims");
                break;
            }
            v->strides[t][d] = json_integer(j);
            v->nstrides[t] = d + 1;
        }
    }
}

/* {"name": "...", "attributes": {...}, "strides": {...}}, of which only the name must be there. */
static void read_case(vector_case *v, json *j)
{
    json_open(j, '{');
    for (int64_t n = 0; json_more(j, '}', n); n++) {
        char *key = json_key(j);
        if (key && !strcmp(key, "name") && !v->name)
            v->name = json_string(j);
        else if (key && !strcmp(key, "attributes") && !v->p.nattrs)
            read_attributes(v, j);
        else if (key && !strcmp(key, "strides"))
            read_strides(v, j);
        else
            json_fail(j, "a key other than name, attributes and strides, or one of them twice");
        free(key);
    }
    if (!v->name)
        json_fail(j, "a case has no name");
}

/* ---- the tensors --------------------------------------------------------------------------- */

static bool find_tensor(vector_case *v, const char *name, const char *suffix,
                        const safetensor **found)
{
    char full[VJP_REASON_SIZE];
    int length = snprintf(full, sizeof(full), "%s/%s%s", v->name, name, suffix);
    *found = length > 0 && (size_t)length < sizeof(full) ? safetensors_find(v->file, full) : NULL;
    if (!*found)
        return refuse(v, full, "there is no such tensor");
    return (*found)->dtype || refuse(v, full, "the library does not have its dtype");
}

static bool has_tensor(const vector_case *v, const char *name)
{
    char full[VJP_REASON_SIZE];
    snprintf(full, sizeof(full), "%s/%s", v->name, name);
    return safetensors_find(v->file, full) != NULL;
}

static bool is_same_kind(const safetensor *a, const safetensor *b)
{
    return a->dtype == b->dtype && a->ndim == b->ndim &&
           !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof(a->shape[0]));
}

/* The description of tensor t: dense, unless the case has strides. */
static bool lay_out(vector_case *v, int32_t t)
{
    const safetensor *found = v->tensors[t];
    const char *name = vjp_op_tensor(v->p.op, t)->name;
    if (v->nstrides[t] && v->nstrides[t] != found->ndim)
        return refuse(v, name, "it has not as many strides as dims");
    vjp_status status =
        v->nstrides[t] ? vjp_tensor_strided(found->dtype, found->ndim, found->shape, v->strides[t],
                                            &v->p.tensors[t])
                       : vjp_tensor_contiguous(found->dtype, found->ndim, found->shape,
                                               &v->p.tensors[t]);
    return status == VJP_OK || refuse(v, name, vjp_status_string(status));
}

static bool find_tensors(vector_case *v)
{
    for (int32_t t = 0; t < v->p.ntensors; t++) {
        const char *name = vjp_op_tensor(v->p.op, t)->name;
        bool optional = vjp_op_tensor(v->p.op, t)->flags & VJP_TENSOR_OPTIONAL;
        if (optional && !has_tensor(v, name)) {
            v->p.absent |= 1u << t;
            continue;
        }
        if (!find_tensor(v, name, "", &v->tensors[t]) || !lay_out(v, t))
            return false;
        for (int e = 0; e < ENDS && t >= v->p.op->ninputs; e++) {
            if (!find_tensor(v, name, suffixes[e], &v->ends[t][e]))
                return false;
            if (!is_same_kind(v->ends[t][e], v->tensors[t]))
                return refuse(v, name, "its ends differ from it in shape or dtype");
        }
    }
    return true;
}

/* ---- the run ------------------------------------------------------------------------------- */

/* The values of the file, in the layout of the case. */
static void fill_inputs(const vector_case *v, probe *t)
{
    for (int32_t i = 0; i < v->p.op->ninputs; i++) {
        if (!problem_has(&v->p, i))
            continue;
        ptrdiff_t size = (ptrdiff_t)vjp_dtype_size(v->tensors[i]->dtype);
        const unsigned char *from = v->tensors[i]->data;
        unsigned char *origin = t->image[i] + t->start[i];
        for (walk w = walk_tensor(&v->p.tensors[i]); w.more; walk_next(&w), from += size)
            memcpy(origin + w.offset * size, from, (size_t)size);
    }
}

static double read_at(const safetensor *tensor, int64_t index)
{
    const unsigned char *data = tensor->data;
    return element_read(tensor->dtype, data + (size_t)index * vjp_dtype_size(tensor->dtype));
}

static bool compare(const vector_case *v, probe *t)
{
    const uint64_t *bits = t->device.bits;
    for (int32_t o = v->p.op->ninputs; o < v->p.ntensors; o++) {
        const safetensor *exact = v->tensors[o];
        for (int64_t i = 0, n = probe_output_count(t, o); i < n; i++) {
            double expected = read_at(exact, i), got = element_from_bits(exact->dtype, *bits++);
            double low = read_at(v->ends[o][0], i), high = read_at(v->ends[o][1], i);
            if (!ends_hold(expected, low, high, got))
                return probe_fail(t, "%s: element %lld of %s is %a, not %a (allowed: %a to %a)",
                                  v->name, (long long)i, vjp_op_tensor(v->p.op, o)->name, got,
                                  expected, low, high);
        }
    }
    return true;
}

/* What cannot be read is a check that fails. */
__attribute__((format(printf, 3, 4))) static void fail(checks *c, const vjp_op_info *op,
                                                       const char *format, ...)
{
    probe t = { .p = { .op = op } };
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t.failure, sizeof(t.failure), format, arguments);
    va_end(arguments);
    checks_count(c, &t, false);
}

static void check_case(checks *c, const char *path, vector_case *v)
{
    probe t = { .number = 0 };
    if (!find_tensors(v)) {
        fail(c, v->p.op, "%.600s: %s", path, v->failure);
        return;
    }
    bool passed = probe_open_blank(&t, &v->p, &c->host, &c->device);
    if (passed)
        fill_inputs(v, &t);
    passed = passed && probe_run(&t, &t.device, c->context, ON_DEFAULT_STREAM, 0xa5) &&
             compare(v, &t);
    checks_count(c, &t, passed);
    probe_close(&t);
}

/* ---- the files ----------------------------------------------------------------------------- */

/* The cases of a file. Returns how many; a list that breaks off counts as one more. */
static int64_t check_cases(checks *c, const char *path, const safetensors *file,
                           const vjp_op_info *op, const char *list, bool dry)
{
    json j = json_start(list, strlen(list));
    int64_t n = 0;
    json_open(&j, '[');
    for (; json_more(&j, ']', n) && !c->device.error; n++) {
        vector_case v = { .file = file, .p = problem_start(op->name) };
        read_case(&v, &j);
        if (!j.error && !dry)
            check_case(c, path, &v);
        for (int32_t i = 0; i < v.p.nattrs; i++)
            free(v.values[i]);
        free(v.name);
        if (j.error)
            break;
    }
    if (j.error && !dry)
        fail(c, op, "%.600s: __metadata__, case %lld: %s", path, (long long)n, j.error);
    return n + (j.error != NULL);
}

static int64_t check_file(checks *c, const char *path, bool dry)
{
    safetensors file;
    char reason[SAFETENSORS_REASON_SIZE];
    if (!safetensors_read(path, &file, reason)) {
        if (!dry)
            fail(c, NULL, "%.800s", reason);
        return 1;
    }
    const char *name = safetensors_value(&file, "operator");
    const char *list = safetensors_value(&file, "cases");
    const vjp_op_info *op = name ? vjp_op_find(name) : NULL;
    int64_t n = 1;
    if (op && list)
        n = check_cases(c, path, &file, op, list, dry);
    else if (!dry)
        fail(c, op, "%.600s: __metadata__: %s", path,
             op     ? "there are no cases"
             : name ? "there is no such operator"
                    : "it names no operator");
    safetensors_free(&file);
    return n;
}

static int is_vectors(const struct dirent *entry)
{
    const char *ending = strrchr(entry->d_name, '.');
    return ending && !strcmp(ending, ".safetensors");
}

int64_t check_vectors(checks *c, bool dry)
{
    struct dirent **entries = NULL;
    int count = scandir(c->vectors, &entries, is_vectors, alphasort);
    int64_t planned = 0;
    if (count < 0 && dry)
        fprintf(stderr, "vjp check: %s: %s\n", c->vectors, strerror(errno));
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", c->vectors, entries[i]->d_name);
        planned += check_file(c, path, dry);
        free(entries[i]);
    }
    free(entries);
    return planned;
}
