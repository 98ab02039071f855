# SPDX-License-Identifier: Apache-2.0
import torch

from vjp.torch import functional as F

src = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
F.sigmoid(src).backward(torch.tensor([10.0, 20.0, 30.0]))  # autograd calls vjp

print(*(f"{x:g}" for x in src.grad))
