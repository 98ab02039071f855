/* SPDX-License-Identifier: Apache-2.0 */
/* xla_ffi.h - what jax_ffi.c uses of XLA's foreign function interface, whose structs only ever
 * grow. Names, layouts and values are XLA's; tests/with_jax/test_xla_ffi.py compares them with the
 * header that jaxlib installs. */
#ifndef VJPY_XLA_FFI_H
#define VJPY_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

enum { XLA_FFI_Extension_Metadata = 1 };
enum { XLA_FFI_ExecutionStage_EXECUTE = 3 };
enum { XLA_FFI_AttrType_SCALAR = 3, XLA_FFI_AttrType_STRING = 4 };
enum {
    XLA_FFI_Error_Code_INVALID_ARGUMENT = 3,
    XLA_FFI_Error_Code_RESOURCE_EXHAUSTED = 8,
    XLA_FFI_Error_Code_INTERNAL = 13,
    XLA_FFI_Error_Code_UNAVAILABLE = 14
};
enum {
    XLA_FFI_DataType_PRED = 1,
    XLA_FFI_DataType_S32 = 4,
    XLA_FFI_DataType_S64 = 5,
    XLA_FFI_DataType_U8 = 6,
    XLA_FFI_DataType_F16 = 10,
    XLA_FFI_DataType_F32 = 11,
    XLA_FFI_DataType_F64 = 12,
    XLA_FFI_DataType_BF16 = 16
};

typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_InvokeContext XLA_FFI_InvokeContext;
typedef struct XLA_FFI_Api XLA_FFI_Api;

typedef struct XLA_FFI_InternalExtension {
    size_t struct_size;
    int type;
    struct XLA_FFI_InternalExtension *next;
} XLA_FFI_InternalExtension;

typedef struct XLA_FFI_Api_Version {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    int major_version;
    int minor_version;
} XLA_FFI_Api_Version;

typedef struct XLA_FFI_Buffer {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} XLA_FFI_Buffer;

typedef struct XLA_FFI_ByteSpan {
    const char *ptr;
    size_t len;
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
    int dtype;
    void *value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    int64_t size;
    int *types;
    void **args;
} XLA_FFI_Args;

typedef struct XLA_FFI_Rets {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    int64_t size;
    int *types;
    void **rets;
} XLA_FFI_Rets;

typedef struct XLA_FFI_Attrs {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    int64_t size;
    int *types;
    XLA_FFI_ByteSpan **names;
    void **attrs;
} XLA_FFI_Attrs;

typedef struct XLA_FFI_CallFrame {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    const XLA_FFI_Api *api;
    XLA_FFI_InvokeContext *ctx;
    int stage;
    XLA_FFI_Args args;
    XLA_FFI_Rets rets;
    XLA_FFI_Attrs attrs;
} XLA_FFI_CallFrame;

typedef struct XLA_FFI_Metadata {
    size_t struct_size;
    XLA_FFI_Api_Version api_version;
    uint32_t traits;
} XLA_FFI_Metadata;

typedef struct XLA_FFI_Metadata_Extension {
    XLA_FFI_InternalExtension extension_base;
    XLA_FFI_Metadata *metadata;
} XLA_FFI_Metadata_Extension;

typedef struct XLA_FFI_Error_Create_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    const char *message;
    int errc;
} XLA_FFI_Error_Create_Args;

typedef struct XLA_FFI_Error_Destroy_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_Error *error;
} XLA_FFI_Error_Destroy_Args;

typedef struct XLA_FFI_Stream_Get_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_InvokeContext *ctx;
    void *stream;
} XLA_FFI_Stream_Get_Args;

typedef struct XLA_FFI_DeviceMemory_Allocate_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_InvokeContext *ctx;
    size_t size;
    size_t alignment;
    void *data;
} XLA_FFI_DeviceMemory_Allocate_Args;

typedef struct XLA_FFI_DeviceMemory_Free_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_InvokeContext *ctx;
    size_t size;
    void *data;
} XLA_FFI_DeviceMemory_Free_Args;

typedef struct XLA_FFI_ThreadPool_Schedule_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_InvokeContext *ctx;
    void (*task)(void *data);
    void *data;
} XLA_FFI_ThreadPool_Schedule_Args;

typedef struct XLA_FFI_ThreadPool_NumThreads_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_InvokeContext *ctx;
    int64_t *num_threads;
} XLA_FFI_ThreadPool_NumThreads_Args;

typedef struct XLA_FFI_DeviceOrdinal_Get_Args {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_InvokeContext *ctx;
    int32_t device_ordinal;
} XLA_FFI_DeviceOrdinal_Get_Args;

struct XLA_FFI_Api {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_Api_Version api_version;
    const void *internal_api;
    XLA_FFI_Error *(*XLA_FFI_Error_Create)(XLA_FFI_Error_Create_Args *);
    void *XLA_FFI_Error_GetDetails;
    void (*XLA_FFI_Error_Destroy)(XLA_FFI_Error_Destroy_Args *);
    void *XLA_FFI_Handler_Register;
    XLA_FFI_Error *(*XLA_FFI_Stream_Get)(XLA_FFI_Stream_Get_Args *);
    void *XLA_FFI_Type_Register;
    void *XLA_FFI_InvokeContext_Get;
    void *XLA_FFI_State_Set;
    void *XLA_FFI_State_Get;
    XLA_FFI_Error *(*XLA_FFI_DeviceMemory_Allocate)(XLA_FFI_DeviceMemory_Allocate_Args *);
    XLA_FFI_Error *(*XLA_FFI_DeviceMemory_Free)(XLA_FFI_DeviceMemory_Free_Args *);
    XLA_FFI_Error *(*XLA_FFI_ThreadPool_Schedule)(XLA_FFI_ThreadPool_Schedule_Args *);
    XLA_FFI_Error *(*XLA_FFI_ThreadPool_NumThreads)(XLA_FFI_ThreadPool_NumThreads_Args *);
    void *XLA_FFI_Future_Create;
    void *XLA_FFI_Future_SetAvailable;
    void *XLA_FFI_Future_SetError;
    void *XLA_FFI_RunId_Get;
    XLA_FFI_Error *(*XLA_FFI_DeviceOrdinal_Get)(XLA_FFI_DeviceOrdinal_Get_Args *);
};

#endif
