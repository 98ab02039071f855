/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h - a fuzzer's input as a stream of decisions, and what every target does with a fault.
 *
 * A target is a C file fuzz_<name>.c with the function below. Linked with libFuzzer it gets
 * generated inputs (make fuzz), linked with replay.c the files of corpus/<name> (make check). A
 * stream at its end continues with zeros, so that every prefix of an input is an input.
 */
#ifndef VJP_FUZZ_BYTES_H
#define VJP_FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* expect - end the program, as a crash that the fuzzer keeps, unless the condition holds. */
#define expect(condition, what) ((condition) ? (void)0 : fuzz_fault(what, __FILE__, __LINE__))

static inline void fuzz_fault(const char *what, const char *file, int line)
{
    dprintf(STDERR_FILENO, "%s:%d: %s\n", file, line, what); /* stderr may be a target's own */
    abort();
}

typedef struct bytes {
    const uint8_t *at;
    size_t left;
} bytes;

static inline uint8_t bytes_u8(bytes *b)
{
    if (b->left == 0)
        return 0;
    b->left--;
    return *b->at++;
}

static inline uint64_t bytes_u64(bytes *b)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes_u8(b) << (8 * i);
    return value;
}

/* bytes_below - 0 .. n - 1 out of one byte, n from 1 to 256. */
static inline int32_t bytes_below(bytes *b, int32_t n)
{
    return bytes_u8(b) % n;
}

/* bytes_number - a small number mostly, some of those at which arithmetic ends, or any. */
static inline int64_t bytes_number(bytes *b)
{
    static const int64_t edges[] = { -1,        INT64_MAX,     INT64_MIN,      INT64_MIN + 1,
                                     INT32_MAX, INT32_MIN,     1LL << 32,      1LL << 61,
                                     1LL << 62, 0x5555555555LL, INT64_MAX / 2, INT64_MAX / 8 };
    enum { EDGES = sizeof(edges) / sizeof(edges[0]), SMALL = 224 };
    uint8_t first = bytes_u8(b);
    if (first < SMALL)
        return first;
    first -= SMALL;
    return first < EDGES ? edges[first] : (int64_t)bytes_u64(b);
}

/* bytes_copy - the next `size` bytes (fewer at the end) and a NUL, as an allocation of its own in
 * which a read too far is seen. Sets *got if it is wanted. To be freed. */
static inline char *bytes_copy(bytes *b, size_t size, size_t *got)
{
    size_t n = size < b->left ? size : b->left;
    char *copy = malloc(n + 1);
    if (!copy)
        fuzz_fault("out of memory", __FILE__, __LINE__);
    if (n > 0)
        memcpy(copy, b->at, n);
    copy[n] = 0;
    b->at += n;
    b->left -= n;
    if (got)
        *got = n;
    return copy;
}

/* bytes_choice - one of the words of "NCX|NXC", to be freed. */
static inline char *bytes_choice(bytes *b, const char *choices)
{
    for (int32_t skip = bytes_below(b, 8); skip > 0 && strchr(choices, '|'); skip--)
        choices = strchr(choices, '|') + 1;
    char *word = strndup(choices, strcspn(choices, "|"));
    if (!word)
        fuzz_fault("out of memory", __FILE__, __LINE__);
    return word;
}

#endif
