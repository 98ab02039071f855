/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - vjp info: this machine, as the library sees it. */
#define _GNU_SOURCE /* sched_getaffinity */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <vjp/vjp.h>

#include "tool.h"

enum {
    LINE_SIZE = 256,
    MOST_CACHES = 16,
    MOST_DEVICES = 64
};

static void put(const char *what)
{
    printf("%-9s ", what);
}

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
static void show_cpu(void)
{
    char line[LINE_SIZE];
    const char *model = NULL;
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && !model && fgets(line, sizeof(line), in)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", strlen("model name")))
            continue;
        line[strcspn(line, "\n")] = 0;
        model = colon + 1 + strspn(colon + 1, " ");
    }
    if (in)
        fclose(in);
    put("cpu");
    puts(model ? model : "of no known name");
}

/* "L1d 32K, L2 1024K, L3 32768K", as the kernel lists those of CPU 0. */
static void show_caches(void)
{
    int shown = 0;
    put("caches");
    for (int i = 0; i < MOST_CACHES; i++) {
        static const char *const files[] = { "level", "type", "size" };
        char path[LINE_SIZE], lines[3][LINE_SIZE];
        bool ok = true;
        for (int f = 0; f < 3 && ok; f++) {
            snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i,
                     files[f]);
            ok = read_line(path, lines[f]);
        }
        if (ok && strcmp(lines[1], "Instruction"))
            printf("%sL%s%s %s", shown++ ? ", " : "", lines[0],
                   strcmp(lines[1], "Data") ? "" : "d", lines[2]);
    }
    puts(shown ? "" : "not known");
}

/* A context on the CPU; prints why not. */
static vjp_context *open_cpu(const command *command)
{
    char reason[VJP_REASON_SIZE];
    vjp_context *ctx;
    if (vjp_context_create(NULL, &ctx, reason, sizeof(reason)) != VJP_OK)
        complain(command, FAILED, "%s", reason);
    return ctx;
}

/* The instruction set in use, and the one that would be without VJP_ISA. */
static int show_isa(const command *command)
{
    const char *cap = getenv("VJP_ISA");
    vjp_context *used = open_cpu(command);
    unsetenv("VJP_ISA");
    vjp_context *best = used ? open_cpu(command) : NULL;
    if (best) {
        const char *isa = vjp_context_isa(used), *most = vjp_context_isa(best);
        put("isa");
        if (strcmp(isa, most))
            printf("%s, capped by VJP_ISA=%s; this CPU has %s\n", isa, cap, most);
        else
            printf("%s, the best that this CPU has\n", isa);
    }
    vjp_context_destroy(used);
    vjp_context_destroy(best);
    return best ? DONE : FAILED;
}

static void show_threads(void)
{
    cpu_set_t set;
    put("threads");
#ifdef _OPENMP
    printf("%d, by OpenMP", omp_get_max_threads());
#else
    printf("1, built without OpenMP");
#endif
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        printf("; %d CPUs to run on", CPU_COUNT(&set));
    putchar('\n');
}

/* Devices are numbered from 0: the first that is refused ends them. */
static void show_cuda(void)
{
    for (int32_t id = 0; id < MOST_DEVICES; id++) {
        vjp_context_options options = VJP_CONTEXT_DEFAULTS;
        char reason[VJP_REASON_SIZE];
        vjp_context *ctx;
        options.device = VJP_CUDA;
        options.device_id = id;
        if (vjp_context_create(&options, &ctx, reason, sizeof(reason)) == VJP_OK) {
            put("cuda");
            printf("device %d: %s\n", (int)id, vjp_context_isa(ctx));
            vjp_context_destroy(ctx);
        } else {
            if (id == 0) {
                put("cuda");
                printf("none (%s)\n", reason);
            }
            return;
        }
    }
}

static int run(const arguments *args)
{
    char version[VERSION_SIZE];
    put("version");
    puts(version_text(version));
    show_cpu();
    show_caches();
    int status = show_isa(args->command);
    show_threads();
    show_cuda();
    return status;
}

const command command_info = { "info", NULL, "this machine, as the library sees it",
                               NULL, NULL, run, NULL };
