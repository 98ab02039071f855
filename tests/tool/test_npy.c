/* SPDX-License-Identifier: Apache-2.0 */
/* test_npy.c - the reader of .npy files on bytes in memory: what NumPy writes and has written, each
 * kind of malformed file with its message, every file truncated, and files with bytes changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"
#include "random.h"
#include "support.h"

/* The parser gets exactly these bytes, so that AddressSanitizer sees it read one more. */
static bool parse_bytes(const void *bytes, size_t size, vjp_tensor *tensor, char *reason)
{
    char *exact = malloc(size ? size : 1);
    size_t offset = 0;
    memcpy(exact, bytes, size);
    bool ok = npy_parse(exact, size, tensor, &offset, reason);
    if (ok)
        assert_int_equal(offset + npy_data_size(tensor), size);
    else
        assert_true(strlen(reason) > 0);
    free(exact);
    return ok;
}

/* A header with this dict, then that many zeros. */
static bool parse_dict(int major, const char *dict, size_t data, vjp_tensor *tensor, char *reason)
{
    char file[2 * HEADER_SIZE] = { 0 };
    size_t size = numpy_head(file, major, dict, 64);
    memset(file + size, 0, data);
    return parse_bytes(file, size + data, tensor, reason);
}

/* ---- accepted ------------------------------------------------------------------------------ */

typedef struct good {
    const char *name, *dict;
    size_t data;
    vjp_dtype dtype;
    int32_t ndim;
    int64_t shape[VJP_MAX_DIMS], strides[VJP_MAX_DIMS];
} good;

#define F4 "{'descr': '<f4', 'fortran_order': False, 'shape': "

static const good goods[] = {
    { "f64", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 48, VJP_F64,
      2, { 2, 3 }, { 3, 1 } },
    { "f32", F4 "(2, 3), }", 24, VJP_F32, 2, { 2, 3 }, { 3, 1 } },
    { "f16", "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }", 12, VJP_F16,
      2, { 2, 3 }, { 3, 1 } },
    { "bf16 by ml_dtypes", "{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3), }", 12,
      VJP_BF16, 2, { 2, 3 }, { 3, 1 } },
    { "bf16 loaded and saved again", "{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }",
      4, VJP_BF16, 1, { 2 }, { 1 } },
    { "bf16 by name", "{'descr': 'bfloat16', 'fortran_order': False, 'shape': (2,), }", 4,
      VJP_BF16, 1, { 2 }, { 1 } },
    { "s32", "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 24, VJP_S32,
      2, { 2, 3 }, { 3, 1 } },
    { "s64", "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }", 48, VJP_S64,
      2, { 2, 3 }, { 3, 1 } },
    { "u8", "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", 6, VJP_U8,
      2, { 2, 3 }, { 3, 1 } },
    { "bool", "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }", 6, VJP_U8,
      2, { 2, 3 }, { 3, 1 } },
    { "Fortran order", "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }", 96,
      VJP_F32, 3, { 2, 3, 4 }, { 1, 2, 6 } },
    { "no dims", F4 "(), }", 4, VJP_F32, 0, { 0 }, { 0 } },
    { "no elements", F4 "(3, 0, 2), }", 0, VJP_F32, 3, { 3, 0, 2 }, { 2, 2, 1 } },
    { "no elements, Fortran order",
      "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 0, 2), }", 0, VJP_F32,
      3, { 3, 0, 2 }, { 2, 2, 1 } },
    { "twelve dims", F4 "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2), }", 8, VJP_F32,
      12, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2 }, { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1 } },
    { "Python 2's long", F4 "(2L, 3L), }", 24, VJP_F32, 2, { 2, 3 }, { 3, 1 } },
    { "double quotes", "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2,)}", 8,
      VJP_F32, 1, { 2 }, { 1 } },
    { "another order of keys", "{'shape': (2,), 'descr': '<f4', 'fortran_order': False}", 8,
      VJP_F32, 1, { 2 }, { 1 } },
    { "no blanks", "{'descr':'<f4','fortran_order':False,'shape':(2,3)}", 24, VJP_F32,
      2, { 2, 3 }, { 3, 1 } },
    { "many blanks", " {\t'descr' :\n'<f4' , 'fortran_order' : False , 'shape' : ( 2 , ) , } \n", 8,
      VJP_F32, 1, { 2 }, { 1 } },
};

static void a_good_header(void **state)
{
    const good *g = *state;
    for (int major = 1; major <= 3; major++) {
        char reason[NPY_REASON_SIZE];
        vjp_tensor tensor;
        if (!parse_dict(major, g->dict, g->data, &tensor, reason))
            fail_msg("version %d: %s", major, reason);
        assert_int_equal(tensor.dtype, g->dtype);
        assert_int_equal(tensor.ndim, g->ndim);
        for (int32_t d = 0; d < g->ndim; d++) {
            assert_int_equal(tensor.shape[d], g->shape[d]);
            assert_int_equal(tensor.strides[d], g->strides[d]);
        }
    }
}

