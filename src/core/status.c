/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - statuses as text, and the reason of a refusal. */
#include <stdarg.h>
#include <stdio.h>

#include "core/internal.h"

const char *vjp_status_string(vjp_status status)
{
    switch (status) {
#define NAME(status) case status: return #status;
        NAME(VJP_OK)
        NAME(VJP_BAD_ARGUMENT)
        NAME(VJP_BAD_OP)
        NAME(VJP_BAD_ATTRIBUTE)
        NAME(VJP_BAD_DTYPE)
        NAME(VJP_BAD_SHAPE)
        NAME(VJP_BAD_STRIDES)
        NAME(VJP_BAD_ALIAS)
        NAME(VJP_BAD_ALIGNMENT)
        NAME(VJP_BAD_WORKSPACE)
        NAME(VJP_TOO_LARGE)
        NAME(VJP_NO_MEMORY)
        NAME(VJP_NO_DEVICE)
        NAME(VJP_DEVICE_ERROR)
#undef NAME
    }
    return "VJP_UNKNOWN";
}

vjpi_reason vjpi_reason_begin(char *text, size_t size)
{
    vjpi_reason reason = { text, text ? size : 0 };
    if (reason.size > 0)
        text[0] = '\0';
    return reason;
}

vjp_status vjpi_refuse(vjpi_reason reason, vjp_status status, const char *format, ...)
{
    if (reason.size > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(reason.text, reason.size, format, arguments);
        va_end(arguments);
    }
    return status;
}

int32_t vjp_version(void)
{
    return VJPI_VERSION;
}
