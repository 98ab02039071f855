/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - measure the error of every operator and dtype, exhaustively where the number of inputs
 * allows it, and compare it with the stated bound.
 *
 *     exhaustive [--only PATTERN] [--except PATTERN] [--threads N] [--sample N] RESULTS
 *     exhaustive --markdown RESULTS
 *
 * Every line of RESULTS is one measurement, its columns separated by tabs; what is there already is
 * not measured again, so that an interrupted run can be resumed. --only takes the jobs whose name
 * and dtype, as printed, begin with PATTERN, in which * stands for anything, and --except leaves out
 * such jobs. --sample takes every Nth block of inputs and prints an estimate of what all would take;
 * RESULTS stays as it is. --markdown prints RESULTS as the tables of docs/numerics.md.
 */
#define _DEFAULT_SOURCE

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "dtypes.h"
#include "exact.h"
#include "exhaustive.h"
#include "kinds.h"
#include "oracle.h"

enum {
    MOST_JOBS = 1024,
    LINE = 1024,
    COLUMNS = 7
};

static job jobs[MOST_JOBS];
static int njobs;

/* ---- the jobs ------------------------------------------------------------------------------- */

static job *add_job(const problem *p, vjp_dtype dtype, const method *method, double cost)
{
    if (njobs == MOST_JOBS)
        abort();
    job *j = &jobs[njobs++];
    *j = (job){ .p = *p, .dtype = dtype, .method = method, .cost = cost };
    problem_contiguous(&j->p, dtype, dtype, 1, (int64_t[]){ 1 }, 1, (int64_t[]){ 1 });
    return j;
}

static void name_part(job *j, const char *words, const char *tensor)
{
    size_t used = strlen(j->name);
    snprintf(j->name + used, sizeof j->name - used, "%s%s", words, tensor);
}

static int is_sum(const vjp_op_info *op, int32_t output)
{
    return (vjp_op_tensor(op, op->ninputs + output)->flags & VJP_TENSOR_SUM) != 0;
}

/* Inputs other than the gradient. */
static int32_t data_inputs(const vjp_op_info *op)
{
    return op->ninputs - (kind_gradient(op) >= 0);
}

static void add_output(const problem *p, vjp_dtype dtype, const method *method, double cost,
                       int32_t runs, int32_t output)
{
    job *j = add_job(p, dtype, method, cost);
    variant_name(p, j->name);
    if (p->op->noutputs > 1)
        name_part(j, ", ", vjp_op_tensor(p->op, p->op->ninputs + output)->name);
    if (runs != BOTH_RUN && dtype != VJP_F64 && data_inputs(p->op) > 1)
        name_part(j, ", every ", vjp_op_tensor(p->op, runs)->name);
    j->runs = runs;
    j->output = output;
    j->fixed = dtype_round(dtype, -0.7);
    for (int i = 0; i < WORSTS; i++)
        j->limit[i] = (double)oracle_ulps(&j->p, output, i == GRADIENT_IS_1);
}

/* All inputs where they can be listed: one, or two of 16 bits; each of two of 32 bits in turn. In f64
 * they are drawn. */
static void add_elementwise(const problem *p, vjp_dtype dtype)
{
    int is_forward = kind_gradient(p->op) < 0, is_wide = vjp_dtype_size(dtype) > 2;
    const method *pairs = is_forward ? &forward_pairs_method : &both_method;
    const method *values = is_forward ? &forwards_method : is_wide ? &inputs_method : &pairs_method;
    for (int32_t output = 0; output < p->op->noutputs; output++) {
        if (is_sum(p->op, output))
            continue;
        if (dtype == VJP_F64)
            add_output(p, dtype, is_forward ? &forward_points_method : &chosen_method, 300, 0,
                       output);
        else if (data_inputs(p->op) > 1 && !is_wide)
            add_output(p, dtype, pairs, 270, BOTH_RUN, output);
        else
            for (int32_t t = 0; t < p->op->ninputs; t++)
                if (t != kind_gradient(p->op))
                    add_output(p, dtype, values, is_forward ? (is_wide ? 90 : 1) : is_wide ? 150 : 40, t,
                               output);
    }
}

static void add_sums(const problem *p, vjp_dtype dtype)
{
    job *j = add_job(p, dtype, &sums_method, 60);
    variant_name(p, j->name);
    name_part(j, ", ", "sums");
    j->limit[ANY_GRADIENT] = j->limit[GRADIENT_IS_1] = 1;
}

static void add_part(const part *part)
{
    problem p = problem_start(part->op);
    job *j = add_job(&p, part->dtype, &part->method, 60);
    snprintf(j->name, sizeof j->name, "%s", part->name);
    for (int i = 0; i < WORSTS; i++)
        j->limit[i] = part->is_result ? (double)oracle_ulps(&j->p, 0, 0) : INFINITY;
}

static void add_problem(const problem *p)
{
    for (int d = 0; d < 4; d++) {
        if (!kind_has_rows(p->op))
            add_elementwise(p, all_dtypes[d]);
        if (kind_reduces(p->op))
            add_sums(p, all_dtypes[d]);
    }
}

/* Numbers that have a name take the place of those that variants.h makes up. */
static void list_jobs(void)
{
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t v = 0; v < variant_count(vjp_op_at(o)); v++) {
            problem p = variant_problem(vjp_op_at(o), v);
            if (!named_sets_numbers(&p) || named_count(p.op) == 0)
                add_problem(&p);
            if (!named_sets_numbers(&p))
                for (int32_t n = 0; n < named_count(p.op); n++) {
                    problem named = named_problem(&p, n);
                    add_problem(&named);
                }
        }
    for (int i = 0; i < PARTS; i++) {
        add_part(&parts_f32[i]);
        add_part(&parts_f64[i]);
    }
}

