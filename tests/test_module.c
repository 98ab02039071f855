/* SPDX-License-Identifier: Apache-2.0 */
/* test_module.c - a context on CUDA where there is no module beside the library, or none that will
 * do: refused with a reason, and the CPU is not affected.
 *
 * A copy of the library is opened in a folder of its own, so this program is not linked with it: it
 * knows its path, VJP_SHARED_PATH.
 */
#define _DEFAULT_SOURCE

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "vjp/vjp.h"

typedef vjp_status (*create_function)(const vjp_context_options *, vjp_context **, char *, size_t);
typedef void (*destroy_function)(vjp_context *);

static char folder[] = "vjp_module_XXXXXX", library_path[64], module_path[64];
static create_function create;
static destroy_function destroy;

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static int open_a_copy(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(library_path, sizeof library_path, "%s/libvjp.so", folder);
    snprintf(module_path, sizeof module_path, "%s/libvjp_cuda.so", folder);
    copy_file(VJP_SHARED_PATH, library_path);
    void *library = dlopen(library_path, RTLD_NOW);
    if (library == NULL)
        fail_msg("%s", dlerror());
    *(void **)&create = dlsym(library, "vjp_context_create");
    *(void **)&destroy = dlsym(library, "vjp_context_destroy");
    return create == NULL || destroy == NULL;
}

static int remove_the_copy(void **state)
{
    (void)state;
    unlink(library_path);
    unlink(module_path);
    return rmdir(folder);
}

/* No context on CUDA, for a reason that has this word in it; one on the CPU. */
static void cuda_is_refused(const char *word)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = (vjp_context *)(intptr_t)-1;
    char reason[VJP_REASON_SIZE] = "";
    options.device = VJP_CUDA;
    assert_int_equal(create(&options, &ctx, reason, sizeof reason), VJP_NO_DEVICE);
    assert_null(ctx);
    if (strstr(reason, word) == NULL)
        fail_msg("\"%s\" is not in the reason \"%s\"", word, reason);
    assert_int_equal(create(&options, &ctx, NULL, 0), VJP_NO_DEVICE);
    assert_int_equal(create(NULL, &ctx, reason, sizeof reason), VJP_OK);
    assert_string_equal(reason, "");
    destroy(ctx);
}

static void without_a_module(void **state)
{
    (void)state;
    cuda_is_refused("libvjp_cuda.so");
}

static void with_an_empty_file_for_a_module(void **state)
{
    (void)state;
    copy_file("/dev/null", module_path);
    cuda_is_refused("libvjp_cuda.so");
}

static void with_another_library_for_a_module(void **state)
{
    (void)state;
    unlink(module_path);
    copy_file(VJP_SHARED_PATH, module_path);
    cuda_is_refused("vjpi_cuda_module");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_module),
        cmocka_unit_test(with_an_empty_file_for_a_module),
        cmocka_unit_test(with_another_library_for_a_module),
    };
    return cmocka_run_group_tests(tests, open_a_copy, remove_the_copy);
}
