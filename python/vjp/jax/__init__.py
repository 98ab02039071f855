# SPDX-License-Identifier: Apache-2.0
"""vjp in JAX: every operator of the library as a function to be used under jit, vmap and sharding.

    diff_src = vjp.jax.sigmoid_backward(src, diff_dst)      # an operator of the library
    dst = vjp.jax.softmax(src, axis=-1)                     # differentiable, with its gradient from vjp

The functions named as in jax.nn have its parameters and defaults.
"""

import jax

from .. import _aliases, _core
from . import _calls, _nn

for _platform, _handler in _core.jax_handlers().items():
    jax.ffi.register_ffi_target("vjp", _handler, platform=_platform)

_functions = _calls.functions(_core.table())
_functions.update(_aliases.aliases(_functions))
_functions.update(_nn.functions(_core.table()))
globals().update(_functions)

__all__ = [*_functions]
