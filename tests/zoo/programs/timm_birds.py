# SPDX-License-Identifier: Apache-2.0
# class: healthy
# libs: timm
"""Fine-tuning ConvNeXt on birds the way timm's recipe does it: autocast, fused optimizer, checkpointed stages."""
import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler


def birds(steps, batch):
    for _ in range(steps):
        images = torch.randn(batch, 3, 224, 224).pin_memory()
        yield images.cuda(non_blocking=True), torch.randint(0, 200, (batch,)).cuda(non_blocking=True)


class Recipe:
    def __init__(self):
        self.model = timm.create_model("convnext_base", num_classes=200, drop_path_rate=0.1)
        self.model.cuda().to(memory_format=torch.channels_last)
        self.model.set_grad_checkpointing(True)
        self.optimizer = create_optimizer_v2(self.model, opt="adamw", lr=5e-5, weight_decay=0.05, fused=True)
        self.schedule = CosineLRScheduler(self.optimizer, t_initial=10)
        self.criterion = LabelSmoothingCrossEntropy(0.1)

    def epoch(self, number):
        self.model.train()
        for images, kinds in birds(4, 16):
            images = images.contiguous(memory_format=torch.channels_last)
            with torch.autocast("cuda", torch.bfloat16):
                loss = self.criterion(self.model(images), kinds)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            del loss, images
        self.schedule.step(number)

    @torch.inference_mode()
    def validate(self):
        self.model.eval()
        right = 0
        for images, kinds in birds(2, 16):
            with torch.autocast("cuda", torch.bfloat16):
                right += (self.model(images).argmax(1) == kinds).sum().item()
        return right


def main():
    recipe = Recipe()
    for number in range(2):
        recipe.epoch(number)
        print(number, recipe.validate())


main()
