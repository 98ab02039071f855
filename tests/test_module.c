/* SPDX-License-Identifier: Apache-2.0 */
/* test_module.c - a context on CUDA where there is no module beside the library, no compatible one,
 * or one whose device fails: a status and a reason, and the CPU is not affected.
 *
 * Copies of the library are opened, each in a folder of its own, so this program is not linked with
 * it: it knows its path, VJP_SHARED_PATH, and that of tests/module/fake_module.c, FAKE_MODULE_PATH.
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

#include "samples.h"
#include "vjp/vjp.h"

/* A copy of the library, and the place beside it where it looks for its module. */
typedef struct copy {
    char folder[32], library[64], module[64];
    vjp_status (*create)(const vjp_context_options *, vjp_context **, char *, size_t);
    void (*destroy)(vjp_context *);
    const char *(*isa)(const vjp_context *);
    int32_t (*threads)(const vjp_context *);
    vjp_status (*contiguous)(vjp_dtype, int32_t, const int64_t *, vjp_tensor *);
    vjp_status (*compute)(vjp_context *, const char *, const vjp_attr *, int32_t,
                          const vjp_tensor *const *, int32_t, const void *const *, void *const *,
                          char *, size_t);
} copy;

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

/* Open a copy with this file for a module; NULL: with none. */
static copy copy_open(const char *module)
{
    copy c = { .folder = "vjp_module_XXXXXX" };
    assert_non_null(mkdtemp(c.folder));
    snprintf(c.library, sizeof c.library, "%s/libvjp.so", c.folder);
    snprintf(c.module, sizeof c.module, "%s/libvjp_cuda.so", c.folder);
    copy_file(VJP_SHARED_PATH, c.library);
    if (module != NULL)
        copy_file(module, c.module);
    void *library = dlopen(c.library, RTLD_NOW);
    if (library == NULL)
        fail_msg("%s", dlerror());
    *(void **)&c.create = dlsym(library, "vjp_context_create");
    *(void **)&c.destroy = dlsym(library, "vjp_context_destroy");
    *(void **)&c.isa = dlsym(library, "vjp_context_isa");
    *(void **)&c.threads = dlsym(library, "vjp_context_threads");
    *(void **)&c.contiguous = dlsym(library, "vjp_tensor_contiguous");
    *(void **)&c.compute = dlsym(library, "vjp_compute");
    return c;
}

static void copy_close(const copy *c)
{
    unlink(c->library);
    unlink(c->module);
    rmdir(c->folder);
}

/* No context on CUDA, for a reason that has this word in it; one on the CPU. */
static void cuda_is_refused(const copy *c, const char *word)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = (vjp_context *)(intptr_t)-1;
    char reason[VJP_REASON_SIZE] = "";
    options.device = VJP_CUDA;
    assert_int_equal(c->create(&options, &ctx, reason, sizeof reason), VJP_NO_DEVICE);
    assert_null(ctx);
    if (strstr(reason, word) == NULL)
        fail_msg("\"%s\" is not in the reason \"%s\"", word, reason);
    assert_int_equal(c->create(&options, &ctx, NULL, 0), VJP_NO_DEVICE);
    assert_int_equal(c->create(NULL, &ctx, reason, sizeof reason), VJP_OK);
    assert_string_equal(reason, "");
    c->destroy(ctx);
}

static void cuda_is_refused_with(const char *module, const char *word)
{
    copy c = copy_open(module);
    cuda_is_refused(&c, word);
    copy_close(&c);
}

static void without_a_module(void **state)
{
    (void)state;
    cuda_is_refused_with(NULL, "libvjp_cuda.so");
}

static void with_an_empty_file_for_a_module(void **state)
{
    (void)state;
    cuda_is_refused_with("/dev/null", "libvjp_cuda.so");
}

static void with_another_library_for_a_module(void **state)
{
    (void)state;
    cuda_is_refused_with(VJP_SHARED_PATH, "vjpi_cuda_module");
}

static void with_a_module_of_another_version(void **state)
{
    static const char *const differences[] = { "version", "table" };
    (void)state;
    for (int i = 0; i < 2; i++) {
        setenv("FAKE_MODULE", differences[i], 1);
        cuda_is_refused_with(FAKE_MODULE_PATH, "another version");
    }
    unsetenv("FAKE_MODULE");
}

/* The copy was opened by a name that is relative to the folder that is left here. */
static void from_another_folder(void **state)
{
    char here[4096];
    (void)state;
    setenv("FAKE_MODULE", "version", 1);
    copy c = copy_open(FAKE_MODULE_PATH);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir("/"), 0);
    cuda_is_refused(&c, "another version");
    assert_int_equal(chdir(here), 0);
    copy_close(&c);
    unsetenv("FAKE_MODULE");
}

/* ---- a device that fails ------------------------------------------------------------------ */

/* Status and reason of a call on CUDA, where `failing` fails. */
static vjp_status compute(const copy *c, const char *failing, char *reason)
{
    static float data[3][8];
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = NULL;
    vjp_tensor tensor;
    const vjp_tensor *tensors[] = { &tensor, &tensor, &tensor };
    const void *inputs[] = { data[0], data[1] };
    void *outputs[] = { data[2] };
    options.device = VJP_CUDA;
    assert_int_equal(c->contiguous(VJP_F32, 1, (const int64_t[]){ 8 }, &tensor), VJP_OK);
    setenv("FAKE_MODULE", failing, 1);
    vjp_status status = c->create(&options, &ctx, reason, VJP_REASON_SIZE);
    if (status == VJP_OK) {
        assert_string_equal(c->isa(ctx), "fake");
        assert_int_equal(c->threads(ctx), 0);
        status = c->compute(ctx, SAMPLE_MAP, NULL, 0, tensors, 3, inputs, outputs, reason,
                            VJP_REASON_SIZE);
    }
    c->destroy(ctx);
    unsetenv("FAKE_MODULE");
    return status;
}

static void on_a_device_that_fails(void **state)
{
    static const struct {
        const char *failing;
        vjp_status status;
        const char *reason;
    } calls[] = {
        { "nothing", VJP_OK, "" },
        { "open", VJP_NO_DEVICE, "" },
        { "prepare", VJP_TOO_LARGE, "" },
        { "allocate", VJP_NO_MEMORY, "no memory for a workspace of 64 bytes" },
        { "run", VJP_DEVICE_ERROR, "the device reports FAKE_ERROR" },
        { "finish", VJP_DEVICE_ERROR, "the device reports FAKE_ERROR" },
    };
    char reason[VJP_REASON_SIZE];
    copy c = copy_open(FAKE_MODULE_PATH);
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        assert_int_equal(compute(&c, calls[i].failing, reason), calls[i].status);
        assert_string_equal(reason, calls[i].reason);
    }
    copy_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_module),
        cmocka_unit_test(with_an_empty_file_for_a_module),
        cmocka_unit_test(with_another_library_for_a_module),
        cmocka_unit_test(with_a_module_of_another_version),
        cmocka_unit_test(from_another_folder),
        cmocka_unit_test(on_a_device_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
