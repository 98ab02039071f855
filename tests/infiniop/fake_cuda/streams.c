/* SPDX-License-Identifier: Apache-2.0 */
/* streams.c - the fake driver: streams, events and graphs. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "fake.h"

struct object *fake_capture(cuda_stream stream)
{
    return stream ? ((struct object *)stream)->captured : NULL;
}

cuda_result cuStreamCreate(cuda_stream *stream, unsigned flags)
{
    cuda_result result = fake_begin_in_context(__func__);
    (void)flags;
    if (result == CUDA_OK)
        *stream = (cuda_stream)fake_add(STREAM, NULL, 0);
    return result;
}

cuda_result cuStreamDestroy_v2(cuda_stream stream)
{
    cuda_result result = fake_begin_in_context(__func__);
    return result == CUDA_OK ? fake_drop(fake_find(STREAM, stream), CUDA_INVALID_HANDLE) : result;
}

cuda_result cuStreamSynchronize(cuda_stream stream)
{
    cuda_result result = fake_begin_on_stream(__func__, stream);
    return result == CUDA_OK && fake_capture(stream) ? (cuda_result)FAKE_CAPTURE_UNSUPPORTED
                                                     : result;
}

/* ---- events -------------------------------------------------------------------------------- */

static cuda_result begin_with_event(const char *function, cuda_event event)
{
    cuda_result result = fake_begin_in_context(function);
    return result == CUDA_OK && !fake_find(EVENT, event) ? (cuda_result)CUDA_INVALID_HANDLE
                                                         : result;
}

cuda_result cuStreamWaitEvent(cuda_stream stream, cuda_event event, unsigned flags)
{
    (void)flags;
    return stream && !fake_find(STREAM, stream) ? CUDA_INVALID_HANDLE
                                                : begin_with_event(__func__, event);
}

cuda_result cuEventCreate(cuda_event *event, unsigned flags)
{
    cuda_result result = fake_begin_in_context(__func__);
    if (result != CUDA_OK)
        return result;
    struct object *made = fake_add(EVENT, NULL, 0);
    made->flags = flags;
    *event = (cuda_event)made;
    return CUDA_OK;
}

cuda_result cuEventRecord(cuda_event event, cuda_stream stream)
{
    struct timespec now;
    cuda_result result = begin_with_event(__func__, event);
    if (result == CUDA_OK && stream && !fake_find(STREAM, stream))
        result = CUDA_INVALID_HANDLE;
    if (result != CUDA_OK)
        return result;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ((struct object *)event)->recorded = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    return CUDA_OK;
}

cuda_result cuEventQuery(cuda_event event)
{
    return begin_with_event(__func__, event);
}

cuda_result cuEventSynchronize(cuda_event event)
{
    return begin_with_event(__func__, event);
}

cuda_result cuEventElapsedTime(float *ms, cuda_event start, cuda_event end)
{
    const struct object *from = fake_find(EVENT, start), *to = fake_find(EVENT, end);
    cuda_result result = fake_begin_in_context(__func__);
    if (result != CUDA_OK)
        return result;
    if (!from || !to || from->recorded == 0 || to->recorded == 0 ||
        ((from->flags | to->flags) & CUDA_EVENT_DISABLE_TIMING))
        return CUDA_INVALID_HANDLE;
    *ms = (float)(to->recorded - from->recorded);
    return CUDA_OK;
}

cuda_result cuEventDestroy_v2(cuda_event event)
{
    cuda_result result = fake_begin_in_context(__func__);
    return result == CUDA_OK ? fake_drop(fake_find(EVENT, event), CUDA_INVALID_HANDLE) : result;
}

/* ---- graphs -------------------------------------------------------------------------------- */

cuda_result cuStreamBeginCapture_v2(cuda_stream stream, unsigned mode)
{
    cuda_result result = fake_begin_on_stream(__func__, stream);
    if (result != CUDA_OK)
        return result;
    if (!stream || fake_capture(stream) || mode > CUDA_CAPTURE_RELAXED)
        return CUDA_INVALID_VALUE;
    ((struct object *)stream)->captured = fake_add(GRAPH, NULL, 0);
    return CUDA_OK;
}

cuda_result cuStreamEndCapture(cuda_stream stream, cuda_graph *graph)
{
    cuda_result result = fake_begin_on_stream(__func__, stream);
    if (result != CUDA_OK)
        return result;
    if (!fake_capture(stream))
        return CUDA_INVALID_VALUE;
    *graph = (cuda_graph)fake_capture(stream);
    ((struct object *)stream)->captured = NULL;
    return CUDA_OK;
}

#ifndef FAKE_CUDA_OLD /* a driver that lacks a function */
static void keep_in_order(struct object *graph, const struct step *last)
{
    if (!last)
        return;
    keep_in_order(graph, last->next);
    fake_keep(graph, last);
}

cuda_result cuGraphInstantiateWithFlags(cuda_graph_exec *exec, cuda_graph graph,
                                        unsigned long long flags)
{
    const struct object *found = fake_find(GRAPH, graph);
    cuda_result result = fake_begin_in_context(__func__);
    (void)flags;
    if (result == CUDA_OK && !found)
        result = CUDA_INVALID_VALUE;
    if (result != CUDA_OK)
        return result;
    struct object *made = fake_add(EXEC, NULL, 0);
    keep_in_order(made, found->steps);
    *exec = (cuda_graph_exec)made;
    return CUDA_OK;
}
#endif

static cuda_result perform_in_order(const struct step *last)
{
    cuda_result result = last ? perform_in_order(last->next) : CUDA_OK;
    return last && result == CUDA_OK ? fake_perform(last) : result;
}

cuda_result cuGraphLaunch(cuda_graph_exec exec, cuda_stream stream)
{
    const struct object *found = fake_find(EXEC, exec);
    cuda_result result = fake_begin_on_stream(__func__, stream);
    if (result != CUDA_OK)
        return result;
    return found ? perform_in_order(found->steps) : CUDA_INVALID_VALUE;
}

cuda_result cuGraphDestroy(cuda_graph graph)
{
    cuda_result result = fake_begin(__func__);
    return result == CUDA_OK ? fake_drop(fake_find(GRAPH, graph), CUDA_INVALID_VALUE) : result;
}

cuda_result cuGraphExecDestroy(cuda_graph_exec exec)
{
    cuda_result result = fake_begin(__func__);
    return result == CUDA_OK ? fake_drop(fake_find(EXEC, exec), CUDA_INVALID_VALUE) : result;
}
