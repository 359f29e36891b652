# SPDX-License-Identifier: Apache-2.0
"""gm_record.py with real PyTorch under gmdry (GM_TORCH_PYTHON: a Python with a CUDA build of torch; no GPU), and with the
real Lightning and transformers where that Python has them; what is not there is skipped."""
import os
import pickle
import subprocess
import tempfile
import unittest

PYTHON, GMDRY = os.environ.get("GM_TORCH_PYTHON"), os.environ["GMDRY"]
RECORDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "replay", "recorder")

NET = """
import gm_record, pickle, sys
assert not {"torch", "lightning", "pytorch_lightning", "transformers"} & set(sys.modules)
import torch

def net():
    return torch.nn.Linear(1000, 1000)

def train(steps):
    model = net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        model(torch.randn(32, 1000, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
LIGHTNING = NET + """
import importlib
L = importlib.import_module(sys.argv[1])

class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = net()

    def training_step(self, batch, i):
        return self.net(batch).sum()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())

callback = pickle.loads(pickle.dumps(gm_record.LightningCallback("fit", every=2, csv=False)))
trainer = L.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                    callbacks=[callback], accumulate_grad_batches=2, enable_progress_bar=False)
trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(256, 1000), batch_size=32))
"""
TRANSFORMERS = NET + """
import transformers as T

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net()

    def forward(self, x, labels=None):
        y = self.net(x)
        return {"loss": y.sum(), "logits": y}

data = [{"x": torch.randn(1000), "labels": torch.zeros(1)} for _ in range(64)]
arguments = T.TrainingArguments("out", max_steps=4, per_device_train_batch_size=8, report_to=[], save_strategy="no",
                                gradient_accumulation_steps=2, disable_tqdm=True)
T.Trainer(Net(), arguments, train_dataset=data, callbacks=[gm_record.TrainerCallback("fit", steps=3, csv=False)]).train()
"""


@unittest.skipUnless(PYTHON, "GM_TORCH_PYTHON is not set")
class Torch(unittest.TestCase):
    def run_program(self, text, *words):
        folder = tempfile.TemporaryDirectory(prefix="gm_record-")
        self.addCleanup(folder.cleanup)
        self.at = folder.name
        with open(os.path.join(self.at, "train.py"), "w", encoding="utf-8") as file:
            file.write(text)
        path = os.pathsep.join([RECORDER] + os.environ.get("PYTHONPATH", "").split(os.pathsep)).rstrip(os.pathsep)
        return subprocess.run([GMDRY, "-q", "--gpu", "rtx-4090", "--", PYTHON, *words], cwd=self.at,
                              env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300)

    def files(self):
        found = []
        for folder, _, names in os.walk(os.path.join(self.at, "memory_snapshot")):
            found += [os.path.relpath(os.path.join(folder, name), os.path.join(self.at, "memory_snapshot")) for name in names]
        return sorted(found)

    def check_stacks(self, path, function):
        """Every block that lives has a stack, and one of them is of the weights on their way to the card."""
        with open(os.path.join(self.at, "memory_snapshot", path), "rb") as file:
            blocks = [block for segment in pickle.load(file)["segments"] for block in segment["blocks"]
                      if block["state"] == "active_allocated"]
        self.assertTrue(blocks and all(block["frames"] for block in blocks))
        names = {frame["name"] for block in blocks for frame in block["frames"]}
        self.assertTrue(function & names, sorted(names))

    def test_command(self):
        done = self.run_program(NET.replace("import gm_record, ", "import ").replace('"torch", ', "") + "train(4)\n",
                                os.path.join(RECORDER, "gm_record.py"), "--every", "2", "--", "train.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, "gm_record: .* failed: ")
        self.assertEqual(self.files(), ["iteration_2/rank0_memory_snapshot.pickle",
                                        "iteration_4/rank0_2_memory_snapshot.pickle",
                                        "iteration_4/rank0_memory_snapshot.pickle", "rank0_memory_steps.csv"])
        self.check_stacks("iteration_4/rank0_memory_snapshot.pickle", {"cuda"})

    def test_decorator_and_out_of_memory(self):
        done = self.run_program(NET + """
gm_record.record("out", steps=2, csv=False)(train)(4)
with gm_record.record("oom", csv=False):
    try:
        torch.empty(100 << 30, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        print("ran out")
""", "train.py")
        self.assertEqual((done.returncode, done.stdout[:8]), (0, "ran out\n"), done.stderr)
        self.assertNotRegex(done.stderr, "gm_record: .* failed: ")
        self.assertEqual(self.files(), ["oom/iteration_0/rank0_memory_snapshot.pickle",
                                        "oom/iteration_0/rank0_oom_memory_snapshot.pickle",
                                        "oom/iteration_0/rank0_oom_memory_snapshot.txt",
                                        "out/iteration_2/rank0_memory_snapshot.pickle"])
        with open(os.path.join(self.at, "memory_snapshot", self.files()[2]), encoding="utf-8") as file:
            why = dict(line.split(": ") for line in file.read().splitlines()[2:])
        self.assertEqual((why["device"], why["requested_bytes"]), ("0", str(100 << 30)))
        self.assertLess(int(why["device_free_bytes"]), int(why["device_total_bytes"]))

    def needs(self, module, as_well="True"):
        test = f"import importlib.util as u; assert u.find_spec('{module}') and {as_well}"
        if subprocess.run([GMDRY, "-q", "--", PYTHON, "-c", test], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{PYTHON} has no {module} for its torch")

    def check_trainer(self, done, *files):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.files(), list(files), done.stderr)
        self.check_stacks(files[0], {"to", "_apply", "convert"})

    def test_lightning(self):
        for module in ("lightning.pytorch", "pytorch_lightning"):
            with self.subTest(module):
                self.needs(module.partition(".")[0])
                done = self.run_program(LIGHTNING, "train.py", module)
                self.check_trainer(done, "fit/iteration_2/rank0_memory_snapshot.pickle",
                                   "fit/iteration_4/rank0_2_memory_snapshot.pickle",
                                   "fit/iteration_4/rank0_memory_snapshot.pickle")

    def test_transformers(self):
        self.needs("transformers", "__import__('transformers').utils.is_torch_available()")
        self.check_trainer(self.run_program(TRANSFORMERS, "train.py"), "fit/iteration_3/rank0_memory_snapshot.pickle")


if __name__ == "__main__":
    unittest.main()
