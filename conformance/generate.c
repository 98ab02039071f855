/* SPDX-License-Identifier: Apache-2.0 */
/* generate.c - writes the conformance vectors: README.md beside this file says what they are.
 *
 *     generate DIR
 *
 * Operators, attributes and tensors come from the library's enumeration, values from MPFR (exact.h)
 * and, where an input is not finite, from the oracle. The library computes nothing here. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base.h"
#include "cases.h"
#include "dtypes.h"
#include "exact.h"
#include "npy.h"
#include "oracle.h"
#include "points.h"
#include "values.h"
#include "variants.h"

enum {
    PATH = 4096,
    CHOSEN = 700, /* points chosen to hurt in a case of values */
    TIES = 60     /* results half-way between two numbers, if there are any */
};

/* What an output may be. */
typedef struct answer {
    double *expected, *low, *high;
    bound *within;
} answer;

typedef struct vectors {
    const char *directory;
    FILE *index;
    problem p;
    char name[VARIANT_TEXT];
    double *inputs[PROBLEM_TENSORS];
    answer answers[PROBLEM_TENSORS];
} vectors;

/* ---- what is expected ------------------------------------------------------------------------ */

static vjp_dtype output_dtype(const vectors *v, int32_t output)
{
    return v->p.tensors[v->p.op->ninputs + output].dtype;
}

/* NaN, infinities and +0 of a branch not taken: the value itself, and nothing else. */
static void keep_oracle(void *user, int32_t output, int64_t index, long double value, bound within)
{
    vectors *v = user;
    answer *a = &v->answers[output];
    double rounded = dtype_round(output_dtype(v, output), value);
    a->expected[index] = a->low[index] = a->high[index] = rounded;
    a->within[index] = within;
}

/* All numbers of the dtype from exact - width to exact + width. */
static void allow(vjp_dtype dtype, mpfr_srcptr exact, long double width, double *low, double *high)
{
    mpfr_t end;
    mpfr_init2(end, EXACT_BITS);
    mpfr_set_ld(end, width, MPFR_RNDN);
    mpfr_sub(end, exact, end, MPFR_RNDD);
    *low = exact_rounded_to(dtype, end, MPFR_RNDU);
    mpfr_set_ld(end, width, MPFR_RNDN);
    mpfr_add(end, exact, end, MPFR_RNDU);
    *high = exact_rounded_to(dtype, end, MPFR_RNDD);
    mpfr_clear(end);
}

/* In f32 before it is rounded to 16 bits. */
static void allow_rounded(vjp_dtype dtype, mpfr_srcptr exact, long double width, double *low,
                          double *high)
{
    mpfr_t end;
    mpfr_init2(end, EXACT_BITS);
    mpfr_set_ld(end, width, MPFR_RNDN);
    mpfr_sub(end, exact, end, MPFR_RNDN);
    *low = exact_rounded(dtype, end);
    mpfr_set_ld(end, width, MPFR_RNDN);
    mpfr_add(end, exact, end, MPFR_RNDN);
    *high = exact_rounded(dtype, end);
    mpfr_clear(end);
}

/* A result of one index has the sign of the exact value even if it is 0. */
static void keep_exact(void *user, int32_t output, int64_t index, mpfr_srcptr exact)
{
    vectors *v = user;
    answer *a = &v->answers[output];
    vjp_dtype dtype = output_dtype(v, output);
    bound within = a->within[index];
    double *low = &a->low[index], *high = &a->high[index];
    a->expected[index] = *low = *high = exact_rounded(dtype, exact);
    if (within.absolute >= 0 && dtype_is_16_bit(dtype)) {
        allow_rounded(dtype, exact, within.absolute, low, high);
    } else if (within.absolute >= 0) {
        allow(dtype, exact, within.absolute, low, high);
        *low = fmin(*low, a->expected[index]);
        *high = fmax(*high, a->expected[index]);
    } else if (within.ulps > 0.5L) {
        allow(dtype, exact, within.ulps * dtype_ulp(dtype, mpfr_get_ld(exact, MPFR_RNDZ)), low,
              high);
        if (!mpfr_signbit(exact) && (*low < 0 || *low == 0))
            *low = 0.0;
        if (mpfr_signbit(exact) && (*high > 0 || *high == 0))
            *high = -0.0;
    }
}

