/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - vjp info: this machine, as the library sees it. Collected first, then shown as text or
 * as JSON. */
#define _GNU_SOURCE /* sched_getaffinity */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vjp/vjp.h>

#include "json.h"
#include "tool.h"

enum {
    LINE_SIZE = 256,
    NAME_SIZE = 32,
    MOST_CACHES = 16,
    MOST_DEVICES = 64
};

typedef struct cache {
    char name[NAME_SIZE]; /* "L1d" */
    long kib;
} cache;

typedef struct machine {
    char cpu[LINE_SIZE]; /* "" if it has no name */
    int ncaches;
    cache caches[MOST_CACHES];
    char isa[NAME_SIZE], best[NAME_SIZE]; /* in use, and without VJP_ISA */
    char cap[NAME_SIZE];                  /* VJP_ISA */
    int threads, cpus;                    /* 0: not known */
    int ndevices;
    char devices[MOST_DEVICES][NAME_SIZE]; /* their architectures */
    char reason[VJP_REASON_SIZE];          /* why there is no device, or no more */
} machine;

/* ---- asking -------------------------------------------------------------------------------- */

/* The first line of a file, without its end. */
static bool read_line(const char *path, char line[LINE_SIZE])
{
    FILE *in = fopen(path, "r");
    bool ok = in && fgets(line, LINE_SIZE, in);
    if (in)
        fclose(in);
    if (ok)
        line[strcspn(line, "\n")] = 0;
    return ok;
}

/* What the kernel calls the CPU. Not every architecture has a name there. */
static void ask_cpu(machine *m)
{
    char line[LINE_SIZE];
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && !m->cpu[0] && fgets(line, sizeof(line), in)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", strlen("model name")))
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(m->cpu, sizeof(m->cpu), "%s", colon + 1 + strspn(colon + 1, " "));
    }
    if (in)
        fclose(in);
}

/* As the kernel lists those of CPU 0, in KiB. */
static void ask_caches(machine *m)
{
    for (int i = 0; i < MOST_CACHES; i++) {
        static const char *const files[] = { "level", "type", "size" };
        char path[LINE_SIZE], lines[3][LINE_SIZE];
        bool ok = true;
        for (int f = 0; f < 3 && ok; f++) {
            snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i,
                     files[f]);
            ok = read_line(path, lines[f]);
        }
        if (!ok || !strcmp(lines[1], "Instruction"))
            continue;
        cache *made = &m->caches[m->ncaches++];
        snprintf(made->name, sizeof(made->name), "L%.8s%s", lines[0],
                 strcmp(lines[1], "Data") ? "" : "d");
        made->kib = strtol(lines[2], NULL, 10);
    }
}

/* The name of the instruction set of a context on the CPU; says why not. */
static bool ask_isa(const command *command, char isa[NAME_SIZE])
{
    char reason[VJP_REASON_SIZE];
    vjp_context *ctx;
    if (vjp_context_create(NULL, &ctx, reason, sizeof(reason)) != VJP_OK)
        return complain(command, false, "%s", reason);
    snprintf(isa, NAME_SIZE, "%s", vjp_context_isa(ctx));
    vjp_context_destroy(ctx);
    return true;
}

static bool ask_isas(const command *command, machine *m)
{
    const char *cap = getenv("VJP_ISA");
    snprintf(m->cap, sizeof(m->cap), "%s", cap ? cap : "");
    if (!ask_isa(command, m->isa))
        return false;
    unsetenv("VJP_ISA");
    return ask_isa(command, m->best);
}

static void ask_threads(machine *m)
{
    cpu_set_t set;
#ifdef _OPENMP
    vjp_context *ctx = NULL;
    vjp_context_create(NULL, &ctx, NULL, 0);
    m->threads = (int)vjp_context_threads(ctx);
    vjp_context_destroy(ctx);
#endif
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        m->cpus = CPU_COUNT(&set);
}