/* ---- the results ---------------------------------------------------------------------------- */

static void job_title(const job *j, char title[LINE])
{
    snprintf(title, LINE, "%s\t%s\t", j->name, vjp_dtype_name(j->dtype));
}

/* Whether a line of the results is of the job. By its inputs too: a part of a formula may have an
 * operator's name. */
static int is_of(const char *line, const job *j)
{
    char title[LINE];
    job_title(j, title);
    strncat(title, j->method->inputs, sizeof title - strlen(title) - 1);
    return strncmp(line, title, strlen(title)) == 0;
}

static int is_measured(const char *path, const job *j)
{
    char line[LINE];
    FILE *in = fopen(path, "r");
    int found = 0;
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL)
        found = is_of(line, j);
    if (in != NULL)
        fclose(in);
    return found;
}

static void write_result(FILE *out, const job *j, int which, const worst *w, double seconds)
{
    char title[LINE], where[WHERE_TEXT];
    job_title(j, title);
    j->method->where(j, w, where);
    fprintf(out, "%s%s%s\t%.6g\t%.6f\t%s\t%.0f\n", title, j->method->inputs,
            which == GRADIENT_IS_1 ? ", gradient 1" : "", j->limit[which], w->error, where,
            seconds);
}

/* What the user asked for. */
typedef struct request {
    const char *only, *except, *results;
    int threads, sample, markdown;
} request;

/* Returns 1 if the bounds hold. */
static int measure(const job *j, const request *r, double done, double total, FILE *out)
{
    worst w[WORSTS];
    double seconds = work_all(j, r->threads, r->sample, done, total, w);
    int holds = 1;
    for (int i = 0; i < WORSTS; i++) {
        if (i == GRADIENT_IS_1 && j->limit[i] == j->limit[ANY_GRADIENT])
            continue;
        holds &= w[i].error <= j->limit[i];
        if (r->sample == 1)
            write_result(out, j, i, &w[i], seconds);
        write_result(stdout, j, i, &w[i], seconds);
    }
    fflush(out);
    fflush(stdout);
    return holds;
}

static int begins_with(const char *title, const char *only)
{
    char pattern[LINE];
    snprintf(pattern, sizeof pattern, "%s*", only);
    return fnmatch(pattern, title, 0) == 0;
}

static int is_wanted(const job *j, const request *r)
{
    char title[LINE];
    snprintf(title, sizeof title, "%s %s", j->name, vjp_dtype_name(j->dtype));
    return begins_with(title, r->only) && (r->except == NULL || !begins_with(title, r->except)) &&
           !is_measured(r->results, j);
}

static int measure_all(const request *r)
{
    double total = 0, done = 0;
    int failed = 0;
    FILE *out = fopen(r->results, "a");
    if (out == NULL) {
        perror(r->results);
        return 2;
    }
    for (int i = 0; i < njobs; i++)
        if (is_wanted(&jobs[i], r))
            total += jobs[i].cost;
    for (int i = 0; i < njobs; i++) {
        if (!is_wanted(&jobs[i], r))
            continue;
        failed += !measure(&jobs[i], r, done, total, out);
        done += jobs[i].cost;
    }
    fclose(out);
    if (failed > 0)
        printf("%d of the jobs broke their bounds\n", failed);
    return failed > 0;
}

static void print_row(char *line)
{
    line[strcspn(line, "\n")] = 0;
    for (int column = 0; column < COLUMNS; column++) {
        char *cell = strsep(&line, "\t");
        printf("| %s ", cell == NULL ? "" : strcmp(cell, "inf") == 0 ? "-" : cell);
    }
    puts("|");
}

/* In the order of the jobs, whatever the order that they were measured in. */
static int print_markdown(const char *path)
{
    char line[LINE];
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        perror(path);
        return 2;
    }
    puts("| operator | dtype | inputs | bound | worst | at | CPU seconds "
         "|\n|---|---|---|---|---|---|---|");
    for (int i = 0; i < njobs; i++, rewind(in))
        while (fgets(line, sizeof line, in) != NULL)
            if (is_of(line, &jobs[i]))
                print_row(line);
    fclose(in);
    return 0;
}

/* Returns 0 if the command line is not understood. */
static int parse(int argc, char **argv, request *r)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            r->only = argv[++i];
        else if (strcmp(argv[i], "--except") == 0 && i + 1 < argc)
            r->except = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            r->threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--sample") == 0 && i + 1 < argc)
            r->sample = atoi(argv[++i]);
        else if (strcmp(argv[i], "--markdown") == 0)
            r->markdown = 1;
        else if (r->results == NULL && argv[i][0] != '-')
            r->results = argv[i];
        else
            return 0;
    }
    return r->results != NULL && r->threads > 0 && r->sample > 0;
}

int main(int argc, char **argv)
{
    request r = { .only = "", .threads = (int)sysconf(_SC_NPROCESSORS_ONLN), .sample = 1 };
    if (!parse(argc, argv, &r)) {
        fprintf(stderr, "usage: exhaustive [--only PATTERN] [--except PATTERN] [--threads N] [--sample N] "
                        "RESULTS\n"
                        "       exhaustive --markdown RESULTS\n");
        return 2;
    }
    list_jobs();
    return r.markdown ? print_markdown(r.results) : measure_all(&r);
}
