/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the memory of the CPU or of a CUDA device, and the streams that reach it, so that
 * commands are written once for both.
 *
 * On the CPU a stream is nothing and all is done when a call returns. Errors of a CUDA device
 * stay: the first is kept in `error`, and from then on the functions do nothing. */
#ifndef VJP_MEMORY_H
#define VJP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda/driver.h"
#include "tool.h"
#include "vjp/vjp.h"

/* memory_option - what --device says, the CPU if it is not given; false, and says so, if there is
 * no such kind of device. */
bool memory_option(const arguments *args, vjp_device *device);

typedef struct memory {
    const cuda_driver *cuda; /* NULL on the CPU */
    int ordinal;
    bool ordinary_pages; /* of the CPU: do without huge ones */
    const char *error;   /* the first error, NULL if there was none */
} memory;

/* memory_open - the memory of a device; false with a reason if there is no such device. The
 * calling thread works with that device from then on; other threads call memory_enter. */
bool memory_open(memory *m, vjp_device device, int ordinal, char reason[VJP_REASON_SIZE]);
void memory_enter(memory *m);

/* memory_check - keep the error of a call of the driver; whether all went well so far. */
bool memory_check(memory *m, cuda_result result);

/* memory_allocate - aligned to at least 256 bytes; NULL if there is not enough. On the CPU on
 * huge pages where the system gives them, unless ordinary ones are wanted. */
void *memory_allocate(memory *m, size_t size);
void memory_free(memory *m, void *block);

/* memory_has_huge_pages - whether this system gives huge pages on request. */
bool memory_has_huge_pages(void);

/* memory_free_size - how much could be allocated, about. */
size_t memory_free_size(memory *m);

void memory_upload(memory *m, void *to, const void *from, size_t size);
void memory_download(memory *m, void *to, const void *from, size_t size);

/* memory_copy - within the device's memory; memory_fill - every byte this one. */
void memory_copy(memory *m, void *to, const void *from, size_t size);
void memory_fill(memory *m, void *to, unsigned char byte, size_t size);

/* memory_wait - until all that was queued on the device is done. */
void memory_wait(memory *m);

/* ---- streams and graphs; all NULL on the CPU ------------------------------------------------ */

void *memory_stream_create(memory *m);
void memory_stream_destroy(memory *m, void *stream);
void memory_stream_wait(memory *m, void *stream);

/* memory_capture_begin, memory_capture_end - what is queued on the stream in between is not run
 * but becomes a graph, to be run by memory_graph_run. NULL, without an error kept, if the stream
 * could not be captured. */
void memory_capture_begin(memory *m, void *stream);
cuda_graph_exec memory_capture_end(memory *m, void *stream);
void memory_graph_run(memory *m, cuda_graph_exec graph, void *stream);
void memory_graph_destroy(memory *m, cuda_graph_exec graph);

#endif
