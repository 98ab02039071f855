/* SPDX-License-Identifier: Apache-2.0 */
/* test_safetensors.c - reference/safetensors.h: what is written is read again; of a bad file the
 * reason names the file and the tensor. */
#include "safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum {
    MOST_FILE = 4096
};

/* The bytes of a file with that header and as many zeros for data. */
static size_t make_file(unsigned char file[MOST_FILE], const char *header, size_t data_size)
{
    uint64_t header_size = strlen(header);
    memset(file, 0, MOST_FILE);
    memcpy(file, &header_size, 8);
    memcpy(file + 8, header, header_size);
    return 8 + header_size + data_size;
}

static void refused(const char *header, size_t data_size, const char *reason_wanted)
{
    unsigned char *file = malloc(MOST_FILE), *exact;
    char reason[SAFETENSORS_REASON_SIZE] = "";
    safetensors s;
    assert_non_null(file);
    size_t size = make_file(file, header, data_size);
    exact = malloc(size); /* so that a sanitizer sees a read behind it */
    assert_non_null(exact);
    memcpy(exact, file, size);
    if (safetensors_parse("in.safetensors", exact, size, &s, reason))
        fail_msg("accepted: %s", header);
    if (strncmp(reason, "in.safetensors: ", 16) != 0 || strstr(reason, reason_wanted) == NULL)
        fail_msg("%s: the reason is \"%s\", without \"%s\"", header, reason, reason_wanted);
    free(exact);
    free(file);
}

