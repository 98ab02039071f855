/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cuda.c - time and bandwidth on a CUDA device, by its events, against a triad of three
 * buffers of 1 GiB.
 *
 * Triads and runs take turns in blocks. A block is queued as a whole, an event between each two
 * runs, so that the device never waits for the host: the triads give it the time to queue the rest.
 * The first of each block is not counted: it also waits for what the block before it had left in
 * the L2 cache to be written. */
#include <stdlib.h>

#include "bench.h"

enum {
    ROUNDS = 12,
    TRIADS = 4, /* of a block that are counted */
    MOST_RUNS = BENCH_EVENTS - 1,
    CALLS = 200, /* below the number that a stream queues before the caller has to wait */
    GRAPH_RUNS = 50
};

#define TRIAD_SIZE ((size_t)1 << 30)
#define SMALL_BYTES (double)(64 << 20) /* below this, calls and graphs are measured as well */

/* ---- the triad ---------------------------------------------------------------------------- */

/* c = a + b over vectors of 16 bytes, 256 threads to a block: one vector a thread, and four. */
#define LOAD(x, y, at)                                        \
    "ld.global.v4.f32 {" x "0, " x "1, " x "2, " x "3}, [%a" at "];\n" \
    "ld.global.v4.f32 {" y "0, " y "1, " y "2, " y "3}, [%b" at "];\n"
#define STORE(x, y, at)                \
    "add.f32 " x "0, " x "0, " y "0;\n" \
    "add.f32 " x "1, " x "1, " y "1;\n" \
    "add.f32 " x "2, " x "2, " y "2;\n" \
    "add.f32 " x "3, " x "3, " y "3;\n" \
    "st.global.v4.f32 [%c" at "], {" x "0, " x "1, " x "2, " x "3};\n"
#define BEGIN(name, block_bytes)                                                    \
    ".visible .entry " name "(.param .u64 c, .param .u64 a, .param .u64 b)\n{\n"    \
    ".reg .b64 %a, %b, %c, %i, %t;\n.reg .b32 %k;\n"                                \
    ".reg .f32 %x<10>, %y<10>, %p<10>, %q<10>, %r<10>, %s<10>, %u<10>, %v<10>;\n"   \
    "mov.u32 %k, %ctaid.x;\nmul.wide.u32 %i, %k, " block_bytes ";\n"                \
    "mov.u32 %k, %tid.x;\nmul.wide.u32 %t, %k, 16;\nadd.s64 %i, %i, %t;\n"          \
    "ld.param.u64 %a, [a];\ncvta.to.global.u64 %a, %a;\nadd.s64 %a, %a, %i;\n"      \
    "ld.param.u64 %b, [b];\ncvta.to.global.u64 %b, %b;\nadd.s64 %b, %b, %i;\n"      \
    "ld.param.u64 %c, [c];\ncvta.to.global.u64 %c, %c;\nadd.s64 %c, %c, %i;\n"
#define END "ret;\n}\n"

static const char triad_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    BEGIN("triad1", "4096")
    LOAD("%x", "%y", "")
    STORE("%x", "%y", "")
    END
    BEGIN("triad4", "16384")
    LOAD("%x", "%y", "") LOAD("%p", "%q", "+4096") LOAD("%r", "%s", "+8192")
    LOAD("%u", "%v", "+12288")
    STORE("%x", "%y", "") STORE("%p", "%q", "+4096") STORE("%r", "%s", "+8192")
    STORE("%u", "%v", "+12288")
    END;

static void triad(bench_cuda *b)
{
    void *parameters[] = { &b->buffers[0], &b->buffers[1], &b->buffers[2] };
    memory_check(b->where, b->where->cuda->LaunchKernel(b->triad, b->blocks, 1, 1, 256, 1, 1, 0,
                                                        b->stream, parameters, NULL));
}

/* ---- timing ------------------------------------------------------------------------------- */

static void mark(bench_cuda *b, int event)
{
    memory_check(b->where, b->where->cuda->EventRecord(b->events[event], b->stream));
}

/* Seconds from one mark to the next, once that is reached. */
static double elapsed(bench_cuda *b, int event)
{
    float ms = 0;
    const cuda_driver *cuda = b->where->cuda;
    memory_check(b->where, cuda->EventSynchronize(b->events[event + 1]));
    memory_check(b->where, cuda->EventElapsedTime(&ms, b->events[event], b->events[event + 1]));
    return (double)ms * 1e-3;
}

/* Queue a block of triads, or of runs if there is a load; the first is not counted. */
static void queue_block(bench_cuda *b, load *l, int count)
{
    for (int i = -1; i < count; i++) {
        if (l)
            load_run(l, b->stream);
        else
            triad(b);
        mark(b, i + 1);
    }
}

static void read_block(bench_cuda *b, int count, double *times)
{
    for (int i = 0; i < count; i++)
        times[i] = elapsed(b, i);
}

/* ---- life --------------------------------------------------------------------------------- */

