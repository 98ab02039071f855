/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.c - which outputs to compute, and the arrays for them: those of `out`, or new ones of the
 * shape and dtype that the table gives. */
#include "core.h"

#include <string.h>

static const vjp_tensor_info *info_of(const call *call, int i)
{
    return call->op->tensors[i];
}

static bool is_gradient(const vjp_tensor_info *info)
{
    return strncmp(info->name, "diff_", 5) == 0;
}

/* ---- shape and dtype ---------------------------------------------------------------------- */

/* The input that output i is the gradient of, if it was given; NULL otherwise. */
static const array *gradient_of(const call *call, int i)
{
    if (!is_gradient(info_of(call, i)))
        return NULL;
    int j = vjp_op_tensor_index(call->op->info, info_of(call, i)->name + 5);
    return j >= 0 && j < call->op->info->ninputs && call->arrays[j].object ? &call->arrays[j]
                                                                           : NULL;
}

/* The output before i that is the gradient of a parameter too, if i is one; -1 otherwise. */
static int sibling_of(const call *call, int i)
{
    int sibling = i - 1;
    while (sibling >= call->op->info->ninputs &&
           info_of(call, sibling)->shape_rule != VJP_SHAPE_PARAM)
        sibling--;
    bool is_param = info_of(call, i)->shape_rule == VJP_SHAPE_PARAM;
    return is_param && sibling >= call->op->info->ninputs ? sibling : -1;
}

static vjp_dtype output_dtype(const call *call, int i)
{
    const array *input = gradient_of(call, i);
    vjp_dtype data = call->arrays[0].tensor.dtype, wide = data == VJP_F64 ? VJP_F64 : VJP_F32;
    switch (info_of(call, i)->dtype_rule) {
    case VJP_DTYPE_STAT:
        return wide;
    case VJP_DTYPE_INDEX:
        return VJP_S64;
    case VJP_DTYPE_MASK:
        return VJP_U8;
    case VJP_DTYPE_SAME:
        return data;
    default: /* of the parameter, or of another parameter's gradient */
        if (info_of(call, i)->shape_rule == VJP_SHAPE_ROW)
            return wide;
        if (!input && sibling_of(call, i) >= 0)
            return output_dtype(call, sibling_of(call, i));
        return input ? input->tensor.dtype : data;
    }
}

/* The axis of the call; out of range if the operator has none. */
static int64_t axis_of(const call *call, int ndim)
{
    if (call->op->axis < 0)
        return ndim;
    const vjp_attr_info *info = call->op->attrs[call->op->axis];
    int64_t axis = info->default_value.value.s64;
    for (int i = 0; i < call->nattrs; i++)
        if (call->attrs[i].name == info->name)
            axis = call->attrs[i].value.s64;
    return axis < 0 ? axis + ndim : axis;
}

/* The data's shape without the dims that rows run along; a bad axis is left for the library. */
static int row_shape(const call *call, int64_t *shape)
{
    const vjp_tensor *data = &call->arrays[0].tensor;
    int ndim = 0;
    int64_t first = axis_of(call, data->ndim);
    bool several = call->op->axis >= 0 && call->op->attrs[call->op->axis]->role == VJP_ROLE_AXES;
    for (int d = 0; d < data->ndim; d++)
        if (d != first && !(several && first >= 0 && d > first))
            shape[ndim++] = data->shape[d];
    return ndim;
}

/* The shape of output i; returns its ndim, or -1 if the inputs do not tell. */
static int output_shape(const call *call, int i, int64_t *shape)
{
    const vjp_tensor *like = &call->arrays[0].tensor;
    const array *input = gradient_of(call, i);
    int sibling = sibling_of(call, i);
    switch (info_of(call, i)->shape_rule) {
    case VJP_SHAPE_ROW:
        return row_shape(call, shape);
    case VJP_SHAPE_PARAM: /* of the parameter, or of another parameter's gradient */
        if (!input)
            return sibling >= 0 ? output_shape(call, sibling, shape) : -1;
        like = &input->tensor;
        break;
    default:
        break;
    }
    memcpy(shape, like->shape, sizeof(shape[0]) * (size_t)like->ndim);
    return like->ndim;
}

