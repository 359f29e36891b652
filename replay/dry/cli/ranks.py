# SPDX-License-Identifier: Apache-2.0
"""What the hook does for programs of several ranks. The stand-in brings what ranks send each other as long as it is known;
objects go through small kernels on their way (a maximum of their sizes), so these are computed on the host, too."""
import ctypes
import functools
import os
import sys

LARGEST = 1 << 20
OBJECTS = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list", "send_object_list",
           "recv_object_list")


def library():
    """The stand-in, which is loaded already."""
    found = ctypes.CDLL(os.environ["GMDRY_LIBRARY"])
    found.gmdryKnown.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
    found.gmdryTell.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int)
    return found


def make_mode(torch):
    """A mode under which what small operators write to the device is known, if what they read is."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten, tree_unflatten

    stand_in = library()

    def is_ours(value):
        return isinstance(value, torch.Tensor) and value.is_cuda

    def size(tensor):
        return tensor.numel() * tensor.element_size()

    def known(tensor):
        """A copy on the host, and whether it is a guess; None: it is not known."""
        if not tensor.is_contiguous() or size(tensor) > LARGEST:
            return None, False
        if tensor.numel() == 0:
            return torch.empty(tensor.shape, dtype=tensor.dtype), False
        data = bytearray(size(tensor))
        said = stand_in.gmdryKnown(tensor.data_ptr(), len(data), (ctypes.c_char * len(data)).from_buffer(data))
        if said == 0:
            return None, False
        return torch.frombuffer(data, dtype=tensor.dtype).reshape(tensor.shape), said == 2

    def tell(tensor, value, is_guess):
        if tensor.numel() == 0:
            return
        if value is not None and tensor.is_contiguous() and value.dtype == tensor.dtype and value.numel() == tensor.numel():
            value = value.contiguous()
            stand_in.gmdryTell(tensor.data_ptr(), size(tensor), value.data_ptr(), is_guess)
        else:
            stand_in.gmdryTell(tensor.data_ptr(), size(tensor), None, 0)

    class Small(TorchDispatchMode):
        def __enter__(self):
            stand_in.gmdryHold(1)
            return super().__enter__()

        def __exit__(self, *what):
            stand_in.gmdryHold(-1)
            return super().__exit__(*what)

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = func.overloadpacket.__name__
            if func.namespace != "aten" or getattr(func, "is_view", False) or name.startswith("empty"):
                return func(*args, **kwargs)
            if name == "resize_" and is_ours(args[0]):
                return self.resize(func, args, kwargs)
            given, shape = tree_flatten((args, kwargs))
            hosts = [known(value) if is_ours(value) else (value, False) for value in given]
            is_known = all(host is not None or value is None for (host, _), value in zip(hosts, given))
            is_guess = any(guess for _, guess in hosts)
            made = func(*args, **kwargs)
            written = [value for value in tree_flatten(made)[0] if is_ours(value)]
            if written:
                self.compute(func, shape, hosts, is_known, is_guess, written)
            return made

        @staticmethod
        def compute(func, shape, hosts, is_known, is_guess, written):
            values = [None] * len(written)
            if is_known:
                host_args, host_kwargs = tree_unflatten([host for host, _ in hosts], shape)
                if host_kwargs.get("device") is not None:
                    host_kwargs["device"] = torch.device("cpu")
                host_kwargs.pop("pin_memory", None)
                values = [v for v in tree_flatten(func(*host_args, **host_kwargs))[0] if isinstance(v, torch.Tensor)]
            for tensor, value in zip(written, values):
                tell(tensor, value, is_guess)

        @staticmethod
        def resize(func, args, kwargs):
            """What is new has no values that a program could look at."""
            head, is_guess = known(args[0])
            made = func(*args, **kwargs)
            if head is not None and made.numel() >= head.numel() and size(made) <= LARGEST:
                whole = torch.zeros(made.numel(), dtype=made.dtype)
                whole[: head.numel()] = head.reshape(-1)
                tell(made, whole.reshape(made.shape), is_guess)
            return made

    return Small


def computes(torch, function):
    modes = []

    @functools.wraps(function)
    def run(*args, **kwargs):
        if not modes:
            modes.append(make_mode(torch))
        with modes[0]():
            return function(*args, **kwargs)

    return run


def meets(torch, barrier):
    """An event that is asked is complete, so the host has to wait for the stream as it would for the event."""

    @functools.wraps(barrier)
    def run(*args, **kwargs):
        work = barrier(*args, **kwargs)
        if work is None and torch.cuda.is_initialized():
            torch.cuda.current_stream().synchronize()
        return work

    return run


def watch(module):
    """torch.distributed.distributed_c10d, before others take its functions."""
    torch = sys.modules["torch"]
    for name in OBJECTS:
        if hasattr(module, name):
            setattr(module, name, computes(torch, getattr(module, name)))
    module.barrier = meets(torch, module.barrier)


WATCHED = {"torch.distributed.distributed_c10d": watch}
