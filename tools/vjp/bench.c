/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - vjp bench: measure time and bandwidth.
 *
 * Bytes are the least that must move: each input read once, each output written once. The share
 * is that of a ceiling, two reads and one write, measured in turns with the operator and, with
 * --peers, with other libraries. */
#include "bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "bench_report.h"
#include "dtypes.h"

/* ---- measuring ---------------------------------------------------------------------------- */

static int measure(bench *b, bench_result *r, bench_twist twist)
{
    char reason[VJP_REASON_SIZE] = "";
    load l;
    bool cuda = b->device == VJP_CUDA;
    show_progress(b, r);
    bool well = load_open(&l, &b->where, b->ctx, &r->of.p, twist, cuda ? 4 * b->cuda.cache_size : 0,
                          reason);
    if (well) {
        rivals_open(&b->peers, &l, r->rivals);
        well = cuda ? bench_cuda_measure(&b->cuda, &l, &r->s)
                    : bench_cpu_measure(&l, (int)b->threads, (double)b->seconds, &r->s, r->rivals,
                                        b->peers.count);
        rivals_close(&b->peers, r->rivals);
        if (!well)
            snprintf(reason, sizeof(reason), "%s",
                     b->where.error ? b->where.error : "it does not run");
    }
    load_close(&l);
    hide_progress();
    if (!well)
        return complain(b->args->command, FAILED, "%s %s %s: %s", r->of.name,
                        vjp_dtype_name(r->of.dtype), r->shape, reason);
    b->measured++;
    show_result(b, r);
    write_json(b, r);
    return DONE;
}

/* One problem with one twist: counted, or measured. */
static int visit(bench *b, bench_result *r, bench_twist twist, bool count_only)
{
    bool done = bench_knows(b, r);
    if (count_only) {
        b->matching++;
        b->total += !done;
    }
    if (count_only || done)
        return DONE;
    int status = measure(b, r, twist);
    b->passed++;
    return status;
}

/* Part of what is done: the worst status counts. */
static void add(int *status, int result)
{
    *status = result != DONE ? result : *status;
}

/* A case of the set, which may not be wanted. */
static int visit_problem(bench *b, const bench_problem *of, bench_twist twist, bool count_only)
{
    bench_result r = { .of = *of };
    bench_describe(&r, twist);
    if (!bench_wants(b, &r))
        return DONE;
    for (int i = 0; i < b->nshapes; i++)
        b->shapes[i].in_set |= !strcmp(b->shapes[i].text, r.shape);
    return visit(b, &r, twist, count_only);
}

/* A case with one operator, in all its sizes and dtypes. */
static int visit_case(bench *b, const bench_case *c, const vjp_op_info *op, int32_t choice,
                      bool count_only)
{
    int status = DONE, twists = b->set->twisted ? BENCH_TWISTS : 1;
    for (int i = 0; i == 0 || (i < BENCH_SIZES && c->sizes[i]); i++)
        for (int d = 0; d < BENCH_DTYPES && c->dtypes[d]; d++) {
            bench_problem of;
            if (!bench_case_at(b->set, c, op, choice, c->sizes[i], c->dtypes[d], &of))
                continue;
            for (int twist = 0; twist < twists && !b->where.error; twist++)
                add(&status, visit_problem(b, &of, (bench_twist)twist, count_only));
        }
    return status;
}

static int visit_set(bench *b, bool count_only)
{
    int status = DONE;
    for (int32_t i = 0; i < vjp_op_count(); i++)
        for (int32_t choice = 0; choice < bench_choices(vjp_op_at(i)); choice++)
            for (int64_t c = 0; c < b->set->count; c++)
                add(&status, visit_case(b, &b->set->cases[c], vjp_op_at(i), choice, count_only));
    return status;
}

/* Every operator that is wanted, in every dtype, in a shape that the set does not have. */
static int visit_shape(bench *b, const bench_shape *shape, bool count_only)
{
    int status = DONE;
    for (int32_t i = 0; i < vjp_op_count(); i++)
        for (int d = 0; d < COUNT_OF(all_dtypes) && bench_wants_op(b, vjp_op_at(i)); d++) {
            bench_result r = { .layout = "" };
            if (b->where.error || !bench_wants_dtype(b, all_dtypes[d]))
                continue;
            r.of = bench_problem_of(vjp_op_at(i), shape, all_dtypes[d]);
            bench_describe(&r, TWIST_NONE);
            add(&status, visit(b, &r, TWIST_NONE, count_only));
        }
    return status;
}

