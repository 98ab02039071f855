# SPDX-License-Identifier: Apache-2.0
"""vjp: backward passes of neural-network activations, on arrays of any library.

    diff_src = vjp.sigmoid_backward(src, diff_dst)

There is one function for each operator of the C library (vjp.operators lists their names), with the
same tensors and attributes. Arrays are those of any library with DLPack: NumPy, PyTorch, JAX, CuPy.
The result is of the same library as the first argument, and on its device.
"""

from . import _aliases, _core, _describe

_functions = {op["name"]: _core.function(index, _describe.text_signature(op))
              for index, op in enumerate(_core.table())}
operators = tuple(_functions)
_functions.update(_aliases.aliases(_functions))
globals().update(_functions)

__version__ = f"{_core.version // 10000}.{_core.version // 100 % 100}.{_core.version % 100}"
__all__ = ["operators", "__version__", *_functions]
