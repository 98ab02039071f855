/* SPDX-License-Identifier: Apache-2.0 */
/* test_unload.c - the shared library is opened, used on many threads, closed, and opened again.
 *
 * Closing means something only in a program that is not linked with the library (nor with the
 * threads it brings), so this one knows just its path: VJP_SHARED_PATH, from the build or from
 * the environment.
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

#include "vjp/vjp.h"

enum {
    COUNT = 4 << 20
};

typedef vjp_status (*contiguous_function)(vjp_dtype, int32_t, const int64_t *, vjp_tensor *);
typedef vjp_status (*compute_function)(vjp_context *, const char *, const vjp_attr *, int32_t,
                                       const vjp_tensor *const *, void *const *, int32_t, char *,
                                       size_t);

static float src[COUNT], diff_dst[COUNT], diff_src[COUNT];

static const char *library_path(void)
{
    const char *path = getenv("VJP_SHARED_PATH");
#ifdef VJP_SHARED_PATH
    if (path == NULL)
        path = VJP_SHARED_PATH;
#endif
    return path;
}

static void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);
    assert_non_null(address);
    return address;
}

/* Large enough that OpenMP's threads wake up. */
static void run_relu(void *library)
{
    contiguous_function contiguous;
    compute_function compute;
    *(void **)&contiguous = symbol(library, "vjp_tensor_contiguous");
    *(void **)&compute = symbol(library, "vjp_compute");
    const int64_t shape[] = { COUNT };
    vjp_tensor tensor;
    const vjp_tensor *tensors[] = { &tensor, &tensor, &tensor };
    void *data[] = { src, diff_dst, diff_src };
    assert_int_equal(contiguous(VJP_F32, 1, shape, &tensor), VJP_OK);
    assert_int_equal(compute(NULL, "relu_backward", NULL, 0, tensors, data, 3, NULL, 0), VJP_OK);
    for (int i = 0; i < COUNT; i++)
        if (diff_src[i] != (src[i] > 0 ? diff_dst[i] : 0))
            fail_msg("element %d is %g", i, (double)diff_src[i]);
}

static void opened_used_and_closed_again_and_again(void **state)
{
    (void)state;
    const char *path = library_path();
    if (path == NULL || dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL)
        skip();
    for (int i = 0; i < COUNT; i++) {
        src[i] = (float)(i % 7 - 3);
        diff_dst[i] = (float)(i % 11);
    }
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
            fail_msg("%s", dlerror());
        run_relu(library);
        dlclose(library);
        usleep(50000); /* idle threads crash when they wake up in memory that is gone */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opened_used_and_closed_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
