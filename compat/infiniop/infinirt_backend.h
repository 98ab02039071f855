/* SPDX-License-Identifier: Apache-2.0 */
/* infinirt_backend.h - a device's backend for infinirt: a function for each call it supports.
 *
 * NULL stands for DEVICE_TYPE_NOT_SUPPORTED. NULL pointers among the arguments have been refused
 * already, as infinirt.def says; the backend checks device ids. SetDevice of the thread's
 * device has succeeded just before any function of infinirt.def is called. */
#ifndef VJP_COMPAT_INFINIRT_BACKEND_H
#define VJP_COMPAT_INFINIRT_BACKEND_H

#include "infinirt.h"

struct rt_backend {
    infiniStatus_t (*GetDeviceCount)(int *count);
    infiniStatus_t (*SetDevice)(int device_id); /* make it the calling thread's */
    infiniStatus_t (*GetMemInfo)(int device_id, size_t *free_bytes, size_t *total_bytes);
#define CALL(name, parameters, arguments, needs) infiniStatus_t (*name) parameters;
#include "infinirt.def"
};

#define DEVICE(name, vjp_device, backend) extern const struct rt_backend backend;
#include "devices.def"

#endif