static int visit_all(bench *b, bool count_only)
{
    int status = visit_set(b, count_only);
    for (int i = 0; i < b->nshapes; i++)
        if (!b->shapes[i].in_set)
            add(&status, visit_shape(b, &b->shapes[i], count_only));
    return status;
}

/* ---- the cost of a plan ------------------------------------------------------------------- */

/* Of the first operator, for images. */
static double plan_ns(const bench *b)
{
    enum {
        CALLS = 2000,
        ROUNDS = 15
    };
    const bench_shape images = { .ndim = 4, .dims = { 32, 64, 56, 56 } };
    double rounds[ROUNDS];
    problem p = bench_problem_of(vjp_op_at(0), &images, VJP_F32).p;
    for (int r = 0; r < ROUNDS; r++) {
        double start = bench_now();
        for (int i = 0; i < CALLS; i++) {
            vjp_plan *plan;
            problem_create(&p, b->ctx, &plan, NULL);
            vjp_plan_destroy(plan);
        }
        rounds[r] = (bench_now() - start) / CALLS * 1e9;
    }
    return bench_median(rounds, ROUNDS);
}

/* ---- the command -------------------------------------------------------------------------- */

static bool open_all(bench *b)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    options.device = b->device;
    options.num_threads = (int32_t)b->threads;
    if (!memory_open(&b->where, b->device, 0, reason) ||
        vjp_context_create(&options, &b->ctx, reason, sizeof(reason)) != VJP_OK ||
        (b->device == VJP_CUDA && !bench_cuda_open(&b->cuda, &b->where, reason)))
        return complain(b->args->command, false, "%s", reason);
    b->where.ordinary_pages = b->ordinary_pages;
    return !option_given(b->args, "peers") ||
           peers_open(&b->peers, b->args->command, &b->where, (int)b->threads);
}

/* What is added begins a line of its own, even if the one before was cut off. */
static void end_last_line(FILE *lines)
{
    if (fseek(lines, -1, SEEK_END) == 0 && fgetc(lines) != '\n') {
        fseek(lines, 0, SEEK_END);
        fputc('\n', lines);
    }
}

static bool cannot_write(const bench *b, const char *option, const char *path)
{
    return complain(b->args->command, false, "--%s: %s: %s", option, path, strerror(errno));
}

/* What the file of --json has. A last line without an end was cut off as its writer ended, and
 * goes; any other that is wrong was not written by vjp bench. */
static bool read_lines(bench *b, const char *path)
{
    b->before = records_read(b->json);
    if (b->before.bad)
        return complain(b->args->command, false,
                        "--resume: %s: line %" PRId64 " was not written by vjp bench", path,
                        b->before.bad);
    return !b->before.cut || !ftruncate(fileno(b->json), b->before.end) ||
           cannot_write(b, "json", path);
}

/* Lines go to the file of --json, or, for a page alone, to a temporary one. */
static bool open_lines(bench *b)
{
    const char *json = option_given(b->args, "json");
    if (!json && !option_given(b->args, "html"))
        return true;
    b->json = json ? fopen(json, "a+") : tmpfile();
    if (!b->json)
        return cannot_write(b, json ? "json" : "html", json ? json : "a temporary file");
    if (option_given(b->args, "resume"))
        return read_lines(b, json);
    end_last_line(b->json);
    return true;
}

/* A page that is there stays until there is another. */
static bool open_page(bench *b)
{
    const char *path = option_given(b->args, "html");
    struct stat page, lines;
    if (!path)
        return true;
    b->html = fopen(path, "a");
    if (!b->html || fstat(fileno(b->html), &page) || fstat(fileno(b->json), &lines))
        return cannot_write(b, "html", path);
    return page.st_dev != lines.st_dev || page.st_ino != lines.st_ino ||
           complain(b->args->command, false, "--html: %s is also the file of --json", path);
}

static bool write_page(bench *b)
{
    double caches[BENCH_CACHES] = { b->cuda.cache_size };
    if (!b->html)
        return true;
    records all = records_read(b->json);
    bool well = all.count == 0 || !ftruncate(fileno(b->html), 0);
    if (b->device == VJP_CPU)
        bench_cpu_caches(caches);
    if (all.count > 0)
        report_write(b->html, &all, caches);
    free(all.at);
    well = !fflush(b->html) && !ferror(b->html) && well;
    return well || cannot_write(b, "html", option_given(b->args, "html"));
}

