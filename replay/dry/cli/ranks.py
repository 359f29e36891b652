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


@functools.lru_cache(None)
def library():
    """The stand-in, which is loaded already."""
    found = ctypes.CDLL(os.environ["GMDRY_LIBRARY"])
    found.gmdryKnown.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
    found.gmdryTell.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int)
    found.gmdryTaken.restype = found.gmdryRefused.restype = ctypes.c_uint64
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


joined = []


def rank_of():
    """Of this process, in its job; without one it is empty."""
    said = os.environ.get("RANK", "")
    return joined[0] if joined else said if said.isdigit() else ""


def notes_rank(module, function):
    @functools.wraps(function)
    def run(*args, **kwargs):
        made = function(*args, **kwargs)
        joined[:] = [module.get_rank()]
        return made

    return run


def watch(module):
    """torch.distributed.distributed_c10d, before others take its functions."""
    torch = sys.modules["torch"]
    module.barrier = meets(torch, module.barrier)
    module.init_process_group = notes_rank(module, module.init_process_group)
    if WORLD:
        answer_for_the_absent(module)
    for name in OBJECTS:
        if hasattr(module, name):
            setattr(module, name, computes(torch, getattr(module, name)))


# ---- one rank of a job whose others are not there (--world-size) ------------------------------------------------------

WORLD = os.environ.get("GMDRY_WORLD_SIZE")


stores = []


def make_store(base):
    class AbsentStore(base):
        """Whatever another rank should have set is there: as many zeros as NCCL's id has bytes. Nobody waits."""

        def __init__(self, *args, **kwargs):
            super().__init__()
            stores.append(self)  # as long as torch may ask it, which does not keep this half of it
            self.values = {}
            self.seconds = __import__("datetime").timedelta(seconds=300)

        @staticmethod
        def bytes_of(value):
            return value.encode() if isinstance(value, str) else bytes(value)

        def set(self, key, value):
            self.values[key] = self.bytes_of(value)

        def get(self, key):
            return self.values.get(key, bytes(128))

        def add(self, key, by):
            self.values[key] = str(int(self.values.get(key, b"0")) + by).encode()
            return int(self.values[key])

        def check(self, keys):
            return all(key in self.values for key in keys)

        def compare_set(self, key, expected, desired):
            if self.values.get(key, b"") == self.bytes_of(expected):
                self.set(key, desired)
            return self.values.get(key, self.bytes_of(expected))

        def delete_key(self, key):
            return self.values.pop(key, None) is not None

        def append(self, key, value):
            self.values[key] = self.values.get(key, b"") + self.bytes_of(value)

        def multi_get(self, keys):
            return [self.get(key) for key in keys]

        def multi_set(self, keys, values):
            for key, value in zip(keys, values):
                self.set(key, value)

        def has_extended_api(self):
            return True

        def num_keys(self):
            return len(self.values)

        def wait(self, keys, timeout=None):
            pass

        def set_timeout(self, timeout):
            self.seconds = timeout

        @property
        def timeout(self):
            return self.seconds

        def clone(self):
            return self

    return AbsentStore


def make_gloo(module):
    """Gloo would look for the others: PyTorch's own fake group takes them to have what this one has."""
    fake = sys.modules["torch"]._C._distributed_c10d.FakeProcessGroup

    def make(rank, size):
        try:
            return fake._create_internal(rank, size)
        except (AttributeError, TypeError):
            pass
        try:
            return fake._create_internal(rank, size, fake.Options())
        except (AttributeError, TypeError):
            return fake(rank, size)

    class ProcessGroupGloo(module.ProcessGroupGloo):
        def __new__(cls, store, rank, size, *args, **kwargs):
            return make(rank, size)

    return ProcessGroupGloo


