# SPDX-License-Identifier: Apache-2.0
"""vjp in PyTorch: every operator of the library as torch.ops.vjp.<name>.

    import vjp.torch                          defines torch.ops.vjp.*
    from vjp.torch import functional, nn      drop-in for torch.nn.functional and torch.nn
    vjp.torch.enable()                        PyTorch's own backward kernels replaced, eager only

docs/pytorch.md says which path each of them takes, and what it costs.
"""
import ctypes
import pathlib

import torch

from . import autocast, autograd, shapes, switches, table

_OLDEST = (2, 10)
_LIBRARY = pathlib.Path(__file__).parent.parent / "lib" / "libvjp_torch.so"


def _load():
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < _OLDEST:
        raise ImportError(f"vjp.torch needs torch 2.10 or newer; this is {torch.__version__}")
    if not _LIBRARY.exists():
        raise ImportError(f"{_LIBRARY} is missing: this vjp was built without torch")
    torch.ops.load_library(str(_LIBRARY))
    library = ctypes.CDLL(str(_LIBRARY))
    library.vjp_torch_load_error.restype = ctypes.c_char_p
    if error := library.vjp_torch_load_error():
        raise ImportError(error.decode())
    return library


def _register(library, operators):
    """Everything about an operator but its kernels: fake tensors, vmap, autograd, autocast."""
    for op in operators.values():
        name = f"vjp::{op.name}"
        torch.library.register_fake(name, shapes.fake(op))
        torch.library.register_fake(f"{name}_out", lambda *args, **kwargs: None)
        torch.library.register_vmap(name, shapes.batched(op))
        back = operators.get(f"{op.name}_backward")
        kernel = autograd.kernel(op, back) if back else autograd.refusing_kernel(op)
        library.impl(op.name, kernel, "Autograd", with_keyset=True)
        for device in ("CPU", "CUDA"):
            library.impl(op.name, autocast.kernel(op, device.lower()), f"Autocast{device}")


_native = _load()
_library = torch.library.Library("vjp", "IMPL")
_register(_library, table.OPERATORS)
enable, disable, enabled, report = switches.functions(switches.Switchboard(_native))

from . import functional, nn # noqa: E402: they need the operators
