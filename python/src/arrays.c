/* SPDX-License-Identifier: Apache-2.0 */
/* arrays.c - a Python array as a tensor description and a data pointer.
 *
 * In order of cost: the exchange API of DLPack 1.3, which a type offers once and which needs no
 * Python call; NumPy's array interface, which unlike its DLPack knows bfloat16; and __dlpack__,
 * which every array library has. A capsule is only borrowed: it stays in the array until the run is
 * over, and its own destructor then frees what it holds. */
#include "core.h"

#include <string.h>

static struct {
    PyObject *dlpack, *dlpack_device, *exchange_api, *array_struct, *dtype, *name;
    PyObject *max_version, *stream, *of;
    PyObject *version, *no_args;
} names;

enum { CACHED = 16 };
static array_type cached[CACHED]; /* under the GIL */
static unsigned next_cached;

int vjpy_arrays_init(void)
{
    names.dlpack = PyUnicode_InternFromString("__dlpack__");
    names.dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
    names.exchange_api = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
    names.array_struct = PyUnicode_InternFromString("__array_struct__");
    names.dtype = PyUnicode_InternFromString("dtype");
    names.name = PyUnicode_InternFromString("name");
    names.max_version = PyUnicode_InternFromString("max_version");
    names.stream = PyUnicode_InternFromString("stream");
    names.of = PyUnicode_InternFromString("of");
    names.version = Py_BuildValue("(ii)", 1, 1);
    names.no_args = PyTuple_New(0);
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- types -------------------------------------------------------------------------------- */

static const DLPackExchangeAPI *exchange_api(PyTypeObject *type)
{
    static const char capsule_name[] = "dlpack_exchange_api";
    const DLPackExchangeAPI *api = NULL;
    PyObject *capsule = PyObject_GetAttr((PyObject *)type, names.exchange_api);
    if (capsule && PyCapsule_IsValid(capsule, capsule_name))
        api = PyCapsule_GetPointer(capsule, capsule_name);
    Py_XDECREF(capsule);
    PyErr_Clear();
    return api && api->version.major == 1 && api->dltensor_from_py_object_no_sync ? api : NULL;
}

/* Ask vjp._arrays what to do with arrays of this type. */
static int learn_type(PyTypeObject *type, array_type *known)
{
    PyObject *module = PyImport_ImportModule("vjp._arrays");
    if (!module)
        return -1;
    PyObject *rest = PyObject_CallMethodObjArgs(module, names.of, (PyObject *)type, NULL);
    Py_DECREF(module);
    if (!rest)
        return -1;
    known->type = type;
    known->api = exchange_api(type);
    known->rest = rest;
    known->is_numpy = PyObject_IsTrue(PyTuple_GetItem(rest, 0));
    known->empty_like = PyTuple_GetItem(rest, 1);
    known->empty = PyTuple_GetItem(rest, 2);
    known->finish = PyTuple_GetItem(rest, 3);
    known->stream = PyTuple_GetItem(rest, 4);
    return 0;
}

static int find_type(PyTypeObject *type, array_type *known)
{
    for (unsigned i = 0; i < CACHED; i++)
        if (cached[i].type == type) {
            *known = cached[i];
            Py_INCREF(known->rest);
            return 0;
        }
    if (learn_type(type, known))
        return -1;
    unsigned slot = next_cached++ % CACHED;
    array_type old = cached[slot];
    Py_INCREF(type);
    Py_INCREF(known->rest);
    cached[slot] = *known;
    Py_XDECREF(old.type); /* may run any code: the slot is in order by now */
    Py_XDECREF(old.rest);
    return 0;
}

/* ---- dtypes ------------------------------------------------------------------------------- */

static vjp_dtype dtype_of(int code, int bits, bool output)
{
    switch (code) {
    case kDLFloat:
        return bits == 32 ? VJP_F32 : bits == 64 ? VJP_F64 : bits == 16 ? VJP_F16 : 0;
    case kDLBfloat:
        return bits == 16 ? VJP_BF16 : 0;
    case kDLInt:
        return bits == 64 ? VJP_S64 : bits == 32 ? VJP_S32 : 0;
    case kDLUInt:
        return bits == 8 ? VJP_U8 : 0;
    case kDLBool: /* a mask; the library might store other numbers than 0 and 1 */
        return bits == 8 && !output ? VJP_U8 : 0;
    }
    return 0;
}

static int refuse_dtype(const call *call, int i)
{
    PyObject *dtype = PyObject_GetAttr(call->arrays[i].object, names.dtype);
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "%s: %s: dtype %S is not one of float64, float32, float16, bfloat16, int32, int64 "
                 "and uint8",
                 call->op->info->name, call->op->tensors[i]->name, dtype ? dtype : Py_None);
    Py_XDECREF(dtype);
    return -1;
}

static int set_ndim(const call *call, int i, int ndim, vjp_tensor *tensor)
{
    if (ndim < 0 || ndim > VJP_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s: %s: ndim is %d, not 0 to %d", call->op->info->name,
                     call->op->tensors[i]->name, ndim, VJP_MAX_DIMS);
        return -1;
    }
    tensor->struct_size = sizeof(*tensor);
    tensor->ndim = ndim;
    return 0;
}

