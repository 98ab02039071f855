/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_write.c - writing; see safetensors.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "safetensors.h"

/* The data are written in passes, elements of 8 bytes first: each pass begins at a multiple of its
 * elements' size. */
static const size_t passes[] = { 8, 4, 2, 1 };

enum {
    PASSES = sizeof passes / sizeof passes[0],
    PREFIX = 8 /* bytes that hold the header's size; the header is padded to a multiple of them */
};

/* Bytes of data before tensor `index`. */
static size_t place_of(const safetensors *s, int64_t index)
{
    size_t size = vjp_dtype_size(s->tensors[index].dtype), place = 0;
    for (int64_t i = 0; i < s->ntensors; i++) {
        size_t other = vjp_dtype_size(s->tensors[i].dtype);
        if (other > size || (other == size && i < index))
            place += s->tensors[i].size;
    }
    return place;
}

static void put_tensor(FILE *out, const safetensor *t, size_t place)
{
    json_put_string(out, t->name);
    fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", safetensors_dtype(t->dtype));
    for (int32_t d = 0; d < t->ndim; d++)
        fprintf(out, "%s%" PRId64, d > 0 ? "," : "", t->shape[d]);
    fprintf(out, "],\"data_offsets\":[%zu,%zu]}", place, place + t->size);
}

static void put_header(FILE *out, const safetensors *s)
{
    fputs("{\"__metadata__\":{", out);
    for (int64_t i = 0; i < s->ntexts; i++) {
        fputs(i > 0 ? "," : "", out);
        json_put_string(out, s->texts[i].key);
        fputc(':', out);
        json_put_string(out, s->texts[i].value);
    }
    fputc('}', out);
    for (int64_t i = 0; i < s->ntensors; i++) {
        fputc(',', out);
        put_tensor(out, &s->tensors[i], place_of(s, i));
    }
    fputc('}', out);
    while (ftell(out) % PREFIX != 0)
        fputc(' ', out);
}

static void put_data(FILE *out, const safetensors *s)
{
    for (int pass = 0; pass < PASSES; pass++)
        for (int64_t i = 0; i < s->ntensors; i++)
            if (vjp_dtype_size(s->tensors[i].dtype) == passes[pass])
                fwrite(s->tensors[i].data, 1, s->tensors[i].size, out);
}

bool safetensors_write(const char *path, const safetensors *s,
                       char reason[SAFETENSORS_REASON_SIZE])
{
    for (int64_t i = 0; i < s->ntensors; i++)
        if (safetensors_dtype(s->tensors[i].dtype) == NULL) {
            snprintf(reason, SAFETENSORS_REASON_SIZE, "%.4000s: tensor %.100s: no such dtype", path,
                     s->tensors[i].name);
            return false;
        }
    FILE *out = fopen(path, "wb");
    uint64_t header_size = 0;
    bool written = out != NULL;
    if (written) {
        fwrite(&header_size, 1, PREFIX, out); /* not known yet */
        put_header(out, s);
        header_size = (uint64_t)ftell(out) - PREFIX;
        put_data(out, s);
        rewind(out);
        fwrite(&header_size, 1, PREFIX, out);
        written = !ferror(out);
        written = fclose(out) == 0 && written;
    }
    if (!written)
        snprintf(reason, SAFETENSORS_REASON_SIZE, "%.4000s: %s", path, strerror(errno));
    return written;
}
