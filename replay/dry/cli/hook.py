# SPDX-License-Identifier: Apache-2.0
"""The stand-in runs this in a program that is about to import torch.cuda.memory, in a namespace of its own. It records
torch's memory from the first allocation, and says what came of it in GMDRY_FOLDER: a snapshot, and a line for each
device. A failure in here is told and leaves the program alone."""
import atexit
import contextlib
import ctypes
import importlib
import importlib.abc
import os
import sys

FOLDER = os.environ.get("GMDRY_FOLDER")


class Recording:
    """Of one process; a forked child is not that process."""

    def __init__(self, torch):
        self.torch, self.pid = torch, None  # the process that has begun
        self.steps, self.wanted = 0, int(os.environ.get("GMDRY_STEPS", "0"))
        self.peaks = {}  # device -> [allocated, reserved]: the largest, whatever the program has reset
        self.since = "start"
        self.kept = None  # the snapshot of when the program ended the recording, and what it had allocated until then
        self.oom = None  # what the allocator wanted when it gave up
        self.allocator = "native"

    def is_ours(self):
        return self.pid == os.getpid()

    def begin(self):
        """Called by torch when it has opened the devices, before anything is allocated."""
        if self.pid is not None:
            return
        self.pid = os.getpid()
        with contextlib.suppress(FileExistsError):  # of a process before that had the same number
            os.mkdir(self.folder())
        importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(self.step)
        self.allocator = self.torch.cuda.get_allocator_backend()
        if self.allocator != "native":
            print(f"gmdry: the program's allocator ({self.allocator}) is not PyTorch's own: it has peaks, but no trace to"
                  " make a report of", file=sys.stderr)
            return
        self.record(stacks=os.environ.get("GMDRY_STACKS", "python"), max_entries=sys.maxsize)
        self.torch._C._cuda_attach_out_of_memory_observer(self.out_of_memory)
        if os.environ.get("GMDRY_DATA", "zeros") != "zeros":
            self.answer_types()

    def answer_types(self):
        """With --data: the stand-in asks what lies at an address. It must not keep a tensor alive, nor be compiled."""
        import gc

        torch, tensor = self.torch, self.torch._C.TensorBase
        codes = {torch.bool: 1, torch.uint8: 1, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4,
                 torch.float16: 5, torch.bfloat16: 6, torch.float32: 7, torch.float64: 8}  # enum dry_type

        def type_at(address):
            for thing in gc.get_objects():
                try:
                    if issubclass(type(thing), tensor) and thing.data_ptr() == address and thing.is_cuda:
                        return codes.get(thing.dtype, 0)
                except Exception:  # some have no memory
                    continue
            return 0

        try:
            torch._C._dynamo.eval_frame.skip_code(type_at.__code__)
        except AttributeError:
            pass  # another version of torch: it is compiled then, and does the same
        self.answer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(type_at)
        stand_in().gmdry_ask_types(self.answer)
        atexit.register(stand_in().gmdry_ask_types, None)

    def folder(self):
        """It is there from the beginning: one without what is told is that of a killed process."""
        return os.path.join(FOLDER, "processes", str(self.pid))

    @staticmethod
    def in_machine(device):
        """Its number without CUDA_VISIBLE_DEVICES."""
        return stand_in().gmdryPhysical(device)

    def stats(self, device):
        """Of another allocator than PyTorch's: what it knows itself, or the stand-in of it."""
        stats = self.torch.cuda.memory_stats(device) if self.allocator != "pluggable" else {}
        if self.allocator == "native":
            return stats
        taken, refused = stand_in().gmdryTaken(device), stand_in().gmdryRefused(device)
        if refused:
            self.oom = (device, refused)
        return {"allocated_bytes.all.peak": taken, "reserved_bytes.all.peak": taken, **stats, "num_ooms": int(refused > 0)}

    def note_peaks(self):
        for device in range(self.torch.cuda.device_count()):
            stats = self.stats(device)
            peaks = self.peaks.setdefault(self.in_machine(device), [0, 0])
            for i, kind in enumerate(("allocated", "reserved")):
                peaks[i] = max(peaks[i], stats.get(f"{kind}_bytes.all.peak", 0))
            peaks[2:] = [stats.get("num_ooms", 0), stats.get("num_alloc_retries", 0)]

    def allocated(self):
        """How often, on all devices."""
        return sum(self.stats(device).get("allocation.all.allocated", 0) for device in range(self.torch.cuda.device_count()))

    def keep_snapshot(self, rank):
        import pickle

        under = os.path.join(self.folder(), "rank" + rank if rank.isdigit() else "run")
        os.makedirs(under, exist_ok=True)
        stem = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
        path = os.path.join(under, (stem if stem not in ("", "-c", "-m", "__main__") else "python") + ".pickle")
        with open(path + ".part", "wb") as file:
            pickle.dump(self.torch.cuda.memory._snapshot(), file)
        os.replace(path + ".part", path)
        return path

    def write(self, why):
        if not self.is_ours() or not os.path.isdir(self.folder()):
            return  # without its folder: gmdry has ended before this process, and nothing of it must stay
        self.note_peaks()
        rank = str(RANKS["rank_of"]())
        folder = self.folder()
        lines = [f"why {why}", f"since {self.since}", f"rank {rank or -1}", f"steps {self.steps}"]
        path, allocated = self.kept or (self.allocator == "native" and self.keep_snapshot(rank), self.allocated())
        lines.append(f"snapshot {path}" if path else "untraced")
        if allocated != self.allocated():
            lines.append("until program")
        if why == "recorded":
            self.kept = self.kept or (path, allocated)
        lines += [f"device {device} " + " ".join(map(str, peaks)) for device, peaks in self.peaks.items()]
        if self.oom:
            lines.append("wanted %d %d" % self.oom)
        with open(os.path.join(folder, "part"), "w") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(os.path.join(folder, "part"), os.path.join(folder, "told"))

    def out_of_memory(self, device, wanted, total, free):
        if self.oom is None:
            self.oom = (device, wanted)
            tell_failure(self.write, "oom")

    def at_exit(self):
        # What went wrong is in the snapshot of that moment; of a program that went on, the end counts.
        if self.oom is None or not getattr(sys, "last_value", None):
            tell_failure(self.write, "end")

    def step(self, optimizer, args, kwargs):
        if not self.is_ours():
            return
        self.steps += 1
        if self.steps == self.wanted:
            tell_failure(self.write, "steps")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def ends(self, leave):
        """multiprocessing ends its forked children so, which runs nothing else."""

        def end(status):
            self.at_exit()
            return leave(status)

        return end

    def watch(self, memory):
        """Around what a program may do that would hide something from us."""
        torch = self.torch
        self.record = memory._record_memory_history
        reset = torch._C._cuda_resetPeakMemoryStats

        def record(*args, **kwargs):
            enabled = args[0] if args else kwargs.get("enabled", "all")
            if not enabled:
                tell_failure(self.write, "recorded")  # its peaks go on
            elif self.since != "program":
                self.since = "program"
                self.record(None)  # what was recorded so far is not in the program's own recording
            return self.record(*args, **kwargs)

        def reset_peaks(*args):
            if self.is_ours():
                tell_failure(self.note_peaks)
            return reset(*args)

        memory._record_memory_history = record
        torch._C._cuda_resetPeakMemoryStats = reset_peaks
        sys.modules["torch.cuda"]._lazy_call(lambda: tell_failure(self.begin))
        atexit.register(self.at_exit)
        os._exit = self.ends(os._exit)


