/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - the header of a .npy file: a magic string, a version, a length, and a Python dict in
 * text that holds exactly descr, fortran_order and shape. What the dict may look like is what
 * NumPy itself writes and reads, and no more of Python than that. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "npy.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data are used as they lie in the file");

enum {
    MAGIC_SIZE = 6,
    MOST_HEADER = 65535, /* what version 1.0 can say, and far more than three entries need */
    ALIGNMENT = 64
};

static const unsigned char magic[MAGIC_SIZE] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

/* The first of a dtype is what is written. */
static const struct {
    vjp_dtype dtype;
    const char *descr;
} descrs[] = {
    { VJP_F64, "<f8" },  { VJP_F32, "<f4" },  { VJP_F16, "<f2" },
    { VJP_BF16, "<V2" }, { VJP_BF16, "|V2" }, { VJP_BF16, "bfloat16" },
    { VJP_S32, "<i4" },  { VJP_S64, "<i8" },  { VJP_U8, "|u1" },
    { VJP_U8, "|b1" },
};

enum {
    DESCRS = sizeof(descrs) / sizeof(descrs[0])
};

/* ---- the dict ------------------------------------------------------------------------------ */

typedef struct cursor {
    const char *at, *end;
    char *reason;
} cursor;

enum {
    HAS_DESCR = 1,
    HAS_ORDER = 2,
    HAS_SHAPE = 4
};

typedef struct dict {
    int has;
    vjp_dtype dtype;
    bool fortran_order;
    int32_t ndim;
    int64_t shape[VJP_MAX_DIMS];
} dict;

__attribute__((format(printf, 2, 3))) static bool refuse(char *reason, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(reason, NPY_REASON_SIZE, format, list);
    va_end(list);
    return false;
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && *c->at && strchr(" \t\r\n\f", *c->at))
        c->at++;
}

/* The next character that is not blank, if it is this one. */
static bool take(cursor *c, char wanted)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length))
        return false;
    c->at += length;
    return true;
}

enum {
    TEXT_SIZE = 24
};

/* A quoted string, cut to what `text` holds and made fit to be shown. */
static bool take_string(cursor *c, char text[TEXT_SIZE])
{
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    char quote = *c->at++;
    size_t n = 0;
    for (; c->at < c->end && *c->at != quote; c->at++)
        if (n + 1 < TEXT_SIZE)
            text[n++] = (char)(*c->at >= ' ' && *c->at <= '~' ? *c->at : '?');
    text[n] = 0;
    return take(c, quote);
}

static bool take_descr(cursor *c, dict *d)
{
    char text[TEXT_SIZE];
    if (!take_string(c, text))
        return refuse(c->reason, "descr is not a string: only plain dtypes are read");
    for (int i = 0; i < DESCRS; i++) {
        if (!strcmp(text, descrs[i].descr)) {
            d->dtype = descrs[i].dtype;
            return true;
        }
        if (text[0] == '>' && !strcmp(text + 1, descrs[i].descr + 1))
            return refuse(c->reason, "descr is '%s': big-endian data are not read", text);
    }
    return refuse(c->reason,
                  "descr is '%s', not '<f8', '<f4', '<f2', '<V2' (bfloat16), '<i4', '<i8', '|u1' "
                  "or '|b1'",
                  text);
}

static bool take_order(cursor *c, dict *d)
{
    d->fortran_order = take_word(c, "True");
    if (d->fortran_order || take_word(c, "False"))
        return true;
    return refuse(c->reason, "fortran_order is neither True nor False");
}

/* One dim. Python 2 wrote an L after it. */
static bool take_dim(cursor *c, int64_t *dim)
{
    const char *first;
    skip_blanks(c);
    *dim = 0;
    for (first = c->at; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*dim, 10, dim) ||
            __builtin_add_overflow(*dim, *c->at - '0', dim))
            return refuse(c->reason, "shape has a dim that does not fit in 63 bits");
    if (c->at == first)
        return refuse(c->reason, "shape is not a tuple of whole numbers");
    if (c->at < c->end && *c->at == 'L')
        c->at++;
    return true;
}

