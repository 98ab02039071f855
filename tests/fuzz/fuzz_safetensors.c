/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_safetensors.c - the input is a safetensors file. The tensors that are read must cover its
 * data and be found by their names; what is refused must be given a reason that names the file. */
#include "bytes.h"
#include "safetensors.h"

static void check_tensor(const safetensors *s, const safetensor *t, const uint8_t *begin,
                         const uint8_t *end)
{
    const uint8_t *data = t->data;
    vjp_tensor tensor;
    expect(data >= begin && data <= end && t->size <= (size_t)(end - data),
           "the data are not in the file");
    expect(safetensors_find(s, t->name) == t, "a tensor is not found by its name");
    expect(!t->dtype ||
               vjp_tensor_contiguous(t->dtype, t->ndim, t->shape, &tensor) != VJP_BAD_ARGUMENT,
           "what was read is no tensor");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char path[] = "some/file";
    char reason[SAFETENSORS_REASON_SIZE];
    safetensors s;
    size_t covered = 0;
    memset(reason, '?', sizeof(reason));
    if (!safetensors_parse(path, data, size, &s, reason)) {
        expect(memchr(reason, 0, sizeof(reason)) && !strncmp(reason, path, strlen(path)),
               "a refusal without a reason that names the file");
        expect(!s.tensors && !s.texts, "something is left of a file that was refused");
        return 0;
    }
    for (int64_t i = 0; i < s.ntensors; i++) {
        check_tensor(&s, &s.tensors[i], data, data + size);
        covered += s.tensors[i].size;
    }
    for (int64_t i = 0; i < s.ntexts; i++)
        expect(safetensors_value(&s, s.texts[i].key) == s.texts[i].value,
               "a text is not found by its key");
    expect(size >= 8 && covered <= size - 8, "the tensors have more bytes than the file");
    safetensors_free(&s);
    return 0;
}
