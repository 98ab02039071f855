/* SPDX-License-Identifier: Apache-2.0 */
/* infinirt.c - the runtime's exported functions: find the device's backend and call it.
 *
 * The current device is kept here, one per thread. libinfiniop gets it with infinirtGetDevice, so
 * that both libraries always agree. */
#include "infinirt_backend.h"

static _Thread_local struct {
    infiniDevice_t type;
    int id;
} current = { INFINI_DEVICE_CPU, 0 };

static const struct rt_backend *backend_of(infiniDevice_t device)
{
    static const struct rt_backend none;
    static const struct rt_backend *const backends[INFINI_DEVICE_TYPE_COUNT] = {
#define DEVICE(name, vjp_device, backend) [INFINI_DEVICE_##name] = &backend,
#include "devices.def"
    };
    if ((unsigned)device >= INFINI_DEVICE_TYPE_COUNT || !backends[device])
        return &none;
    return backends[device];
}

infiniStatus_t infinirtInit(void)
{
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinirtGetAllDeviceCount(int *count_array)
{
    infiniStatus_t status = count_array ? INFINI_STATUS_SUCCESS : INFINI_STATUS_NULL_POINTER;
    for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT && status == INFINI_STATUS_SUCCESS; i++)
        status = infinirtGetDeviceCount((infiniDevice_t)i, &count_array[i]);
    return status;
}

infiniStatus_t infinirtGetDeviceCount(infiniDevice_t device, int *count)
{
    const struct rt_backend *backend = backend_of(device);
    if (!count)
        return INFINI_STATUS_NULL_POINTER;
    *count = 0;
    if ((unsigned)device >= INFINI_DEVICE_TYPE_COUNT)
        return INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
    return backend->GetDeviceCount ? backend->GetDeviceCount(count) : INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinirtSetDevice(infiniDevice_t device, int device_id)
{
    const struct rt_backend *backend = backend_of(device);
    current.type = device;
    current.id = device_id;
    return backend->SetDevice ? backend->SetDevice(device_id)
                              : INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
}

infiniStatus_t infinirtGetDevice(infiniDevice_t *device_ptr, int *device_id_ptr)
{
    if (!device_ptr && !device_id_ptr)
        return INFINI_STATUS_NULL_POINTER;
    if (device_ptr)
        *device_ptr = current.type;
    if (device_id_ptr)
        *device_id_ptr = current.id;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinirtGetMemInfo(infiniDevice_t device, int device_id, size_t *free_bytes,
                                  size_t *total_bytes)
{
    const struct rt_backend *backend = backend_of(device);
    if (!free_bytes || !total_bytes)
        return INFINI_STATUS_NULL_POINTER;
    return backend->GetMemInfo ? backend->GetMemInfo(device_id, free_bytes, total_bytes)
                               : INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
}

infiniStatus_t infinirtGetDeviceResourceSnapshot(infiniDevice_t device, int device_id,
                                                 infinirtDeviceResourceSnapshot_t *snapshot)
{
    infinirtDeviceResourceSnapshot_t made = { .device_type = device, .device_id = device_id };
    infiniStatus_t status;
    if (!snapshot)
        return INFINI_STATUS_NULL_POINTER;
    status = infinirtGetMemInfo(device, device_id, &made.free_bytes, &made.total_bytes);
    if (status != INFINI_STATUS_SUCCESS)
        return status;
    made.used_bytes = made.total_bytes - made.free_bytes;
    made.valid_fields = INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY;
    *snapshot = made;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infinirtEventCreate(infinirtEvent_t *event_ptr)
{
    return infinirtEventCreateWithFlags(event_ptr, INFINIRT_EVENT_DEFAULT);
}

/* The device is set again each time: it may have been refused, or changed behind our back. */
#define CALL(name, parameters, arguments, needs)                                           \
    infiniStatus_t infinirt##name parameters                                               \
    {                                                                                      \
        const struct rt_backend *backend = backend_of(current.type);                       \
        infiniStatus_t status = !backend->name ? INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED   \
                                : !(needs)     ? INFINI_STATUS_NULL_POINTER                \
                                               : backend->SetDevice(current.id);           \
        return status == INFINI_STATUS_SUCCESS ? backend->name arguments : status;         \
    }
#include "infinirt.def"
