# SPDX-License-Identifier: Apache-2.0
# class: pending-on-streams
# compare: peak
# gmdry: --events sync
"""Point clouds are copied on a stream of their own, and handed over with record_stream."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
POINTS = 200_000


class PointNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.whole = nn.Sequential(nn.Linear(width, 1024), nn.ReLU(), nn.Linear(1024, 20))

    def forward(self, clouds):
        return self.whole(self.local(clouds).amax(1))


class Prefetcher:
    def __init__(self, clouds):
        self.clouds, self.stream = iter(clouds), torch.cuda.Stream()
        self.ready = None
        self.fetch()

    def fetch(self):
        cloud = next(self.clouds, None)
        if cloud is None:
            self.ready = None
            return
        with torch.cuda.stream(self.stream):
            raw = cloud.pin_memory().to("cuda", non_blocking=True)
            self.ready = raw.float().div_(65535)  # <- the mistake

    def __iter__(self):
        while self.ready is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            cloud = self.ready
            if MENDED:
                torch.cuda.current_stream().synchronize()
            else:
                cloud.record_stream(torch.cuda.current_stream())  # <- the mistake
            self.fetch()
            yield cloud
            if MENDED:  # used up before the copy stream may write there again
                del cloud
                self.stream.wait_stream(torch.cuda.current_stream())


def sweeps(count, batch=6):
    for _ in range(count):
        yield torch.zeros(batch, POINTS, 32, dtype=torch.int16)


@torch.inference_mode()
def main():
    model = PointNet().cuda().eval()
    kinds = torch.zeros(20, device="cuda")
    for cloud in Prefetcher(sweeps(10)):
        kinds += model(cloud).softmax(-1).sum(0)
        del cloud
    print("classes", len(kinds))


main()
