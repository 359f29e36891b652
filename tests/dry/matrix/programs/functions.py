# SPDX-License-Identifier: Apache-2.0
"""torch.func: gradients for each sample, ensembles, a Jacobian, a Hessian's product."""
import torch
from torch.func import functional_call, grad, jacrev, jvp, stack_module_state, vmap

model = torch.nn.Linear(64, 64).cuda()
parameters = dict(model.named_parameters())
x = torch.randn(32, 64, device="cuda")


def loss(p, row):
    return functional_call(model, p, (row[None],)).square().mean()


vmap(grad(loss), (None, 0))(parameters, x)
stacked, buffers = stack_module_state([torch.nn.Linear(64, 64).cuda() for _ in range(4)])
vmap(lambda p, b: functional_call(model, (p, b), (x,)))(stacked, buffers)
jacrev(lambda row: functional_call(model, parameters, (row,)))(x[0])
jvp(grad(lambda row: model(row).square().sum()), (x[0],), (x[1],))