static void find_answers(vectors *v)
{
    for (int32_t o = 0; o < v->p.op->noutputs; o++) {
        size_t n = (size_t)tensor_count(&v->p.tensors[v->p.op->ninputs + o]);
        answer *a = &v->answers[o];
        a->expected = unit_malloc(n * sizeof(double));
        a->low = unit_malloc(n * sizeof(double));
        a->high = unit_malloc(n * sizeof(double));
        a->within = unit_malloc(n * sizeof(bound));
    }
    oracle_answer(&v->p, (const double *const *)v->inputs, keep_oracle, v);
    exact_answer(&v->p, (const double *const *)v->inputs, keep_exact, v);
}

/* ---- files ----------------------------------------------------------------------------------- */

static FILE *open_file(const char *path)
{
    FILE *out = fopen(path, "wb");
    if (out == NULL)
        broken("%s: %s", path, strerror(errno));
    return out;
}

static void write_tensor(const vectors *v, const char *name, const vjp_tensor *tensor,
                         const double *values)
{
    char path[PATH], header[NPY_HEADER_SIZE];
    unsigned char element[8];
    vjp_tensor dense;
    snprintf(path, sizeof path, "%s/%s/%s.npy", v->directory, v->name, name);
    vjp_tensor_contiguous(tensor->dtype, tensor->ndim, tensor->shape, &dense);
    FILE *out = open_file(path);
    fwrite(header, 1, npy_header(&dense, header), out);
    for (int64_t i = 0, n = tensor_count(tensor); i < n; i++) {
        /* one NaN: that of an operation has another sign on other machines */
        element_write(tensor->dtype, element, isnan(values[i]) ? (double)NAN : values[i]);
        fwrite(element, 1, vjp_dtype_size(tensor->dtype), out);
    }
    if (fclose(out) != 0)
        broken("%s: %s", path, strerror(errno));
}

static void write_outputs(const vectors *v)
{
    for (int32_t o = 0; o < v->p.op->noutputs; o++) {
        const vjp_tensor *tensor = &v->p.tensors[v->p.op->ninputs + o];
        const char *name = vjp_op_tensor(v->p.op, v->p.op->ninputs + o)->name;
        char other[64];
        write_tensor(v, name, tensor, v->answers[o].expected);
        snprintf(other, sizeof other, "%s.low", name);
        write_tensor(v, other, tensor, v->answers[o].low);
        snprintf(other, sizeof other, "%s.high", name);
        write_tensor(v, other, tensor, v->answers[o].high);
    }
}

/* "NAME OPERATOR ATTRIBUTE=VALUE... TENSOR:STRIDE,STRIDE..." */
static void write_index(const vectors *v)
{
    char text[VARIANT_TEXT];
    fprintf(v->index, "%s %s", v->name, variant_name(&v->p, text));
    for (int32_t t = 0; t < v->p.ntensors; t++) {
        const vjp_tensor *tensor = &v->p.tensors[t];
        vjp_tensor dense;
        vjp_tensor_contiguous(tensor->dtype, tensor->ndim, tensor->shape, &dense);
        if (memcmp(dense.strides, tensor->strides, sizeof dense.strides) == 0)
            continue;
        fprintf(v->index, " %s:", vjp_op_tensor(v->p.op, t)->name);
        for (int32_t d = 0; d < tensor->ndim; d++)
            fprintf(v->index, "%s%lld", d > 0 ? "," : "", (long long)tensor->strides[d]);
    }
    fputc('\n', v->index);
}

static void write_case(vectors *v, int32_t variant, const char *what)
{
    char path[PATH];
    vjp_dtype wide = v->p.tensors[v->p.op->ninputs].dtype;
    for (int32_t t = 0; t < v->p.ntensors; t++)
        if (v->p.tensors[t].dtype != v->p.tensors[0].dtype)
            wide = v->p.tensors[t].dtype;
    int used = snprintf(v->name, sizeof v->name, "%s-%d-%s", v->p.op->name, (int)variant,
                        vjp_dtype_name(v->p.tensors[0].dtype));
    if (wide != v->p.tensors[0].dtype)
        used += snprintf(v->name + used, sizeof v->name - (size_t)used, "-%s",
                         vjp_dtype_name(wide));
    snprintf(v->name + used, sizeof v->name - (size_t)used, "-%s", what);
    snprintf(path, sizeof path, "%s/%s", v->directory, v->name);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        broken("%s: %s", path, strerror(errno));
    find_answers(v);
    for (int32_t t = 0; t < v->p.op->ninputs; t++) {
        write_tensor(v, vjp_op_tensor(v->p.op, t)->name, &v->p.tensors[t], v->inputs[t]);
        free(v->inputs[t]);
    }
    write_outputs(v);
    write_index(v);
    for (int32_t o = 0; o < v->p.op->noutputs; o++) {
        free(v->answers[o].expected);
        free(v->answers[o].low);
        free(v->answers[o].high);
        free(v->answers[o].within);
    }
}

