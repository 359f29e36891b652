# SPDX-License-Identifier: Apache-2.0
"""What is concluded of snapshots: reports, replays, differences."""
from __future__ import annotations

import base64
import ctypes
import html
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type, TypeVar, Union

from ._errors import MissingError
from ._library import UNKNOWN, Handle, Problem, lib, option_list
from ._snapshot import Snapshot, Source, load

_MOST_FILES = 64
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def format_bytes(count: float) -> str:
    """14.03 GiB."""
    for unit in _UNITS[:-1]:
        if abs(count) < 1024:
            break
        count /= 1024
    else:
        unit = _UNITS[-1]
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.2f} {unit}"


class Node(Mapping[str, Any]):
    """An object of JSON: node.key or node["key"]; objects inside are nodes, too."""

    def __init__(self, values: Dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        return _wrap(self._values[key])

    def __getattr__(self, key: str) -> Any:
        values = self.__dict__.get("_values", {})
        if key not in values:
            raise AttributeError(f"no {key!r} here: {', '.join(values)}")
        return _wrap(values[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        return "\n".join(f"{key}: {_short(key, value)}" for key, value in self._values.items())

    def to_dict(self) -> Dict[str, Any]:
        """The plain dictionary."""
        return self._values


def _wrap(value: Any) -> Any:
    if isinstance(value, dict):
        return Node(value)
    if isinstance(value, list):
        return [_wrap(one) for one in value]
    return value


def _short(key: str, value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(value) + "}"
    if isinstance(value, list):
        return f"[{len(value)}]" + (f" of {{{', '.join(value[0])}}}" if value and isinstance(value[0], dict) else "")
    if key.endswith("bytes") and isinstance(value, (int, float)):
        return f"{value:,} ({format_bytes(value)})"
    return repr(value)


class Chart:
    """A picture that shows itself in a notebook. `png`: its bytes."""

    def __init__(self, name: str, png: bytes) -> None:
        self.name = name
        self.png = png

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return f"<Chart {self.name}: {len(self.png):,} bytes>"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the PNG file."""
        with open(path, "wb") as file:
            file.write(self.png)


class Page:
    """memory.html: one file that needs no network. It shows itself in a notebook."""

    def __init__(self, content: bytes) -> None:
        self.html = content.decode("utf-8")

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html, quote=True)}" sandbox="allow-scripts allow-downloads" '
                'style="width:100%;height:760px;border:1px solid #ccc"></iframe>')

    def __repr__(self) -> str:
        return f"<Page: {len(self.html):,} characters; save() writes memory.html>"

    def save(self, path: Union[str, "os.PathLike[str]"] = "memory.html") -> None:
        """Writes the file, which any browser shows."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self.html)


class Charts(Mapping[str, Chart]):
    """The pictures by name, drawn when they are asked for: charts["memory_timeline"], charts.memory_timeline."""

    def __init__(self, result: "Result") -> None:
        self._result = result
        self._names = [name[:-4] for name in result.files() if name.endswith(".png")]

    def __getitem__(self, name: str) -> Chart:
        if name not in self._names:
            raise KeyError(name)
        return Chart(name, self._result.file(name + ".png"))

    def __getattr__(self, name: str) -> Chart:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"no chart {name!r} here: {', '.join(self.__dict__.get('_names', []))}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._names]

    def __repr__(self) -> str:
        return f"<charts: {', '.join(self._names)}>"

    def _repr_html_(self) -> str:
        return "".join(_image(self[name]) for name in self._names)


def _image(chart: Chart) -> str:
    data = base64.b64encode(chart.png).decode()
    return f'<img alt="{chart.name}" style="max-width:100%" src="data:image/png;base64,{data}">'


class Result(Node):
    """The keys of the program's JSON as attributes, and the files that it would write."""

    def __init__(self, handle: Handle) -> None:
        length = ctypes.c_size_t()
        text = ctypes.string_at(lib.gm_json(handle, length), length.value)
        super().__init__(json.loads(text))
        self._handle = handle
        self._json = text

    @property
    def json_bytes(self) -> bytes:
        """The JSON, byte by byte as the program writes it."""
        return self._json

    @property
    def exit_code(self) -> int:
        """The program's: 0, or 1 if a check failed or a replay ran out of memory."""
        return int(lib.gm_verdict(self._handle))

    def files(self) -> List[str]:
        """The names of the files that the program would write into its run directory."""
        names = (ctypes.c_char_p * _MOST_FILES)()
        count = lib.gm_file_names(self._handle, names, _MOST_FILES)
        return [name.decode() for name in names[:count] if name is not None]

    def file(self, name: str) -> bytes:
        """The bytes of one of them. UsageError if there is no such file."""
        problem, length = Problem(), ctypes.c_size_t()
        data = lib.gm_file(self._handle, name.encode(), length, problem)
        if not data:
            raise problem.error()
        return ctypes.string_at(data, length.value)

    @property
    def charts(self) -> Charts:
        """The pictures."""
        return Charts(self)

    def page(self) -> Page:
        """memory.html. MissingError where libgm was built without it."""
        if "memory.html" not in self.files():
            raise MissingError("libgm was built without the page", "missing")
        return Page(self.file("memory.html"))


class Report(Result):
    """What gmanalyze concludes: the keys of analysis.json."""

    def peak_bytes(self, measure: str = "reserved", device: int = -1) -> Optional[int]:
        """Bytes of the largest "reserved", "allocated", "active" or "requested" during the trace, each by itself, on a
        device (-1: the one with most). Without a trace those at the end; None: not known."""
        for name in ("peak_" + measure, measure):
            value = int(lib.gm_number(self._handle, name.encode(), device))
            if value != UNKNOWN:
                return value
        return None

    def _lines(self) -> List[Tuple[str, str]]:
        lines = self._values.get("headline") or self._values.get("headline_at_end") or []
        return [(line["label"], line["text"]) for line in lines]

    def __str__(self) -> str:
        """What stands first in the report."""
        width = max((len(label) for label, _ in self._lines()), default=0)
        return "\n".join(f"{label:{width}}  {text}" for label, text in self._lines())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(label)}</th><td style='text-align:left'>"
                       f"{html.escape(text)}</td></tr>" for label, text in self._lines())
        charts = self.charts
        first = next((name for name in ("memory_timeline", "memory_overview") if name in charts), None)
        return f"<table>{rows}</table>" + (_image(charts[first]) if first is not None else "")


class Replay(Result):
    """What gmreplay concludes."""

    @property
    def fits(self) -> bool:
        """Whether all that was asked for holds: it runs in the memory, below the limit, as recorded."""
        return self.exit_code == 0

    @property
    def peak_reserved_bytes(self) -> Optional[int]:
        """Bytes, of the device with most."""
        value = int(lib.gm_number(self._handle, b"peak_reserved", -1))
        return None if value == UNKNOWN else value

    def __str__(self) -> str:
        """The words of the program."""
        return self.file("replay.txt").decode("utf-8").rstrip("\n")


class Diff(Result):
    """What gmdiff concludes."""

    @property
    def passes(self) -> bool:
        """Whether the growth is within fail_growth."""
        return self.exit_code == 0

    def comment(self) -> str:
        """Markdown for a pull request."""
        return self.file("pr_comment.md").decode("utf-8")

    def __str__(self) -> str:
        """diff_report.txt."""
        return self.file("diff_report.txt").decode("utf-8").rstrip("\n")


_R = TypeVar("_R", bound=Result)


def _ask(kind: Type[_R], function: Any, *arguments: Any) -> _R:
    problem = Problem()
    return kind(Handle(function(*arguments, problem), lib.gm_result_free, problem))


def analyze(source: Source, **options: Any) -> Report:
    """What gmanalyze concludes of a path, a Snapshot, or what torch.cuda.memory._snapshot() returns. options: gmanalyze's
    (docs/cli.md) with _ for -: top=10, device=0, gpu="rtx-4090", from_="step:3", fail_above="70GiB", name="run" ..."""
    return _ask(Report, lib.gm_analyze, load(source)._handle, option_list(options))


def replay(source: Source, *, alloc_conf: Optional[str] = None, memory: Union[int, str, None] = None,
           gpu: Optional[str] = None, **options: Any) -> Replay:
    """What gmreplay concludes: would the recorded requests run with these allocator settings (as in PYTORCH_ALLOC_CONF), in
    this memory (bytes, or "24GiB") or on this card ("rtx-4090")? options: gmreplay's, as of analyze(): verify=True,
    sweep=True, fit=True, limit="23GiB", scale="Activation=0.5" ..."""
    wanted = {"alloc_conf": alloc_conf, "memory": memory, "gpu": gpu, **options}
    return _ask(Replay, lib.gm_replay, load(source)._handle, option_list(wanted))


def diff(base: Source, new: Source, *more: Source, **options: Any) -> Diff:
    """What gmdiff concludes: what changed from base to new, and to more. options: gmdiff's, as of analyze():
    fail_growth="2%" ..."""
    loaded: List[Snapshot] = [load(source) for source in (base, new, *more)]
    handles = (ctypes.c_void_p * len(loaded))(*(one._handle.pointer for one in loaded))
    return _ask(Diff, lib.gm_diff, handles, len(loaded), option_list(options))
