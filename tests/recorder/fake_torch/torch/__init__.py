# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as gm_record.py touches, in the shape of the version that FAKE_TORCH names. Every tensor is a
segment of its own, so that totals are easy. FAKE_CUDA: yes (default), no (no device), unbuilt."""
import inspect
import os
import pickle
import sys
import types

__version__ = os.environ.get("FAKE_TORCH", "2.6")
_VERSION = tuple(int(part) for part in __version__.split("."))
_CUDA = os.environ.get("FAKE_CUDA", "yes")
CONF_AT_IMPORT = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
CALLS = []  # of _record_memory_history, as C++ would see them

_state = {"on": False, "events": [], "live": {}, "next": 0x7F0000000000, "now": 0, "peak": 0, "time": 1700000000000000}
_observers = []


def _submodule(name):
    module = types.ModuleType("torch." + name)
    sys.modules["torch." + name] = module
    parent, _, last = ("torch." + name).rpartition(".")
    setattr(sys.modules[parent], last, module)
    return module


version = _submodule("version")
version.cuda = None if _CUDA == "unbuilt" else "12.4"
version.hip = None
_C = _submodule("_C")
cuda = _submodule("cuda")
memory = _submodule("cuda.memory")
distributed = _submodule("distributed")
optim = _submodule("optim")
optimizer = _submodule("optim.optimizer")
compiler = _submodule("compiler")

# ---- the allocator -------------------------------------------------------------------------------------------------


def _event(action, addr, size):
    _state["time"] += 10
    if _state["on"]:
        _state["events"].append({"action": action, "addr": addr, "size": size, "stream": 0, "frames": [],
                                 "time_us": _state["time"]})


class OutOfMemoryError(RuntimeError):
    pass


cuda.OutOfMemoryError = OutOfMemoryError


class Tensor:
    def __init__(self, size):
        cuda._lazy_init()
        if _state["now"] + size > 1 << 30:
            _event("oom", (1 << 30) - _state["now"], size)
            for observe in _observers:
                observe(0, size, 1 << 30, (1 << 30) - _state["now"])
            raise OutOfMemoryError("CUDA out of memory")
        self.address, self.size = _state["next"], size
        _state["next"] += 1 << 30
        _event("segment_alloc", self.address, size)
        _event("alloc", self.address, size)
        _state["live"][self.address] = size
        _state["now"] += size
        _state["peak"] = max(_state["peak"], _state["now"])

    def free(self):
        _event("free_requested", self.address, self.size)
        _event("free_completed", self.address, self.size)
        _event("segment_free", self.address, self.size)
        del _state["live"][self.address]
        _state["now"] -= self.size


# ---- torch.cuda ----------------------------------------------------------------------------------------------------

_queued = []
_initialized = False


def _lazy_call(callable, **kwargs):
    if _initialized:
        callable()
    else:
        _queued.append(callable)


def _lazy_init():
    global _initialized
    if _initialized:
        return
    if _CUDA != "yes":
        raise RuntimeError("no NVIDIA driver")
    for callable in _queued:
        callable()
    _initialized = True


def _memory_stats(device=None):
    return {"allocated_bytes.all.peak": _state["peak"], "reserved_bytes.all.peak": _state["peak"],
            "allocated_bytes.all.current": _state["now"], "reserved_bytes.all.current": _state["now"]} \
        if _initialized else {}


def _reset(device=None):
    _state["peak"] = _state["now"]


cuda._lazy_call, cuda._lazy_init = _lazy_call, _lazy_init
cuda.is_initialized = lambda: _initialized
cuda.is_available = lambda: _CUDA == "yes"
cuda.device_count = lambda: 1 if _CUDA == "yes" else 0
cuda.memory_stats, cuda.reset_peak_memory_stats = _memory_stats, _reset
cuda.max_memory_allocated = lambda device=None: _state["peak"]


def _switch(enabled, *rest):
    if os.environ.get("FAKE_HISTORY_FAILS"):
        raise RuntimeError("no history")
    CALLS.append((enabled,) + rest)
    _state["on"] = enabled == "all" or enabled is True


if _VERSION >= (2, 8):
    def _impl(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None, clear_history=False,
              compile_context=False, global_record_annotations=False):
        _switch(enabled, context, stacks, max_entries, global_record_annotations)
else:
    def _impl(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
        _switch(enabled, context, stacks, max_entries)

if _VERSION >= (2, 11):
    _without_skip = _impl

    def _impl(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None, clear_history=False,
              compile_context=False, global_record_annotations=False, skip_actions=None):
        _without_skip(enabled, context, stacks, max_entries, None, clear_history, compile_context,
                      global_record_annotations)

if _VERSION >= (2, 1):
    def _record_memory_history(enabled="all", *args, **kwargs):
        return _impl(enabled, *args, **kwargs)

    if os.environ.get("FAKE_HIDDEN") is None:  # torch shows the signature of what is behind it
        _record_memory_history.__signature__ = inspect.signature(_impl)
else:
    def _record_memory_history(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False,
                               device=None, _enable_expensive_cpp=False):
        _switch(enabled, trace_alloc_max_entries, trace_alloc_record_context)


def _dump_snapshot(filename="dump_snapshot.pickle"):
    if os.environ.get("FAKE_DUMP_FAILS"):
        open(filename, "wb").close()
        raise RuntimeError("CUDA error: device-side assert triggered")
    segments = [{"device": 0, "address": address, "total_size": size, "allocated_size": size, "active_size": size,
                 "requested_size": size, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                 "is_expandable": False, "frames": [],
                 "blocks": [{"address": address, "size": size, "requested_size": size, "state": "active_allocated",
                             "frames": []}]} for address, size in sorted(_state["live"].items())]
    with open(filename, "wb") as file:
        pickle.dump({"segments": segments, "device_traces": [_state["events"]], "external_annotations": []}, file, 4)


memory._record_memory_history, memory._dump_snapshot = _record_memory_history, _dump_snapshot
if os.environ.get("FAKE_NO_OBSERVER") is None:
    _C._cuda_attach_out_of_memory_observer = _observers.append

# ---- the rest ------------------------------------------------------------------------------------------------------

distributed.is_available = lambda: True
distributed.is_initialized = lambda: "FAKE_RANK" in os.environ
distributed.get_rank = lambda: int(os.environ["FAKE_RANK"])
compiler.is_compiling = lambda: os.environ.get("FAKE_COMPILING") is not None
_hooks = {}


class _Handle:
    def __init__(self, hook):
        self.id = len(_hooks)
        _hooks[self.id] = hook

    def remove(self):
        del _hooks[self.id]


class Optimizer:
    def step(self):
        for hook in list(_hooks.values()):
            hook(self, (), {})


optimizer.Optimizer = optim.Optimizer = Optimizer
if os.environ.get("FAKE_NO_HOOK") is None:
    optimizer.register_optimizer_step_post_hook = _Handle
del optim.optimizer  # as torch does
