/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c - reading; see safetensors.h. Lists grow while the header is read; then they are
 * sorted by place, to see that the data are covered, and by name, to be found. */
#include "safetensors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements are used as they are in a file");

enum {
    PREFIX = 8,
    MOST_HEADER = 100000000, /* as the format's own reader has it */
    SHOWN = 100              /* bytes of a name in a reason */
};

/* The dtypes of a file, and what the library calls them. */
static const struct {
    const char *name, *of_library;
    size_t size;
} dtypes[] = {
    { "F64", "f64", 8 }, { "F32", "f32", 4 }, { "F16", "f16", 2 }, { "BF16", "bf16", 2 },
    { "I64", "s64", 8 }, { "I32", "s32", 4 }, { "U8", "u8", 1 },
};

enum {
    DTYPES = sizeof dtypes / sizeof dtypes[0]
};

typedef struct reader {
    const char *path;
    char *reason;
    const unsigned char *data;
    size_t data_size;
    safetensors *s;
} reader;

/* ---- refusals ----------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static bool refuse(const reader *r, const char *format, ...)
{
    int used = snprintf(r->reason, SAFETENSORS_REASON_SIZE, "%.4000s: ", r->path);
    va_list list;
    va_start(list, format);
    vsnprintf(r->reason + used, SAFETENSORS_REASON_SIZE - (size_t)used, format, list);
    va_end(list);
    for (char *c = r->reason + used; *c; c++)
        if (*c < ' ' || *c > '~') /* names come from the file, and reasons are for a terminal */
            *c = '?';
    return false;
}

static bool refuse_tensor(const reader *r, const safetensor *t, const char *why)
{
    return refuse(r, "tensor %.*s: %s", SHOWN, t->name, why);
}

static bool refuse_json(const reader *r, const json *j, const char *name)
{
    if (name != NULL)
        return refuse(r, "tensor %.*s: %s", SHOWN, name, j->error);
    return refuse(r, "the header: %s", j->error);
}

/* ---- tensors ------------------------------------------------------------------------------ */

const char *safetensors_dtype(vjp_dtype dtype)
{
    const char *wanted = vjp_dtype_name(dtype);
    for (int i = 0; wanted != NULL && i < DTYPES; i++)
        if (strcmp(dtypes[i].of_library, wanted) == 0)
            return dtypes[i].name;
    return NULL;
}

