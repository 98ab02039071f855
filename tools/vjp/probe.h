/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - one problem with values, run on the reference and on the device under test.
 *
 * Every tensor (or group of tensors that share memory) is in a block of its own, between canaries.
 * Each run starts from the same inputs and from poisoned outputs; after it, everything but the
 * outputs' own elements must be as it was.
 *
 * Functions that return bool return false when something is wrong, and `failure` says what. */
#ifndef VJP_PROBE_H
#define VJP_PROBE_H

#include <stdbool.h>

#include "memory.h"
#include "problem.h"

/* Where a problem runs, and its blocks there. */
typedef struct side {
    memory *where;
    void *blocks[PROBLEM_TENSORS];         /* of the tensors that are their own home */
    unsigned char *found[PROBLEM_TENSORS]; /* their contents after a run, on the CPU */
    uint64_t *bits;                        /* the outputs after a run, dense, NaNs made the same */
} side;

/* How a plan is run on a CUDA device; all the same on the CPU. */
typedef enum way {
    ON_DEFAULT_STREAM,
    ON_OWN_STREAM,
    CAPTURED, /* its very first run is captured into a graph, and that is run */
    WAYS
} way;

typedef struct probe {
    problem p;
    uint64_t number; /* which values it has */
    size_t size[PROBLEM_TENSORS];
    ptrdiff_t start[PROBLEM_TENSORS];      /* bytes from a block's start to index 0 of a tensor */
    unsigned char *image[PROBLEM_TENSORS]; /* the blocks of inputs as every run finds them */
    int64_t count;                         /* elements of all outputs */
    side reference, device;
    char failure[1024];
} probe;

/* probe_open - blocks and values; `number` chooses values and alignments. */
bool probe_open(probe *t, const problem *p, uint64_t number, memory *reference, memory *device);
void probe_close(probe *t);

/* probe_open_blank - the same without values: the caller writes them into `image`. */
bool probe_open_blank(probe *t, const problem *p, memory *reference, memory *device);

/* probe_prepare - inputs, poison and canaries in place. probe_execute - run a plan of this
 * problem, and wait. probe_settle - fetch the results; false if anything else was written. */
void probe_prepare(probe *t, side *s, unsigned char poison);
bool probe_execute(probe *t, side *s, const vjp_plan *plan, way how);
bool probe_settle(probe *t, side *s, unsigned char poison);

/* probe_run - the three with a plan made for it. */
bool probe_run(probe *t, side *s, vjp_context *ctx, way how, unsigned char poison);

/* probe_compare - whether the device's outputs are right: the same bits as the reference's or,
 * if sums may differ, results of sums within their stated bounds. */
bool probe_compare(probe *t, bool sums_may_differ);

/* probe_repeats - whether the device's outputs have these bits, of an earlier run. */
bool probe_repeats(probe *t, const uint64_t *earlier);

/* probe_output_count - the elements of an output that is wanted; 0 for any other tensor. */
int64_t probe_output_count(const probe *t, int32_t tensor);

/* probe_fail - set `failure` unless there is one; false. */
bool probe_fail(probe *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* probe_read_dense - the values of an input in dense order; the caller frees them. */
double *probe_read_dense(const probe *t, int32_t tensor);

#endif
