/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.c - vjp check --vectors DIR: the operators over the files of a folder like
 * conformance/vectors, which conformance/README.md describes. Each case is one check. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "check.h"
#include "dtypes.h"
#include "npy.h"

enum {
    MOST_LINE = 1024,
    ENDS = 2 /* the lowest and the highest value allowed */
};

/* One line of cases.txt and its files. */
typedef struct vector_case {
    const char *directory, *name;
    problem p;
    npy_input inputs[PROBLEM_TENSORS];
    npy_input expected[PROBLEM_TENSORS], ends[PROBLEM_TENSORS][ENDS];
    char failure[NPY_REASON_SIZE];
} vector_case;

static bool refuse(vector_case *v, const char *word, const char *why)
{
    snprintf(v->failure, sizeof(v->failure), "%.200s: %s", word, why);
    return false;
}

/* ---- the line ------------------------------------------------------------------------------ */

static bool read_attribute(vector_case *v, char *word, char *value)
{
    *value++ = 0;
    for (int32_t i = 0; i < v->p.op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(v->p.op, i);
        vjp_attr attr;
        if (strcmp(info->name, word))
            continue;
        if (v->p.nattrs == PROBLEM_ATTRS || !attribute_value(info, value, &attr))
            return refuse(v, word, "is not such a value");
        problem_add_attr(&v->p, attr);
        return true;
    }
    return refuse(v, word, "there is no such attribute");
}

static bool read_strides(vector_case *v, char *word, char *text)
{
    *text++ = 0;
    for (int32_t t = 0; t < v->p.ntensors; t++) {
        vjp_tensor *tensor = &v->p.tensors[t];
        if (strcmp(vjp_op_tensor(v->p.op, t)->name, word))
            continue;
        for (int32_t d = 0; d < tensor->ndim; d++) {
            tensor->strides[d] = strtoll(text, &text, 10);
            text += *text == ',';
        }
        return !*text || refuse(v, word, "has fewer dims than that");
    }
    return refuse(v, word, "there is no such tensor");
}

/* The name and the operator. `rest` is what follows. */
static bool read_operator(vector_case *v, char *line, char **rest)
{
    char *name = strtok_r(line, " \n", rest), *op = strtok_r(NULL, " \n", rest);
    v->name = name ? name : "";
    if (!op || !vjp_op_find(op))
        return refuse(v, op ? op : v->name, "there is no such operator");
    v->p = problem_start(op);
    return true;
}

/* ---- the files ----------------------------------------------------------------------------- */

static bool open_tensor(vector_case *v, const char *name, const char *suffix, npy_input *input)
{
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/%s/%s%s.npy", v->directory, v->name, name, suffix);
    if (length < 0 || (size_t)length >= sizeof(path))
        return refuse(v, v->name, "the path is too long");
    return npy_open(path, input, v->failure);
}

static bool open_files(vector_case *v)
{
    for (int32_t t = 0; t < v->p.ntensors; t++) {
        const char *name = vjp_op_tensor(v->p.op, t)->name;
        int32_t o = t - v->p.op->ninputs;
        npy_input *input = o < 0 ? &v->inputs[t] : &v->expected[o];
        if (!open_tensor(v, name, "", input))
            return false;
        v->p.tensors[t] = input->tensor;
        if (o >= 0 && (!open_tensor(v, name, ".low", &v->ends[o][0]) ||
                       !open_tensor(v, name, ".high", &v->ends[o][1])))
            return false;
        for (int e = 0; e < ENDS && o >= 0; e++)
            if (!tensor_same_shape(&v->ends[o][e].tensor, &input->tensor) ||
                v->ends[o][e].tensor.dtype != input->tensor.dtype)
                return refuse(v, name, "its files differ in shape or dtype");
    }
    return true;
}

static void close_files(vector_case *v)
{
    for (int32_t t = 0; t < PROBLEM_TENSORS; t++) {
        npy_close(&v->inputs[t]);
        npy_close(&v->expected[t]);
        for (int e = 0; e < ENDS; e++)
            npy_close(&v->ends[t][e]);
    }
}

