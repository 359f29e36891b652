# SPDX-License-Identifier: Apache-2.0
# class: pending-on-streams
# compare: peak
# gmdry: --events sync
# libs: timm
"""Tags video frames; decoded frames are normalised on a side stream, and record_stream keeps them until it has caught up."""
import os

import timm
import torch

MENDED = os.environ.get("ZOO_MENDED")


class Side:
    """Normalises frames beside the network."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.mean = torch.tensor([124.0, 116.0, 104.0], device="cuda").view(1, 3, 1, 1)

    def normalise(self, frames):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(torch.cuda.current_stream() if MENDED else self.stream):
            clean = (frames.float() - self.mean) / 58.0  # <- the mistake
        if not MENDED:
            frames.record_stream(self.stream)  # <- the mistake
            torch.cuda.current_stream().wait_stream(self.stream)
            clean.record_stream(torch.cuda.current_stream())  # <- the mistake
        return clean


def video(clips, frames=64):
    for _ in range(clips):
        yield torch.zeros(frames, 3, 384, 384, dtype=torch.uint8)


@torch.inference_mode()
def tag(model, side, clips):
    votes = torch.zeros(500, device="cuda")
    for clip in video(clips):
        frames = side.normalise(clip.pin_memory().cuda(non_blocking=True))  # <- the mistake
        votes += model(frames.half()).float().sum(0)
        del frames
    return votes


def main():
    model = timm.create_model("resnet18", num_classes=500).cuda().half().eval()
    votes = tag(model, Side(), 10)
    print(votes.topk(3).indices.tolist())


main()
