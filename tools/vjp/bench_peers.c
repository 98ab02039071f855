/* SPDX-License-Identifier: Apache-2.0 */
/* bench_peers.c - other libraries beside vjp: see bench.h, and bench/peers for the libraries.
 *
 * A peer whose results differ from ours is measured all the same, and marked. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "bench.h"
#include "dtypes.h"

/* ---- loading ------------------------------------------------------------------------------ */

static memory *host_memory;

static void *allocate(size_t size)
{
    return memory_allocate(host_memory, size);
}

static void release(void *block)
{
    memory_free(host_memory, block);
}

/* The files of the peers: in build/peers for the program build/release/vjp. */
static void pattern_of(char pattern[4200])
{
    const char *given = getenv("VJP_PEERS");
    char program[4000];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = 0;
    if (given)
        snprintf(pattern, 4200, "%s/peer_*.so", given);
    else
        snprintf(pattern, 4200, "%s/../peers/peer_*.so", program);
}

static void load_one(peers *p, const command *command, const char *path)
{
    char reason[PEER_REASON_SIZE] = "";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    vjp_peer_function *entry = NULL;
    if (library)
        *(void **)&entry = dlsym(library, "vjp_peer");
    const peer *found = entry ? entry(&p->host, reason) : NULL;
    if (found)
        p->at[p->count++] = found;
    else
        complain(command, FAILED, "%s: %s", path, entry ? reason : dlerror());
}

bool peers_open(peers *p, const command *command, memory *where, int threads)
{
    char pattern[4200];
    glob_t files;
    host_memory = where;
    p->host = (peer_host){ threads, allocate, release };
    pattern_of(pattern);
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc && p->count < BENCH_PEERS; i++)
            load_one(p, command, files.gl_pathv[i]);
    globfree(&files);
    return p->count > 0 ||
           complain(command, false,
                    "--peers: no %s found; `make peers` in the source tree builds them", pattern);
}

/* ---- are its results ours? ---------------------------------------------------------------- */

static double value_at(vjp_dtype dtype, const void *data, int64_t i)
{
    if (dtype == VJP_F64)
        return ((const double *)data)[i];
    if (dtype == VJP_F32)
        return ((const float *)data)[i];
    return element_read(dtype, (const uint16_t *)data + i);
}

/* How far a result may be from ours, as a share of the largest one. */
static double tolerance_of(vjp_dtype dtype)
{
    return dtype == VJP_F64 ? 1e-12 : dtype == VJP_F32 ? 2e-5 : dtype == VJP_F16 ? 4e-3 : 3e-2;
}

static bool agrees(vjp_dtype dtype, const void *got, const void *want, int64_t count)
{
    enum {
        BLOCK = 1024 /* elements; those with the same bits need no closer look */
    };
    size_t element = vjp_dtype_size(dtype);
    double largest = 0, worst = 0;
    for (int64_t from = 0; from < count; from += BLOCK) {
        int64_t to = from + BLOCK < count ? from + BLOCK : count;
        size_t start = (size_t)from * element, size = (size_t)(to - from) * element;
        if (!memcmp((const char *)got + start, (const char *)want + start, size))
            continue;
        for (int64_t i = from; i < to; i++) {
            double wanted = value_at(dtype, want, i), given = value_at(dtype, got, i);
            if (isfinite(wanted))
                largest = fmax(largest, fabs(wanted));
            if (given == wanted || (isnan(given) && isnan(wanted)))
                continue; /* infinities have no difference */
            if (!isfinite(given - wanted))
                return false;
            worst = fmax(worst, fabs(given - wanted));
        }
    }
    return worst <= tolerance_of(dtype) * largest;
}

typedef struct answers {
    unsigned char *of[PROBLEM_TENSORS]; /* copies of the outputs */
} answers;

static size_t output_size(const load *l, int32_t tensor)
{
    const vjp_tensor *t = &l->p.tensors[tensor];
    return (size_t)tensor_count(t) * vjp_dtype_size(t->dtype);
}

static answers our_answers(load *l)
{
    answers ours = { { NULL } };
    load_run(l, NULL);
    for (int32_t i = l->p.op->ninputs; i < l->p.ntensors; i++) {
        if (!problem_has(&l->p, i))
            continue;
        ours.of[i] = unit_malloc(output_size(l, i));
        memcpy(ours.of[i], load_buffer(l, i), output_size(l, i));
    }
    return ours;
}

/* Whether a peer's result is ours. Without a result it has less to do: one that vjp may omit. */
static bool output_agrees(const rival *r, const load *l, const answers *ours, int32_t tensor)
{
    const void *got = r->who->result(r->job, tensor - l->p.op->ninputs);
    if (!ours->of[tensor])
        return true;
    if (!got)
        return vjp_op_tensor(l->p.op, tensor)->flags & VJP_TENSOR_OPTIONAL;
    return agrees(l->p.tensors[tensor].dtype, got, ours->of[tensor],
                  tensor_count(&l->p.tensors[tensor]));
}

/* The outputs are made NaN first: what was there before must not count. */
static bool gives(const rival *r, load *l, const answers *ours)
{
    int32_t ninputs = l->p.op->ninputs;
    bool same = true;
    for (int32_t i = ninputs; i < l->p.ntensors; i++)
        if (ours->of[i])
            memset(load_buffer(l, i), 0xff, output_size(l, i));
    same = r->who->run(r->job) == 0;
    for (int32_t i = ninputs; i < l->p.ntensors && same; i++)
        same = output_agrees(r, l, ours, i);
    return same;
}

/* ---- in one case -------------------------------------------------------------------------- */

static void rival_open(rival *r, const peer *who, load *l, const answers *ours)
{
    char reason[PEER_REASON_SIZE] = "";
    vjp_attr attrs[PROBLEM_ATTRS];
    void *buffers[PROBLEM_TENSORS];
    const vjp_op_info *op = l->p.op;
    for (int32_t i = 0; i < op->nattrs; i++)
        attrs[i] = problem_attr(&l->p, vjp_op_attr(op, i)->name);
    for (int32_t i = 0; i < l->p.ntensors; i++)
        buffers[i] = load_buffer(l, i);
    peer_task task = { op, attrs, op->nattrs, l->p.tensors, buffers, l->p.ntensors };
    *r = (rival){ .who = who, .job = who->open(&task, reason) };
    reason[strcspn(reason, "\n")] = 0;
    if (!r->job)
        snprintf(r->note, sizeof(r->note), "refuses: %s", reason);
    else if (!gives(r, l, ours))
        snprintf(r->note, sizeof(r->note), "differs from vjp");
}

void rivals_open(const peers *p, load *l, rival rivals[BENCH_PEERS])
{
    if (p->count == 0)
        return;
    answers ours = our_answers(l);
    for (int i = 0; i < p->count; i++)
        rival_open(&rivals[i], p->at[i], l, &ours);
    for (int32_t i = 0; i < l->p.ntensors; i++)
        free(ours.of[i]);
}

void rivals_close(const peers *p, rival rivals[BENCH_PEERS])
{
    for (int i = 0; i < p->count; i++)
        if (rivals[i].job)
            rivals[i].who->close(rivals[i].job);
}
