#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the demo: a snapshot as PyTorch would dump it in the middle of the third training step of a small GPT.

usage: make_demo_snapshot.py OUT.pickle

Nothing is recorded from a GPU: a model of the caching allocator (caching_allocator.py) runs the allocations of
data-parallel training with AdamW. Recording begins after the model was built, so parameters have no stack; between the
first two steps an evaluation with longer sequences leaves cached memory behind; gradients are all-reduced on a second
stream. Same bytes on every run.
"""
import pickle
import sys

from caching_allocator import Allocator
from stacks import APP, TORCH, Stacks

LAYERS, WIDTH, HEADS, VOCAB, BATCH, LENGTH = 16, 1024, 16, 50304, 8, 1024
BF16, FP32, INT64 = 2, 4, 8
COMM_STREAM = 94817263541568
BUCKET = 25 << 20

MODEL = ("forward", APP + "/model/transformer.py", 141)
BLOCK_ATTENTION = ("forward", APP + "/model/transformer.py", 88)
BLOCK_MLP = ("forward", APP + "/model/transformer.py", 89)
DDP = [("forward", TORCH + "/nn/parallel/distributed.py", 1637),
       ("_run_ddp_forward", TORCH + "/nn/parallel/distributed.py", 1464)]
LINEAR = ("forward", TORCH + "/nn/modules/linear.py", 125)
NORM = ("forward", TORCH + "/nn/modules/normalization.py", 217)


class Clock:
    """Microseconds since 1970; every look moves it on a little, differently each time but the same in each run."""

    def __init__(self):
        self.now, self.state = 1763130000000000, 12345

    def __call__(self):
        self.state = (self.state * 1103515245 + 12345) % (1 << 31)
        self.now += 1 + self.state // 65536 % 230
        return self.now


class Parameter:
    def __init__(self, count):
        self.count, self.grad = count, None


class Training:
    def __init__(self):
        self.clock, self.stacks, self.annotations = Clock(), Stacks(), []
        self.allocator = Allocator(0, 0x7F2A40000000, self.clock)
        self.gather, self.bucket_bytes = [], 0
        self.has_workspace, self.has_states = False, False
        self.build_model()

    # ---- helpers

    def new(self, size, frames, stream=0):
        return self.allocator.alloc(size, frames, stream)

    def free(self, *blocks):
        for block in blocks:
            self.allocator.free(block)

    def annotate(self, name, stage):
        self.annotations.append({"name": name, "stage": stage, "device": 0, "time_us": self.clock()})

    def forward(self, size, op, *modules):
        return self.new(size, self.stacks.forward(op, *DDP[:1], *modules))

    def backward(self, size, node, op):
        return self.new(size, self.stacks.backward(node, op))

    # ---- before recording

    def build_model(self):
        shapes = {"wte": VOCAB * WIDTH, "ln_f": WIDTH}
        for i in range(LAYERS):
            shapes.update({f"{i}.ln1": WIDTH, f"{i}.qkv": 3 * WIDTH * WIDTH, f"{i}.proj": WIDTH * WIDTH,
                           f"{i}.ln2": WIDTH, f"{i}.fc1": 4 * WIDTH * WIDTH, f"{i}.fc2": 4 * WIDTH * WIDTH})
        self.parameters = {name: Parameter(count) for name, count in shapes.items()}
        for parameter in self.parameters.values():
            self.new(parameter.count * BF16, [])

    # ---- forward

    def workspace(self):
        if not self.has_workspace:
            self.has_workspace = True
            self.new(8519680, self.stacks.workspace("gemm_and_bias<c10::BFloat16>(...)", *DDP[:1], MODEL, BLOCK_ATTENTION,
                                                    ("forward", APP + "/model/attention.py", 52), LINEAR))

    def attention(self, x, hidden, tokens):
        where = [MODEL, BLOCK_ATTENTION]
        saved = {"x": x}
        saved["norm"] = self.forward(hidden, "rms_norm", *where, NORM)
        saved["rstd"] = self.forward(tokens * FP32, "rms_norm", *where, NORM)
        attention = where + [("forward", APP + "/model/attention.py", 52)]
        self.workspace()
        qkv = self.forward(3 * hidden, "linear", *attention, LINEAR)
        for name, line in (("q", 57), ("k", 58)):
            rotary = where + [("forward", APP + "/model/attention.py", line), ("apply_rotary", APP + "/model/rotary.py", 31)]
            widened = self.forward(2 * hidden, "to", *rotary)
            saved[name] = self.forward(hidden, "mul", *rotary)
            self.free(widened)
        saved["v"] = self.forward(hidden, "contiguous", *where, ("forward", APP + "/model/attention.py", 59))
        self.free(qkv)
        sdpa = where + [("forward", APP + "/model/attention.py", 63)]
        saved["out"] = self.forward(hidden, "scaled_dot_product_attention", *sdpa)
        saved["lse"] = self.forward(tokens * HEADS * FP32, "scaled_dot_product_attention", *sdpa)
        saved["rng"] = self.forward(16, "scaled_dot_product_attention", *sdpa)
        projected = self.forward(hidden, "linear", *where, ("forward", APP + "/model/attention.py", 70), LINEAR)
        result = self.forward(hidden, "add", MODEL, ("forward", APP + "/model/transformer.py", 88))
        self.free(projected)
        return result, saved

    def mlp(self, x, hidden, tokens):
        where = [MODEL, BLOCK_MLP]
        saved = {"x": x}
        saved["norm"] = self.forward(hidden, "rms_norm", *where, NORM)
        saved["rstd"] = self.forward(tokens * FP32, "rms_norm", *where, NORM)
        saved["fc1"] = self.forward(4 * hidden, "linear", *where, ("forward", APP + "/model/mlp.py", 24), LINEAR)
        saved["gelu"] = self.forward(4 * hidden, "gelu", *where, ("forward", APP + "/model/mlp.py", 25),
                                     ("forward", TORCH + "/nn/modules/activation.py", 816))
        projected = self.forward(hidden, "linear", *where, ("forward", APP + "/model/mlp.py", 26), LINEAR)
        result = self.forward(hidden, "add", MODEL, ("forward", APP + "/model/transformer.py", 89))
        self.free(projected)
        return result, saved

    def run_forward(self, batch, length):
        """What the backward pass needs, in the order of the forward pass."""
        tokens = batch * length
        hidden = tokens * WIDTH * BF16
        saved = {"ids": [self.new(tokens * INT64, self.stacks.app(
            "to", ("train", APP + "/train.py", 211), ("__next__", APP + "/data/loader.py", line),
            ("to_device", APP + "/data/loader.py", 77))) for line in (58, 59)]}
        x = self.forward(hidden, "embedding", MODEL, ("forward", TORCH + "/nn/modules/sparse.py", 192))
        saved["layers"] = []
        for _ in range(LAYERS):
            middle, attention = self.attention(x, hidden, tokens)
            x, mlp = self.mlp(middle, hidden, tokens)
            saved["layers"].append((attention, mlp))
        saved["last"] = x
        saved["norm"] = self.forward(hidden, "rms_norm", MODEL, NORM)
        head = [MODEL, ("forward", APP + "/model/transformer.py", 149)]
        logits = self.forward(tokens * VOCAB * BF16, "linear", *head, LINEAR)
        wide = self.forward(tokens * VOCAB * FP32, "to", ("loss_fn", APP + "/loss.py", 12))
        self.free(logits)
        loss = ("forward", TORCH + "/nn/modules/loss.py", 1385)
        saved["log_softmax"] = self.forward(tokens * VOCAB * FP32, "cross_entropy_loss", ("loss_fn", APP + "/loss.py", 14),
                                            loss)
        saved["loss"] = self.forward(FP32, "cross_entropy_loss", ("loss_fn", APP + "/loss.py", 14), loss)
        self.free(wide)
        return saved

    # ---- backward

    def gradient(self, name, node, op):
        """The gradient of a parameter; a full bucket of them is all-reduced on another stream."""
        parameter = self.parameters[name]
        parameter.grad = self.backward(parameter.count * BF16, node, op)
        self.bucket_bytes += parameter.count * BF16
        if self.bucket_bytes >= BUCKET:
            self.all_reduce()

    def all_reduce(self):
        size, self.bucket_bytes = self.bucket_bytes, 0
        compressed = self.new(size, self.stacks.hook("to", "fp16_compress_hook", 99))
        # The NCCL stream works on it for a while after this one has let go of it.
        self.allocator.used_by_other_stream(compressed, self.clock.now + 4000)
        flat = self.new(size // 8, self.stacks.hook("_flatten_dense_tensors", "_allreduce_fut", 34), COMM_STREAM)
        self.gather.append(flat)
        self.free(compressed)
        if len(self.gather) > 2:
            self.free(self.gather.pop(0))

    def mlp_backward(self, i, grad, saved, hidden):
        wide = self.backward(4 * hidden, "AddmmBackward0", "mm")
        self.gradient(f"{i}.fc2", "AddmmBackward0", "mm")
        inner = self.backward(4 * hidden, "GeluBackward0", "gelu_backward")
        self.free(wide, saved["gelu"], saved["fc1"])
        narrow = self.backward(hidden, "AddmmBackward0", "mm")
        self.gradient(f"{i}.fc1", "AddmmBackward0", "mm")
        self.free(inner)
        return self.norm_backward(f"{i}.ln2", grad, narrow, saved, hidden)

    def norm_backward(self, name, grad, narrow, saved, hidden):
        normed = self.backward(hidden, "FusedRmsNormBackward0", "_fused_rms_norm_backward")
        self.gradient(name, "FusedRmsNormBackward0", "_fused_rms_norm_backward")
        self.free(narrow, saved["norm"], saved["rstd"])
        total = self.new(hidden, self.stacks.accumulate("add"))
        self.free(normed, grad, saved["x"])
        return total

    def attention_backward(self, i, grad, saved, hidden, tokens):
        narrow = self.backward(hidden, "AddmmBackward0", "mm")
        self.gradient(f"{i}.proj", "AddmmBackward0", "mm")
        node, op = "ScaledDotProductFlashAttentionBackward0", "_scaled_dot_product_flash_attention_backward"
        parts = [self.backward(hidden, node, op) for _ in "qkv"]
        scratch = [self.backward(2 * hidden, node, op), self.backward(tokens * HEADS * FP32, node, op)]
        self.free(*scratch, narrow, saved["out"], saved["lse"], saved["rng"], saved["q"], saved["k"], saved["v"])
        joined = self.backward(3 * hidden, "SplitBackward0", "cat")
        self.free(*parts)
        narrow = self.backward(hidden, "AddmmBackward0", "mm")
        self.gradient(f"{i}.qkv", "AddmmBackward0", "mm")
        self.free(joined)
        return self.norm_backward(f"{i}.ln1", grad, narrow, saved, hidden)

    def run_backward(self, saved, batch, length, stop_at=-1):
        """Down to layer `stop_at`, exclusive, where the snapshot is taken; -1: to the end."""
        tokens = batch * length
        hidden = tokens * WIDTH * BF16
        wide = self.backward(tokens * VOCAB * FP32, "LogSoftmaxBackward0", "_log_softmax_backward_data")
        self.free(saved["log_softmax"], saved["loss"])
        logits = self.backward(tokens * VOCAB * BF16, "ToCopyBackward0", "_to_copy")
        self.free(wide)
        narrow = self.backward(hidden, "AddmmBackward0", "mm")
        self.gradient("wte", "AddmmBackward0", "mm")
        self.free(logits)
        grad = self.backward(hidden, "FusedRmsNormBackward0", "_fused_rms_norm_backward")
        self.gradient("ln_f", "FusedRmsNormBackward0", "_fused_rms_norm_backward")
        self.free(narrow, saved["norm"], saved["last"])
        for i in reversed(range(LAYERS)):
            if i == stop_at:
                self.all_reduce()  # so the last block let go of is still in use on the other stream
                return
            attention, mlp = saved["layers"][i]
            grad = self.mlp_backward(i, grad, mlp, hidden)
            grad = self.attention_backward(i, grad, attention, hidden, tokens)
        table = self.backward(VOCAB * WIDTH * BF16, "EmbeddingBackward0", "embedding_dense_backward")
        self.free(grad, table, *saved["ids"])
        self.all_reduce()
        self.free(*self.gather)
        self.gather = []

    # ---- optimizer

    def step_optimizer(self):
        self.clock.now += 20000  # clipping waits for the all-reduce
        norms = [self.new(FP32, self.stacks.app(
            "linalg_vector_norm", ("train", APP + "/train.py", 214), ("train_step", APP + "/train.py", 172),
            ("clip_grad_norm_", TORCH + "/nn/utils/clip_grad.py", 220))) for _ in self.parameters]
        self.free(*norms)
        if not self.has_states:
            self.has_states = True
            for parameter in self.parameters.values():
                for line in (191, 196):
                    self.new(parameter.count * FP32, self.stacks.optimizer("zeros_like", "_init_group", line))
        roots = [self.new(p.count * FP32, self.stacks.optimizer("_foreach_sqrt", "_multi_tensor_adam", 748))
                 for p in self.parameters.values()]
        self.free(*roots)

    def zero_grad(self):
        for parameter in self.parameters.values():
            if parameter.grad is not None:
                self.free(parameter.grad)
            parameter.grad = None

    # ---- the program

    def evaluate(self):
        self.annotate("evaluate", "START")
        saved = self.run_forward(BATCH // 2, 3 * LENGTH // 2)
        for attention, mlp in saved["layers"]:
            for part in (attention, mlp):
                self.free(*part.values())
        self.free(saved["last"], saved["norm"], saved["log_softmax"], saved["loss"], *saved["ids"])
        self.annotate("evaluate", "END")

    def train_step(self, number, is_last, length=LENGTH):
        self.annotate(f"ProfilerStep#{number}", "START")
        self.annotate("forward", "START")
        saved = self.run_forward(BATCH, length)
        self.annotate("forward", "END")
        self.annotate("backward", "START")
        self.run_backward(saved, BATCH, length, stop_at=12 if is_last else -1)
        if is_last:
            return
        self.annotate("backward", "END")
        self.annotate("optimizer", "START")
        self.step_optimizer()
        self.zero_grad()
        self.annotate("optimizer", "END")
        self.annotate(f"ProfilerStep#{number}", "END")

    def run(self):
        self.allocator.recording = True
        self.train_step(0, False)
        self.evaluate()
        self.train_step(1, False)
        self.train_step(2, True)

    def snapshot(self):
        divisions = {str(1 << i): 0 for i in range(16)}
        return {"segments": self.allocator.snapshot_segments(), "device_traces": [self.allocator.trace, []],
                "allocator_settings": {
                    "PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                    "expandable_segments": False, "pinned_num_register_threads": 1,
                    "release_lock_on_cudamalloc": False, "pinned_use_cuda_host_register": False,
                    "roundup_power2_divisions": divisions, "graph_capture_record_stream_reuse": False},
                "external_annotations": self.annotations}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    training = Training()
    training.run()
    with open(sys.argv[1], "wb") as out:
        pickle.dump(training.snapshot(), out, protocol=4)


if __name__ == "__main__":
    main()
