# SPDX-License-Identifier: Apache-2.0
"""libgm.so through ctypes, as gm.h has it, and where it and the programs are."""
from __future__ import annotations

import ctypes
import importlib.metadata
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Iterator, List, Optional, Tuple

from ._errors import GmError, LibraryNotFound, MissingError, error_of

SONAME = "libgm.so.1"
UNKNOWN = (1 << 64) - 1  # GM_UNKNOWN
SALVAGED = 1             # GM_LOAD_SALVAGED

_HERE = Path(__file__).resolve().parent


class Problem(ctypes.Structure):
    """struct gm_problem."""

    _fields_ = [("exit_code", ctypes.c_int), ("kind", ctypes.c_char * 16), ("offset", ctypes.c_uint64),
                ("text", ctypes.c_char * 640)]

    def error(self) -> GmError:
        offset = None if self.offset == UNKNOWN else int(self.offset)
        return error_of(self.exit_code, self.kind.decode(), offset, self.text.decode("utf-8", "replace"))


class Array(ctypes.Structure):
    """struct gm_array."""

    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("count", ctypes.c_size_t),
                ("stride", ctypes.c_size_t), ("type", ctypes.c_char)]


_P, _S, _N, _PROBLEM = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(Problem)
_OPTIONS = ctypes.POINTER(ctypes.c_char_p)
_FUNCTIONS: List[Tuple[str, Any, List[Any]]] = [
    ("gm_version", _S, []),
    ("gm_load", _P, [_S, ctypes.c_uint, ctypes.c_uint64, _PROBLEM]),
    ("gm_load_bytes", _P, [_P, _N, _S, ctypes.c_uint, ctypes.c_uint64, _PROBLEM]),
    ("gm_unload", None, [_P]),
    ("gm_arrays", _N, [_P, _S, ctypes.POINTER(Array), _N]),
    ("gm_word", _S, [_S, _N]),
    ("gm_warning", _S, [_P, _N]),
    ("gm_analyze", _P, [_P, _OPTIONS, _PROBLEM]),
    ("gm_replay", _P, [_P, _OPTIONS, _PROBLEM]),
    ("gm_diff", _P, [ctypes.POINTER(_P), _N, _OPTIONS, _PROBLEM]),
    ("gm_result_free", None, [_P]),
    ("gm_verdict", ctypes.c_int, [_P]),
    ("gm_json", _P, [_P, ctypes.POINTER(_N)]),
    ("gm_file_names", _N, [_P, ctypes.POINTER(_S), _N]),
    ("gm_file", _P, [_P, _S, ctypes.POINTER(_N), _PROBLEM]),
    ("gm_number", ctypes.c_uint64, [_P, _S, ctypes.c_int64]),
]


# ---- where things are ----

def _installed(name: str) -> Iterator[Path]:
    """Files of that name that came with the package, wherever pip has put them."""
    try:
        listed = importlib.metadata.files("gmanalyze") or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    for file in listed:
        if file.name == name:
            yield Path(str(file.locate())).resolve()


def _prefixes() -> Iterator[Path]:
    """What bin, lib and share lie below: the package's own, the interpreter's, the build folder of a checkout."""
    yield _HERE
    for up in (1, 4):  # pip install --target; site-packages
        if len(_HERE.parents) > up - 1:
            yield _HERE.parents[up - 1]
    yield Path(sys.prefix)
    if len(_HERE.parents) > 3 and (_HERE.parents[3] / "CMakeLists.txt").exists():
        yield _HERE.parents[3] / "build"
    yield Path("/usr/local")
    yield Path("/usr")


def _places() -> Iterator[str]:
    given = os.environ.get("GM_LIBRARY")
    if given:  # that one and no other
        yield given
        return
    yield str(_HERE / SONAME)
    yield from (str(path) for path in _installed(SONAME))
    for prefix in _prefixes():
        for folder in ("libexec", "lib", "lib64", "lib/gmanalyze"):
            yield str(prefix / folder / SONAME)
    yield SONAME  # wherever the system's linker looks


def _open() -> Tuple[ctypes.CDLL, str]:
    tried = ""
    for place in _places():
        if os.sep in place and not os.path.exists(place) and not os.environ.get("GM_LIBRARY"):
            continue
        try:
            library = ctypes.CDLL(place)
            for name, result, arguments in _FUNCTIONS:
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
            return library, place
        except (OSError, AttributeError) as error:
            tried = str(error)
    raise LibraryNotFound(f"libgm is neither with the package nor in a build folder or the system: {tried} (GM_LIBRARY "
                          "names another one)", "missing")


lib, library_path = _open()
version: str = lib.gm_version().decode()


def program_path(name: str = "gmanalyze") -> str:
    """Where the program `name` (gmanalyze, gmreplay, gmdiff, gmfleet, gmdry, gmtrace) is: beside the package, in its environment,
    in the build folder of a checkout, or on PATH. MissingError."""
    for path in [*_installed(name), *(prefix / "bin" / name for prefix in _prefixes())]:
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"the program {name} is neither beside the package nor on PATH", "missing")
    return found


def shared_path(name: str) -> Path:
    """Where a file of share/gmanalyze is."""
    checkout = [_HERE.parents[3] / "replay" / "recorder" / name] if len(_HERE.parents) > 3 else []
    for path in [*checkout, *_installed(name), *(prefix / "share" / "gmanalyze" / name for prefix in _prefixes())]:
        if path.is_file():
            return path
    raise MissingError(f"{name} was not installed with the package", "missing")


# ---- handles ----

class Handle:
    """What libgm has given; freed with the last reference, on whichever thread that is. Functions take the handle itself,
    so that it lives as long as the call."""

    __slots__ = ("pointer", "_free", "__weakref__")

    @property
    def _as_parameter_(self) -> Optional[int]:
        return self.pointer

    def __init__(self, pointer: Optional[int], free: Any, problem: Problem) -> None:
        self._free = free
        self.pointer = pointer
        if not pointer:
            raise problem.error()

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._free(self.pointer)
            self.pointer = None


def option_list(options: Any) -> Any:
    """{"top": 10, "from_": "step:3", "infer": True, "ignore": ["a", "b"]} as an array of --top=10, --from=step:3 ..."""
    words: List[bytes] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(os.fsencode(flag))
            elif one is not None and one is not False:
                words.append(os.fsencode(f"{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}"))
    if any(b"\0" in word for word in words):
        raise error_of(2, "usage", None, "an option holds a zero byte")
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)