static bool choose(bench_cuda *b, const char *name, unsigned vectors, double *best)
{
    bench_cuda candidate = *b;
    double times[11];
    candidate.blocks = (unsigned)(TRIAD_SIZE / 16 / 256 / vectors);
    if (!memory_check(b->where, b->where->cuda->ModuleGetFunction(&candidate.triad, b->module,
                                                                  name)))
        return false;
    queue_block(&candidate, NULL, 11);
    read_block(&candidate, 11, times);
    double time = bench_median(times, 11);
    if (!b->triad || time < *best) {
        *best = time;
        *b = candidate;
    }
    return !b->where->error;
}

static bool create_events(bench_cuda *b)
{
    for (int i = 0; i < BENCH_EVENTS; i++)
        memory_check(b->where, b->where->cuda->EventCreate(&b->events[i], CUDA_EVENT_DEFAULT));
    return !b->where->error;
}

bool bench_cuda_open(bench_cuda *b, memory *where, char reason[VJP_REASON_SIZE])
{
    const cuda_driver *cuda = where->cuda;
    double best = 0;
    int cache_size = 0;
    cuda_device device = 0;
    *b = (bench_cuda){ .where = where, .stream = memory_stream_create(where) };
    for (int i = 0; i < 3; i++) {
        b->buffers[i] = memory_allocate(where, TRIAD_SIZE);
        if (!b->buffers[i]) {
            snprintf(reason, VJP_REASON_SIZE, "no memory for three buffers of 1 GiB");
            return false;
        }
        memory_fill(where, b->buffers[i], 0x3c, TRIAD_SIZE);
    }
    memory_wait(where);
    if (!memory_check(where, cuda->DeviceGet(&device, where->ordinal)) ||
        !memory_check(where, cuda->DeviceGetAttribute(&cache_size, CUDA_L2_CACHE_SIZE, device)) ||
        !create_events(b) || !memory_check(where, cuda->ModuleLoadData(&b->module, triad_ptx)) ||
        !choose(b, "triad1", 1, &best) || !choose(b, "triad4", 4, &best)) {
        snprintf(reason, VJP_REASON_SIZE, "CUDA: %s", where->error);
        return false;
    }
    b->cache_size = cache_size;
    return true;
}

void bench_cuda_close(bench_cuda *b)
{
    if (b->where->error)
        return;
    for (int i = 0; i < BENCH_EVENTS; i++)
        b->where->cuda->EventDestroy(b->events[i]);
    b->where->cuda->ModuleUnload(b->module);
    memory_stream_destroy(b->where, b->stream);
    for (int i = 0; i < 3; i++)
        memory_free(b->where, b->buffers[i]);
}

/* ---- measuring ---------------------------------------------------------------------------- */

/* The host's time for one call, the queue never full. */
static double call_time(bench_cuda *b, load *l)
{
    double rounds[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        memory_stream_wait(b->where, b->stream);
        double start = bench_now();
        for (int i = 0; i < CALLS; i++)
            load_run(l, b->stream);
        rounds[r] = (bench_now() - start) / CALLS;
    }
    memory_stream_wait(b->where, b->stream);
    return bench_median(rounds, ROUNDS);
}

/* The device's time for one run among many in a graph. */
static double graph_time(bench_cuda *b, load *l)
{
    double rounds[ROUNDS];
    memory_capture_begin(b->where, b->stream);
    for (int i = 0; i < GRAPH_RUNS; i++)
        load_run(l, b->stream);
    cuda_graph_exec graph = memory_capture_end(b->where, b->stream);
    if (!graph)
        return 0;
    memory_graph_run(b->where, graph, b->stream);
    for (int r = 0; r < ROUNDS; r++) {
        mark(b, 0);
        memory_graph_run(b->where, graph, b->stream);
        mark(b, 1);
        rounds[r] = elapsed(b, 0) / GRAPH_RUNS;
    }
    memory_graph_destroy(b->where, graph);
    return bench_median(rounds, ROUNDS);
}

bool bench_cuda_measure(bench_cuda *b, load *l, sample *s)
{
    double times[ROUNDS * MOST_RUNS], ceilings[ROUNDS * TRIADS];
    int ntimes = 0, nceilings = 0;
    if (load_run(l, b->stream) != VJP_OK)
        return false;
    queue_block(b, l, 3);
    int runs = (int)(20e-3 / (elapsed(b, 2) + 1e-9)); /* 20 ms of runs in a block */
    runs = runs < 4 ? 4 : runs > MOST_RUNS ? MOST_RUNS : runs;
    for (int round = 0; round < ROUNDS && !b->where->error; round++) {
        queue_block(b, NULL, TRIADS);
        read_block(b, TRIADS, ceilings + nceilings);
        nceilings += TRIADS;
        triad(b); /* keeps the device busy while the runs are queued */
        queue_block(b, l, runs);
        read_block(b, runs, times + ntimes);
        ntimes += runs;
    }
    if (b->where->error)
        return false;
    *s = (sample){ .ns = 1e9 * bench_median(times, ntimes) };
    s->gbps = l->bytes / s->ns;
    s->ceiling = 3.0 * (double)TRIAD_SIZE / bench_median(ceilings, nceilings) / 1e9;
    s->share = s->gbps / s->ceiling;
    if (l->bytes < SMALL_BYTES) {
        s->call_ns = 1e9 * call_time(b, l);
        s->graph_ns = 1e9 * graph_time(b, l);
    }
    return !b->where->error;
}
