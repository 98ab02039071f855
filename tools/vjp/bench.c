/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - vjp bench: measure time and bandwidth.
 *
 * Bytes are the least that must move: each input read once, each output written once. The share
 * is that of a ceiling, two reads and one write, measured in turns with the operator. */
#include "bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench_report.h"

typedef struct bench {
    const arguments *args;
    vjp_device device;
    vjp_context *ctx;
    memory where;
    bench_cuda cuda;
    int64_t threads;
    FILE *json, *html;
    int64_t measured;
} bench;

/* ---- selection ---------------------------------------------------------------------------- */

static void shape_text(int32_t ndim, const int64_t *shape, char text[96])
{
    size_t used = 0;
    text[0] = 0;
    for (int32_t d = 0; d < ndim; d++)
        used += (size_t)snprintf(text + used, 96 - used, "%s%" PRId64, d > 0 ? "x" : "", shape[d]);
}

/* Whether the list "a,b,c" has the word; a list that was not given has every word. */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (n == length && !strncmp(list, word, n))
            return true;
        list += n + (list[n] == ',');
    }
    return !list;
}

static bool wanted(const bench *b, const named_problem *row, const char *shape)
{
    const char *op = option_given(b->args, "op"), *shapes = option_given(b->args, "shape");
    return (!op || !strcmp(row->op, op) || !strncmp(row->name, op, strlen(op))) &&
           listed(option_given(b->args, "dtype"), vjp_dtype_name(row->dtype)) &&
           listed(shapes, shape);
}

/* ---- output ------------------------------------------------------------------------------- */

static void show_time(double ns)
{
    if (ns <= 0)
        printf(" %10s", "");
    else if (ns < 1e4)
        printf(" %7.0f ns", ns);
    else
        printf(" %7.1f us", ns / 1e3);
}

static void show_machine(const bench *b)
{
    char name[128] = "";
    cuda_device device = 0;
    const cuda_driver *cuda = b->where.cuda;
    if (cuda && cuda->DeviceGet(&device, b->where.ordinal) == CUDA_OK)
        cuda->DeviceGetName(name, sizeof(name), device);
    if (cuda)
        printf("%s, %s, L2 cache of %.0f MiB\n", name, vjp_context_isa(b->ctx),
               b->cuda.cache_size / (1 << 20));
    else
        printf("instruction set %s, threads %" PRId64 "\n", vjp_context_isa(b->ctx), b->threads);
}

static void show_head(const bench *b)
{
    printf("%-26s %-5s %-18s %10s %8s %8s %6s", "operator", "dtype", "shape", "time", "GB/s",
           "ceiling", "share");
    printf(b->device == VJP_CUDA ? " %10s %10s\n" : "\n", "call", "in a graph");
}

static void show(const bench *b, const named_problem *row, const char *shape, const sample *s)
{
    printf("%-26s %-5s %-18s", row->name, vjp_dtype_name(row->dtype), shape);
    show_time(s->ns);
    printf(" %8.1f %8.1f %4.0f %%", s->gbps, s->ceiling, 100 * s->share);
    if (b->device == VJP_CUDA) {
        show_time(s->call_ns);
        show_time(s->graph_ns);
    }
    printf("\n");
    fflush(stdout);
}

static void write_json(const bench *b, const named_problem *row, const char *shape,
                       const sample *s)
{
    static const char *const layouts[] = {
        [NAMED_PLAIN] = "plain",
        [NAMED_IN_PLACE] = "in place",
        [NAMED_CHANNELS_LAST] = "diff_dst channels last",
        [NAMED_SWAPPED] = "diff_dst transposed",
        [NAMED_BROADCAST] = "diff_dst broadcast",
    };
    if (!b->json)
        return;
    fprintf(b->json,
            "{\"who\": \"vjp\", \"op\": \"%s\", \"case\": \"%s\", \"dtype\": \"%s\", "
            "\"shape\": \"%s\", \"layout\": \"%s\", \"device\": \"%s\", \"isa\": \"%s\", \"threads\": %" PRId64
            ", \"median_ns\": %.1f, \"gbps\": %.2f, \"ceiling_gbps\": %.2f, \"share\": %.4f",
            row->op, row->name, vjp_dtype_name(row->dtype), shape, layouts[row->layout],
            b->device == VJP_CUDA ? "cuda" : "cpu", vjp_context_isa(b->ctx), b->threads, s->ns, s->gbps, s->ceiling,
            s->share);
    if (s->call_ns > 0)
        fprintf(b->json, ", \"call_ns\": %.1f, \"graph_ns\": %.1f", s->call_ns, s->graph_ns);
    fprintf(b->json, "}\n");
    fflush(b->json);
}

/* ---- measuring ---------------------------------------------------------------------------- */