static int refuse_read_only(const call *call, int i)
{
    PyErr_Format(PyExc_ValueError, "%s: %s: the array is read-only", call->op->info->name,
                 call->op->tensors[i]->name);
    return -1;
}

/* ---- NumPy -------------------------------------------------------------------------------- */

/* NumPy calls a dtype of another package "V", and does not say which. Its name does, but takes a
 * microsecond to make. */
static bool is_bfloat16(PyObject *object)
{
    static PyObject *known; /* under the GIL */
    PyObject *dtype = PyObject_GetAttr(object, names.dtype);
    if (dtype && dtype == known) {
        Py_DECREF(dtype);
        return true;
    }
    PyObject *name = dtype ? PyObject_GetAttr(dtype, names.name) : NULL;
    bool is = name && PyUnicode_Check(name) &&
              PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
    PyErr_Clear();
    Py_XDECREF(name);
    if (is && !known)
        known = dtype; /* and its reference */
    else
        Py_XDECREF(dtype);
    return is;
}

static vjp_dtype numpy_dtype(const PyArrayInterface *numpy, PyObject *object, bool output)
{
    int bits = numpy->itemsize * 8;
    if (!(numpy->flags & NPY_ARRAY_NOTSWAPPED))
        return 0;
    switch (numpy->typekind) {
    case 'f':
        return dtype_of(kDLFloat, bits, output);
    case 'i':
        return dtype_of(kDLInt, bits, output);
    case 'u':
        return dtype_of(kDLUInt, bits, output);
    case 'b':
        return dtype_of(kDLBool, bits, output);
    case 'V':
        return bits == 16 && is_bfloat16(object) ? VJP_BF16 : 0;
    }
    return 0;
}

static int borrow_numpy(call *call, int i, bool output)
{
    array *array = &call->arrays[i];
    array->capsule = PyObject_GetAttr(array->object, names.array_struct);
    const PyArrayInterface *numpy =
        array->capsule ? PyCapsule_GetPointer(array->capsule, NULL) : NULL;
    if (!numpy)
        return -1;
    vjp_tensor *tensor = &array->tensor;
    if (set_ndim(call, i, numpy->nd, tensor))
        return -1;
    if (output && !(numpy->flags & NPY_ARRAY_WRITEABLE))
        return refuse_read_only(call, i);
    tensor->dtype = numpy_dtype(numpy, array->object, output);
    if (!tensor->dtype)
        return refuse_dtype(call, i);
    for (int d = 0; d < numpy->nd; d++) {
        tensor->shape[d] = numpy->shape[d];
        tensor->strides[d] = numpy->strides[d] / numpy->itemsize;
        if (numpy->strides[d] % numpy->itemsize && numpy->shape[d] > 1) {
            PyErr_Format(PyExc_ValueError,
                         "%s: %s: dim %d has a stride of %zd bytes, not of whole elements",
                         call->op->info->name, call->op->tensors[i]->name, d,
                         (Py_ssize_t)numpy->strides[d]);
            return -1;
        }
    }
    array->data = numpy->data;
    array->device = (DLDevice){ kDLCPU, 0 };
    return 0;
}

/* ---- DLPack ------------------------------------------------------------------------------- */

static int describe(call *call, int i, const DLTensor *dl, bool output)
{
    array *array = &call->arrays[i];
    vjp_tensor *tensor = &array->tensor;
    if (set_ndim(call, i, dl->ndim, tensor))
        return -1;
    tensor->dtype = dl->dtype.lanes == 1 ? dtype_of(dl->dtype.code, dl->dtype.bits, output) : 0;
    if (!tensor->dtype)
        return refuse_dtype(call, i);
    int64_t dense = 1;
    for (int d = dl->ndim - 1; d >= 0; d--) {
        tensor->shape[d] = dl->shape[d];
        tensor->strides[d] = dl->strides ? dl->strides[d] : dense;
        dense *= dl->shape[d];
    }
    array->data = (char *)dl->data + dl->byte_offset;
    array->device = dl->device;
    return 0;
}

static int describe_capsule(call *call, int i, bool output)
{
    static const char versioned_name[] = "dltensor_versioned", old_name[] = "dltensor";
    PyObject *capsule = call->arrays[i].capsule;
    if (PyCapsule_IsValid(capsule, old_name)) {
        const DLManagedTensor *old = PyCapsule_GetPointer(capsule, old_name);
        return describe(call, i, &old->dl_tensor, output);
    }
    if (!PyCapsule_IsValid(capsule, versioned_name)) {
        PyErr_Format(PyExc_TypeError, "%s: %s: __dlpack__ did not return a DLPack capsule",
                     call->op->info->name, call->op->tensors[i]->name);
        return -1;
    }
    const DLManagedTensorVersioned *dl = PyCapsule_GetPointer(capsule, versioned_name);
    if (dl->version.major != 1) {
        PyErr_Format(PyExc_TypeError, "%s: %s: DLPack version %d, expected 1", call->op->info->name,
                     call->op->tensors[i]->name, (int)dl->version.major);
        return -1;
    }
    if (output && (dl->flags & DLPACK_FLAG_BITMASK_READ_ONLY))
        return refuse_read_only(call, i);
    return describe(call, i, &dl->dl_tensor, output);
}

