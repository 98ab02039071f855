/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - see elements.h. */
#include "elements.h"

#include "dtypes.h"

int64_t count_of(const logical_tensor *lt)
{
    int64_t count = 1;
    for (int i = 0; i < lt->ndims; i++)
        count *= lt->dims[i];
    return count;
}

void unravel(const logical_tensor *lt, int64_t index, int64_t *coordinates)
{
    for (int i = lt->ndims - 1; i >= 0; i--) {
        coordinates[i] = index % lt->dims[i];
        index /= lt->dims[i];
    }
}

int64_t offset_of(const logical_tensor *lt, int64_t index)
{
    int64_t coordinates[DNNL_MAX_NDIMS], offset = 0;
    unravel(lt, index, coordinates);
    for (int i = 0; i < lt->ndims; i++)
        offset += coordinates[i] * lt->layout.strides[i];
    return offset;
}

vjp_dtype dtype_of(const logical_tensor *lt)
{
    return lt->data_type == dnnl_f32 ? VJP_F32 : lt->data_type == dnnl_f16 ? VJP_F16 : VJP_BF16;
}

static char *address(const logical_tensor *lt, const void *data, int64_t index)
{
    int64_t size = lt->data_type == dnnl_f32 ? 4 : 2;
    return (char *)data + offset_of(lt, index) * size;
}

double value_at(const logical_tensor *lt, const void *data, int64_t index)
{
    return element_read(dtype_of(lt), address(lt, data, index));
}

void put_at(const logical_tensor *lt, void *data, int64_t index, double value)
{
    element_write(dtype_of(lt), address(lt, data, index), value);
}