/* Files are written as NumPy writes them, except for the number of spaces, and are read back. */
static void a_written_header(void **state)
{
    const good *g = *state;
    char head[NPY_HEADER_SIZE], wanted[HEADER_SIZE], dict[DICT_SIZE], reason[NPY_REASON_SIZE];
    vjp_tensor tensor, again;
    size_t offset;
    assert_int_equal(vjp_tensor_contiguous(g->dtype, g->ndim, g->shape, &tensor), VJP_OK);
    size_t size = npy_header(&tensor, head);
    numpy_dict(dict, numpy_descr(g->dtype), false, g->ndim, g->shape);
    assert_int_equal(size, numpy_head(wanted, 1, dict, 64));
    assert_memory_equal(head, wanted, size);
    char *file = calloc(1, size + g->data);
    memcpy(file, head, size);
    assert_true(npy_parse(file, size + g->data, &again, &offset, reason));
    assert_int_equal(offset, size);
    assert_memory_equal(&again, &tensor, sizeof(tensor));
    free(file);
}

static void the_longest_header_fits(void **state)
{
    (void)state;
    char head[NPY_HEADER_SIZE];
    vjp_tensor tensor = { .struct_size = sizeof(tensor), .dtype = VJP_F64, .ndim = VJP_MAX_DIMS };
    for (int d = 0; d < VJP_MAX_DIMS; d++)
        tensor.shape[d] = INT64_MAX;
    size_t size = npy_header(&tensor, head);
    assert_true(size <= NPY_HEADER_SIZE && size % 64 == 0 && head[size - 1] == '\n');
}

/* ---- refused ------------------------------------------------------------------------------- */

typedef struct bad {
    const char *dict;
    size_t data;
    const char *reason;
} bad;

static const bad bads[] = {
    { "", 0, "the header is not a Python dict" },
    { "('descr', '<f4')", 0, "the header is not a Python dict" },
    { "{", 0, "the header is not a Python dict with strings for keys" },
    { "{'descr", 0, "the header is not a Python dict with strings for keys" },
    { "{descr: '<f4'}", 0, "the header is not a Python dict with strings for keys" },
    { "{'descr' '<f4'}", 0, "the header is not a Python dict with strings for keys" },
    { "{'descr': '<f4' 'fortran_order': False}", 0, "it lacks a comma or its end" },
    { F4 "(2,)", 8, "it lacks a comma or its end" },
    { F4 "(2,), } x", 8, "the header goes on after the dict's end" },
    { F4 "(2,), 'shape': (2,)}", 8, "the header has shape twice" },
    { F4 "(2,), 'extra': 1}", 8, "the header has an unknown key 'extra'" },
    { "{'\x01\x1b[31m': 1}", 0, "the header has an unknown key '??[31m'" },
    { "{}", 0, "the header lacks descr" },
    { "{'descr': '<f4', 'shape': (2,)}", 8, "the header lacks fortran_order" },
    { "{'descr': '<f4', 'fortran_order': False}", 8, "the header lacks shape" },
    { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8,
      "descr is not a string: only plain dtypes are read" },
    { "{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8,
      "descr is '>f4': big-endian data are not read" },
    { "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}", 4, "descr is '<i2', not '<f8'" },
    { "{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}", 32, "descr is '<f16', not" },
    { "{'descr': '', 'fortran_order': False, 'shape': (2,)}", 8, "descr is '', not" },
    { "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8,
      "fortran_order is neither True nor False" },
    { F4 "2}", 8, "shape is not a tuple of whole numbers" },
    { F4 "(2)}", 8, "shape is not a tuple of whole numbers" },
    { F4 "[2]}", 8, "shape is not a tuple of whole numbers" },
    { F4 "(,)}", 8, "shape is not a tuple of whole numbers" },
    { F4 "(2 3)}", 24, "shape is not a tuple of whole numbers" },
    { F4 "(-2,)}", 8, "shape is not a tuple of whole numbers" },
    { F4 "(2.0,)}", 8, "shape is not a tuple of whole numbers" },
    { F4 "(2, 3", 24, "shape is not a tuple of whole numbers" },
    { F4 "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}", 4, "shape has more than 12 dims" },
    { F4 "(9223372036854775808,)}", 8, "shape has a dim that does not fit in 63 bits" },
    { F4 "(99999999999999999999999,)}", 8, "shape has a dim that does not fit in 63 bits" },
    { F4 "(4611686018427387904,)}", 0, "shape is too large: its bytes do not fit in 62 bits" },
    { F4 "(4294967296, 4294967296)}", 0, "shape is too large: its bytes do not fit in 62 bits" },
    { F4 "(2, 3)}", 20, "the data are cut off: 20 bytes of 24" },
    { F4 "(1099511627776,)}", 20, "the data are cut off: 20 bytes of 4398046511104" },
    { F4 "(2, 3)}", 25, "bytes follow the data" },
    { F4 "(0, 3)}", 4, "bytes follow the data" },
};