/* The device of an array, and for CUDA the stream of its framework as DLPack numbers it: a handle,
 * or 1 for the default stream. Returns a new reference; NULL without an error: no stream. */
static PyObject *stream_of(const array *array)
{
    int type, id;
    PyObject *device = PyObject_CallMethodObjArgs(array->object, names.dlpack_device, NULL);
    if (device && !PyTuple_Check(device))
        PyErr_SetString(PyExc_TypeError, "__dlpack_device__ did not return a tuple");
    if (!device || PyErr_Occurred() || !PyArg_ParseTuple(device, "ii", &type, &id)) {
        Py_XDECREF(device);
        return NULL;
    }
    Py_DECREF(device);
    if (type != kDLCUDA && type != kDLCUDAManaged)
        return NULL;
    if (array->type.stream == Py_None)
        return PyLong_FromLong(1);
    return PyObject_CallFunction(array->type.stream, "i", id);
}

/* __dlpack__(max_version=, stream=); without max_version for an array library of before 1.0. */
static PyObject *export_capsule(PyObject *method, PyObject *stream)
{
    PyObject *keywords = PyDict_New(), *capsule = NULL;
    if (keywords && (!stream || !PyDict_SetItem(keywords, names.stream, stream)) &&
        !PyDict_SetItem(keywords, names.max_version, names.version))
        capsule = PyObject_Call(method, names.no_args, keywords);
    if (!capsule && keywords && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        if (!PyDict_DelItem(keywords, names.max_version))
            capsule = PyObject_Call(method, names.no_args, keywords);
    }
    Py_XDECREF(keywords);
    return capsule;
}

/* A BufferError ("cannot export a tensor that requires grad") as a ValueError that says of what. */
static void explain_buffer_error(const call *call, int i)
{
    PyObject *type, *value, *traceback;
    if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_BufferError))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_Format(PyExc_ValueError, "%s: %s: %S", call->op->info->name, call->op->tensors[i]->name,
                 value ? value : type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static int refuse_object(const call *call, int i)
{
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s: %s: expected an array, got %R", call->op->info->name,
                 call->op->tensors[i]->name, (PyObject *)Py_TYPE(call->arrays[i].object));
    return -1;
}

static int borrow_dlpack(call *call, int i, bool output)
{
    array *array = &call->arrays[i];
    if (PyType_Check(array->object)) /* has the method, but is not an array */
        return refuse_object(call, i);
    PyObject *method = PyObject_GetAttr(array->object, names.dlpack);
    if (!method)
        return PyErr_ExceptionMatches(PyExc_AttributeError) ? refuse_object(call, i) : -1;
    PyObject *stream = stream_of(array);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_AttributeError))
        refuse_object(call, i); /* half of the protocol, as JAX's tracers have it */
    if (!PyErr_Occurred())
        array->capsule = export_capsule(method, stream);
    if (stream && !call->stream)
        call->stream = PyLong_AsVoidPtr(stream);
    Py_XDECREF(stream);
    Py_DECREF(method);
    explain_buffer_error(call, i);
    return array->capsule && !PyErr_Occurred() ? describe_capsule(call, i, output) : -1;
}

static int borrow_exchange(call *call, int i, bool output)
{
    array *array = &call->arrays[i];
    const DLPackExchangeAPI *api = array->type.api;
    DLTensor dl;
    if (api->dltensor_from_py_object_no_sync(array->object, &dl)) {
        explain_buffer_error(call, i);
        return -1;
    }
    bool cuda = dl.device.device_type == kDLCUDA || dl.device.device_type == kDLCUDAManaged;
    if (cuda && !call->stream &&
        api->current_work_stream(dl.device.device_type, dl.device.device_id, &call->stream))
        return -1;
    return describe(call, i, &dl, output);
}

int vjpy_borrow(call *call, int i, PyObject *object, bool output)
{
    array *array = &call->arrays[i];
    if (find_type(Py_TYPE(object), &array->type))
        return -1;
    Py_INCREF(object);
    array->object = object;
    if (output && array->type.finish != Py_None) /* made elsewhere because it cannot be written */
        return refuse_read_only(call, i);
    if (array->type.api)
        return borrow_exchange(call, i, output);
    if (array->type.is_numpy)
        return borrow_numpy(call, i, output);
    return borrow_dlpack(call, i, output);
}

void vjpy_release(array *array)
{
    if (!array->object)
        return;
    Py_XDECREF(array->capsule);
    Py_DECREF(array->type.rest);
    Py_DECREF(array->object);
    array->object = array->capsule = NULL;
}
