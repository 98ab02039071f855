/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.c - the fake driver: what infinirt does not use. These functions exist, and refuse every
 * call. Compiled without warnings for parameters that are not used. */
#include "fake.h"

cuda_result cuMemcpyHtoD_v2(cuda_pointer dst, const void *src, size_t size)
{
    return FAKE_NOT_SUPPORTED;
}

cuda_result cuMemcpyDtoH_v2(void *dst, cuda_pointer src, size_t size)
{
    return FAKE_NOT_SUPPORTED;
}

cuda_result cuMemcpyDtoD_v2(cuda_pointer dst, cuda_pointer src, size_t size)
{
    return FAKE_NOT_SUPPORTED;
}

cuda_result cuModuleLoadData(cuda_module *module, const void *image)
{
    return FAKE_NOT_SUPPORTED;
}

cuda_result cuModuleGetFunction(cuda_function *function, cuda_module module, const char *name)
{
    return FAKE_NOT_SUPPORTED;
}

cuda_result cuModuleUnload(cuda_module module)
{
    return FAKE_NOT_SUPPORTED;
}

cuda_result cuLaunchKernel(cuda_function function, unsigned grid_x, unsigned grid_y,
                           unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                           unsigned shared_size, cuda_stream stream, void **parameters,
                           void **extra)
{
    return FAKE_NOT_SUPPORTED;
}