/* Devices are numbered from 0: the first that is refused ends them. */
static void ask_cuda(machine *m)
{
    for (; m->ndevices < MOST_DEVICES; m->ndevices++) {
        vjp_context_options where = VJP_CONTEXT_DEFAULTS;
        vjp_context *ctx;
        where.device = VJP_CUDA;
        where.device_id = m->ndevices;
        if (vjp_context_create(&where, &ctx, m->reason, sizeof(m->reason)) != VJP_OK)
            return;
        snprintf(m->devices[m->ndevices], NAME_SIZE, "%s", vjp_context_isa(ctx));
        vjp_context_destroy(ctx);
    }
}

/* ---- text ---------------------------------------------------------------------------------- */

static void put(const char *what)
{
    printf("%-9s ", what);
}

static void show_caches(const machine *m)
{
    put("caches");
    for (int i = 0; i < m->ncaches; i++)
        printf("%s%s %ldK", i ? ", " : "", m->caches[i].name, m->caches[i].kib);
    puts(m->ncaches ? "" : "not known");
}

static void show_isa(const machine *m)
{
    put("isa");
    if (strcmp(m->isa, m->best))
        printf("%s, capped by VJP_ISA=%s; this CPU has %s\n", m->isa, m->cap, m->best);
    else
        printf("%s, the best that this CPU has\n", m->isa);
}

static void show_threads(const machine *m)
{
    put("threads");
    if (m->threads)
        printf("%d, by OpenMP", m->threads);
    else
        printf("1, built without OpenMP");
    if (m->cpus)
        printf("; %d CPUs to run on", m->cpus);
    putchar('\n');
}

static void show_text(const machine *m)
{
    char version[VERSION_SIZE];
    put("version");
    puts(version_text(version));
    put("cpu");
    puts(m->cpu[0] ? m->cpu : "of no known name");
    show_caches(m);
    show_isa(m);
    show_threads(m);
    for (int i = 0; i < m->ndevices; i++) {
        put("cuda");
        printf("device %d: %s\n", i, m->devices[i]);
    }
    if (!m->ndevices) {
        put("cuda");
        printf("none (%s)\n", m->reason);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void show_json(const machine *m)
{
    char version[VERSION_SIZE];
    printf("{");
    json_put_member(stdout, "version", version_text(version));
    printf(",\n ");
    json_put_member(stdout, "cpu", m->cpu);
    printf(",\n \"caches\": [");
    for (int i = 0; i < m->ncaches; i++) {
        printf(i ? ", {" : "{");
        json_put_member(stdout, "name", m->caches[i].name);
        printf(", \"bytes\": %ld}", m->caches[i].kib << 10);
    }
    printf("],\n ");
    json_put_member(stdout, "isa", m->isa);
    printf(", ");
    json_put_member(stdout, "best_isa", m->best);
    printf(",\n \"threads\": %d, \"cpus\": %d,\n \"cuda\": [", m->threads ? m->threads : 1,
           m->cpus);
    for (int i = 0; i < m->ndevices; i++) {
        printf("%s{\"device\": %d, ", i ? ", " : "", i);
        json_put_member(stdout, "isa", m->devices[i]);
        printf("}");
    }
    printf("]");
    if (!m->ndevices) {
        printf(", ");
        json_put_member(stdout, "no_cuda", m->reason);
    }
    printf("}\n");
}

static int run(const arguments *args)
{
    machine m = { .ncaches = 0 };
    if (!ask_isas(args->command, &m))
        return FAILED;
    ask_cpu(&m);
    ask_caches(&m);
    ask_threads(&m);
    ask_cuda(&m);
    if (option_given(args, "json"))
        show_json(&m);
    else
        show_text(&m);
    return DONE;
}

static const option options[] = {
    { "json", NULL, "as an object of JSON" },
    { NULL, NULL, NULL },
};

const command command_info = { "info", NULL, "this machine, as the library sees it",
                               options, NULL, run, NULL };
