# SPDX-License-Identifier: Apache-2.0
"""What the checks of this folder share: gmreplay on a GPU and on the simulated one, and how their snapshots compare."""
import io
import json
import os
import pickle
import subprocess
import tempfile


class RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused: {module}.{name}")


def load(path):
    with open(path, "rb") as file:
        return RestrictedUnpickler(io.BytesIO(file.read())).load()


class Run:
    """One run of the program, with --json; `left` is what the fake GPU says at the end."""

    def __init__(self, program, trace, *options, **environment):
        with tempfile.TemporaryDirectory() as folder:
            report, found = os.path.join(folder, "report"), os.path.join(folder, "json")
            fake = {"FAKE_CUDA_" + key.upper(): str(value) for key, value in environment.items()}
            done = subprocess.run([program, "--json", found, *map(str, options), str(trace)], capture_output=True,
                                  check=False, env=dict(os.environ, FAKE_CUDA_REPORT=report, **fake))
            self.code, self.text = done.returncode, done.stdout.decode(errors="replace")
            self.errors = done.stderr.decode(errors="replace").strip()
            self.json = self.left = None
            if os.path.exists(found):
                with open(found, encoding="utf-8") as file:
                    self.json = json.load(file)
            if os.path.exists(report):
                with open(report, encoding="utf-8") as file:
                    self.left = json.load(file)

    def device(self, index=0):
        return self.json["devices"][index]

    def held(self):
        """What is still there, by name."""
        return {k: v for k, v in (self.left or {}).items() if k not in ("calls", "failed") and v != 0}


ONLY_SIMULATED = ("peak_reserved_range_bytes", "other_placements", "other_placements_run")
ONLY_ON_GPU = ("gpu",)


def decisions(device):
    """A device's results, without those that hang on the GPU, and what other places of segments would lead to: a GPU has
    its own."""
    return {k: v for k, v in device.items() if k not in ONLY_ON_GPU and k not in ONLY_SIMULATED}


def compare(ours, theirs):
    """Complaints about two snapshots that should be the same but for an order-preserving renumbering of addresses."""
    maps, wrong = {}, []  # each device has addresses of its own

    def same_address(device, a, b, where):
        forth, back = maps.setdefault(device, ({}, {}))
        if forth.setdefault(a, b) != b or back.setdefault(b, a) != a:
            wrong.append(f"{where}: {a:#x} and {b:#x} stood for others before")

    def walk(a, b, where, device=None, key=None):
        if where.count("[") == 1 and ".device_traces[" in where:
            device = int(where[where.index("[") + 1:-1])
        elif isinstance(a, dict) and "total_size" in a:
            device = a["device"]
        if len(wrong) > 3:
            return
        if key == "frames":  # shared by many rows, and without addresses
            if a is not b and a != b:
                wrong.append(f"{where}: {str(a)[:80]} and {str(b)[:80]}")
        elif key in ("address", "addr") and isinstance(a, int) and isinstance(b, int):
            same_address(device, a, b, where)
        elif isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
            for k in a:
                walk(a[k], b[k], f"{where}.{k}", device, k)
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
            for i, (x, y) in enumerate(zip(a, b)):
                walk(x, y, f"{where}[{i}]", device)
        elif a != b:
            wrong.append(f"{where}: {str(a)[:80]} and {str(b)[:80]}")

    walk(ours, theirs, "snapshot")
    for device, (forth, _) in maps.items():
        order = [forth[a] for a in sorted(forth)]
        if order != sorted(order):
            wrong.append(f"the addresses of device {device} are not in the same order")
    return wrong
