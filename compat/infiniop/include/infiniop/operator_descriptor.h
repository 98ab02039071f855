/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/operator_descriptor.h - what the descriptors of all operators have in common.
 *
 * Create checks everything that does not depend on addresses. A descriptor does not change after
 * that: it may run on many threads at once, each with its own workspace, and runs on the device it
 * was made for, whatever the thread's current device is. */
#ifndef VJP_COMPAT_INFINIOP_OPERATOR_DESCRIPTOR_H
#define VJP_COMPAT_INFINIOP_OPERATOR_DESCRIPTOR_H

#include "handle.h"
#include "tensor_descriptor.h"

struct InfiniopDescriptor;

/* NULL_POINTER if either argument is NULL. */
__INFINI_C __export infiniStatus_t infiniopGetDescriptorDeviceType(
    const struct InfiniopDescriptor *desc_ptr, infiniDevice_t *device_type);
__INFINI_C __export infiniStatus_t infiniopGetDescriptorDeviceId(
    const struct InfiniopDescriptor *desc_ptr, int *device_id);

#endif