static void a_bad_header(void **state)
{
    const bad *b = *state;
    char reason[NPY_REASON_SIZE] = "";
    vjp_tensor tensor;
    for (int major = 1; major <= 3; major++) {
        if (parse_dict(major, b->dict, b->data, &tensor, reason) || !strstr(reason, b->reason))
            fail_msg("expected \"%s\", got \"%s\"", b->reason, reason);
    }
}

static void refused(const char *bytes, size_t size, const char *wanted)
{
    char reason[NPY_REASON_SIZE] = "";
    vjp_tensor tensor;
    if (parse_bytes(bytes, size, &tensor, reason) || strcmp(reason, wanted))
        fail_msg("expected \"%s\", got \"%s\"", wanted, reason);
}

static void the_first_bytes_are_checked(void **state)
{
    (void)state;
    refused("", 0, "the file is empty");
    refused("\x93NUMP", 5, "not a .npy file");
    refused("PK\x03\x04 a zip archive", 18, "not a .npy file");
    refused("\x93NUMPY\x01", 7, "the file ends within its header");
    refused("\x93NUMPY\x01\x00\x10", 9, "the file ends within its header");
    refused("\x93NUMPY\x00\x00\x10\x00", 10,
            "version 0.0 of the format is not known, only 1.0 to 3.0");
    refused("\x93NUMPY\x04\x00\x10\x00", 10,
            "version 4.0 of the format is not known, only 1.0 to 3.0");
    refused("\x93NUMPY\x01\x01\x10\x00", 10,
            "version 1.1 of the format is not known, only 1.0 to 3.0");
    refused("\x93NUMPY\x02\x00\x10\x00", 10, "the file ends within its header");
    refused("\x93NUMPY\x01\x00\xff\xff{}", 12, "the file ends within its header");
    refused("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14,
            "the header is said to have 4294967295 bytes, more than 65535");
    refused("\x93NUMPY\x03\x00\x00\x00\x01\x00{}", 14,
            "the header is said to have 65536 bytes, more than 65535");
    refused("\x93NUMPY\x01\x00\x03\x00{}\x00", 13, "the header goes on after the dict's end");
}

static size_t a_file(char file[2 * HEADER_SIZE])
{
    size_t size = numpy_head(file, 2, F4 "(2, 3), }", 64);
    memset(file + size, 1, 24);
    return size + 24;
}

static void every_file_cut_short_is_refused(void **state)
{
    (void)state;
    char file[2 * HEADER_SIZE], reason[NPY_REASON_SIZE];
    vjp_tensor tensor;
    size_t size = a_file(file);
    assert_true(parse_bytes(file, size, &tensor, reason));
    for (size_t cut = 0; cut < size; cut++) {
        const char *wanted = cut == 0           ? "the file is empty"
                             : cut < 6          ? "not a .npy file"
                             : cut < size - 24  ? "the file ends within its header"
                                                : "the data are cut off";
        if (parse_bytes(file, cut, &tensor, reason) || !strstr(reason, wanted))
            fail_msg("%zu bytes: expected \"%s\", got \"%s\"", cut, wanted, reason);
    }
}

/* What is accepted all the same describes the bytes that are there: parse_bytes looks. */
static void changed_bytes_do_no_harm(void **state)
{
    (void)state;
    static const char spice[] = "{}()',:\"0123456789LTF<>|fV \n\0\xff";
    char file[2 * HEADER_SIZE], reason[NPY_REASON_SIZE];
    random_state random = random_start(random_seed(), 1);
    vjp_tensor tensor;
    int accepted = 0;
    for (int i = 0; i < 100000; i++) {
        size_t size = a_file(file);
        for (int64_t changes = random_between(&random, 1, 4); changes > 0; changes--)
            file[random_below(&random, 80)] = spice[random_below(&random, sizeof(spice))];
        accepted += parse_bytes(file, size, &tensor, reason);
    }
    assert_true(accepted > 100); /* blanks turned into other blanks, say */
}

int main(void)
{
    enum { GOODS = COUNT_OF(goods), BADS = COUNT_OF(bads), OTHERS = 4 };
    static struct CMUnitTest tests[2 * GOODS + BADS + OTHERS] = {
        cmocka_unit_test(the_longest_header_fits),
        cmocka_unit_test(the_first_bytes_are_checked),
        cmocka_unit_test(every_file_cut_short_is_refused),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    struct CMUnitTest *next = tests + OTHERS;
    for (int i = 0; i < GOODS; i++) {
        *next++ = unit_named(goods[i].name, "read", a_good_header, &goods[i]);
        *next++ = unit_named(goods[i].name, "written", a_written_header, &goods[i]);
    }
    for (int i = 0; i < BADS; i++)
        *next++ = unit_named(bads[i].dict, "refused", a_bad_header, &bads[i]);
    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
