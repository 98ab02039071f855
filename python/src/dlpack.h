/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack.h - what the module uses of two array protocols: DLPack 1.x and NumPy's array interface.
 * Names, layouts and values are those of the protocols; test_protocols.py compares them with what
 * NumPy and PyTorch send. */
#ifndef VJPY_DLPACK_H
#define VJPY_DLPACK_H

#include <stdint.h>

enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 };
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 };

#define DLPACK_FLAG_BITMASK_READ_ONLY 1u

typedef struct DLPackVersion {
    uint32_t major, minor;
} DLPackVersion;

typedef struct DLDevice {
    int32_t device_type; /* an enum of 32 bits */
    int32_t device_id;
} DLDevice;

typedef struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: dense, row-major */
    uint64_t byte_offset;
} DLTensor;

/* In a capsule "dltensor". */
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

/* In a capsule "dltensor_versioned". */
typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* In a capsule "dlpack_exchange_api", an attribute of a type: __dlpack_c_exchange_api__. */
typedef struct DLPackExchangeAPI {
    DLPackVersion version;
    void *prev_api;
    int (*managed_tensor_allocator)(void);
    int (*managed_tensor_from_py_object_no_sync)(void);
    int (*managed_tensor_to_py_object_no_sync)(void);
    int (*dltensor_from_py_object_no_sync)(void *object, DLTensor *tensor); /* may be NULL */
    int (*current_work_stream)(int32_t device_type, int32_t device_id, void **stream);
} DLPackExchangeAPI;

/* NumPy's array interface: in the nameless capsule of __array_struct__. */
#define NPY_ARRAY_NOTSWAPPED 0x200
#define NPY_ARRAY_WRITEABLE 0x400

typedef struct PyArrayInterface {
    int two;
    int nd;
    char typekind;
    int itemsize;
    int flags;
    intptr_t *shape;
    intptr_t *strides; /* in bytes */
    void *data;
    void *descr;
} PyArrayInterface;

#endif
