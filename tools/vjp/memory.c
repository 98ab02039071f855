/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - see memory.h. */
#define _DEFAULT_SOURCE

#include "memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool memory_option(const arguments *args, vjp_device *device)
{
    const char *name = option_given(args, "device");
    *device = name && !strcmp(name, "cuda") ? VJP_CUDA : VJP_CPU;
    return !name || *device == VJP_CUDA || !strcmp(name, "cpu") ||
           complain(args->command, false, "--device: \"%s\" is neither cpu nor cuda", name);
}

bool memory_check(memory *m, cuda_result result)
{
    if (result != CUDA_OK && !m->error)
        m->error = cuda_error_name(result);
    return !m->error;
}

/* Whether there is a device to call. */
static bool works(const memory *m)
{
    return m->cuda && !m->error;
}

static cuda_pointer pointer(const void *block)
{
    return (cuda_pointer)(uintptr_t)block;
}

bool memory_open(memory *m, vjp_device device, int ordinal, char reason[VJP_REASON_SIZE])
{
    const char *why = "";
    *m = (memory){ .ordinal = ordinal };
    if (device == VJP_CPU)
        return true;
    m->cuda = cuda_driver_open(&why);
    if (!m->cuda) {
        snprintf(reason, VJP_REASON_SIZE, "%s", why);
        return false;
    }
    memory_enter(m);
    if (m->error)
        snprintf(reason, VJP_REASON_SIZE, "CUDA device %d: %s", ordinal, m->error);
    return !m->error;
}

void memory_enter(memory *m)
{
    if (works(m))
        memory_check(m, cuda_enter(m->ordinal));
}

void *memory_allocate(memory *m, size_t size)
{
    const size_t huge = 2 << 20, unit = size < huge ? 256 : huge;
    cuda_pointer block = 0;
    if (m->cuda)
        return works(m) && m->cuda->MemAlloc(&block, size ? size : 1) == CUDA_OK
                   ? (void *)(uintptr_t)block
                   : NULL;
    size = (size + unit) / unit * unit; /* one byte at least */
    void *host = aligned_alloc(unit, size);
    if (host && unit == huge)
        madvise(host, size, m->ordinary_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    return host;
}

void memory_free(memory *m, void *block)
{
    if (!m->cuda)
        free(block);
    else if (works(m) && block)
        memory_check(m, m->cuda->MemFree(pointer(block)));
}

bool memory_has_huge_pages(void)
{
    char line[128] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    bool known = file && fgets(line, sizeof(line), file);
    if (file)
        fclose(file);
    return known && !strstr(line, "[never]");
}

static size_t host_free_size(void)
{
    size_t kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib << 10;
}

size_t memory_free_size(memory *m)
{
    size_t free_size = 0, total_size;
    if (!m->cuda)
        return host_free_size();
    if (works(m))
        memory_check(m, m->cuda->MemGetInfo(&free_size, &total_size));
    return free_size;
}

void memory_upload(memory *m, void *to, const void *from, size_t size)
{
    if (size == 0)
        return;
    if (!m->cuda)
        memcpy(to, from, size);
    else if (works(m))
        memory_check(m, m->cuda->MemcpyHtoD(pointer(to), from, size));
}

void memory_download(memory *m, void *to, const void *from, size_t size)
{
    if (size == 0)
        return;
    if (!m->cuda)
        memcpy(to, from, size);
    else if (works(m))
        memory_check(m, m->cuda->MemcpyDtoH(to, pointer(from), size));
}

void memory_copy(memory *m, void *to, const void *from, size_t size)
{
    if (!m->cuda)
        memcpy(to, from, size);
    else if (works(m))
        memory_check(m, m->cuda->MemcpyDtoD(pointer(to), pointer(from), size));
}

void memory_fill(memory *m, void *to, unsigned char byte, size_t size)
{
    if (!m->cuda)
        memset(to, byte, size);
    else if (works(m))
        memory_check(m, m->cuda->MemsetD8(pointer(to), byte, size));
}

void memory_wait(memory *m)
{
    if (works(m))
        memory_check(m, m->cuda->CtxSynchronize());
}

/* ---- streams and graphs --------------------------------------------------------------------- */

void *memory_stream_create(memory *m)
{
    cuda_stream stream = NULL;
    if (works(m))
        memory_check(m, m->cuda->StreamCreate(&stream, CUDA_STREAM_NON_BLOCKING));
    return stream;
}

void memory_stream_destroy(memory *m, void *stream)
{
    if (works(m) && stream)
        memory_check(m, m->cuda->StreamDestroy(stream));
}

void memory_stream_wait(memory *m, void *stream)
{
    if (works(m))
        memory_check(m, m->cuda->StreamSynchronize(stream));
}

void memory_capture_begin(memory *m, void *stream)
{
    if (works(m))
        memory_check(m, m->cuda->StreamBeginCapture(stream, CUDA_CAPTURE_GLOBAL));
}

cuda_graph_exec memory_capture_end(memory *m, void *stream)
{
    cuda_graph graph = NULL;
    cuda_graph_exec exec = NULL;
    if (!works(m) || m->cuda->StreamEndCapture(stream, &graph) != CUDA_OK || !graph)
        return NULL;
    if (m->cuda->GraphInstantiate(&exec, graph, 0) != CUDA_OK)
        exec = NULL;
    memory_check(m, m->cuda->GraphDestroy(graph));
    return exec;
}

void memory_graph_run(memory *m, cuda_graph_exec graph, void *stream)
{
    if (works(m))
        memory_check(m, m->cuda->GraphLaunch(graph, stream));
}

void memory_graph_destroy(memory *m, cuda_graph_exec graph)
{
    if (works(m) && graph)
        memory_check(m, m->cuda->GraphExecDestroy(graph));
}