def tell_cudnn(torch):
    """The cuDNN that torch was built with: it refuses older ones, and chooses kernels by it."""
    cudnn = getattr(torch._C, "_cudnn", None)
    if cudnn is not None:
        major, minor, patch = cudnn.getCompileVersion()
        stand_in().gmdry_set_cudnn_version(10000 * major + 100 * minor + patch)


def follow_generation(utils):
    """transformers' generate() asks the device whether all rows have ended, which is made up: it would go on for ever, or
    end at once. That the longest length is reached the host knows; until then no row ends."""
    import functools
    import threading

    state = threading.local()
    asks, ends = utils.MaxLengthCriteria.__call__, utils.GenerationMixin._has_unfinished_sequences

    @functools.wraps(asks)
    def ask(self, input_ids, scores, **kwargs):
        state.is_done = input_ids.shape[1] >= self.max_length
        return asks(self, input_ids, scores, **kwargs)

    @functools.wraps(ends)
    def goes_on(self, *args, **kwargs):
        is_done = getattr(state, "is_done", None)
        if is_done is None:  # it has just begun, or has no such length
            return ends(self, *args, **kwargs)
        if is_done:
            state.is_done = None
        return not is_done

    utils.MaxLengthCriteria.__call__, utils.GenerationMixin._has_unfinished_sequences = ask, goes_on


def tell_failure(function, *args):
    try:
        function(*args)
    except Exception as error:
        if not os.path.isdir(FOLDER):
            return  # gmdry has ended before this process: there is nobody to tell it to
        print(f"gmdry: {getattr(function, '__name__', 'hook')}: {error!r}", file=sys.stderr)


class Loader(importlib.abc.Loader):
    def __init__(self, loader, then):
        self.loader, self.then = loader, then

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        tell_failure(self.then, module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules as they would be found without us, each once, and does something when they are loaded."""

    def __init__(self, wanted):
        self.wanted = wanted  # name -> what is called with the module

    def find_spec(self, name, path=None, target=None):
        then = self.wanted.pop(name, None)
        for finder in sys.meta_path if then is not None else ():
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                spec.loader = Loader(spec.loader, then) if spec.loader is not None else None
                return spec
        return None


def start(memory):
    """When torch.cuda.memory is there; the rest of torch is still on its way."""
    torch = sys.modules["torch"]
    has_cuda = getattr(torch.version, "cuda", None) is not None
    tell("torch cuda" if has_cuda else "torch cpu")
    if has_cuda:
        tell_failure(tell_cudnn, torch)
        Recording(torch).watch(memory)


def stand_in():
    return RANKS["library"]()


def tell(line):
    with open(os.path.join(FOLDER, "log"), "a") as file:
        file.write(line + "\n")


def load_ranks():
    names = {"__name__": "gmdry_ranks"}
    with open(os.path.join(FOLDER, "ranks.py")) as file:
        exec(compile(file.read(), "<frozen gmdry.ranks>", "exec"), names)  # no line of the program's
    return names


if FOLDER and os.path.isdir(FOLDER):
    RANKS = load_ranks()
    wanted = {"torch.cuda.memory": start, "transformers.generation.utils": follow_generation, **RANKS["WATCHED"]}
    for loaded in [name for name in wanted if name in sys.modules]:
        tell_failure(wanted.pop(loaded), sys.modules[loaded])
    sys.meta_path.insert(0, Finder(wanted))
