/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c - the input is a .npy file. What is read must be a tensor that fills the file, and be
 * read the same from the header that we would write; what is refused must be given a reason. */
#include "bytes.h"
#include "npy.h"

/* Our own header for the tensor, with zeros for data, says the same as the file did. */
static void check_round_trip(const vjp_tensor *tensor)
{
    enum { MOST_DATA = 1 << 16 };
    char header[NPY_HEADER_SIZE], reason[NPY_REASON_SIZE];
    vjp_tensor again;
    size_t offset, size = npy_data_size(tensor), header_size = npy_header(tensor, header);
    expect(header_size <= sizeof(header) && header_size % 64 == 0, "the header has an odd size");
    if (size > MOST_DATA)
        return;
    char *file = calloc(1, header_size + size);
    expect(file, "out of memory");
    memcpy(file, header, header_size);
    expect(npy_parse(file, header_size + size, &again, &offset, reason), reason);
    free(file);
    expect(offset == header_size && again.dtype == tensor->dtype && again.ndim == tensor->ndim &&
               !memcmp(again.shape, tensor->shape, (size_t)tensor->ndim * sizeof(int64_t)),
           "what was written is read differently");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char reason[NPY_REASON_SIZE];
    vjp_tensor tensor, checked;
    size_t offset = SIZE_MAX;
    memset(reason, '?', sizeof(reason));
    if (!npy_parse(data, size, &tensor, &offset, reason)) {
        size_t length = strnlen(reason, sizeof(reason));
        expect(length > 0 && length < sizeof(reason), "a refusal without a reason");
        return 0;
    }
    expect(offset <= size && npy_data_size(&tensor) == size - offset,
           "the data do not fill the file");
    expect(vjp_tensor_strided(tensor.dtype, tensor.ndim, tensor.shape, tensor.strides, &checked) ==
               VJP_OK,
           "what was read is no tensor");
    check_round_trip(&tensor);
    return 0;
}
