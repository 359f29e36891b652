# SPDX-License-Identifier: Apache-2.0
# class: giant-tensor
# compare: peak
"""Notebook: k-means of user embeddings. The assignment step broadcasts points against centroids,
(n, k, d) floats at once."""
# coding: utf-8

# In[1]:
import os
import torch

n, d, k = 60_000, 64, 256
g = torch.Generator().manual_seed(1)
users = torch.randn(n, d, generator=g)

# In[2]:
X = users.cuda()
half = X.half()
C = X[:k].clone()

# In[3]:
def assign(X, C):
    if os.environ.get("ZOO_MENDED") == "1":
        return torch.cat([torch.cdist(b, C).argmin(1) for b in X.split(16384)])
    diff = X[:, None, :] - C[None, :, :]  # <- the mistake
    return diff.square_().sum(-1).argmin(1)


def update(X, a, k):
    total = torch.zeros(k, X.shape[1], device=X.device).index_add_(0, a, X)
    count = torch.zeros(k, device=X.device).index_add_(0, a, torch.ones_like(X[:, 0]))
    return total / count.clamp_min(1)[:, None]


# In[4]:
inertia = []
for it in range(5):
    a = assign(X, C)
    new = update(X, a, k)
    inertia.append((new - C).norm())
    C = new

# In[5]:
print(torch.stack(inertia).cpu())

# In[6]: a small autoencoder in the space of clusters
enc = torch.nn.Sequential(torch.nn.Linear(d, 512), torch.nn.ReLU(), torch.nn.Linear(512, d)).cuda()
opt = torch.optim.Adam(enc.parameters())
for xb in X.split(20_000):
    loss = torch.nn.functional.mse_loss(enc(xb), xb)
    opt.zero_grad(); loss.backward(); opt.step()
