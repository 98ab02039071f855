/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - a library's response to a question, stage by stage. */
#ifndef ANSWER_H
#define ANSWER_H

#include "library.h"
#include "question.h"

/* A status that no library has: a C++ exception came out of the call. */
#define EXCEPTION ((dnnl_status_t)1000)

typedef struct answer {
    const library *lib;
    const question *q;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_graph_op_t op;
    dnnl_graph_graph_t graph;
    dnnl_graph_partition_t partition;
    dnnl_graph_compiled_partition_t compiled;

    dnnl_status_t settings[NSETTINGS], status; /* of each set_attr; of the last stage */
    size_t npartitions, ninputs, noutputs;     /* of the partition */
    uint8_t supported;
    logical_tensor resolved[NTENSORS]; /* as compiled, with the layouts that the library chose */
    size_t npairs;
    dnnl_graph_inplace_pair_t pairs[NTENSORS];
    void *data[NTENSORS];
} answer;

/* The stages, in order. Each sets status. */
void answer_describe(answer *a);
void answer_add(answer *a);
void answer_partition(answer *a);
void answer_compile(answer *a);
void answer_execute(answer *a);

/* answer_end - destroy what the stages made. */
void answer_end(answer *a);

#endif
