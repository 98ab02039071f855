/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - measure the error of every operator and dtype, exhaustively where the number of inputs
 * allows it, and compare it with the stated bound.
 *
 *     exhaustive [--only TEXT] [--threads N] RESULTS
 *     exhaustive --markdown RESULTS
 *
 * Every line of RESULTS is one measurement, its columns separated by tabs; what is there already is
 * not measured again, so that an interrupted run can be resumed. --only takes the jobs whose name
 * and dtype, as printed, contain TEXT. --markdown prints RESULTS as the tables of docs/numerics.md.
 */
#define _DEFAULT_SOURCE

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

/* One job for each input that takes all values, the gradient aside; in f64 all are drawn at
 * once. */
static void add_elementwise(const problem *p, vjp_dtype dtype)
{
    const method *method = dtype == VJP_F64   ? &chosen_method
                           : dtype == VJP_F32 ? &inputs_method
                                              : &pairs_method;
    double cost = dtype == VJP_F64 ? 250 : dtype == VJP_F32 ? 300 : 15;
    int32_t gradient = kind_gradient(p->op);
    int ndata = p->op->ninputs - (gradient >= 0);
    if (gradient < 0) {
        method = &forwards_method;
        cost = dtype == VJP_F64 ? 150 : dtype == VJP_F32 ? 120 : 1;
    }
    for (int32_t t = 0; t < p->op->ninputs; t++) {
        if (t == gradient || (t > 0 && dtype == VJP_F64))
            continue;
        job *j = add_job(p, dtype, method, cost);
        size_t used = strlen(variant_name(p, j->name));
        if (ndata > 1 && dtype != VJP_F64)
            snprintf(j->name + used, sizeof j->name - used, ", every %s",
                     vjp_op_tensor(p->op, t)->name);
        j->runs = t;
        j->fixed = dtype_round(dtype, -0.7);
        for (int i = 0; i < WORSTS; i++)
            j->limit[i] = (double)oracle_ulps(&j->p, i == GRADIENT_IS_1);
    }
}

static void add_sums(const problem *p, vjp_dtype dtype)
{
    job *j = add_job(p, dtype, &sums_method, 60);
    size_t used = strlen(variant_name(p, j->name));
    snprintf(j->name + used, sizeof j->name - used, ", sums");
    j->limit[ANY_GRADIENT] = j->limit[GRADIENT_IS_1] = 1;
}

static void add_part(const part *part)
{
    problem p = problem_start(part->op);
    job *j = add_job(&p, part->dtype, &part->method, 60);
    snprintf(j->name, sizeof j->name, "%s", part->name);
    for (int i = 0; i < WORSTS; i++)
        j->limit[i] = part->is_result ? (double)oracle_ulps(&j->p, 0) : INFINITY;
}

static void list_jobs(void)
{
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t v = 0; v < variant_count(vjp_op_at(o)); v++)
            for (int d = 0; d < 4; d++) {
                problem p = variant_problem(vjp_op_at(o), v);
                if (!kind_has_rows(p.op))
                    add_elementwise(&p, all_dtypes[d]);
                if (kind_reduces(p.op))
                    add_sums(&p, all_dtypes[d]);
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

static int is_measured(const char *path, const job *j)
{
    char title[LINE], line[LINE];
    FILE *in = fopen(path, "r");
    int found = 0;
    job_title(j, title);
    while (in != NULL && !found && fgets(line, sizeof line, in) != NULL)
        found = strncmp(line, title, strlen(title)) == 0;
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

/* Returns 1 if the bounds hold. */
static int measure(const job *j, int threads, double done, double total, FILE *out)
{
    worst w[WORSTS];
    double seconds = work_all(j, threads, done, total, w);
    int holds = 1;
    for (int i = 0; i < WORSTS; i++) {
        if (i == GRADIENT_IS_1 && j->limit[i] == j->limit[ANY_GRADIENT])
            continue;
        holds &= w[i].error <= j->limit[i];
        write_result(out, j, i, &w[i], seconds);
        write_result(stdout, j, i, &w[i], seconds);
    }
    fflush(out);
    fflush(stdout);
    return holds;
}

static int is_wanted(const job *j, const char *only)
{
    char title[LINE];
    snprintf(title, sizeof title, "%s %s", j->name, vjp_dtype_name(j->dtype));
    return only == NULL || strstr(title, only) != NULL;
}

static int measure_all(const char *path, const char *only, int threads)
{
    double total = 0, done = 0;
    int failed = 0;
    FILE *out = fopen(path, "a");
    if (out == NULL) {
        perror(path);
        return 2;
    }
    for (int i = 0; i < njobs; i++)
        if (is_wanted(&jobs[i], only) && !is_measured(path, &jobs[i]))
            total += jobs[i].cost;
    for (int i = 0; i < njobs; i++) {
        if (!is_wanted(&jobs[i], only) || is_measured(path, &jobs[i]))
            continue;
        failed += !measure(&jobs[i], threads, done, total, out);
        done += jobs[i].cost;
    }
    fclose(out);
    if (failed > 0)
        printf("%d of the jobs broke their bounds\n", failed);
    return failed > 0;
}

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
    while (fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = 0;
        char *rest = line;
        for (int column = 0; column < COLUMNS; column++) {
            char *cell = strsep(&rest, "\t");
            printf("| %s ", cell == NULL ? "" : strcmp(cell, "inf") == 0 ? "-" : cell);
        }
        puts("|");
    }
    fclose(in);
    return 0;
}

int main(int argc, char **argv)
{
    const char *only = NULL, *results = NULL;
    int threads = (int)sysconf(_SC_NPROCESSORS_ONLN), markdown = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = atoi(argv[++i]);
        else if (strcmp(argv[i], "--markdown") == 0)
            markdown = 1;
        else if (results == NULL && argv[i][0] != '-')
            results = argv[i];
        else
            threads = 0; /* not understood */
    }
    if (results == NULL || threads < 1) {
        fprintf(stderr, "usage: exhaustive [--only TEXT] [--threads N] RESULTS\n"
                        "       exhaustive --markdown RESULTS\n");
        return 2;
    }
    if (markdown)
        return print_markdown(results);
    list_jobs();
    return measure_all(results, only, threads);
}
