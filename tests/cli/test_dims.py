#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--dims: a training step of a transformer whose dimensions are known, told by its sizes alone."""
from harness import Case, Recorded, frame, main, write

DIMS = {"batch": 2, "seq": 96, "hidden": 640, "heads": 10, "layers": 6, "vocab": 5000, "ffn": 1728}
NN, OPTIM = "/app/torch/nn/modules", "/app/torch/optim/adamw.py"


class Transformer:
    """Its tensors, by the shapes that a LLaMA has."""

    def __init__(self, width=4, kv_heads=None, q=None, ffn=None):
        self.allocator, self.width = Recorded(), width
        self.queries = q or DIMS["hidden"]
        d = DIMS
        kv = (kv_heads or d["heads"]) * d["hidden"] // d["heads"]
        square, self.ffn = d["hidden"] * (q or d["hidden"]), ffn or d["ffn"]
        ffn, embedding = d["hidden"] * self.ffn, d["hidden"] * d["vocab"]
        self.shapes = [embedding, embedding, d["hidden"]]
        for _ in range(d["layers"]):
            self.shapes += [square, square, kv * d["hidden"], kv * d["hidden"], ffn, ffn, ffn, d["hidden"], d["hidden"]]
        self.tokens = d["batch"] * d["seq"]

    def alloc(self, numbers, name, file, width=None):
        return self.allocator.alloc(numbers * (width or self.width),
                                    [frame(name, file, 7), frame("<module>", "/app/train.py", 30)])

    def setup(self):
        for numbers in self.shapes:
            self.alloc(numbers, "__init__", f"{NN}/linear.py")

    def forward(self):
        d, t, kept = DIMS, self.tokens, []
        mask = self.alloc(d["seq"] ** 2, "forward", "/app/model.py", 1)
        for _ in range(d["layers"]):
            rows = [d["hidden"]] * 6 + [self.queries] * 2 + [self.ffn] * 4 + [d["heads"] * d["seq"]]
            kept += [self.alloc(t * row, "forward", "/app/model.py") for row in rows]
        self.allocator.free(mask)
        return kept + [self.alloc(t * d["vocab"], "forward", "/app/model.py")]

    def backward(self, kept):
        grads = [self.alloc(numbers, "backward", "/app/torch/autograd/graph.py") for numbers in self.shapes]
        for block in reversed(kept):
            self.allocator.free(block)
        return grads

    def train(self, steps=3):
        self.setup()
        for step in range(steps):
            grads = self.backward(self.forward())
            if step == 0:
                for numbers in 2 * self.shapes:
                    self.alloc(numbers, "_init_group", OPTIM, 4)
            self.allocator.free(self.alloc(self.shapes[0], "step", OPTIM))
            for grad in grads:
                self.allocator.free(grad)
        self.forward()
        return self.allocator.snapshot()


EXPERTS = {"experts": 12, "topk": 3, "ffn": 400}


