/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - see support.h. */
#define _GNU_SOURCE

#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the folder ---------------------------------------------------------------------------- */

static char folder[] = "vjp-test-XXXXXX";
static bool folder_is_open; /* nothing is removed from any other */

int folder_open(void **state)
{
    (void)state;
    folder_is_open = mkdtemp(folder) != NULL && chdir(folder) == 0;
    return !folder_is_open;
}

int folder_close(void **state)
{
    (void)state;
    if (!folder_is_open)
        return 0;
    folder_clear();
    folder_is_open = false;
    return chdir("..") != 0 || rmdir(folder) != 0;
}

/* Files counted and, on request, removed. */
static int visit_files(bool remove_them)
{
    DIR *dir = opendir(".");
    int count = 0;
    assert_true(folder_is_open);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        count++;
        if (remove_them)
            remove(entry->d_name);
    }
    closedir(dir);
    return count;
}

void folder_clear(void)
{
    visit_files(true);
}

int folder_count(void)
{
    return visit_files(false);
}

void file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char *read_stream(FILE *file, size_t *size)
{
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = unit_malloc(*size + 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

char *file_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    return read_stream(file, size);
}

bool file_is(const char *path, const void *bytes, size_t size)
{
    size_t got;
    char *file = file_read(path, &got);
    bool same = got == size && !memcmp(file, bytes, size);
    free(file);
    return same;
}

/* ---- .npy files ---------------------------------------------------------------------------- */

const char *numpy_descr(vjp_dtype dtype)
{
    static const char *const descrs[] = { [VJP_F64] = "<f8",  [VJP_F32] = "<f4", [VJP_F16] = "<f2",
                                          [VJP_BF16] = "<V2", [VJP_S32] = "<i4", [VJP_S64] = "<i8",
                                          [VJP_U8] = "|u1" };
    return descrs[dtype];
}

const char *numpy_dict(char dict[DICT_SIZE], const char *descr, bool fortran_order, int32_t ndim,
                     const int64_t *shape)
{
    int n = snprintf(dict, DICT_SIZE, "{'descr': '%s', 'fortran_order': %s, 'shape': (", descr,
                     fortran_order ? "True" : "False");
    for (int32_t d = 0; d < ndim; d++)
        n += snprintf(dict + n, (size_t)(DICT_SIZE - n), d ? ", %" PRId64 : "%" PRId64, shape[d]);
    snprintf(dict + n, (size_t)(DICT_SIZE - n), ndim == 1 ? ",), }" : "), }");
    return dict;
}

size_t numpy_head(char head[HEADER_SIZE], int major, const char *dict, size_t multiple)
{
    size_t prefix = major == 1 ? 10 : 12, size = prefix + strlen(dict) + 1;
    size += (multiple - size % multiple) % multiple;
    assert_true(size <= HEADER_SIZE);
    memset(head, ' ', size);
    memcpy(head, "\x93NUMPY", 6);
    head[6] = (char)major;
    head[7] = 0;
    for (size_t i = 8; i < prefix; i++)
        head[i] = (char)((size - prefix) >> (8 * (i - 8)));
    memcpy(head + prefix, dict, strlen(dict));
    head[size - 1] = '\n';
    return size;
}

void numpy_save(const char *path, int major, const char *dict, size_t multiple, const void *data,
              size_t size)
{
    char head[HEADER_SIZE];
    size_t head_size = numpy_head(head, major, dict, multiple);
    char *file = unit_malloc(head_size + size);
    memcpy(file, head, head_size);
    if (size > 0)
        memcpy(file + head_size, data, size);
    file_write(path, file, head_size + size);
    free(file);
}

void numpy_ramp(const char *path, int64_t count, float first)
{
    char dict[DICT_SIZE];
    float *data = unit_malloc((size_t)count * sizeof(float));
    for (int64_t i = 0; i < count; i++)
        data[i] = first + (float)i;
    numpy_save(path, 1, numpy_dict(dict, "<f4", false, 1, &count), 64, data,
             (size_t)count * sizeof(float));
    free(data);
}

/* ---- the program --------------------------------------------------------------------------- */

static void become(int fd, int stream, int flags)
{
    if (fd < 0)
        fd = open("/dev/null", flags);
    if (dup2(fd, stream) < 0)
        _exit(127);
}

pid_t tool_start(const char *const *args, int in, int out, int err, const limit *limit)
{
    static const char *const command[] = { VJP_TOOL }; /* an emulator may come first */
    const char *argv[64];
    size_t n = 0;
    for (size_t i = 0; i < sizeof(command) / sizeof(command[0]); i++)
        argv[n++] = command[i];
    for (; *args; args++)
        argv[n++] = *args;
    argv[n] = NULL;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    become(in, STDIN_FILENO, O_RDONLY);
    become(out, STDOUT_FILENO, O_WRONLY);
    become(err, STDERR_FILENO, O_WRONLY);
    signal(SIGPIPE, SIG_DFL); /* whatever the test does with it */
    if (limit && setrlimit(limit->resource, &(struct rlimit){ limit->bytes, limit->bytes }))
        _exit(127);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

int tool_wait(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

outcome tool_with(const char *const *args, const char *in, const limit *limit)
{
    static char *out_text, *err_text;
    size_t size;
    int fd = in ? open(in, O_RDONLY | O_CLOEXEC) : -1;
    FILE *out = tmpfile(), *err = tmpfile();
    assert_true(out && err && (!in || fd >= 0));
    outcome got = { tool_wait(tool_start(args, fd, fileno(out), fileno(err), limit)), NULL, NULL };
    if (fd >= 0)
        close(fd);
    free(out_text);
    free(err_text);
    got.out = out_text = read_stream(out, &size);
    got.err = err_text = read_stream(err, &size);
    return got;
}

outcome tool(const char *const *args)
{
    return tool_with(args, NULL, NULL);
}

void assert_says(outcome got, int status, const char *words)
{
    if (got.status == status && (words ? strstr(got.err, words) != NULL : !*got.err))
        return;
    fail_msg("expected status %d and \"%s\", got %d and \"%s\"", status, words ? words : "",
             got.status, got.err);
}