def answer_for_the_absent(module):
    store = make_store(module.Store)

    def rendezvous(url, rank=-1, world_size=-1, **kwargs):
        yield (store(), rank if rank >= 0 else int(os.environ["RANK"]),
               world_size if world_size >= 0 else int(os.environ["WORLD_SIZE"]))

    module.rendezvous = rendezvous
    if hasattr(module, "ProcessGroupGloo"):
        module.ProcessGroupGloo = make_gloo(module)
    module._new_process_group_helper = tells_part(module._new_process_group_helper, lambda size, own, ranks, *_: [ranks])
    if hasattr(module, "split_group"):
        module.split_group = tells_part(module.split_group, lambda whole=None, parts=None, *_: parts)
    if hasattr(module, "_process_group_color"):
        module._process_group_color = tells_colour(module._process_group_color)
    for name in ("broadcast_object_list", "scatter_object_list", "recv_object_list", "send_object_list"):
        if hasattr(module, name):
            setattr(module, name, keeps(module, name, getattr(module, name)))


def tells_part(function, parts_of):
    """While torch makes a group of some ranks: how many they are, and which of them this one is."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        own = int(os.environ["RANK"])
        for ranks in parts_of(*args) or kwargs.get("split_ranks") or ():
            if own in ranks:
                library().gmdryPart(len(ranks), list(ranks).index(own))
        try:
            return function(*args, **kwargs)
        finally:
            library().gmdryPart(0, 0)

    return run


def tells_colour(colour_of):
    """NCCL counts the ranks that have chosen a colour; here only torch knows how many they are."""

    @functools.wraps(colour_of)
    def run(ranks):
        colour, own = colour_of(ranks), int(os.environ["RANK"])
        if own in ranks:
            library().gmdryColour(colour, len(ranks), list(ranks).index(own))
        return colour

    return run


def is_called_by(package):
    frame = sys._getframe(1)
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(package):
        frame = frame.f_back
    return frame is not None


def keeps(module, name, function):
    """Objects of absent ranks are not known: a list stays as it is."""

    @functools.wraps(function)
    def run(objects, *args, **kwargs):
        if name == "send_object_list":
            return None
        if is_called_by("torch.distributed.pipelining"):
            raise RuntimeError("gmdry: --world-size: this pipeline stage infers its shapes from what a rank sends that is "
                               "absent; give PipelineStage input_args and output_args")
        group = kwargs.get("group")
        source = args[0] if args and name == "broadcast_object_list" else kwargs.get("src", 0)
        if kwargs.get("group_src") is not None:
            source = module.get_global_rank(group or module._get_default_group(), kwargs["group_src"])
        if name == "broadcast_object_list" and (source is None or source == module.get_rank()):
            return function(objects, *args, **kwargs)
        if name == "scatter_object_list":
            sources = args[0] if args else kwargs.get("scatter_object_input_list")
            if sources:
                objects[0] = sources[module.get_rank(group)]
        print(f"gmdry: {name}: what absent ranks would send is not known", file=sys.stderr)
        return source if name == "recv_object_list" else None

    return run


def run_one(module):
    """A launcher starts this rank's process only, in its own place."""

    def run(self, *args):
        if isinstance(self._entrypoint, str):
            sys.stdout.flush()
            sys.stderr.flush()
            os.execvp(self._entrypoint, [self._entrypoint, *map(str, args)])
        return {int(os.environ["LOCAL_RANK"]): self._entrypoint(*args)}

    module.elastic_launch.__call__ = run


class Done:
    """What is left of processes that were not started."""

    processes = ()

    @staticmethod
    def join(*_):
        return True


def spawn_one(module):
    """torch.multiprocessing.spawn: the process of this rank only, which is this one."""

    def start_processes(function, args=(), nprocs=1, join=True, **_):
        function(int(os.environ["LOCAL_RANK"]) % nprocs, *args)
        return None if join else Done

    module.start_processes = start_processes
    module.spawn = lambda fn, args=(), nprocs=1, join=True, **_: start_processes(fn, args, nprocs, join)


def answer_tcp_stores(module):
    module.TCPStore = make_store(module.Store)


WATCHED = {"torch.distributed.distributed_c10d": watch}
if WORLD:
    WATCHED.update({"torch.distributed.launcher.api": run_one, "torch.distributed": answer_tcp_stores,
                    "torch.multiprocessing.spawn": spawn_one})