static bool read_case(vector_case *v, char *line)
{
    char *rest = NULL, *word;
    if (!read_operator(v, line, &rest) || !open_files(v))
        return false;
    while ((word = strtok_r(NULL, " \n", &rest)) != NULL) {
        char *equals = strchr(word, '='), *colon = strchr(word, ':');
        if (equals ? !read_attribute(v, word, equals)
                   : colon ? !read_strides(v, word, colon) : !refuse(v, word, "means nothing"))
            return false;
    }
    return true;
}

/* ---- the run ------------------------------------------------------------------------------- */

/* The values of the files, in the layout of the case. */
static void fill_inputs(const vector_case *v, probe *t)
{
    for (int32_t i = 0; i < v->p.op->ninputs; i++) {
        const npy_input *input = &v->inputs[i];
        ptrdiff_t size = (ptrdiff_t)vjp_dtype_size(input->tensor.dtype);
        const unsigned char *from = input->data;
        unsigned char *origin = t->image[i] + t->start[i];
        walk file = walk_tensor(&input->tensor);
        for (walk w = walk_tensor(&v->p.tensors[i]); w.more; walk_next(&w), walk_next(&file))
            memcpy(origin + w.offset * size, from + file.offset * size, (size_t)size);
    }
}

/* NaN where NaN is expected; else between the ends, a zero with their sign if they agree on one. */
static bool is_allowed(double expected, double low, double high, double got)
{
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    if (got == 0 && is_negative(low) == is_negative(high) && is_negative(got) != is_negative(low))
        return false;
    return low <= got && got <= high;
}

static double read_at(const npy_input *input, int64_t offset)
{
    const unsigned char *data = input->data;
    vjp_dtype dtype = input->tensor.dtype;
    return element_read(dtype, data + offset * (ptrdiff_t)vjp_dtype_size(dtype));
}

static bool compare(const vector_case *v, probe *t)
{
    const uint64_t *bits = t->device.bits;
    for (int32_t o = 0; o < v->p.op->noutputs; o++) {
        const npy_input *file = &v->expected[o], *ends = v->ends[o];
        vjp_dtype dtype = file->tensor.dtype;
        walk low_at = walk_tensor(&ends[0].tensor), high_at = walk_tensor(&ends[1].tensor);
        int64_t index = 0;
        for (walk w = walk_tensor(&file->tensor); w.more; walk_next(&w), index++) {
            double expected = read_at(file, w.offset), got = element_from_bits(dtype, *bits++);
            double low = read_at(&ends[0], low_at.offset), high = read_at(&ends[1], high_at.offset);
            if (!is_allowed(expected, low, high, got))
                return probe_fail(t, "%s: element %lld of %s is %a, not %a (allowed: %a to %a)",
                                  v->name, (long long)index,
                                  vjp_op_tensor(v->p.op, v->p.op->ninputs + o)->name, got, expected,
                                  low, high);
            walk_next(&low_at);
            walk_next(&high_at);
        }
    }
    return true;
}

static void check_case(checks *c, const char *directory, char *line)
{
    vector_case v = { .directory = directory };
    probe t = { .number = 0 };
    if (!read_case(&v, line)) {
        t.p = v.p.op ? v.p : problem_start(vjp_op_at(0)->name); /* something to describe */
        t.p.ntensors = 0;
        probe_fail(&t, "%s: %.800s", v.name, v.failure);
        checks_count(c, &t, false);
    } else {
        bool passed = probe_open_blank(&t, &v.p, &c->host, &c->device);
        if (passed)
            fill_inputs(&v, &t);
        passed = passed && probe_run(&t, &t.device, c->context, ON_DEFAULT_STREAM, 0xa5) &&
                 compare(&v, &t);
        checks_count(c, &t, passed);
        probe_close(&t);
    }
    close_files(&v);
}

int64_t check_vectors(checks *c, bool dry)
{
    char path[4096], line[MOST_LINE];
    int64_t planned = 0;
    snprintf(path, sizeof(path), "%s/cases.txt", c->vectors);
    FILE *cases = fopen(path, "r");
    if (!cases) {
        if (dry)
            fprintf(stderr, "vjp check: %s: %s\n", path, strerror(errno));
        return 0;
    }
    while (fgets(line, sizeof(line), cases) && !c->device.error) {
        planned++;
        if (!dry)
            check_case(c, c->vectors, line);
    }
    fclose(cases);
    return planned;
}
