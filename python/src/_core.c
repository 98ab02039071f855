/* SPDX-License-Identifier: Apache-2.0 */
/* _core.c - the module vjp._core: the library's table of operators for vjp/__init__.py, and a
 * function for each. Limited API of Python 3.10, so that one binary serves all versions from there
 * on. */
#include "core.h"
#include "jax_ffi.h"

#include <string.h>

static operator *operators; /* of the whole table, for the life of the process */
static int noperators;

/* ---- the table ---------------------------------------------------------------------------- */

static int add_param(operator *op, const char *name, kind kind, int index, bool required)
{
    param *param = &op->params[op->nparams++];
    param->name = PyUnicode_InternFromString(name);
    param->kind = kind;
    param->index = index;
    param->required = required;
    return param->name ? 0 : -1;
}

static bool is_optional(const operator *op, int tensor)
{
    return op->tensors[tensor]->flags & VJP_TENSOR_OPTIONAL;
}

static int add_params(operator *op)
{
    bool choice = false;
    for (int optional = 0; optional < 2; optional++) {
        for (int i = 0; i < op->info->ninputs; i++)
            if (is_optional(op, i) == optional &&
                add_param(op, op->tensors[i]->name, INPUT, i, !optional))
                return -1;
        if (!optional)
            op->npositional = op->nparams;
    }
    for (int i = 0; i < op->info->nattrs; i++)
        if (add_param(op, op->attrs[i]->name, ATTR, i, op->attrs[i]->required))
            return -1;
    for (int i = op->info->ninputs; i < op->ntensors; i++)
        choice = choice || is_optional(op, i);
    return add_param(op, "out", OUT, 0, false) || (choice && add_param(op, "want", WANT, 0, false))
               ? -1 : 0;
}

static int read_operator(operator *op, const vjp_op_info *info)
{
    op->info = info;
    op->ntensors = info->ninputs + info->noutputs;
    op->axis = -1;
    if (op->ntensors > MAX_TENSORS || info->nattrs > MAX_ATTRS) {
        PyErr_Format(PyExc_RuntimeError,
                     "%s has more tensors or attributes than vjp._core can take", info->name);
        return -1;
    }
    for (int i = 0; i < op->ntensors; i++) {
        op->tensors[i] = vjp_op_tensor(info, i);
        op->names[i] = PyUnicode_InternFromString(op->tensors[i]->name);
        if (!op->names[i])
            return -1;
    }
    for (int i = 0; i < info->nattrs; i++) {
        op->attrs[i] = vjp_op_attr(info, i);
        if (op->attrs[i]->role == VJP_ROLE_AXIS || op->attrs[i]->role == VJP_ROLE_AXES)
            op->axis = i;
    }
    return add_params(op);
}

static int read_table(void)
{
    noperators = vjp_op_count();
    operators = PyMem_Calloc((size_t)noperators, sizeof(*operators));
    if (!operators) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < noperators; i++)
        if (read_operator(&operators[i], vjp_op_at(i)))
            return -1;
    return 0;
}

/* ---- the table, for Python ---------------------------------------------------------------- */

static PyObject *default_of(const vjp_attr_info *info)
{
    const vjp_attr *attr = &info->default_value;
    if (info->required)
        Py_RETURN_NONE;
    switch (info->type) {
    case VJP_ATTR_BOOL:
        return PyBool_FromLong(attr->value.b);
    case VJP_ATTR_S64:
        return PyLong_FromLongLong(attr->value.s64);
    case VJP_ATTR_STR:
        return PyUnicode_FromString(attr->value.str);
    default:
        return PyFloat_FromDouble(attr->value.f64);
    }
}

static PyObject *describe_tensor(const vjp_tensor_info *info)
{
    return Py_BuildValue("{s:s,s:i,s:i,s:I}", "name", info->name, "dtype_rule",
                         (int)info->dtype_rule, "shape_rule", (int)info->shape_rule, "flags",
                         (unsigned)info->flags);
}

static PyObject *describe_attr(const vjp_attr_info *info)
{
    return Py_BuildValue("{s:s,s:i,s:i,s:O,s:N,s:z,s:s}", "name", info->name, "type",
                         (int)info->type, "role", (int)info->role, "required",
                         info->required ? Py_True : Py_False, "default", default_of(info),
                         "choices", info->choices, "meaning", info->meaning);
}

static PyObject *describe_bound(const vjp_bound_info *info)
{
    return Py_BuildValue("{s:s,s:i,s:I,s:s}", "output", info->output, "choice", (int)info->choice,
                         "dtypes", (unsigned)info->dtypes, "text", info->text);
}

/* Put a new reference into item i of a list; false on failure of either. */
static bool put(PyObject *list, int i, PyObject *item)
{
    return item && PyList_SetItem(list, i, item) == 0;
}