/* ---- cases of values: one long row of elements ------------------------------------------------ */

/* One element of the row: the first input, the second if there are three, and the gradient. */
typedef struct element {
    double x, w, g;
} element;

typedef struct elements {
    element *at;
    int64_t count;
} elements;

static void add_element(elements *e, const problem *p, double x, double w, double g)
{
    /* Outside the range of the forward function, 0 to 1, there is no limit to go by. */
    int outside = oracle_home_domain(p, 0) == ORACLE_FRACTION && (x < 0 || x > 1);
    if (outside && (isinf(x) || !isfinite(g)))
        return;
    e->at[e->count++] = (element){ x, w, g };
}

static void add_edges(elements *e, const problem *p)
{
    vjp_dtype dtype = p->tensors[0].dtype, wide = p->tensors[p->op->ninputs > 2].dtype;
    for (int32_t i = 0; i < VALUE_EDGES; i++)
        for (int32_t j = 0; j < VALUE_EDGES; j++)
            add_element(e, p, p->op->ninputs > 2 ? -1.5 : value_edge(dtype, i),
                        value_edge(wide, i), value_edge(dtype, j));
}

static double slope_at(const problem *p, double x, double w)
{
    mpfr_t slope;
    mpfr_init2(slope, EXACT_BITS);
    exact_slope(p, x, w, slope);
    double value = mpfr_get_d(slope, MPFR_RNDN);
    mpfr_clear(slope);
    return value;
}

static void add_chosen(elements *e, const problem *p, random_state *random)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    gradient_source source = gradient_source_of(dtype);
    points list = points_list(p);
    for (int64_t i = 0; i < CHOSEN; i++) {
        double x = i < CHOSEN / 2 ? list.at[i * list.count / (CHOSEN / 2)]
                                  : point_draw(random, dtype, &list);
        double w = dtype_round(p->tensors[p->op->ninputs > 2].dtype,
                               random_bell(random) * ldexp(1, (int)random_between(random, -9, 3)));
        add_element(e, p, x, w, gradient_draw(&source, random, (gradient_kind)(i % GRADIENTS),
                                              slope_at(p, x, w)));
    }
    points_free(&list);
}

/* Pairs whose exact result lies half-way between two numbers of the dtype. */
static void add_ties(elements *e, const problem *p, random_state *random)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    mpfr_t exact;
    mpfr_init2(exact, EXACT_BITS);
    for (int64_t tries = 0, found = 0; tries < 200000 && found < TIES; tries++) {
        double x = dtype_round(dtype, random_bell(random));
        double w = dtype_round(dtype, random_bell(random) * (double)random_between(random, 0, 1));
        double g = dtype_round(dtype, (double)random_between(random, -4096, 4096) *
                                          ldexp(1, (int)random_between(random, -30, 4)));
        if (!exact_slope(p, x, w, exact) || g == 0)
            continue;
        mpfr_mul_d(exact, exact, g, MPFR_RNDN);
        if (exact_error(dtype, exact, exact_rounded(dtype, exact)) != 0.5)
            continue;
        add_element(e, p, x, w, g);
        found++;
    }
    mpfr_clear(exact);
}

static void values_case(vectors *v, const problem *variant, int32_t number, case_dtypes dtypes)
{
    elements e = { unit_malloc((VALUE_EDGES * VALUE_EDGES + CHOSEN + TIES) * sizeof(element)), 0 };
    random_state random = random_start(1, (uint64_t)number);
    v->p = *variant;
    problem_contiguous(&v->p, dtypes.dtype, dtypes.wide, 1, (int64_t[]){ 1 }, 1, (int64_t[]){ 1 });
    add_edges(&e, &v->p);
    add_chosen(&e, &v->p, &random);
    add_ties(&e, &v->p, &random);
    problem_contiguous(&v->p, dtypes.dtype, dtypes.wide, 1, &e.count, 1, &e.count);
    int32_t gradient = problem_tensor(&v->p, "diff_dst");
    for (int32_t t = 0; t < v->p.op->ninputs; t++) {
        v->inputs[t] = unit_malloc((size_t)e.count * sizeof(double));
        for (int64_t i = 0; i < e.count; i++)
            v->inputs[t][i] = t == gradient ? e.at[i].g : t == 0 ? e.at[i].x : e.at[i].w;
    }
    free(e.at);
    write_case(v, number, "values");
}

