# SPDX-License-Identifier: Apache-2.0
"""Programs that train a model for some steps as people write them, and the fixes that a plan names as people make them.
Nothing here knows how a plan is made."""
import functools

STEPS, RANKS, IN_CHUNKS = 3, 8, 8


def in_chunks(torch, head, x, labels):
    """Of 2.15; of older ones a chunk after the other, each made again in the backward pass."""
    functional = torch.nn.functional
    if hasattr(functional, "linear_cross_entropy") and head.bias is None:
        return functional.linear_cross_entropy(x, head.weight, labels,
                                               options=torch.nn.LinearCrossEntropyOptions(
                                                   batch_chunk_size=len(labels) // IN_CHUNKS))
    from torch.utils.checkpoint import checkpoint
    return sum(checkpoint(lambda a, b: functional.cross_entropy(head(a), b, reduction="sum"), a, b, use_reentrant=False)
               for a, b in zip(x.chunk(IN_CHUNKS), labels.chunk(IN_CHUNKS))) / len(labels)


# ---- programs --------------------------------------------------------------------------------------------------------

class Gpt:
    """Of torch's own modules, in 32 bits."""
    batch, optimizer, autocast = 8, "AdamW", False
    vocabulary, width, length, depth, ordered = 50304, 1024, 512, 16, True

    def model(self, torch):
        nn = torch.nn
        heads, wide = self.width // 64, 4 * self.width

        class Words(nn.Module):
            def __init__(self, vocabulary, width, length, depth, ordered):
                super().__init__()
                self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
                self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, wide, 0.0, "gelu", batch_first=True,
                                                                      norm_first=True) for _ in range(depth))
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
                self.mask = nn.Transformer.generate_square_subsequent_mask(length) if ordered else None

            def inner(self, ids):
                x = self.tokens(ids) + self.places.weight[:ids.shape[1]]
                for block in self.blocks:
                    x = block(x, src_mask=self.mask, is_causal=self.mask is not None)
                return self.norm(x)

            def forward(self, ids):
                return self.head(self.inner(ids))
        return Words(self.vocabulary, self.width, self.length, self.depth, self.ordered)

    def layers(self, model):
        return list(model.blocks)

    def data(self, torch, n):
        return (torch.randint(0, self.vocabulary, (n, self.length + 1), device="cuda"),)

    def loss(self, torch, model, ids):
        return torch.nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    def loss_in_chunks(self, torch, model, ids):
        return in_chunks(torch, model.head, model.inner(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


class Encoder(Gpt):
    """Many words, few layers, under autocast."""
    batch, optimizer, autocast = 48, "Adam", True
    vocabulary, width, length, depth, ordered = 120000, 512, 256, 6, False


class Resnet:
    """torchvision's, with momentum, under autocast."""
    batch, optimizer, autocast = 384, "SGD", True

    def model(self, torch):
        import torchvision
        return torchvision.models.resnet50()

    def layers(self, model):
        return [block for layer in (model.layer1, model.layer2, model.layer3, model.layer4) for block in layer]

    def data(self, torch, n):
        return torch.randn(n, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (n,), device="cuda")

    def loss(self, torch, model, images, labels):
        return torch.nn.functional.cross_entropy(model(images), labels)


class Lstm:
    """Words through cuDNN's recurrent network, with momentum, in 32 bits."""
    batch, optimizer, autocast = 192, "SGD", False

    def model(self, torch):
        nn = torch.nn

        class Words(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens, self.lstm = nn.Embedding(33000, 1024), nn.LSTM(1024, 1024, 3, batch_first=True)
                self.head = nn.Linear(1024, 33000)

            def inner(self, ids):
                return self.lstm(self.tokens(ids))[0]

            def forward(self, ids):
                return self.head(self.inner(ids))
        return Words()

    def layers(self, model):
        return []

    def data(self, torch, n):
        return (torch.randint(0, 33000, (n, 129), device="cuda"),)

    loss, loss_in_chunks = Gpt.loss, Gpt.loss_in_chunks


class Unet:
    """diffusers', in 32 bits."""
    batch, optimizer, autocast = 64, "AdamW", False

    def model(self, torch):
        import diffusers
        return diffusers.UNet2DModel(sample_size=64, block_out_channels=(128, 256, 256, 512), layers_per_block=2,
                                     down_block_types=("DownBlock2D",) * 3 + ("AttnDownBlock2D",),
                                     up_block_types=("AttnUpBlock2D",) + ("UpBlock2D",) * 3)

    def layers(self, model):
        return [part for block in (*model.down_blocks, model.mid_block, *model.up_blocks) for part in block.resnets]

    def data(self, torch, n):
        return torch.randn(n, 3, 64, 64, device="cuda"), torch.randint(0, 1000, (n,), device="cuda")

    def loss(self, torch, model, images, times):
        noise = torch.randn_like(images)
        return torch.nn.functional.mse_loss(model(images + noise, times).sample, noise)


class Llama:
    """transformers', in 32 bits."""
    batch, optimizer, autocast = 24, "AdamW", False

    def model(self, torch):
        import transformers
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12,
            num_key_value_heads=4, use_cache=False))

    def layers(self, model):
        return list(model.model.layers)

    def data(self, torch, n):
        return (torch.randint(0, 32000, (n, 512), device="cuda"),)

    def loss(self, torch, model, ids):
        return model(input_ids=ids, labels=ids).loss

    def loss_in_chunks(self, torch, model, ids):
        return in_chunks(torch, model.lm_head, model.model(input_ids=ids).last_hidden_state.flatten(0, 1), ids.flatten())


ALL = {"gpt": Gpt(), "encoder": Encoder(), "resnet": Resnet(), "lstm": Lstm(), "unet": Unet(), "llama": Llama()}


# ---- optimizers ------------------------------------------------------------------------------------------------------

def usual(torch, program, parameters):
    make = getattr(torch.optim, program.optimizer)
    return make(parameters, lr=1e-4, **({"momentum": 0.9} if program.optimizer == "SGD" else {}))


class OnHost:
    """States and what is done with them on the host: gradients go there, weights come back."""

    def __init__(self, torch, model):
        self.model, self.torch, self.host = model, torch, {}

    def step(self):
        for p in self.model.parameters():
            if p.grad is not None:
                self.host[p] = p.grad.to("cpu")
                with self.torch.no_grad():
                    p.copy_(self.host[p])

    def zero_grad(self):
        self.model.zero_grad()


class InBytes:
    """A byte for each state, and a scale for each 256, as 8-bit optimizers have it; worked on one tensor after the other."""

    def __init__(self, torch, model, states):
        self.model, self.torch, self.states, self.kept = model, torch, states, {}

    def step(self):
        torch = self.torch
        with torch.no_grad():
            for p in self.model.parameters():
                if p.grad is None:
                    continue
                if p not in self.kept:
                    self.kept[p] = [(torch.zeros(p.shape, dtype=torch.uint8, device=p.device),
                                     torch.zeros((p.numel() + 255) // 256, device=p.device)) for _ in range(self.states)]
                p.add_(p.grad, alpha=-1e-4)  # one kernel does all of it

    def zero_grad(self):
        self.model.zero_grad()


class Sharded:
    """An eighth of gradients and states: each gradient goes as soon as it was added up over the ranks (ZeRO-2)."""

    def __init__(self, torch, program, model):
        self.own = []
        for p in model.parameters():
            mine = torch.nn.Parameter(p.detach().flatten()[:(p.numel() + RANKS - 1) // RANKS])
            self.own.append(mine)
            p.register_post_accumulate_grad_hook(functools.partial(self.shard, mine))
        self.optimizer = usual(torch, program, self.own)

    @staticmethod
    def shard(mine, p):
        part = p.grad.flatten()[:mine.numel()]
        mine.grad = part.clone() if mine.grad is None else mine.grad + part
        p.grad = None

    def step(self):
        self.optimizer.step()

    def zero_grad(self):
        self.optimizer.zero_grad()


# ---- fixes -----------------------------------------------------------------------------------------------------------

def checkpoint_layers(layers):
    from torch.utils.checkpoint import checkpoint
    for layer in layers:
        layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)


def shard_all(torch, model, layers):
    """torch's own sharding, as the first of so many ranks; the others are not there (ZeRO-3)."""
    from torch.distributed.fsdp import fully_shard
    from torch.testing._internal.distributed.fake_pg import FakeStore
    torch.distributed.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
    for layer in layers:
        fully_shard(layer)
    fully_shard(model)


def train(torch, program, fixes):
    """fixes: words of FIXES in plan_truth.py."""
    with torch.device("cuda"):
        model = program.model(torch)
    if "weights" in fixes:
        model.bfloat16()
    if "zero3" in fixes:
        shard_all(torch, model, program.layers(model))
    if "checkpoint" in fixes:
        checkpoint_layers(program.layers(model))
    optimizer = (OnHost(torch, model) if "host" in fixes else
                 InBytes(torch, model, 1 if program.optimizer == "SGD" else 2) if "bytes" in fixes else
                 Sharded(torch, program, model) if "zero2" in fixes else usual(torch, program, model.parameters()))
    loss_of = program.loss_in_chunks if "chunks" in fixes else program.loss
    parts = (2 if "half" in fixes else 1) * (2 if "again" in fixes else 1)
    for _ in range(STEPS):
        for _ in range(parts):
            data = program.data(torch, program.batch // parts)
            if "weights" in fixes:
                data = [x.bfloat16() if x.is_floating_point() else x for x in data]
            with torch.autocast("cuda", torch.bfloat16, enabled=program.autocast):
                loss = loss_of(torch, model, *data)
            (loss / parts).backward()
            if "del" in fixes:
                del data, loss
        optimizer.step()
        optimizer.zero_grad()
