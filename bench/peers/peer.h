/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - another library's operators, as `vjp bench --peers` calls them.
 *
 * A peer is a shared library peer_NAME.so with one symbol, `vjp_peer`. It computes on the buffers
 * that vjp computes on, in the process that measures both, so that both are timed under the same
 * conditions. */
#ifndef VJP_PEER_H
#define VJP_PEER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <vjp/vjp.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PEER_REASON_SIZE = 128
};

/* What the peer is given: threads to use, and memory of the kind that is being measured. */
typedef struct peer_host {
    int threads;
    void *(*allocate)(size_t size);
    void (*release)(void *block);
} peer_host;

/* One operator on given tensors, inputs by index, then outputs by index; every attribute. */
typedef struct peer_task {
    const vjp_op_info *op;
    const vjp_attr *attrs;
    int32_t nattrs;
    const vjp_tensor *tensors;
    void *const *buffers;
    int32_t ntensors;
} peer_task;

typedef struct peer {
    const char *name, *version;
    const char *isa; /* the instruction set that it uses here, as it says itself */

    /* open - make the task ready to run; NULL with a reason if the peer refuses it. */
    void *(*open)(const peer_task *task, char reason[PEER_REASON_SIZE]);

    /* run - 0 if all is well. result - where output 0, 1 .. of the last run is, contiguous; NULL if
     * the peer does not compute it. */
    int (*run)(void *job);
    const void *(*result)(void *job, int32_t output);
    void (*close)(void *job);
} peer;

/* vjp_peer - called once; NULL with a reason if the library is not there. */
typedef const peer *vjp_peer_function(const peer_host *host, char reason[PEER_REASON_SIZE]);
vjp_peer_function vjp_peer;

static inline vjp_attr peer_attr(const peer_task *task, const char *name)
{
    for (int32_t i = 0; i < task->nattrs; i++)
        if (!strcmp(task->attrs[i].name, name))
            return task->attrs[i];
    return vjp_attr_s64(name, 0);
}

/* peer_slope - the slope with as many dims as src, for libraries that broadcast from the right. */
static inline vjp_tensor peer_slope(const peer_task *task, int32_t tensor)
{
    vjp_tensor slope = task->tensors[tensor], wide = task->tensors[0];
    int channels = !strcmp(peer_attr(task, "data_format").value.str, "NCX") && slope.ndim == 1;
    int32_t first = channels && wide.ndim > 1 ? 1 : wide.ndim - slope.ndim;
    wide.dtype = slope.dtype;
    for (int32_t d = 0; d < wide.ndim; d++) {
        int inside = d >= first && d < first + slope.ndim;
        wide.shape[d] = inside ? slope.shape[d - first] : 1;
        wide.strides[d] = inside ? slope.strides[d - first] : 1;
    }
    return wide;
}

#ifdef __cplusplus
}
#endif

#endif
