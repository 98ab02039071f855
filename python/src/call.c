/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - one call of an operator from Python: arguments to parameters, then the steps. */
#include "core.h"

#include <string.h>

static int find_param(const operator *op, PyObject *name)
{
    for (int i = 0; i < op->nparams; i++)
        if (op->params[i].name == name) /* both are interned: nearly always */
            return i;
    for (int i = 0; i < op->nparams; i++)
        if (PyUnicode_Compare(op->params[i].name, name) == 0)
            return i;
    return -1;
}

static int bind_keyword(call *call, PyObject *name, PyObject *value)
{
    const operator *op = call->op;
    int i = find_param(op, name);
    if (i < 0) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'",
                         op->info->name, name);
        return -1;
    }
    if (call->args[i]) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", op->info->name,
                     name);
        return -1;
    }
    call->args[i] = value;
    return 0;
}

static int bind(call *call, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    const operator *op = call->op;
    if (nargs > op->npositional) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes %d positional arguments but %zd were given; "
                     "attributes, optional inputs and out are keywords",
                     op->info->name, op->npositional, nargs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < nargs; i++)
        call->args[i] = args[i];
    Py_ssize_t nnames = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < nnames; i++)
        if (bind_keyword(call, PyTuple_GetItem(names, i), args[nargs + i]))
            return -1;
    for (int i = 0; i < op->nparams; i++) {
        if (op->params[i].required && !call->args[i]) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%U'", op->info->name,
                         op->params[i].name);
            return -1;
        }
        if (call->args[i] == Py_None && op->params[i].kind != ATTR && !op->params[i].required)
            call->args[i] = NULL;
    }
    return 0;
}

static int borrow_inputs(call *call)
{
    const operator *op = call->op;
    for (int i = 0; i < op->nparams && op->params[i].kind == INPUT; i++)
        if (call->args[i] && vjpy_borrow(call, op->params[i].index, call->args[i], false))
            return -1;
    return 0;
}

/* Capsules may run any code when they are released: an exception must not be in its way. */
static void release(call *call)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (int i = 0; i < call->op->ntensors; i++)
        vjpy_release(&call->arrays[i]);
    PyErr_Restore(type, value, traceback);
}

PyObject *vjpy_call(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    call call;
    PyObject *result = NULL;
    call.op = *(const operator **)PyModule_GetState(self);
    memset(call.args, 0, sizeof(call.args[0]) * (size_t)call.op->nparams);
    for (int i = 0; i < call.op->ntensors; i++)
        call.arrays[i].object = call.arrays[i].capsule = NULL;
    call.nattrs = 0;
    call.stream = NULL;
    if (!bind(&call, args, nargs, names) && !vjpy_attrs(&call) && !borrow_inputs(&call) &&
        !vjpy_outputs(&call) && !vjpy_run(&call))
        result = vjpy_result(&call);
    release(&call);
    return result;
}
