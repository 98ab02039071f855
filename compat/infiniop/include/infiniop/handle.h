/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop/handle.h - a handle says on which device the operators made with it run.
 *
 * It takes the calling thread's current device (infinirtSetDevice). Many threads may use one
 * handle, and it may be destroyed before the descriptors made with it. */
#ifndef VJP_COMPAT_INFINIOP_HANDLE_H
#define VJP_COMPAT_INFINIOP_HANDLE_H

#include "../infinicore.h"

struct InfiniopHandle;
typedef struct InfiniopHandle *infiniopHandle_t;

/* NULL_POINTER if handle_ptr is NULL, DEVICE_TYPE_NOT_SUPPORTED or DEVICE_NOT_FOUND for the device,
 * INTERNAL_ERROR if there is no memory or VJP_ISA names no instruction set; *handle_ptr is NULL
 * then. */
__INFINI_C __export infiniStatus_t infiniopCreateHandle(infiniopHandle_t *handle_ptr);

/* Destroying NULL succeeds. */
__INFINI_C __export infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle);

#endif
