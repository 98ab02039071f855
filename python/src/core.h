/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - what the files of vjp._core share. A call flows one way: call.c binds the arguments,
 * attrs.c and arrays.c convert them, outputs.c makes what is to be written, run.c computes.
 *
 * Functions that can fail return -1 or NULL with a Python exception set. */
#ifndef VJPY_CORE_H
#define VJPY_CORE_H

#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#include <vjp/vjp.h>

#include "dlpack.h"

enum { MAX_TENSORS = 16, MAX_ATTRS = 16, MAX_PARAMS = MAX_TENSORS + MAX_ATTRS + 2 };

/* A parameter of the Python function; which tensor or attribute it is. */
typedef enum kind { INPUT, ATTR, OUT, WANT } kind;

typedef struct param {
    PyObject *name; /* interned */
    kind kind;
    int index;
    bool required;
} param;

/* An operator of the table, read once when the module is loaded. Its parameters are the required
 * inputs, which may be given by position, then the optional inputs, the attributes, `out` and,
 * where an output is optional, `want`. */
typedef struct operator {
    const vjp_op_info *info;
    const vjp_tensor_info *tensors[MAX_TENSORS];
    PyObject *names[MAX_TENSORS];
    const vjp_attr_info *attrs[MAX_ATTRS];
    param params[MAX_PARAMS];
    int nparams, npositional;
    int ntensors;
    int axis; /* the attribute that says along which dims rows run; -1: none */
} operator;

/* What is known of a type of arrays: arrays.c. */
typedef struct array_type {
    PyTypeObject *type;
    const DLPackExchangeAPI *api; /* NULL: has none */
    PyObject *rest;               /* the tuple that vjp._arrays.of(type) returned */
    bool is_numpy;
    PyObject *empty_like, *empty, *finish, *stream; /* borrowed from `rest`; may be Py_None */
} array_type;

/* An argument that is a tensor. */
typedef struct array {
    PyObject *object; /* a reference; NULL: not given */
    PyObject *capsule; /* what keeps the description valid; may be NULL */
    array_type type;
    vjp_tensor tensor;
    void *data;
    DLDevice device;
} array;

typedef struct call {
    const operator *op;
    PyObject *args[MAX_PARAMS]; /* borrowed; by parameter; NULL: not given */
    vjp_attr attrs[MAX_ATTRS];
    int nattrs;
    array arrays[MAX_TENSORS];
    void *stream;
} call;

/* attrs.c: fill call->attrs. */
int vjpy_attrs(call *call);

/* arrays.c: describe tensor i of the call, whose object is given (and referenced here). */
int vjpy_borrow(call *call, int i, PyObject *object, bool output);
void vjpy_release(array *array);
int vjpy_arrays_init(void);

/* outputs.c: find or make the outputs. */
int vjpy_outputs(call *call);
PyObject *vjpy_result(call *call);
/* A new array of the framework of input 0. */
PyObject *vjpy_empty(call *call, int ndim, const int64_t *shape, vjp_dtype dtype);

/* run.c */
int vjpy_run(call *call);
int vjpy_run_init(void);

/* call.c: the function of an operator; self is a module whose state is a pointer to it. */
PyObject *vjpy_call(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);

#endif