/* ---- which -------------------------------------------------------------------------------- */

/* The output of that name; -1 with an error. */
static int find_output(const call *call, PyObject *name)
{
    const operator *op = call->op;
    for (int i = op->info->ninputs; i < op->ntensors && PyUnicode_Check(name); i++)
        if (PyUnicode_Compare(op->names[i], name) == 0)
            return i;
    if (!PyErr_Occurred())
        PyErr_Format(PyUnicode_Check(name) ? PyExc_ValueError : PyExc_TypeError,
                     "%s: want: %R is not the name of an output", op->info->name, name);
    return -1;
}

static int parse_want(const call *call, PyObject *want, unsigned *wanted)
{
    PyObject *name, *iterator;
    int i;
    if (PyUnicode_Check(want)) {
        i = find_output(call, want);
        *wanted = i < 0 ? 0 : 1u << i;
        return i < 0 ? -1 : 0;
    }
    iterator = PyObject_GetIter(want);
    if (!iterator) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s: want: expected names of outputs, got %R",
                     call->op->info->name, (PyObject *)Py_TYPE(want));
        return -1;
    }
    while ((name = PyIter_Next(iterator))) {
        i = find_output(call, name);
        Py_DECREF(name);
        if (i < 0)
            break;
        *wanted |= 1u << i;
    }
    Py_DECREF(iterator);
    return PyErr_Occurred() ? -1 : 0;
}

/* Without `want` and `out`: what is required, and every gradient whose shape is known. */
static unsigned default_outputs(const call *call)
{
    unsigned wanted = 0;
    int64_t shape[VJP_MAX_DIMS];
    for (int i = call->op->info->ninputs; i < call->op->ntensors; i++) {
        bool optional = info_of(call, i)->flags & VJP_TENSOR_OPTIONAL;
        if (!optional || (is_gradient(info_of(call, i)) && output_shape(call, i, shape) >= 0))
            wanted |= 1u << i;
    }
    return wanted;
}

/* Item i of `out`, borrowed; NULL: none. One array, or a tuple with one or None for each output. */
static PyObject *out_item(PyObject *out, int i)
{
    PyObject *item = !out ? NULL : PyTuple_Check(out) ? PyTuple_GetItem(out, i) : out;
    return item == Py_None ? NULL : item;
}

static int check_out(const call *call, PyObject *out)
{
    int noutputs = call->op->info->noutputs;
    if (!out || (PyTuple_Check(out) ? PyTuple_Size(out) == noutputs : noutputs == 1))
        return 0;
    if (PyTuple_Check(out))
        PyErr_Format(PyExc_ValueError, "%s: out: expected %d arrays, got %zd",
                     call->op->info->name, noutputs, PyTuple_Size(out));
    else
        PyErr_Format(PyExc_TypeError, "%s: out: expected a tuple of %d arrays, got %R",
                     call->op->info->name, noutputs, (PyObject *)Py_TYPE(out));
    return -1;
}

static int choose_outputs(const call *call, PyObject *out, PyObject *want, unsigned *wanted)
{
    const vjp_op_info *info = call->op->info;
    *wanted = 0;
    if (want && parse_want(call, want, wanted))
        return -1;
    if (!want && !out)
        *wanted = default_outputs(call);
    for (int i = 0; i < info->noutputs && out; i++) {
        int tensor = info->ninputs + i;
        bool given = out_item(out, i),
             optional = info_of(call, tensor)->flags & VJP_TENSOR_OPTIONAL;
        if (want && given && !(*wanted >> tensor & 1)) {
            PyErr_Format(PyExc_ValueError, "%s: %s is in out, but not in want", info->name,
                         info_of(call, tensor)->name);
            return -1;
        }
        if (!want && (given || !optional))
            *wanted |= 1u << tensor;
    }
    return 0;
}

