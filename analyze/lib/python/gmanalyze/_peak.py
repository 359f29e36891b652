# SPDX-License-Identifier: Apache-2.0
"""For tests: a part of a program, or a command, must not need more memory than it may."""
from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Iterator, List, Optional, Sequence, Union

from ._errors import CheckFailed, MissingError, UsageError, error_of
from ._library import program_path, shared_path
from ._result import Node, Report, analyze, format_bytes

_MEASURES = ("allocated", "reserved", "active", "requested")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(size: Union[int, str]) -> int:
    """Bytes of 12345, "512MiB", "1.5 GiB", "70G": all units are binary, as in the programs."""
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(?:([kmgt]?)(?:i?b)?|bytes?)\s*", size, re.IGNORECASE)
    if found is None:
        raise UsageError(f"{size!r} is no size, as in 512MiB or 1.5GiB", "usage")
    return int(float(found[1]) * 1024 ** _POWERS[(found[2] or "").lower()])


def _recorder_module() -> Any:
    spec = importlib.util.spec_from_file_location("gm_record", shared_path("gm_record.py"))
    if spec is None or spec.loader is None:
        raise MissingError("gm_record.py cannot be read", "missing")
    if "gm_record" in sys.modules:  # the program's own: there is one recording in a process
        return sys.modules["gm_record"]
    module = importlib.util.module_from_spec(spec)
    sys.modules["gm_record"] = module
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def assert_peak_below(limit: Union[int, str], *, measure: str = "allocated", device: int = -1,
                      keep: Union[str, "os.PathLike[str]", None] = None, max_entries: int = 1_000_000) -> Iterator[None]:
    """Fails (CheckFailed, an AssertionError that tells what the peak was made of) if what happens inside needs more GPU
    memory than `limit` ("40GiB", or bytes) at once, with what lived before it. A context manager, and a decorator:

        with gm.assert_peak_below("40GiB"):
            train_step(batch)

    measure: "allocated" (blocks as the allocator rounds them), "reserved" (with what it caches, also from before),
    "active", "requested". device: an ordinal; -1: the one with most. keep: a folder in which a failure leaves memory.html.
    It records with PyTorch's history (gm_record.py): the program must not do so itself meanwhile. MissingError if CUDA is
    not used inside; on a machine without a GPU `gmdry -- python -m pytest` has one that is made up, with true sizes."""
    most = parse_size(limit)
    if measure not in _MEASURES:
        raise UsageError(f"measure is {', '.join(_MEASURES)}, not {measure!r}", "usage")
    with tempfile.TemporaryDirectory(prefix="gmanalyze-") as folder:
        recording = _recorder_module().record(output=folder, csv=False, auto_step=False, keep_peaks=True,
                                              max_entries=max_entries)
        if not hasattr(recording, "files"):
            raise UsageError("another recording of gm_record goes on: its snapshots are not of this part alone", "usage")
        with recording:
            yield
        snapshots = [path for path in recording.files if path.endswith(".pickle")]
        if not snapshots:
            raise MissingError("nothing was recorded: CUDA was not used inside, or is missing", "missing")
        report = analyze(snapshots[-1])
        _check(report, most, measure, device, keep)


def _check(report: Report, most: int, measure: str, device: int,
           keep: Union[str, "os.PathLike[str]", None]) -> None:
    peak = report.peak_bytes(measure, device) or 0
    if peak <= most:
        return
    kept = ""
    if keep is not None:
        os.makedirs(keep, exist_ok=True)
        for name in ("memory.html", "analysis_report.txt"):
            if name in report.files():
                with open(os.path.join(keep, name), "wb") as file:
                    file.write(report.file(name))
        kept = f"\nkept in {os.fspath(keep)}"
    raise CheckFailed(f"peak {measure} is {format_bytes(peak)} ({peak:,} bytes), above {format_bytes(most)} "
                      f"({most:,} bytes)\n{report}{kept}", peak, most, report)


def assert_command_below(limit: Union[int, str], command: Sequence[str], *, gpu: Optional[str] = None,
                         steps: Optional[int] = None, options: Sequence[str] = (),
                         run: Callable[..., "subprocess.CompletedProcess[bytes]"] = subprocess.run) -> Node:
    """Runs a command of PyTorch without a GPU (gmdry) and fails (CheckFailed) if it would reserve more than `limit` on any
    device, or run out of the card's memory. gpu: the card, "rtx-4090" (an H100 if None); steps: the command ends after so
    many optimizer steps; options: further ones of gmdry. Returns gmdry's JSON.

        gm.assert_command_below("20GiB", [sys.executable, "train.py"], gpu="rtx-4090", steps=2)"""
    most = parse_size(limit)
    words: List[str] = [program_path("gmdry"), "--json", "-", "--limit", f"{most}B", "--no-charts"]
    words += ["--gpu", gpu] if gpu is not None else []
    words += ["--steps", str(steps)] if steps is not None else []
    with tempfile.TemporaryDirectory(prefix="gmanalyze-") as folder:
        done = run([*words, "-o", folder, *options, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode not in (0, 1):
        raise error_of(done.returncode, "command", None, said or f"gmdry ended with {done.returncode}")
    answer = Node(json.loads(done.stdout))
    if done.returncode == 1:
        peak = max((one["peak_reserved_bytes"] or 0 for one in answer.devices), default=0)
        raise CheckFailed(f"{answer.verdict}: {format_bytes(peak)} reserved, {format_bytes(most)} allowed\n{said}", peak,
                          most, answer)
    return answer
