/* SPDX-License-Identifier: Apache-2.0 */
/* attrs.c - keyword arguments as attributes of the library. Ranges are its own to check. */
#include "core.h"

#include <string.h>

static int wrong_type(const call *call, const vjp_attr_info *info, const char *expected,
                      PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s: %s: expected %s, got %R", call->op->info->name, info->name,
                 expected, Py_TYPE(value));
    return -1;
}

static int as_s64(const call *call, const vjp_attr_info *info, PyObject *value, int64_t *result)
{
    PyObject *number = PyNumber_Index(value);
    if (!number) {
        PyErr_Clear();
        return wrong_type(call, info, "int", value);
    }
    int overflow;
    *result = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow) {
        PyErr_Format(PyExc_ValueError, "%s: %s: %R does not fit in 64 bits", call->op->info->name,
                     info->name, value);
        return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int as_bool(const call *call, const vjp_attr_info *info, PyObject *value, vjp_attr *attr)
{
    int64_t number;
    if (PyBool_Check(value)) {
        *attr = vjp_attr_bool(info->name, value == Py_True);
        return 0;
    }
    if (!PyIndex_Check(value))
        return wrong_type(call, info, "bool", value);
    if (as_s64(call, info, value, &number))
        return -1;
    *attr = vjp_attr_bool(info->name, number == 0 ? 0 : number == 1 ? 1 : 2); /* 2: is refused */
    return 0;
}

static int as_f64(const call *call, const vjp_attr_info *info, PyObject *value, vjp_attr *attr)
{
    double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Clear();
            PyErr_Format(PyExc_ValueError, "%s: %s: the number does not fit in f64",
                         call->op->info->name, info->name);
            return -1;
        }
        PyErr_Clear();
        return wrong_type(call, info, "float", value);
    }
    *attr = vjp_attr_f64(info->name, number);
    return 0;
}

static int as_str(const call *call, const vjp_attr_info *info, PyObject *value, vjp_attr *attr)
{
    Py_ssize_t size;
    if (!PyUnicode_Check(value))
        return wrong_type(call, info, "str", value);
    const char *text = PyUnicode_AsUTF8AndSize(value, &size); /* lives as long as the string */
    if (!text || strlen(text) != (size_t)size) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s: attribute %s: %R is not one of %s",
                     call->op->info->name, info->name, value, info->choices);
        return -1;
    }
    *attr = vjp_attr_str(info->name, text);
    return 0;
}

static int convert(const call *call, const vjp_attr_info *info, PyObject *value, vjp_attr *attr)
{
    int64_t number;
    switch (info->type) {
    case VJP_ATTR_BOOL:
        return as_bool(call, info, value, attr);
    case VJP_ATTR_S64:
        if (as_s64(call, info, value, &number))
            return -1;
        *attr = vjp_attr_s64(info->name, number);
        return 0;
    case VJP_ATTR_STR:
        return as_str(call, info, value, attr);
    default: /* an F32 attribute does not exist: F32 values are accepted for F64 */
        return as_f64(call, info, value, attr);
    }
}

int vjpy_attrs(call *call)
{
    const operator *op = call->op;
    for (int i = 0; i < op->nparams; i++) {
        if (op->params[i].kind != ATTR || !call->args[i])
            continue;
        if (convert(call, op->attrs[op->params[i].index], call->args[i],
                    &call->attrs[call->nattrs]))
            return -1;
        call->nattrs++;
    }
    return 0;
}
