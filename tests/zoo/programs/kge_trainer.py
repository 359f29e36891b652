# SPDX-License-Identifier: Apache-2.0
# class: dense-embedding-gradients
# compare: peak
# libs: torch_geometric
"""Embeddings of a knowledge graph with PyG's TransE: four million entities, a few thousand triples in a batch."""
import os

import torch
from torch_geometric.nn import TransE

MENDED = os.environ.get("ZOO_MENDED")
ENTITIES, RELATIONS = 4_000_000, 800


class Triples:
    def __init__(self, batch, count, seed=3):
        self.batch, self.count = batch, count
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, highest):
        return torch.randint(0, highest, (self.batch,), generator=self.generator).cuda(non_blocking=True)

    def __iter__(self):
        for _ in range(self.count):
            yield self.draw(ENTITIES), self.draw(RELATIONS), self.draw(ENTITIES)


def build():
    with torch.device("cuda"):
        return TransE(num_nodes=ENTITIES, num_relations=RELATIONS, hidden_channels=128,  # <- the mistake
                      sparse=bool(MENDED))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step(self, head, relation, tail):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model.loss(head, relation, tail)  # <- the mistake
        loss.backward()  # <- the mistake
        self.optimizer.step()
        return loss.detach()

    def fit(self, triples):
        losses = [self.step(*triple) for triple in triples]
        return torch.stack(losses).mean().item()


if __name__ == "__main__":
    trainer = Trainer(build().train())
    for epoch in range(2):
        print(epoch, trainer.fit(Triples(8192, 4, epoch)))