/* ---- arrays ------------------------------------------------------------------------------- */

PyObject *vjpy_empty(call *call, int ndim, const int64_t *shape, vjp_dtype dtype)
{
    const array *first = &call->arrays[0];
    if (first->type.empty == Py_None) {
        PyErr_Format(PyExc_TypeError, "%s: cannot make an array like %R; pass out",
                     call->op->info->name, (PyObject *)Py_TYPE(first->object));
        return NULL;
    }
    PyObject *dims = PyTuple_New(ndim), *result = NULL;
    for (int d = 0; d < ndim && dims; d++) {
        PyObject *dim = PyLong_FromLongLong(shape[d]);
        if (!dim || PyTuple_SetItem(dims, d, dim)) {
            Py_DECREF(dims);
            return NULL;
        }
    }
    if (dims)
        result = PyObject_CallFunction(first->type.empty, "OOs", first->object, dims,
                                       vjp_dtype_name(dtype));
    Py_XDECREF(dims);
    return result;
}

static PyObject *new_output(call *call, int i)
{
    const array *first = &call->arrays[0];
    int64_t shape[VJP_MAX_DIMS];
    int ndim = output_shape(call, i, shape);
    vjp_dtype dtype = output_dtype(call, i);
    if (ndim < 0) {
        PyErr_Format(PyExc_ValueError,
                     "%s: %s: its shape is unknown without %s; pass an array in out",
                     call->op->info->name, info_of(call, i)->name, info_of(call, i)->name + 5);
        return NULL;
    }
    if (info_of(call, i)->shape_rule == VJP_SHAPE_DATA && dtype == first->tensor.dtype &&
        first->type.empty_like != Py_None)
        return PyObject_CallFunctionObjArgs(first->type.empty_like, first->object, NULL);
    return vjpy_empty(call, ndim, shape, dtype);
}

static PyObject *argument(const call *call, kind kind)
{
    const operator *op = call->op;
    for (int i = op->nparams - 1; i >= 0 && op->params[i].kind >= OUT; i--)
        if (op->params[i].kind == kind)
            return call->args[i];
    return NULL;
}

int vjpy_outputs(call *call)
{
    const vjp_op_info *info = call->op->info;
    PyObject *out = argument(call, OUT);
    unsigned wanted;
    if (check_out(call, out) || choose_outputs(call, out, argument(call, WANT), &wanted))
        return -1;
    for (int i = 0; i < info->noutputs; i++) {
        int tensor = info->ninputs + i;
        if (!(wanted >> tensor & 1))
            continue;
        PyObject *given = out_item(out, i), *made = given ? NULL : new_output(call, tensor);
        if (!given && !made)
            return -1;
        int failed = vjpy_borrow(call, tensor, given ? given : made, true);
        Py_XDECREF(made); /* the array has its own reference */
        if (failed)
            return -1;
    }
    return 0;
}

/* An output as the caller gets it: what was made in another library's memory is handed over. */
static PyObject *finished(call *call, int i)
{
    PyObject *object = call->arrays[i].object, *finish = call->arrays[0].type.finish;
    if (finish != Py_None && !out_item(argument(call, OUT), i - call->op->info->ninputs))
        return PyObject_CallFunctionObjArgs(finish, call->arrays[0].object, object, NULL);
    Py_INCREF(object);
    return object;
}

PyObject *vjpy_result(call *call)
{
    const vjp_op_info *info = call->op->info;
    PyObject *results[MAX_TENSORS], *tuple;
    int count = 0;
    for (int i = info->ninputs; i < call->op->ntensors; i++) {
        if (!call->arrays[i].object)
            continue;
        results[count] = finished(call, i);
        if (!results[count++])
            goto failed;
    }
    if (count == 1)
        return results[0];
    tuple = PyTuple_New(count);
    if (!tuple)
        goto failed;
    for (int i = 0; i < count; i++)
        PyTuple_SetItem(tuple, i, results[i]);
    return tuple;
failed:
    while (count--)
        Py_XDECREF(results[count]);
    return NULL;
}