static bool close_files(bench *b)
{
    const char *json = option_given(b->args, "json");
    bool well = !b->json || (!fflush(b->json) && !ferror(b->json)) ||
                cannot_write(b, "json", json ? json : "a temporary file");
    if (b->html)
        fclose(b->html);
    if (b->json)
        fclose(b->json);
    free(b->before.at);
    return well;
}

static bool read_options(bench *b)
{
    const char *set = option_given(b->args, "set"), *pages = option_given(b->args, "pages");
    if (!memory_option(b->args, &b->device) ||
        !option_number(b->args, "threads", 1, 1024, 1, &b->threads) ||
        !option_number(b->args, "seconds", 0, 3600, 1, &b->seconds))
        return false;
    b->set = bench_set_of(b->device, set ? set : "standard");
    if (!b->set)
        return complain(b->args->command, false, "--set: %s has no set \"%s\"", bench_device(b),
                        set);
    b->ordinary_pages = pages ? !strcmp(pages, "ordinary") : !memory_has_huge_pages();
    if (pages && !b->ordinary_pages && strcmp(pages, "huge") != 0)
        return complain(b->args->command, false, "--pages: \"%s\" is neither huge nor ordinary",
                        pages);
    if (pages && !b->ordinary_pages && !memory_has_huge_pages())
        return complain(b->args->command, false, "--pages: this system gives no huge pages");
    if (option_given(b->args, "resume") && !option_given(b->args, "json"))
        return complain(b->args->command, false, "--resume needs --json FILE");
    if (!bench_read_selection(b))
        return false;
    return b->device == VJP_CPU || !option_given(b->args, "peers") ||
           complain(b->args->command, false,
                    "--peers is for the CPU; see bench/peers/torch_cuda.py");
}

/* Whether there are cases such as the options want, be they in the file already or not. */
static bool has_cases(bench *b)
{
    visit_all(b, true);
    return b->matching > 0 ||
           complain(b->args->command, false, "no case has this --op, --dtype and --shape; "
                                             "without them all are measured");
}

static int measure_all(bench *b)
{
    show_machine(b);
    if (b->total == 0) {
        printf("every case is in the file already\n");
        return DONE;
    }
    printf("create and destroy a plan: %.0f ns\n\n", plan_ns(b));
    show_head(b);
    return visit_all(b, false);
}

static int run(const arguments *args)
{
    bench b = { .args = args };
    int status = FAILED;
    if (!read_options(&b))
        return MISUSED;
    if (!open_all(&b))
        return FAILED;
    if (open_lines(&b) && has_cases(&b) && open_page(&b)) {
        status = measure_all(&b);
        status = write_page(&b) ? status : FAILED;
    }
    status = close_files(&b) ? status : FAILED;
    if (b.device == VJP_CUDA)
        bench_cuda_close(&b.cuda);
    vjp_context_destroy(b.ctx);
    return status;
}

static const option options[] = {
    { "device", "DEVICE", "cpu (the default) or cuda" },
    { "op", "NAME", "only this operator; if there is none, cases whose names begin like that" },
    { "dtype", "LIST", "only these: f32,bf16" },
    { "shape", "LIST", "only these, of the set or any others: 65536x1024,16777216" },
    { "set", "NAME", "of cases: standard (the default), peers, growth or cliffs" },
    { "threads", "NUMBER", "threads of the CPU, 1 if not given" },
    { "pages", "KIND", "the CPU's memory: huge pages (the default, if there are any) or ordinary" },
    { "peers", NULL, "other libraries too, in turns: `make peers` in the source tree first" },
    { "seconds", "NUMBER", "about so long for each case, 1 if not given; at least 11 rounds" },
    { "json", "FILE", "add a line of JSON for each case to this file" },
    { "resume", NULL, "pass over the cases that the file of --json has" },
    { "html", "FILE", "write a page of charts: of all lines in that file, or of this run" },
    { NULL, NULL, NULL },
};

const command command_bench = { "bench", NULL, "measure time and bandwidth", options, NULL,
                                run,     NULL };
