/* SPDX-License-Identifier: Apache-2.0 */
/* test_unload.c - a shared library is opened, used on many threads, closed, and opened again.
 *
 * Closing means something only in a program that is not linked with the library (nor with the
 * threads it brings), so this one knows just paths from the build.
 */
#define _DEFAULT_SOURCE

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "samples.h"
#include "vjp/vjp.h"

enum {
    COUNT = 4 << 20
};

typedef vjp_status (*contiguous_function)(vjp_dtype, int32_t, const int64_t *, vjp_tensor *);
typedef vjp_status (*compute_function)(vjp_context *, const char *, const vjp_attr *, int32_t,
                                       const vjp_tensor *const *, int32_t, const void *const *,
                                       void *const *, char *, size_t);

static float src[COUNT], diff_dst[COUNT], diff_src[COUNT];

static void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);
    assert_non_null(address);
    return address;
}

/* Large enough that OpenMP's threads wake up. */
static void run_map(void *library)
{
    contiguous_function contiguous;
    compute_function compute;
    *(void **)&contiguous = symbol(library, "vjp_tensor_contiguous");
    *(void **)&compute = symbol(library, "vjp_compute");
    const int64_t shape[] = { COUNT };
    vjp_tensor tensor;
    const vjp_tensor *tensors[] = { &tensor, &tensor, &tensor };
    const void *inputs[] = { src, diff_dst };
    void *outputs[] = { diff_src };
    assert_int_equal(contiguous(VJP_F32, 1, shape, &tensor), VJP_OK);
    assert_int_equal(compute(NULL, SAMPLE_MAP, NULL, 0, tensors, 3, inputs, outputs, NULL, 0),
                     VJP_OK);
    for (int i = 0; i < COUNT; i++)
        if (diff_src[i] != (src[i] > 0 ? diff_dst[i] : 0))
            fail_msg("element %d is %g", i, (double)diff_src[i]);
}

/* What is done with a drop-in library of this path, beside running libvjp, which it brings. */
typedef struct library {
    const char *path;
    void (*use)(void *library);
} library;

static void use_infiniop(void *library)
{
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    void *handle = NULL;
    *(void **)&create = symbol(library, "infiniopCreateHandle");
    *(void **)&destroy = symbol(library, "infiniopDestroyHandle");
    assert_int_equal(create(&handle), 0);
    assert_int_equal(destroy(handle), 0);
}

static void use_dnnl_graph(void *library)
{
    int (*create)(void **engine, int kind, size_t index);
    int (*destroy)(void *engine);
    void *engine = NULL;
    *(void **)&create = symbol(library, "dnnl_engine_create");
    *(void **)&destroy = symbol(library, "dnnl_engine_destroy");
    assert_int_equal(create(&engine, 1 /* a CPU */, 0), 0);
    assert_int_equal(destroy(engine), 0);
}

static void opened_used_and_closed_again_and_again(void **state)
{
    const library *tested = *state;
    assert_null(dlopen(tested->path, RTLD_NOW | RTLD_NOLOAD));
    for (int i = 0; i < COUNT; i++) {
        src[i] = (float)(i % 7 - 3);
        diff_dst[i] = (float)(i % 11);
    }
    for (int round = 0; round < 3; round++) {
        void *opened = dlopen(tested->path, RTLD_NOW | RTLD_LOCAL);
        if (opened == NULL)
            fail_msg("%s", dlerror());
        run_map(opened);
        if (tested->use)
            tested->use(opened);
        dlclose(opened);
        usleep(50000); /* idle threads crash when they wake up in memory that is gone */
    }
}

#define TEST(library)                                                                  \
    {                                                                                  \
        (library).path, opened_used_and_closed_again_and_again, NULL, NULL, &(library) \
    }

/* libvjp comes first: it stays once it was there. */
int main(void)
{
    static library vjp = { VJP_SHARED_PATH, NULL };
    static library infiniop = { INFINIOP_PATH, use_infiniop };
    static library dnnl_graph = { DNNL_GRAPH_PATH, use_dnnl_graph };
    const struct CMUnitTest tests[] = { TEST(vjp), TEST(infiniop), TEST(dnnl_graph) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