static void bad_json_is_refused(void **state)
{
    (void)state;
    refused("", 0, "the header: a JSON object is missing");
    refused("[]", 0, "the header: a JSON object is missing");
    refused("{", 0, "the header: a string is missing");
    refused("{}{}", 0, "text follows the end");
    refused("{\"__metadata__\":{\"a\":1}}", 0, "a string is missing");
    refused("{\"__metadata__\":{\"a\":\"b\"", 0, "a comma or a closing bracket is missing");
    refused("{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", 0, "__metadata__: a comes twice");
    refused("{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "a string has a bad escape");
    refused("{\"__metadata__\":{\"a\":\"\\ud83d\"}}", 0, "a string has a bad escape");
    refused("{\"__metadata__\":{\"a\":\"\n\"}}", 0, "a string has a control character");
    refused("{\"__metadata__\":{\"a\":\"\\", 0, "a string has no end");
    refused("{\"x\":{\"dtype\"", 0, "tensor x: a colon is missing");
    refused("{\"x\":7}", 0, "tensor x: a JSON object is missing");
    refused("{\"x\\u001b[2J\":7}", 0, "tensor x?[2J: a JSON object is missing");
}

#define TENSOR(name, dtype, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void bad_tensors_are_refused_by_name(void **state)
{
    (void)state;
    refused("{\"x\":{}}", 0, "tensor x: it lacks dtype");
    refused("{" TENSOR("x", "F32", "[1]", "[0]") "}", 4, "tensor x: it lacks");
    refused("{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "one of them twice");
    refused("{\"x\":{\"color\":1}}", 0, "tensor x: it has a key other than");
    refused("{" TENSOR("x", "F8", "[4]", "[0,4]") "}", 4, "tensor x: its dtype is not");
    refused("{" TENSOR("x", "F32", "[1.5]", "[0,4]") "}", 4, "a whole number is missing");
    refused("{" TENSOR("x", "F32", "[-1]", "[0,4]") "}", 4, "tensor x: a number is negative");
    refused("{" TENSOR("x", "F32", "[9223372036854775808]", "[0,4]") "}", 4, "in 63 bits");
    refused("{" TENSOR("x", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, "in 64 bits");
    refused("{" TENSOR("x", "F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "too many dims");
    refused("{" TENSOR("x", "F32", "[1]", "[0,4,8]") "}", 8, "more than 2 numbers");
    refused("{" TENSOR("x", "F32", "[2]", "[0,4]") "}", 4, "tensor x: data_offsets: not as many");
    refused("{" TENSOR("x", "F32", "[1]", "[4,0]") "}", 4, "tensor x: data_offsets: not a range");
    refused("{" TENSOR("x", "F32", "[2]", "[0,8]") "}", 4, "tensor x: data_offsets: not a range");
}

static void the_data_are_covered_exactly(void **state)
{
    (void)state;
    refused("{}", 1, "1 bytes follow the data");
    refused("{" TENSOR("x", "U8", "[2]", "[0,2]") "}", 3, "1 bytes follow the data");
    refused("{" TENSOR("x", "U8", "[2]", "[1,3]") "}", 3, "tensor x: data_offsets: a gap");
    refused("{" TENSOR("x", "U8", "[2]", "[0,2]") "," TENSOR("y", "U8", "[2]", "[1,3]") "}", 3,
            "tensor y: data_offsets: a gap or an overlap");
    refused("{" TENSOR("x", "U8", "[0]", "[0,0]") "," TENSOR("x", "U8", "[2]", "[0,2]") "}", 2,
            "tensor x: it comes twice");
}

static void a_file_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    unsigned char file[MOST_FILE];
    char reason[SAFETENSORS_REASON_SIZE];
    safetensors s;
    size_t size = make_file(file, "{" TENSOR("x", "F32", "[2]", "[0,8]") "}", 8);
    for (size_t n = 0; n < size; n++)
        assert_false(safetensors_parse("x", file, n, &s, reason));
    assert_true(safetensors_parse("x", file, size, &s, reason));
    safetensors_free(&s);
    memset(file, 0xff, 8);
    assert_false(safetensors_parse("x", file, size, &s, reason));
    assert_false(safetensors_read("/nowhere", &s, reason));
    assert_string_equal(reason, "/nowhere: No such file or directory");
    assert_false(safetensors_read("/", &s, reason));
    assert_string_equal(reason, "/: Is a directory");
}

static void every_dtype_and_escape_is_read(void **state)
{
    (void)state;
    static const char header[] =
        " {\"__metadata__\" : {\"\\u00e9\\ud83d\\ude00\" : \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\\\\"}, "
        TENSOR("i64", "I64", "[1]", "[0,8]") "," TENSOR("f64", "F64", "[]", "[8,16]") ","
        TENSOR("i32", "I32", "[1,1]", "[16,20]") "," TENSOR("f32", "F32", "[1]", "[20,24]") ","
        TENSOR("f16", "F16", "[0]", "[24,24]") "," TENSOR("bf16", "BF16", "[2]", "[24,28]") ","
        TENSOR("u8", "U8", "[3]", "[28,31]") "}  ";
    unsigned char file[MOST_FILE];
    char reason[SAFETENSORS_REASON_SIZE] = "";
    safetensors s;
    size_t size = make_file(file, header, 31);
    if (!safetensors_parse("in", file, size, &s, reason))
        fail_msg("%s", reason);
    assert_int_equal(s.ntensors, 7);
    assert_string_equal(safetensors_value(&s, "\xc3\xa9\xf0\x9f\x98\x80"), "\"\\/\b\f\n\r\t\\");
    assert_null(safetensors_value(&s, "e"));
    assert_int_equal(safetensors_find(&s, "f64")->dtype, VJP_F64);
    assert_int_equal(safetensors_find(&s, "f64")->ndim, 0);
    assert_int_equal(safetensors_find(&s, "bf16")->dtype, VJP_BF16);
    assert_int_equal(safetensors_find(&s, "i32")->size, 4);
    assert_ptr_equal(safetensors_find(&s, "u8")->data, file + size - 3);
    assert_null(safetensors_find(&s, "u"));
    safetensors_free(&s);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const double doubles[] = { 1, -2 };
    static const uint16_t halves[] = { 0x3c00, 0x7e00, 0x8000 };
    static const float singles[] = { 0.5f };
    safetensor tensors[] = {
        { "case/\"half\"", VJP_F16, 1, { 3 }, halves, sizeof halves },
        { "case/single", VJP_F32, 0, { 0 }, singles, sizeof singles },
        { "case/double", VJP_F64, 2, { 2, 1 }, doubles, sizeof doubles },
        { "case/empty", VJP_BF16, 2, { 0, 5 }, NULL, 0 },
    };
    safetensors_text texts[] = { { "list", "[{\"name\":\"case\"},\n\x01]" }, { "a", "" } };
    safetensors out = { tensors, texts, COUNT_OF(tensors), COUNT_OF(texts), NULL }, in;
    char reason[SAFETENSORS_REASON_SIZE] = "", path[] = "test_safetensors.tmp";
    assert_true(safetensors_write(path, &out, reason));
    if (!safetensors_read(path, &in, reason))
        fail_msg("%s", reason);
    assert_int_equal(in.ntensors, COUNT_OF(tensors));
    for (int64_t i = 0; i < COUNT_OF(tensors); i++) {
        const safetensor *t = safetensors_find(&in, tensors[i].name);
        assert_non_null(t);
        assert_int_equal(t->dtype, tensors[i].dtype);
        assert_int_equal(t->ndim, tensors[i].ndim);
        assert_memory_equal(t->shape, tensors[i].shape, (size_t)t->ndim * sizeof(int64_t));
        assert_int_equal(t->size, tensors[i].size);
        if (t->size > 0)
            assert_memory_equal(t->data, tensors[i].data, t->size);
        size_t place = (size_t)((const char *)t->data - (const char *)in.file);
        assert_int_equal(place % vjp_dtype_size(t->dtype), 0);
    }
    assert_string_equal(safetensors_value(&in, "list"), texts[0].value);
    assert_string_equal(safetensors_value(&in, "a"), "");
    safetensors_free(&in);
    assert_int_equal(remove(path), 0);
    tensors[0].dtype = (vjp_dtype)77;
    assert_false(safetensors_write(path, &out, reason));
    assert_non_null(strstr(reason, "test_safetensors.tmp: tensor case/\"half\": no such dtype"));
    out.ntensors = 0;
    assert_false(safetensors_write("/nowhere/x", &out, reason));
    assert_string_equal(reason, "/nowhere/x: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_json_is_refused),
        cmocka_unit_test(bad_tensors_are_refused_by_name),
        cmocka_unit_test(the_data_are_covered_exactly),
        cmocka_unit_test(a_file_that_is_cut_off_is_refused),
        cmocka_unit_test(every_dtype_and_escape_is_read),
        cmocka_unit_test(what_is_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