static PyObject *describe_operator(const operator *op)
{
    const vjp_op_info *info = op->info;
    PyObject *inputs = PyList_New(info->ninputs), *outputs = PyList_New(info->noutputs);
    PyObject *attrs = PyList_New(info->nattrs), *bounds = PyList_New(info->nbounds);
    bool good = inputs && outputs && attrs && bounds;
    for (int i = 0; i < info->ninputs && good; i++)
        good = put(inputs, i, describe_tensor(op->tensors[i]));
    for (int i = 0; i < info->noutputs && good; i++)
        good = put(outputs, i, describe_tensor(op->tensors[info->ninputs + i]));
    for (int i = 0; i < info->nattrs && good; i++)
        good = put(attrs, i, describe_attr(op->attrs[i]));
    for (int i = 0; i < info->nbounds && good; i++)
        good = put(bounds, i, describe_bound(vjp_op_bound(info, i)));
    if (good)
        return Py_BuildValue("{s:s,s:s,s:s,s:N,s:N,s:N,s:N}", "name", info->name, "title",
                             info->title, "formula", info->formula, "inputs", inputs, "outputs",
                             outputs, "attrs", attrs, "bounds", bounds);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    Py_XDECREF(attrs);
    Py_XDECREF(bounds);
    return NULL;
}

static PyObject *table(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    PyObject *list = PyList_New(noperators);
    for (int i = 0; i < noperators && list; i++)
        if (!put(list, i, describe_operator(&operators[i]))) {
            Py_DECREF(list);
            return NULL;
        }
    return list;
}

/* The `self` of a function is a module with the operator as its state. Python takes a function of a
 * module for a plain one: help, inspect.signature and pickle work. */
static struct PyModuleDef self_module = { .m_base = PyModuleDef_HEAD_INIT, .m_name = "vjp",
                                          .m_size = sizeof(operator *) };

static PyObject *make_self(const operator *op)
{
    PyObject *self = PyModule_Create(&self_module);
    if (self)
        *(const operator **)PyModule_GetState(self) = op;
    return self;
}

/* function(index, doc) - the function of operator `index`. Its method definition and docstring stay
 * for the life of the process, as functions may. */
static PyObject *function(PyObject *self, PyObject *args)
{
    int index;
    const char *doc;
    (void)self;
    if (!PyArg_ParseTuple(args, "is", &index, &doc))
        return NULL;
    if (index < 0 || index >= noperators) {
        PyErr_Format(PyExc_IndexError, "there is no operator %d", index);
        return NULL;
    }
    size_t size = strlen(doc) + 1;
    PyMethodDef *method = PyMem_Calloc(1, sizeof(*method) + size);
    if (!method)
        return PyErr_NoMemory();
    method->ml_name = operators[index].info->name;
    method->ml_meth = (PyCFunction)(void (*)(void))vjpy_call;
    method->ml_flags = METH_FASTCALL | METH_KEYWORDS;
    method->ml_doc = memcpy(method + 1, doc, size);
    PyObject *owner = make_self(&operators[index]), *package = PyUnicode_FromString("vjp");
    PyObject *result = owner && package ? PyCFunction_NewEx(method, owner, package) : NULL;
    Py_XDECREF(owner);
    Py_XDECREF(package);
    return result;
}

/* jax_handlers() - the functions that vjp.jax registers with XLA, by platform. */
static PyObject *jax_handlers(PyObject *self, PyObject *unused)
{
    static const char name[] = "xla._CUSTOM_CALL_TARGET";
    (void)self, (void)unused;
    PyObject *cpu = PyCapsule_New((void *)(uintptr_t)vjpy_jax_cpu, name, NULL);
    PyObject *cuda = PyCapsule_New((void *)(uintptr_t)vjpy_jax_cuda, name, NULL);
    if (cpu && cuda)
        return Py_BuildValue("{s:N,s:N}", "cpu", cpu, "CUDA", cuda);
    Py_XDECREF(cpu);
    Py_XDECREF(cuda);
    return NULL;
}

static PyMethodDef methods[] = {
    { "table", table, METH_NOARGS, "table()\n--\n\nThe library's operators, as dicts." },
    { "function", function, METH_VARARGS,
      "function(index, doc)\n--\n\nThe function of an operator of the table." },
    { "jax_handlers", jax_handlers, METH_NOARGS,
      "jax_handlers()\n--\n\nWhat vjp.jax registers with XLA, by platform." },
    { NULL, NULL, 0, NULL }
};

static struct PyModuleDef module = { .m_base = PyModuleDef_HEAD_INIT, .m_name = "vjp._core",
                                     .m_size = -1, .m_methods = methods };

PyMODINIT_FUNC PyInit__core(void)
{
    if (vjpy_arrays_init() || vjpy_run_init() || read_table())
        return NULL;
    PyObject *result = PyModule_Create(&module);
    if (result && PyModule_AddIntConstant(result, "version", vjp_version())) {
        Py_DECREF(result);
        return NULL;
    }
    return result;
}
