# SPDX-License-Identifier: Apache-2.0
# needs: torchvision
"""torchvision's resnet50, trained."""
import torch
import torchvision

model = torchvision.models.resnet50(weights=None).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(model(torch.randn(4, 3, 224, 224, device="cuda")),
                                             torch.randint(0, 1000, (4,), device="cuda"))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