/* Row `name` of the table, and the library's dtype, if it has that. -1 if the table has no row. */
static int find_dtype(const char *name, vjp_dtype *dtype)
{
    *dtype = (vjp_dtype)0;
    for (int d = 1; vjp_dtype_name((vjp_dtype)d) != NULL; d++) {
        const char *known = safetensors_dtype((vjp_dtype)d);
        if (known != NULL && strcmp(known, name) == 0)
            *dtype = (vjp_dtype)d;
    }
    for (int i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return i;
    return -1;
}

/* What the header says of one tensor. */
typedef struct entry {
    char *dtype;
    int64_t offsets[2];
    int64_t noffsets, ndim; /* -1: not said yet */
    int64_t shape[VJP_MAX_DIMS];
} entry;

/* An array of numbers; `most` fit. Returns how many there are. */
static int64_t take_numbers(json *j, int64_t *numbers, int64_t most, const char *too_many)
{
    int64_t n = 0;
    json_open(j, '[');
    for (; json_more(j, ']', n); n++) {
        if (n == most)
            return json_fail(j, too_many);
        numbers[n] = json_integer(j);
        if (numbers[n] < 0)
            json_fail(j, "a number is negative");
    }
    return n;
}

static void take_member(json *j, entry *e)
{
    char *key = json_key(j);
    if (key == NULL)
        return;
    if (strcmp(key, "dtype") == 0 && e->dtype == NULL)
        e->dtype = json_string(j);
    else if (strcmp(key, "shape") == 0 && e->ndim < 0)
        e->ndim = take_numbers(j, e->shape, VJP_MAX_DIMS, "shape has too many dims");
    else if (strcmp(key, "data_offsets") == 0 && e->noffsets < 0)
        e->noffsets = take_numbers(j, e->offsets, 2, "data_offsets has more than 2 numbers");
    else
        json_fail(j, "it has a key other than dtype, shape and data_offsets, or one of them twice");
    free(key);
}

/* The tensor that an entry describes: its bytes are those between its offsets, and in the file. */
static bool describe(const reader *r, const entry *e, safetensor *t)
{
    int row = find_dtype(e->dtype, &t->dtype);
    uint64_t size = row >= 0 ? dtypes[row].size : 0;
    int too_large = 0;
    if (row < 0)
        return refuse_tensor(r, t, "its dtype is not F64, F32, F16, BF16, I64, I32 or U8");
    t->ndim = (int32_t)e->ndim;
    for (int32_t d = 0; d < t->ndim; d++) {
        t->shape[d] = e->shape[d];
        too_large |= __builtin_mul_overflow(size, (uint64_t)e->shape[d], &size);
    }
    if (too_large)
        return refuse_tensor(r, t, "shape: its bytes do not fit in 64 bits");
    if (e->offsets[0] > e->offsets[1] || (uint64_t)e->offsets[1] > r->data_size)
        return refuse_tensor(r, t, "data_offsets: not a range within the file");
    if ((uint64_t)(e->offsets[1] - e->offsets[0]) != size)
        return refuse_tensor(r, t, "data_offsets: not as many bytes as shape and dtype need");
    t->data = r->data + e->offsets[0];
    t->size = size;
    return true;
}

/* The list of `count` elements with room for one more: it doubles when it is full. NULL if there is
 * no memory; the list is then unchanged. */
static void *with_room(void *list, int64_t count, size_t element_size)
{
    bool full = (count & (count - 1)) == 0;
    return full ? realloc(list, (count > 0 ? 2 * (size_t)count : 1) * element_size) : list;
}

/* Takes over the name if it returns true. */
static bool add_tensor(const reader *r, const entry *e, char *name)
{
    safetensors *s = r->s;
    safetensor t = { .name = name }, *list;
    if (!describe(r, e, &t))
        return false;
    list = with_room(s->tensors, s->ntensors, sizeof *s->tensors);
    if (list == NULL)
        return refuse_tensor(r, &t, "out of memory");
    s->tensors = list;
    s->tensors[s->ntensors++] = t;
    return true;
}

/* Takes over the name. */
static bool take_tensor(const reader *r, json *j, char *name)
{
    entry e = { .noffsets = -1, .ndim = -1 };
    json_open(j, '{');
    for (int64_t n = 0; json_more(j, '}', n); n++)
        take_member(j, &e);
    if (j->error == NULL && (e.dtype == NULL || e.ndim < 0 || e.noffsets != 2))
        json_fail(j, "it lacks dtype, shape or two data_offsets");
    bool ok = j->error == NULL ? add_tensor(r, &e, name) : refuse_json(r, j, name);
    if (!ok)
        free(name);
    free(e.dtype);
    return ok;
}

/* ---- the header --------------------------------------------------------------------------- */

/* Takes over key and value, either of which may be NULL after a mistake. */
static void add_text(const reader *r, json *j, char *key, char *value)
{
    safetensors *s = r->s;
    safetensors_text *list = NULL;
    if (j->error == NULL)
        list = with_room(s->texts, s->ntexts, sizeof *s->texts);
    if (list == NULL) {
        json_fail(j, "out of memory");
        free(key);
        free(value);
        return;
    }
    s->texts = list;
    s->texts[s->ntexts++] = (safetensors_text){ key, value };
}

static void take_texts(const reader *r, json *j)
{
    json_open(j, '{');
    for (int64_t n = 0; json_more(j, '}', n); n++) {
        char *key = json_key(j), *value = json_string(j);
        add_text(r, j, key, value);
    }
}

static bool take_header(const reader *r, json *j)
{
    json_open(j, '{');
    for (int64_t n = 0; json_more(j, '}', n); n++) {
        char *key = json_key(j);
        if (key != NULL && strcmp(key, "__metadata__") == 0) {
            free(key);
            take_texts(r, j);
        } else if (key != NULL && !take_tensor(r, j, key)) {
            return false;
        }
    }
    return json_end(j) || refuse_json(r, j, NULL);
}

static int by_place(const void *a, const void *b)
{
    const safetensor *x = a, *y = b;
    const unsigned char *p = x->data, *q = y->data;
    return p != q ? (p > q) - (p < q) : (x->size > y->size) - (x->size < y->size);
}

static int by_name(const void *a, const void *b)
{
    const safetensor *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int by_key(const void *a, const void *b)
{
    const safetensors_text *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static void sort(void *list, int64_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count > 0)
        qsort(list, (size_t)count, size, order);
}

/* No gap, no overlap, nothing behind; no name twice. Leaves the tensors sorted by name. */
static bool check_tensors(const reader *r)
{
    safetensors *s = r->s;
    const unsigned char *end = r->data;
    sort(s->tensors, s->ntensors, sizeof *s->tensors, by_place);
    for (int64_t i = 0; i < s->ntensors; end += s->tensors[i++].size)
        if (s->tensors[i].data != end)
            return refuse_tensor(r, &s->tensors[i], "data_offsets: a gap or an overlap before it");
    if (end != r->data + r->data_size)
        return refuse(r, "%zu bytes follow the data", (size_t)(r->data + r->data_size - end));
    sort(s->tensors, s->ntensors, sizeof *s->tensors, by_name);
    for (int64_t i = 1; i < s->ntensors; i++)
        if (strcmp(s->tensors[i - 1].name, s->tensors[i].name) == 0)
            return refuse_tensor(r, &s->tensors[i], "it comes twice");
    return true;
}

static bool check_texts(const reader *r)
{
    safetensors *s = r->s;
    sort(s->texts, s->ntexts, sizeof *s->texts, by_key);
    for (int64_t i = 1; i < s->ntexts; i++)
        if (strcmp(s->texts[i - 1].key, s->texts[i].key) == 0)
            return refuse(r, "__metadata__: %.*s comes twice", SHOWN, s->texts[i].key);
    return true;
}

bool safetensors_parse(const char *path, const void *bytes, size_t size, safetensors *s,
                       char reason[SAFETENSORS_REASON_SIZE])
{
    const unsigned char *file = bytes;
    reader r = { .path = path, .reason = reason, .s = s };
    uint64_t header_size = 0;
    *s = (safetensors){ .file = NULL };
    if (size < PREFIX)
        return refuse(&r, "not a safetensors file: it has only %zu bytes", size);
    memcpy(&header_size, file, PREFIX);
    if (header_size > MOST_HEADER || header_size > size - PREFIX)
        return refuse(&r, "not a safetensors file, or cut off: its header would have %llu bytes",
                      (unsigned long long)header_size);
    r.data = file + PREFIX + header_size;
    r.data_size = size - PREFIX - (size_t)header_size;
    json j = json_start((const char *)file + PREFIX, (size_t)header_size);
    if (take_header(&r, &j) && check_tensors(&r) && check_texts(&r))
        return true;
    safetensors_free(s);
    return false;
}

/* ---- files -------------------------------------------------------------------------------- */

/* All of a file; NULL, and errno says why, if it cannot be read. */
static void *read_all(FILE *in, size_t *size)
{
    char *bytes = NULL, *larger;
    size_t room = 0;
    *size = 0;
    do {
        if (*size == room) {
            room = room > 0 ? 2 * room : 1 << 16;
            larger = realloc(bytes, room);
            if (larger == NULL)
                break;
            bytes = larger;
        }
        *size += fread(bytes + *size, 1, room - *size, in);
    } while (!feof(in) && !ferror(in));
    if (feof(in))
        return bytes;
    free(bytes);
    return NULL;
}

bool safetensors_read(const char *path, safetensors *s, char reason[SAFETENSORS_REASON_SIZE])
{
    size_t size = 0;
    FILE *in = fopen(path, "rb");
    void *bytes = in != NULL ? read_all(in, &size) : NULL;
    int why = errno;
    if (in != NULL)
        fclose(in);
    if (bytes == NULL)
        return refuse(&(reader){ .path = path, .reason = reason }, "%s", strerror(why));
    if (safetensors_parse(path, bytes, size, s, reason)) {
        s->file = bytes;
        return true;
    }
    free(bytes);
    return false;
}

void safetensors_free(safetensors *s)
{
    for (int64_t i = 0; i < s->ntensors; i++)
        free(s->tensors[i].name);
    for (int64_t i = 0; i < s->ntexts; i++) {
        free(s->texts[i].key);
        free(s->texts[i].value);
    }
    free(s->tensors);
    free(s->texts);
    free(s->file);
    *s = (safetensors){ .file = NULL };
}

const safetensor *safetensors_find(const safetensors *s, const char *name)
{
    safetensor wanted = { .name = (char *)name };
    if (s->ntensors == 0)
        return NULL;
    return bsearch(&wanted, s->tensors, (size_t)s->ntensors, sizeof *s->tensors, by_name);
}

const char *safetensors_value(const safetensors *s, const char *key)
{
    const safetensors_text wanted = { .key = (char *)key }, *found = NULL;
    if (s->ntexts > 0)
        found = bsearch(&wanted, s->texts, (size_t)s->ntexts, sizeof *s->texts, by_key);
    return found != NULL ? found->value : NULL;
}