class Experts(Transformer):
    """Of a mixture: experts with matrices and rows of their own, or all experts' matrices of a layer in one, and their rows."""

    def __init__(self, joined, width):
        super().__init__(width)
        self.joined, ffn = joined, DIMS["hidden"] * EXPERTS["ffn"]
        dense = DIMS["hidden"] * DIMS["ffn"]
        self.shapes = [n for n in self.shapes if n != dense]
        for _ in range(DIMS["layers"]):
            self.shapes += [2 * 12 * ffn, 12 * ffn] if joined else [ffn] * 3 * 12
            self.shapes.append(DIMS["hidden"] * 12)

    def forward(self):
        d, t, kept = DIMS, self.tokens, []
        mask = self.alloc(d["seq"] ** 2, "forward", "/app/model.py", 1)
        rows = [3 * t] if self.joined else [t // 2 + 11, 3 * t - t // 2 - 11]  # of two experts that are chosen
        for _ in range(d["layers"]):
            for row in [d["hidden"]] * 8 + [d["heads"] * d["seq"]]:
                kept.append(self.alloc(t * row, "forward", "/app/model.py"))
            self.allocator.free(self.alloc(t * 12, "forward", "/app/model.py"))
            for numbers, width in ((12, 4), (3, 4), (3, 8)):
                kept.append(self.alloc(t * numbers, "forward", "/app/model.py", width))
            for n in rows:
                kept += [self.alloc(n * row, "forward", "/app/model.py") for row in [640] * 3 + [400] * 4]
        self.allocator.free(mask)
        return kept + [self.alloc(t * d["vocab"], "forward", "/app/model.py")]


class Dims(Case):
    def dims(self, snapshot, wanted="infer"):
        write(self.snapshot, snapshot)
        return self.analysis("--dims", wanted, self.snapshot)["timeline"]["devices"][0]["dims"]

    def values(self, told):
        return {row["name"]: row["value"] for row in told["values"]}

    def test_inferred(self):
        told = self.dims(Transformer().train())
        values = self.values(told)
        self.assertEqual({name: values[name] for name in DIMS}, DIMS)
        self.assertFalse(any(row["is_given"] for row in told["values"]))
        self.assertEqual((values["tokens"], values["head"], values["kv_heads"]), (192, 64, 10))
        self.assertEqual(told["explained_bytes"], told["peak_requested_bytes"])

    def test_half_precision_and_shared_heads(self):
        values = self.values(self.dims(Transformer(2, 2).train()))
        self.assertEqual({name: values[name] for name in DIMS} | {"kv_heads": values["kv_heads"]},
                         DIMS | {"kv_heads": 2})

    def test_wide_heads(self):
        """Heads whose widths are more than hidden together, and ffn three times hidden: which is no q, k and v."""
        model = Transformer(kv_heads=5, q=1280, ffn=1920).train()
        told = self.dims(model)
        values = self.values(told)
        self.assertEqual({name: values.get(name) for name in ("hidden", "layers", "ffn", "vocab")},
                         {"hidden": 640, "layers": 6, "ffn": 1920, "vocab": 5000})
        self.assertTrue(all("doubtful" in r["source"] for r in told["values"] if r["name"] in ("heads", "seq")))
        told = self.dims(model, "heads=20,head=64,kv_heads=5,hidden=640,batch=2,seq=96")
        rows = {row["bytes"]: row["formula"] for row in told["sizes"]}
        self.assertEqual(rows[640 * 1280 * 4], "hidden*heads*head*4 B")
        needs = {row["name"]: row for row in told["needs"]}
        self.assertIn("2*hidden*heads*head + 2*hidden*kv_heads*head", needs["Parameters"]["formula"])
        self.assertEqual(needs["Parameters"]["difference_bytes"], 0)

    def test_norms_of_heads(self):
        """Norms of q and k tell the width of a head, whatever hidden is."""
        model = Transformer(kv_heads=5, q=1280)
        model.shapes += [80] * 2 * DIMS["layers"]
        values = self.values(self.dims(model.train()))
        self.assertEqual([values.get(name) for name in ("hidden", "head", "heads", "kv_heads", "layers")],
                         [640, 80, 16, 4, 6])

    def test_ffn_of_one_and_a_half(self):
        """Matrices of hidden * 1.5 hidden in fp32 are as large as q, k and v together in bf16."""
        values = self.values(self.dims(Transformer(ffn=960).train()))
        self.assertEqual([values[name] for name in ("hidden", "ffn", "layers", "tokens")], [640, 960, 6, 192])

    def test_experts(self):
        for joined, width in ((False, 4), (False, 2), (True, 4)):
            with self.subTest(joined=joined, width=width):
                told = self.dims(Experts(joined, width).train())
                values = self.values(told)
                self.assertEqual({name: values.get(name) for name in (*EXPERTS, "hidden", "layers", "vocab")},
                                 EXPERTS | {"hidden": 640, "layers": 6, "vocab": 5000})
                needs = {row["name"]: row for row in told["needs"]}
                self.assertEqual(needs["Parameters"]["difference_bytes"], 0)
                self.assertEqual(needs["Gradients"]["difference_bytes"], 0)
                self.assertIn("hidden*experts + experts*3*hidden*ffn", needs["Parameters"]["formula"])
                layer = 192 * (8 * 640 + 10 * 96 + 3 * (3 * 640 + 4 * 400)) * width + 192 * 12 * 4
                self.assertEqual(needs["Activations of a layer"]["bytes"], layer)
                measured = needs["Activations of all layers"]
                self.assertLess(abs(measured["difference_percent"]), 1)
                if joined:
                    self.assertEqual(told["explained_bytes"], told["peak_requested_bytes"])
                self.assertIn("index_add", told["doubt"])

    def test_experts_given(self):
        model = Experts(False, 4).train()
        told = self.dims(model, "experts=12,topk=5,head_dim=64")
        values = {row["name"]: row for row in told["values"]}
        self.assertEqual([(values[n]["value"], values[n]["is_given"]) for n in ("topk", "head", "experts")],
                         [(5, True), (64, True), (12, True)])
        dense = self.dims(Transformer().train(), "experts=8")
        self.assertEqual(self.values(dense)["topk"], 1)
        weights = Experts(True, 4)
        weights.setup()
        told = self.dims(weights.allocator.snapshot(), "batch=2,seq=96,layers=6,experts=12,ffn=400")
        self.assertEqual((told["missing"], told["needs"]), ("topk", []))

    def test_no_experts(self):
        """What looks like a router: adapters of a low rank, whose other matrices are dense; biases of ffn."""
        adapters = Transformer(ffn=2560)
        adapters.shapes += [640 * 16, 16 * 2560] * DIMS["layers"]
        biases = Transformer(ffn=2560)
        biases.shapes += [2560] * DIMS["layers"]
        for model in (adapters, biases):
            values = self.values(self.dims(model.train()))
            self.assertNotIn("experts", values)
            self.assertEqual(values["ffn"], 2560)

    def test_formulas(self):
        rows = {row["bytes"]: row for row in self.dims(Transformer().train())["sizes"]}
        for size, formula in ((192 * 640 * 4, "batch*seq*hidden*4 B"), (192 * 1728 * 4, "batch*seq*ffn*4 B"),
                              (192 * 5000 * 4, "batch*seq*vocab*4 B"), (192 * 10 * 96 * 4, "batch*seq*heads*seq*4 B"),
                              (640 * 640 * 4, "hidden*hidden*4 B"), (640 * 5000 * 4, "hidden*vocab*4 B")):
            self.assertEqual(rows[size]["formula"], formula)
        self.assertEqual(rows[192 * 1728 * 4]["blocks_at_peak"] % 24, 0)

    def test_needs(self):
        """Sums by hand of what the script above allocates."""
        needs = {row["name"]: row for row in self.dims(Transformer().train())["needs"]}
        parameters = 4 * sum(Transformer().shapes)
        for name, bytes_ in (("Parameters", parameters), ("Gradients", parameters), ("Optimizer state", 2 * parameters),
                             ("One tensor of the residual stream", 192 * 640 * 4),
                             ("Activations of a layer", 4 * 192 * (8 * 640 + 4 * 1728 + 960)),
                             ("Activations of all layers", 6 * 4 * 192 * (8 * 640 + 4 * 1728 + 960)),
                             ("Logits", 4 * 192 * 5000)):
            self.assertEqual(needs[name]["bytes"], bytes_, name)
        self.assertEqual(needs["Parameters"]["measured_bytes"], parameters)
        self.assertEqual((needs["Parameters"]["difference_bytes"], needs["Parameters"]["remark"]), (0, None))

    def test_given(self):
        """What is given counts, also where sizes say something else; the rest is still inferred."""
        told = self.dims(Transformer().train(), "hidden=320,layers=3")
        self.assertEqual((self.values(told)["hidden"], self.values(told)["layers"]), (320, 3))
        given = ",".join(f"{name}={value}" for name, value in DIMS.items())
        told = self.dims(Transformer().train(), given)
        self.assertEqual({row["name"] for row in told["values"] if row["is_given"]}, set(DIMS))
        self.assertEqual(told["explained_bytes"], told["peak_requested_bytes"])

    def test_text(self):
        write(self.snapshot, Transformer().train())
        self.run_it("--no-charts", "--dims", "infer", self.snapshot)
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            text = " ".join(file.read().split())
        self.assertIn("hidden 640 13 parameters of so many numbers, and of its square", text)
        self.assertIn("(layers*(4*hidden*hidden + 3*hidden*ffn + 2*hidden) + 2*hidden*vocab + hidden)*4 B", text)
        self.assertIn("100.0 % are in blocks whose size is a product of these dimensions", text)

    def test_no_transformer(self):
        allocator = Recorded()
        for size in (1 << 20, 3 << 20, 12345):
            allocator.alloc(size, [frame("<module>", "/app/train.py", 3)])
        told = self.dims(allocator.snapshot())
        self.assertEqual((told["values"], told["needs"], told["explained_bytes"]), ([], [], 0))
        self.assertEqual(told["missing"], "tokens, hidden, layers, vocab, ffn")

    def test_lies(self):
        """Sizes and dimensions whose products leave 64 bits."""
        snapshot = Transformer().train(1)
        for size in (2**63 - 1, 2**62, 2**40):
            snapshot["device_traces"][0].append({"action": "alloc", "addr": 1 << 50, "size": size, "stream": 0, "frames": []})
        self.dims(snapshot)
        most = ",".join(f"{name}=4294967295" for name in (*DIMS, "experts"))
        self.assertEqual(self.values(self.dims(snapshot, most))["hidden"], 4294967295)

    def test_wrong(self):
        write(self.snapshot)
        for wrong in ("", "hidden", "hidden=", "hidden=0", "hidden=1,", "width=3", "hidden=99999999999", "hidden=12x"):
            self.run_it("--dims", wrong, self.snapshot, code=2)


main()
