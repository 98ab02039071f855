/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.c - see kinds.h. */
#include "kinds.h"

#include <pthread.h>
#include <string.h>

#include "base.h"

attr_role kind_attr_role(const vjp_attr_info *attr)
{
    switch (attr->role) {
    case VJP_ROLE_CONSTANT:
        return ROLE_CONSTANT;
    case VJP_ROLE_AXIS:
    case VJP_ROLE_AXES:
        return ROLE_AXIS;
    case VJP_ROLE_FORMAT:
        return ROLE_CHANNELS;
    case VJP_ROLE_CAUSAL:
        return ROLE_CAUSAL;
    case VJP_ROLE_IGNORED:
        return ROLE_IGNORED;
    case VJP_ROLE_LENIENT:
        return ROLE_LENIENT;
    default:
        return ROLE_SWITCH;
    }
}

const vjp_attr_info *kind_attr(const vjp_op_info *op, attr_role role)
{
    for (int32_t i = 0; i < op->nattrs; i++)
        if (kind_attr_role(vjp_op_attr(op, i)) == role)
            return vjp_op_attr(op, i);
    return NULL;
}

int kind_has_rows(const vjp_op_info *op)
{
    return kind_attr(op, ROLE_AXIS) != NULL;
}

int kind_is_param(const vjp_op_info *op, int32_t index)
{
    return vjp_op_tensor(op, index)->shape_rule == VJP_SHAPE_PARAM;
}

int kind_has_sums(const vjp_op_info *op)
{
    for (int32_t t = op->ninputs; t < op->ninputs + op->noutputs; t++)
        if (vjp_op_tensor(op, t)->flags & VJP_TENSOR_SUM)
            return 1;
    return 0;
}

int kind_reduces(const vjp_op_info *op)
{
    return kind_has_rows(op) || kind_has_sums(op);
}

int kind_has_params(const vjp_op_info *op)
{
    for (int32_t t = 0; t < op->ninputs + op->noutputs; t++)
        if (kind_is_param(op, t))
            return 1;
    return 0;
}

static int is_alike(const vjp_op_info *op, const vjp_op_info *other)
{
    return op->ninputs == other->ninputs && op->noutputs == other->noutputs &&
           kind_has_rows(op) == kind_has_rows(other) && kind_has_sums(op) == kind_has_sums(other) &&
           kind_has_params(op) == kind_has_params(other);
}

int kind_is_first(const vjp_op_info *op)
{
    int32_t first = 0;
    while (!is_alike(op, vjp_op_at(first)))
        first++;
    return vjp_op_at(first) == op;
}

int32_t kind_gradient(const vjp_op_info *op)
{
    for (int32_t t = 0; t < op->ninputs; t++)
        if (strncmp(vjp_op_tensor(op, t)->name, "diff_", 5) == 0)
            return t;
    return -1;
}

int32_t kind_lead(const vjp_op_info *op)
{
    int32_t gradient = kind_gradient(op);
    return gradient >= 0 ? gradient : 0;
}

/* ---- choices ------------------------------------------------------------------------------ */

/* The library has the choices of an attribute in one string, "NCX|NXC". Every choice of every
 * attribute is copied once, since the attributes of a problem point to it. */
enum {
    MOST_CHOICES = 64,
    CHOICE_SIZE = 32
};

static struct {
    const vjp_attr_info *attr;
    char text[CHOICE_SIZE];
} choices[MOST_CHOICES];
static int nchoices;

static void copy_choices(const vjp_attr_info *attr)
{
    for (const char *text = attr->choices; text != NULL;) {
        size_t size = strcspn(text, "|");
        if (nchoices == MOST_CHOICES || size >= CHOICE_SIZE)
            broken("the choices of %s are too many or too long: %s", attr->name, attr->choices);
        choices[nchoices].attr = attr;
        memcpy(choices[nchoices++].text, text, size); /* the rest is zeros */
        text = text[size] == '|' ? text + size + 1 : NULL;
    }
}

static void copy_all_choices(void)
{
    for (int32_t i = 0; i < vjp_op_count(); i++)
        for (int32_t a = 0; a < vjp_op_at(i)->nattrs; a++)
            copy_choices(vjp_op_attr(vjp_op_at(i), a));
}

const char *kind_choice(const vjp_attr_info *attr, int32_t index)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, copy_all_choices);
    for (int i = 0; i < nchoices; i++)
        if (choices[i].attr == attr && index-- == 0)
            return choices[i].text;
    return NULL;
}