/* (), (3,), (3, 4) or (3, 4,); not (3), which is a number in Python. */
static bool take_shape(cursor *c, dict *d)
{
    bool comma = true;
    if (!take(c, '('))
        return refuse(c->reason, "shape is not a tuple of whole numbers");
    for (d->ndim = 0; !take(c, ')'); d->ndim++) {
        int64_t dim;
        if (!comma || !take_dim(c, &dim))
            return comma ? false : refuse(c->reason, "shape is not a tuple of whole numbers");
        if (d->ndim == VJP_MAX_DIMS)
            return refuse(c->reason, "shape has more than %d dims", VJP_MAX_DIMS);
        d->shape[d->ndim] = dim;
        comma = take(c, ',');
    }
    if (d->ndim == 1 && !comma)
        return refuse(c->reason, "shape is not a tuple of whole numbers");
    return true;
}

static bool take_entry(cursor *c, dict *d)
{
    static const struct {
        const char *key;
        int has;
        bool (*take)(cursor *c, dict *d);
    } entries[] = {
        { "descr", HAS_DESCR, take_descr },
        { "fortran_order", HAS_ORDER, take_order },
        { "shape", HAS_SHAPE, take_shape },
    };
    char key[TEXT_SIZE];
    if (!take_string(c, key) || !take(c, ':'))
        return refuse(c->reason, "the header is not a Python dict with strings for keys");
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (strcmp(key, entries[i].key))
            continue;
        if (d->has & entries[i].has)
            return refuse(c->reason, "the header has %s twice", key);
        d->has |= entries[i].has;
        return entries[i].take(c, d);
    }
    return refuse(c->reason, "the header has an unknown key '%s'", key);
}

static bool take_dict(cursor *c, dict *d)
{
    bool comma = true;
    if (!take(c, '{'))
        return refuse(c->reason, "the header is not a Python dict");
    while (!take(c, '}')) {
        if (!comma)
            return refuse(c->reason,
                          "the header is not a Python dict: it lacks a comma or its end");
        if (!take_entry(c, d))
            return false;
        comma = take(c, ',');
    }
    skip_blanks(c);
    if (c->at < c->end)
        return refuse(c->reason, "the header goes on after the dict's end");
    if (d->has != (HAS_DESCR | HAS_ORDER | HAS_SHAPE))
        return refuse(c->reason, "the header lacks %s",
                      !(d->has & HAS_DESCR)   ? "descr"
                      : !(d->has & HAS_ORDER) ? "fortran_order"
                                              : "shape");
    return true;
}

/* ---- the file ------------------------------------------------------------------------------ */

size_t npy_data_size(const vjp_tensor *tensor)
{
    size_t size = vjp_dtype_size(tensor->dtype);
    for (int32_t d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] == 0)
            return 0;
    for (int32_t d = 0; d < tensor->ndim; d++)
        size *= (size_t)tensor->shape[d];
    return size;
}

/* The vjp_tensor of a dict. */
static bool describe(const dict *d, vjp_tensor *tensor, char *reason)
{
    if (vjp_tensor_contiguous(d->dtype, d->ndim, d->shape, tensor) != VJP_OK)
        return refuse(reason, "shape is too large: its bytes do not fit in 62 bits");
    if (!d->fortran_order || npy_data_size(tensor) == 0)
        return true;
    int64_t stride = 1; /* the products are those of C order, so they fit */
    for (int32_t i = 0; i < d->ndim; i++) {
        tensor->strides[i] = stride;
        stride *= d->shape[i];
    }
    return true;
}

/* Where the header's text begins and ends, as far as the first `size` bytes say: an end beyond them
 * is where there is more to know. */