static int measure(bench *b, const named_problem *row)
{
    char shape[96], reason[VJP_REASON_SIZE] = "";
    load l;
    sample s;
    shape_text(row->ndim, row->shape, shape);
    if (!wanted(b, row, shape))
        return DONE;
    bool cuda = b->device == VJP_CUDA;
    bool well = load_open(&l, &b->where, b->ctx, row, cuda ? 4 * b->cuda.cache_size : 0, reason);
    if (well && !(cuda ? bench_cuda_measure(&b->cuda, &l, &s)
                       : bench_cpu_measure(&l, (int)b->threads, &s))) {
        snprintf(reason, sizeof(reason), "%s", b->where.error ? b->where.error : "it does not run");
        well = false;
    }
    load_close(&l);
    if (!well)
        return complain(b->args->command, FAILED, "%s %s %s: %s", row->name,
                        vjp_dtype_name(row->dtype), shape, reason);
    b->measured++;
    show(b, row, shape, &s);
    write_json(b, row, shape, &s);
    return DONE;
}

static int measure_all(bench *b)
{
    int64_t count;
    int status = DONE;
    const bench_case *cases = bench_cases_of(b->device, &count);
    show_head(b);
    for (int64_t c = 0; c < count; c++) {
        for (int i = 0; i == 0 || (i < BENCH_SIZES && cases[c].sizes[i]); i++)
            for (int d = 0; d < BENCH_DTYPES && cases[c].dtypes[d]; d++) {
                named_problem row;
                if (b->where.error || !bench_case_at(&cases[c], cases[c].sizes[i],
                                                     cases[c].dtypes[d], &row))
                    continue;
                int result = measure(b, &row);
                status = result != DONE ? result : status;
            }
    }
    if (b->measured == 0 && status == DONE)
        return complain(b->args->command, FAILED, "no case is like that; see vjp bench --help");
    return status;
}

/* ---- the cost of a plan ------------------------------------------------------------------- */

static double plan_ns(vjp_context *ctx)
{
    enum {
        CALLS = 2000,
        ROUNDS = 15
    };
    const int64_t shape[] = { 32, 64, 56, 56 };
    problem p = problem_start("relu_backward");
    double rounds[ROUNDS];
    problem_contiguous(&p, VJP_F32, VJP_F32, 4, shape, 0, NULL);
    for (int r = 0; r < ROUNDS; r++) {
        double start = bench_now();
        for (int i = 0; i < CALLS; i++) {
            vjp_plan *plan;
            problem_create(&p, ctx, &plan, NULL);
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
    return true;
}

/* Lines go to the file of --json, or for a page alone to one that goes with the program. */
static bool open_files(bench *b)
{
    const char *json = option_given(b->args, "json"), *html = option_given(b->args, "html");
    if (json || html)
        b->json = json ? fopen(json, "a+") : tmpfile();
    if (html)
        b->html = fopen(html, "w");
    if ((json || html) && !b->json)
        return complain(b->args->command, false, "cannot write %s", json ? json : "a file");
    return !html || b->html || complain(b->args->command, false, "cannot write %s", html);
}

static int close_files(bench *b, int status)
{
    bool well = true;
    if (b->html) {
        double caches[BENCH_CACHES] = { b->cuda.cache_size };
        records all = records_read(b->json);
        if (b->device == VJP_CPU)
            bench_cpu_caches(caches);
        report_write(b->html, &all, caches);
        free(all.at);
        well = !ferror(b->html);
        well = fclose(b->html) == 0 && well;
    }
    if (b->json) {
        well = !ferror(b->json) && well;
        well = fclose(b->json) == 0 && well;
    }
    return well ? status : complain(b->args->command, FAILED, "a file could not be written");
}

static int run(const arguments *args)
{
    bench b = { .args = args };
    if (!memory_option(args, &b.device) || !option_number(args, "threads", 1, 1024, 1, &b.threads))
        return MISUSED;
    if (!open_all(&b) || !open_files(&b))
        return FAILED;
    show_machine(&b);
    printf("create and destroy a plan: %.0f ns\n\n", plan_ns(b.ctx));
    int status = measure_all(&b);
    status = close_files(&b, status);
    if (b.device == VJP_CUDA)
        bench_cuda_close(&b.cuda);
    vjp_context_destroy(b.ctx);
    return status;
}

static const option options[] = {
    { "device", "DEVICE", "cpu (the default) or cuda" },
    { "op", "NAME", "only this operator, or cases whose name begins like that" },
    { "dtype", "LIST", "only these: f32,bf16" },
    { "shape", "LIST", "only these: 65536x1024,16777216" },
    { "threads", "NUMBER", "threads of the CPU, 1 if not given" },
    { "json", "FILE", "add a line of JSON for each case to this file" },
    { "html", "FILE", "write a page of charts: of all lines in that file, or of this run" },
    { NULL, NULL, NULL },
};

const command command_bench = { "bench", NULL, "measure time and bandwidth", options, NULL, run };
