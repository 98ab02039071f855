/* SPDX-License-Identifier: Apache-2.0 */
/* driver_reason.c - prints what cuda_driver_open says of the driver it finds. */
#include <stdio.h>

#include "cuda/driver.h"

int main(void)
{
    const char *reason;
    const cuda_driver *driver = cuda_driver_open(&reason);
    int count = 0;
    if (!driver) {
        printf("%s\n", reason);
        return 0;
    }
    cuda_result result = driver->DeviceGetCount(&count);
    printf("open, devices: %d, reason: \"%s\", %s\n", count, reason, cuda_error_name(result));
    return 0;
}
