/* SPDX-License-Identifier: Apache-2.0 */
/* peer_fake.c - a peer for the tests of `vjp bench --peers`: a map, right in f32, right in
 * f64 but in memory of its own; in bf16 it leaves out the first element; it refuses f16, with a
 * reason that needs escaping in JSON and HTML. */
#include <stdio.h>
#include <stdlib.h>

#include "peers/peer.h"
#include "samples.h"

static const peer_host *host;
static peer_task given;
static void *buffers[3], *own;
static int64_t count;

static void *open_job(const peer_task *task, char reason[PEER_REASON_SIZE])
{
    vjp_dtype dtype = task->tensors[0].dtype;
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
    return output == 0 && own ? own : buffers[2];
}

static void close_job(void *job)
{
    (void)job;
    if (own)
        host->release(own);
}

const peer *vjp_peer(const peer_host *given_host, char reason[PEER_REASON_SIZE])
{
    static const peer self = { "fake", "1.2", open_job, run_job, result_of, close_job };
    host = given_host;
    if (getenv("FAKE_PEER_IS_MISSING")) {
        snprintf(reason, PEER_REASON_SIZE, "it is not here");
        return NULL;
    }
    return &self;
}
