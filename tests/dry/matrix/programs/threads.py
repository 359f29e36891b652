# SPDX-License-Identifier: Apache-2.0
"""Four threads, each with a stream."""
import threading
import torch


def work():
    with torch.cuda.stream(torch.cuda.Stream()):
        layer = torch.nn.Linear(256, 256, device="cuda")
        for _ in range(20):
            layer(torch.randn(64, 256, device="cuda")).sum().backward()


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
