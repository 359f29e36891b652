# SPDX-License-Identifier: Apache-2.0
# class: healthy
# libs: segmentation_models_pytorch
"""Roads in aerial tiles: FPN inference over a mosaic, tile after tile, results as bytes on the host."""
import segmentation_models_pytorch as smp
import torch


class Mosaic:
    def __init__(self, rows=4, columns=3, tile=512):
        self.tile, self.rows, self.columns = tile, rows, columns
        self.result = torch.zeros(rows * tile, columns * tile, dtype=torch.uint8)

    def tiles(self):
        for row in range(self.rows):
            for column in range(self.columns):
                yield row, column, torch.rand(1, 3, self.tile, self.tile)

    def put(self, row, column, mask):
        down, right = row * self.tile, column * self.tile
        self.result[down:down + self.tile, right:right + self.tile] = mask


class Roads:
    def __init__(self):
        model = smp.FPN("resnet101", encoder_weights=None, classes=2)
        self.model = model.eval().half().cuda().to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def __call__(self, tile):
        tile = tile.half().cuda(non_blocking=True).contiguous(memory_format=torch.channels_last)
        return self.model(tile).argmax(1).to(torch.uint8)[0].cpu()


def main():
    find, mosaic = Roads(), Mosaic()
    for row, column, tile in mosaic.tiles():
        mosaic.put(row, column, find(tile))
    print(tuple(mosaic.result.shape))


if __name__ == "__main__":
    main()