/* ---- cases of layouts, with sums where the operator has them ---------------------------------- */

typedef struct layout {
    const char *name;
    int32_t ndim;
    int64_t shape[3];
    int strided;  /* diff_dst and the first output are not dense */
    int specials; /* percent of NaN and infinity */
    int cancels;  /* gradients come with both signs */
} layout;

static const layout layouts[] = {
    { "rows", 2, { 3, 130, 0 }, 0, 0, 1 },
    { "strided", 3, { 4, 5, 6 }, 1, 0, 0 },
    { "specials", 2, { 12, 9, 0 }, 0, 3, 0 },
};

static const char *second_choice(const vjp_attr_info *info)
{
    static const char *const known[] = { "NCX", "NXC" };
    return strcmp(info->default_value.value.str, known[0]) == 0 ? known[1] : known[0];
}

/* Where things are: the default, and in every second case another place. */
static void add_places(problem *p, int64_t which, int32_t ndim)
{
    for (int32_t i = 0; i < p->op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(p->op, i);
        if (info->type == VJP_ATTR_S64)
            problem_add_attr(p, vjp_attr_s64(info->name, which % 2 == 0 ? -1 : ndim - 2));
        if (info->type == VJP_ATTR_STR && which % 2 == 1)
            problem_add_attr(p, vjp_attr_str(info->name, second_choice(info)));
    }
}

/* Backwards along the last dim, which is the slowest in memory; the first is the fastest. */
static void stride(vjp_tensor *tensor)
{
    int64_t step = 1;
    for (int32_t d = 0; d < tensor->ndim; d++) {
        tensor->strides[d] = d == tensor->ndim - 1 ? -step : step;
        step *= tensor->shape[d];
    }
}

static void layout_case(vectors *v, const problem *variant, int32_t number, case_dtypes dtypes,
                        int64_t which)
{
    const layout *l = &layouts[which];
    random_state random = random_start(2, (uint64_t)(number * 100 + which));
    v->p = *variant;
    add_places(&v->p, which, l->ndim);
    int64_t channels = l->shape[which % 2 == 1 ? 1 : l->ndim - 1];
    problem_contiguous(&v->p, dtypes.dtype, dtypes.wide, l->ndim, l->shape, 1, &channels);
    int32_t gradient = problem_tensor(&v->p, "diff_dst");
    for (int32_t t = 0; t < v->p.op->ninputs; t++) {
        int64_t n = tensor_count(&v->p.tensors[t]);
        v->inputs[t] = unit_malloc((size_t)n * sizeof(double));
        for (int64_t i = 0; i < n; i++)
            v->inputs[t][i] = value_draw(&random, v->p.tensors[t].dtype,
                                         oracle_home_domain(&v->p, t), l->specials);
        for (int64_t i = 1; i < n && l->cancels && t == gradient; i += 2)
            v->inputs[t][i] = -v->inputs[t][i - 1];
    }
    if (l->strided) {
        stride(&v->p.tensors[gradient]);
        stride(&v->p.tensors[v->p.op->ninputs]);
    }
    write_case(v, number, l->name);
}

static void write_operator(vectors *v, const vjp_op_info *op)
{
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(op->name, pairs);
    for (int32_t number = 0; number < variant_count(op); number++)
        for (int32_t d = 0; d < npairs; d++) {
            problem p = variant_problem(op, number);
            if (exact_knows(op->name))
                values_case(v, &p, number, pairs[d]);
            for (int64_t which = 0; which < COUNT_OF(layouts); which++)
                layout_case(v, &p, number, pairs[d], which);
        }
}

int main(int argc, char **argv)
{
    char path[PATH];
    vectors v = { .directory = argc == 2 ? argv[1] : "" };
    if (argc != 2) {
        fputs("usage: generate DIR\n", stderr);
        return 2;
    }
    if (mkdir(v.directory, 0777) != 0 && errno != EEXIST)
        broken("%s: %s", v.directory, strerror(errno));
    snprintf(path, sizeof path, "%s/cases.txt", v.directory);
    v.index = open_file(path);
    for (int32_t i = 0; i < vjp_op_count(); i++)
        write_operator(&v, vjp_op_at(i));
    if (fclose(v.index) != 0)
        broken("%s: %s", path, strerror(errno));
    exact_close();
    return 0;
}
