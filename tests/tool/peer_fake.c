/* SPDX-License-Identifier: Apache-2.0 */
/* peer_fake.c - a peer for the tests of `vjp bench --peers`: a map, right in f32, right in
 * f64 but in memory of its own; in bf16 it leaves out the first element; it refuses f16, with a
 * reason that needs escaping in JSON and HTML. In f32 it also has sqrt, which has NaN among its
 * results, and softmax along rows of 1024, without the statistics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "peers/peer.h"
#include "samples.h"

static const peer_host *host;
static peer_task given;
static void *buffers[3], *own;
static int64_t count;

static void *open_other(const peer_task *task)
{
    given = *task;
    count = task->tensors[0].shape[0] * (task->tensors[0].ndim > 1 ? task->tensors[0].shape[1] : 1);
    buffers[0] = task->buffers[0];
    buffers[2] = task->buffers[task->op->ninputs];
    own = NULL;
    return &given;
}

static void run_root(const float *x, float *y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] < 0 ? (i % 2 ? NAN : -NAN) : sqrtf(x[i]); /* of either sign */
}

static void run_stats(const float *x, float *y)
{
    enum {
        ROW = 1024
    };
    for (int64_t from = 0; from < count; from += ROW) {
        double sum = 0;
        for (int64_t i = from; i < from + ROW; i++)
            sum += exp(x[i]);
        for (int64_t i = from; i < from + ROW; i++)
            y[i] = (float)(exp(x[i]) / sum);
    }
}

static int is_op(const peer_task *task, const char *name)
{
    return !strcmp(task->op->name, name) && task->tensors[0].dtype == VJP_F32;
}

static void *open_job(const peer_task *task, char reason[PEER_REASON_SIZE])
{
    vjp_dtype dtype = task->tensors[0].dtype;
    if (is_op(task, SAMPLE_NAN) || is_op(task, SAMPLE_STATS))
        return open_other(task);
    if (strcmp(task->op->name, SAMPLE_MAP) != 0 || peer_attr(task, "use_dst").value.b ||
        dtype == VJP_F16) {
        snprintf(reason, PEER_REASON_SIZE, "has no \"f16\"\\ \nat all");
        return NULL;
    }
    given = *task;
    memcpy(buffers, task->buffers, sizeof(buffers));
    count = task->tensors[0].shape[0];
    own = dtype == VJP_F64 ? host->allocate((size_t)count * sizeof(double)) : NULL;
    return &given;
}

static int run_job(void *job)
{
    (void)job;
    const float *x = buffers[0], *dy = buffers[1];
    const double *wide_x = buffers[0], *wide_dy = buffers[1];
    float *dx = buffers[2];
    double *wide_dx = own;
    const uint16_t *half_x = buffers[0], *half_dy = buffers[1];
    uint16_t *half_dx = buffers[2];
    vjp_dtype dtype = given.tensors[0].dtype;
    if (is_op(&given, SAMPLE_NAN) || is_op(&given, SAMPLE_STATS)) {
        (is_op(&given, SAMPLE_NAN) ? run_root : run_stats)(x, dx);
        return 0;
    }
    for (int64_t i = 0; i < count && dtype == VJP_F32; i++)
        dx[i] = x[i] > 0 ? dy[i] : 0;
    for (int64_t i = 0; i < count && dtype == VJP_F64; i++)
        wide_dx[i] = wide_x[i] > 0 ? wide_dy[i] : 0;
    for (int64_t i = 1; i < count && dtype == VJP_BF16; i++)
        half_dx[i] = half_x[i] > 0 && half_x[i] < 0x8000 ? half_dy[i] : 0;
    return 0;
}

static const void *result_of(void *job, int32_t output)
{
    (void)job;
    if (output > 0)
        return NULL;
    return own ? own : buffers[2];
}

static void close_job(void *job)
{
    (void)job;
    if (own)
        host->release(own);
}

const peer *vjp_peer(const peer_host *given_host, char reason[PEER_REASON_SIZE])
{
    static const peer self = { "fake", "1.2", "FAKE1", open_job, run_job, result_of, close_job };
    host = given_host;
    if (getenv("FAKE_PEER_IS_MISSING")) {
        snprintf(reason, PEER_REASON_SIZE, "it is not here");
        return NULL;
    }
    return &self;
}
