# SPDX-License-Identifier: Apache-2.0
"""Several streams, record_stream, events."""
import torch

streams = [torch.cuda.Stream(priority=-(i % 2)) for i in range(4)]
for i in range(40):
    with torch.cuda.stream(streams[i % 4]):
        x = torch.randn(1000 + i, 1000, device="cuda")
        event = torch.cuda.Event(enable_timing=True)
        event.record()
    x.record_stream(streams[(i + 1) % 4])
    streams[(i + 1) % 4].wait_event(event)
    del x
torch.cuda.synchronize()
torch.cuda.empty_cache()