static bool find_header(const unsigned char *file, size_t size, size_t *begin, size_t *end,
                        char *reason)
{
    *begin = *end = MAGIC_SIZE;
    if (size < *end)
        return true;
    if (memcmp(file, magic, MAGIC_SIZE))
        return refuse(reason, "not a .npy file");
    *begin = *end = MAGIC_SIZE + 2;
    if (size < *end)
        return true;
    int major = file[MAGIC_SIZE], minor = file[MAGIC_SIZE + 1];
    if (major < 1 || major > 3 || minor != 0)
        return refuse(reason, "version %d.%d of the format is not known, only 1.0 to 3.0", major,
                      minor);
    int bytes = major == 1 ? 2 : 4;
    *begin = *end = MAGIC_SIZE + 2 + (size_t)bytes;
    if (size < *end)
        return true;
    size_t length = 0;
    for (int i = 0; i < bytes; i++)
        length |= (size_t)file[MAGIC_SIZE + 2 + i] << (8 * i);
    if (length > MOST_HEADER)
        return refuse(reason, "the header is said to have %zu bytes, more than %d", length,
                      MOST_HEADER);
    *end += length;
    return true;
}

/* The tensor of a header whose text is whole. */
static bool read_header(const char *begin, const char *end, vjp_tensor *tensor, char *reason)
{
    dict d = { 0 };
    return take_dict(&(cursor){ begin, end, reason }, &d) && describe(&d, tensor, reason);
}

bool npy_extent(const void *file, size_t size, size_t *extent, char reason[NPY_REASON_SIZE])
{
    size_t begin;
    vjp_tensor tensor;
    const char *text = file;
    if (!find_header(file, size, &begin, extent, reason))
        return false;
    if (size < *extent)
        return true;
    if (!read_header(text + begin, text + *extent, &tensor, reason))
        return false;
    *extent += npy_data_size(&tensor); /* less than 2^62 */
    return true;
}

bool npy_parse(const void *file, size_t size, vjp_tensor *tensor, size_t *offset,
               char reason[NPY_REASON_SIZE])
{
    size_t begin;
    const char *text = file;
    if (!find_header(file, size, &begin, offset, reason))
        return false;
    if (size < MAGIC_SIZE)
        return refuse(reason, "%s", size ? "not a .npy file" : "the file is empty");
    if (size < *offset)
        return refuse(reason, "the file ends within its header");
    if (!read_header(text + begin, text + *offset, tensor, reason))
        return false;
    size_t wanted = npy_data_size(tensor), got = size - *offset;
    if (got < wanted)
        return refuse(reason, "the data are cut off: %zu bytes of %zu", got, wanted);
    if (got > wanted)
        return refuse(reason, "bytes follow the data, which end at byte %zu", *offset + wanted);
    return true;
}

size_t npy_header(const vjp_tensor *tensor, char header[NPY_HEADER_SIZE])
{
    enum { PREFIX = MAGIC_SIZE + 4 }; /* as version 1.0 has it */
    int row = 0;
    while (descrs[row].dtype != tensor->dtype)
        row++;
    int n = PREFIX;
    n += snprintf(header + n, NPY_HEADER_SIZE - (size_t)n,
                  "{'descr': '%s', 'fortran_order': False, 'shape': (", descrs[row].descr);
    for (int32_t d = 0; d < tensor->ndim; d++)
        n += snprintf(header + n, NPY_HEADER_SIZE - (size_t)n, "%s%" PRId64 "%s", d ? ", " : "",
                      tensor->shape[d], tensor->ndim == 1 ? "," : "");
    n += snprintf(header + n, NPY_HEADER_SIZE - (size_t)n, "), }");
    size_t size = ((size_t)n / ALIGNMENT + 1) * ALIGNMENT, length = size - PREFIX;
    memset(header + n, ' ', size - (size_t)n);
    header[size - 1] = '\n';
    memcpy(header, magic, MAGIC_SIZE);
    memcpy(header + MAGIC_SIZE, (unsigned char[]){ 1, 0, length & 255, length >> 8 & 255 }, 4);
    return size;
}
