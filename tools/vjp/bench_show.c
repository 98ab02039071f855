/* SPDX-License-Identifier: Apache-2.0 */
/* bench_show.c - the table of `vjp bench`, its bar, and its lines of JSON. */
#define _DEFAULT_SOURCE

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "named.h"

const char *bench_device(const bench *b)
{
    return b->device == VJP_CUDA ? "cuda" : "cpu";
}

const char *bench_pages(const bench *b)
{
    return b->device == VJP_CUDA ? "device" : b->ordinary_pages ? "ordinary" : "huge";
}

void bench_who(const peer *peer, char who[WHO_SIZE])
{
    snprintf(who, WHO_SIZE, "%s %s", peer->name, peer->version);
}

void bench_describe(bench_result *r, bench_twist twist)
{
    static const char *const layouts[] = {
        [NAMED_PLAIN] = "plain",
        [NAMED_IN_PLACE] = "in place",
        [NAMED_CHANNELS_LAST] = "channels last",
        [NAMED_SWAPPED] = "transposed",
        [NAMED_BROADCAST] = "broadcast",
    };
    static const char *const twists[] = {
        [TWIST_OFFSET] = "off by one element",
        [TWIST_DENORMALS] = "subnormal numbers",
    };
    const problem *p = &r->of.p;
    const vjp_tensor *data = &p->tensors[0];
    named_layout layout = r->of.layout;
    bool of_input = twist == TWIST_NONE && layout != NAMED_PLAIN && layout != NAMED_IN_PLACE;
    size_t used = 0;
    snprintf(r->layout, sizeof(r->layout), "%s%s%s",
             of_input ? vjp_op_tensor(p->op, named_tensor(p->op))->name : "", of_input ? " " : "",
             twist == TWIST_NONE ? layouts[layout] : twists[twist]);
    for (int32_t d = 0; d < data->ndim; d++)
        used += (size_t)snprintf(r->shape + used, sizeof(r->shape) - used, "%s%" PRId64,
                                 d > 0 ? "x" : "", data->shape[d]);
}

/* ---- the table ---------------------------------------------------------------------------- */

static void show_time(double ns)
{
    if (ns <= 0)
        printf(" %10s", "");
    else if (ns < 1e4)
        printf(" %7.0f ns", ns);
    else
        printf(" %7.1f us", ns / 1e3);
}

void show_machine(const bench *b)
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
        printf("instruction set %s, threads %" PRId64 ", %s pages\n", vjp_context_isa(b->ctx),
               b->threads, bench_pages(b));
    for (int i = 0; i < b->peers.count; i++)
        printf("beside %s %s, instruction set %s\n", b->peers.at[i]->name,
               b->peers.at[i]->version, b->peers.at[i]->isa);
}

void show_head(const bench *b)
{
    printf("%-26s %-5s %-18s %10s %8s %8s %6s", "operator", "dtype", "shape", "time", "GB/s",
           "ceiling", "share");
    if (b->device == VJP_CUDA)
        printf(" %10s %10s", "call", "in a graph");
    for (int i = 0; i < b->peers.count; i++)
        printf(" %10s %6s", b->peers.at[i]->name, "/ vjp");
    printf("\n");
}

/* GB/s and the time over vjp's; "!" where results differ. */
static void show_rival(const rival *r)
{
    if (r->job)
        printf(" %9.1f%s %6.2f", r->s.gbps, r->note[0] ? "!" : " ", r->s.over_vjp);
    else
        printf(" %10s %6s", "refuses", "");
}

void show_result(const bench *b, const bench_result *r)
{
    bool plain = !strcmp(r->layout, "plain");
    printf("%-26s %-5s %-18s", r->of.name, vjp_dtype_name(r->of.dtype), r->shape);
    show_time(r->s.ns);
    printf(" %8.1f %8.1f %4.0f %%", r->s.gbps, r->s.ceiling, 100 * r->s.share);
    if (b->device == VJP_CUDA) {
        show_time(r->s.call_ns);
        show_time(r->s.graph_ns);
    }
    for (int i = 0; i < b->peers.count; i++)
        show_rival(&r->rivals[i]);
    printf("%s%s\n", plain ? "" : "  ", plain ? "" : r->layout);
    fflush(stdout);
}

/* ---- the bar ------------------------------------------------------------------------------ */

void show_progress(const bench *b, const bench_result *next)
{
    enum {
        WIDTH = 30
    };
    static const char full[] = "##############################";
    static const char none[] = "..............................";
    int done = (int)(b->passed * WIDTH / b->total);
    if (!isatty(STDOUT_FILENO))
        return;
    printf("[%.*s%.*s] %" PRId64 " of %" PRId64 "  %s %s %s", done, full, WIDTH - done, none,
           b->passed, b->total, next->of.name, vjp_dtype_name(next->of.dtype), next->shape);
    fflush(stdout);
}

void hide_progress(void)
{
    if (isatty(STDOUT_FILENO))
        printf("\r\033[K");
}

/* ---- lines -------------------------------------------------------------------------------- */

/* isa: what that library uses. */
static void write_case(const bench *b, const bench_result *r, const char *who, const char *isa)
{
    fprintf(b->json,
            "{\"who\": \"%s\", \"op\": \"%s\", \"case\": \"%s\", \"dtype\": \"%s\", "
            "\"shape\": \"%s\", \"layout\": \"%s\", \"device\": \"%s\", \"isa\": \"%s\", "
            "\"threads\": %" PRId64 ", \"pages\": \"%s\"",
            who, r->of.p.op->name, r->of.name, vjp_dtype_name(r->of.dtype), r->shape, r->layout,
            bench_device(b), isa, b->threads, bench_pages(b));
}

static void write_sample(FILE *json, const sample *s)
{
    fprintf(json,
            ", \"median_ns\": %.1f, \"gbps\": %.2f, \"ceiling_gbps\": %.2f, \"share\": %.4f, "
            "\"pairs\": %d",
            s->ns, s->gbps, s->ceiling, s->share, s->pairs);
}

/* A reason is another library's text: what JSON gives a meaning is left out. */
static void write_note(FILE *json, const char *note)
{
    fprintf(json, ", \"note\": \"");
    for (; *note; note++)
        if (*note != '"' && *note != '\\' && (unsigned char)*note >= ' ')
            fputc(*note, json);
    fprintf(json, "\"");
}

void write_json(const bench *b, const bench_result *r)
{
    char who[WHO_SIZE];
    if (!b->json)
        return;
    for (int i = 0; i < b->peers.count; i++) {
        const rival *rival = &r->rivals[i];
        bench_who(rival->who, who);
        write_case(b, r, who, rival->who->isa);
        if (rival->job) {
            write_sample(b->json, &rival->s);
            fprintf(b->json, ", \"over_vjp\": %.4f", rival->s.over_vjp);
        }
        if (rival->note[0])
            write_note(b->json, rival->note);
        fprintf(b->json, "}\n");
    }
    write_case(b, r, "vjp", vjp_context_isa(b->ctx));
    write_sample(b->json, &r->s);
    if (r->s.call_ns > 0)
        fprintf(b->json, ", \"call_ns\": %.1f, \"graph_ns\": %.1f", r->s.call_ns, r->s.graph_ns);
    fprintf(b->json, "}\n");
    fflush(b->json);
}
