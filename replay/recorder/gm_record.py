#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's CUDA allocator does, into snapshots for gmanalyze and a table of steps.

    python gm_record.py [options] -- train.py ARGS          a program as it is (-m MODULE works, too)
    torchrun --nproc-per-node 8 gm_record.py -- train.py    every rank

    import gm_record                                        a part of a program
    with gm_record.record("warmup", steps=3) as rec:
        for batch in loader:
            train_step(batch)
            rec.step()                                      not needed where an optimizer makes the steps

    @gm_record.record("epoch")                              every call of a function
    callbacks=[gm_record.LightningCallback("fit")]          Lightning's trainer
    callbacks=[gm_record.TrainerCallback("fit")]            that of transformers

Copy this one file beside your program; it needs nothing but Python 3.8 and PyTorch 2.1 or newer. Under DIR (-o):
    [NAME/]iteration_N/rankR_memory_snapshot.pickle       at the end, after N steps; with --every also in between
    [NAME/]iteration_N/rankR_oom_memory_snapshot.pickle   at the moment when memory ran out; why, in a .txt beside it
    [NAME/]rankR_memory_steps.csv                         peaks of every step

Whatever goes wrong here is told on stderr and leaves the program alone: its exit code is kept, and without CUDA nothing
happens at all. CUDA is not touched before the program does so itself."""
import argparse
import atexit
import datetime
import functools
import importlib
import importlib.util
import inspect
import io
import os
import re
import runpy
import sys
import threading
import types
import weakref

OOM_FILES = 3  # of a recording: a program that catches the exception and tries again may run out of memory a thousand times
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK")
COLUMNS = "timestamp,member,step,allocated_GB,reserved_GB,current_GB\n"

_active = None  # the Recorder at work; one is enough for a process, since the allocator has one history
_names = set()  # every path that this process wrote, so that a second recording does not replace what the first one has
_written = []  # the snapshots (_File) that this process wrote and has not removed, the oldest first


def say(text):
    try:
        sys.stderr.write("gm_record: %s\n" % text)
        sys.stderr.flush()
    except Exception:  # stderr may be closed
        pass


def quietly(function):
    """What must never end the program: an exception is told instead, and the result is None."""

    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            say("%s failed: %s: %s" % (function.__name__.strip("_"), type(error).__name__, error))
            return None

    return call


def find_rank(torch):
    """The number of this process among those that work together; 0 if it is alone."""
    try:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return int(torch.distributed.get_rank())
    except Exception:
        pass  # not built, half torn down: the launcher's variables know as well
    for name in RANKS:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return 0


def start_history(torch, max_entries, stacks):
    """_record_memory_history of any version: only those arguments that it has."""
    function = torch.cuda.memory._record_memory_history
    wanted = {"enabled": "all", "context": "all", "stacks": stacks, "max_entries": max_entries,
              "global_record_annotations": True}
    known = inspect.signature(function).parameters
    if "trace_alloc_max_entries" in known:  # 2.0
        function(True, trace_alloc_max_entries=max_entries, trace_alloc_record_context=True)
        return
    if not any(p.kind == p.VAR_KEYWORD for p in known.values()):
        wanted = {name: value for name, value in wanted.items() if name in known}
    else:
        del wanted["global_record_annotations"]  # it is not told what there is, and this came last
    function(**wanted)


def thousandths(count):
    """Bytes as GB of 2^30, three decimals."""
    rounded = (count * 1000 + (1 << 29)) >> 30
    return "%d.%03d" % (rounded // 1000, rounded % 1000)


def parse_size(size):
    """Bytes: a number, or text as in 512MiB, 1.5G (all binary)."""
    if isinstance(size, int):
        return size
    found = re.match(r"(\d+(?:\.\d+)?) *([KMGT]?)(?:i?B)?$", size.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError("%r is no size, as in 512MiB or 10G" % size)
    return int(float(found.group(1)) * 1024 ** " KMGT".index(found.group(2).upper() or " "))


def timestamp():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class _File:
    """A file that appears when it is complete: written under a hidden name, then renamed."""

    def __init__(self, path, write, is_periodic=False):
        folder, name = os.path.split(path)
        self.path, self.is_periodic = path, is_periodic
        part = os.path.join(folder, ".%s.part%d" % (name, os.getpid()))
        os.makedirs(folder, exist_ok=True)
        try:
            write(part)
            self.about = self._look(part)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise
        self.bytes = self.about[2]
        self.reason = None  # a file beside it, which goes when it goes

    @staticmethod
    def _look(path):
        about = os.stat(path)
        return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns

    def remove(self):
        """Unless somebody else has put another file there."""
        if self.reason is not None:
            self.reason.remove()
        if os.path.exists(self.path) and self._look(self.path) == self.about:
            os.unlink(self.path)
            try:
                os.rmdir(os.path.dirname(self.path))
            except OSError:
                pass  # other ranks, or an out-of-memory snapshot, are in it


def _text_file(path, text):
    def write(part):
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)

    return _File(path, write)


class _Decorates:
    """record() before a function: every call of it is a recording of its own."""

    made_of = (None, {})  # the arguments of record()

    def __call__(self, function):
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError("%s runs after its call has returned: use `with` inside of it" % function.__name__)
        name, options = self.made_of

        @functools.wraps(function)
        def recorded(*args, **kwargs):
            with record(name, **options):
                return function(*args, **kwargs)

        return recorded


class Recorder(_Decorates):
    """One recording. Use record() or the command; step() may be called from any thread."""

    def __init__(self, name=None, output="memory_snapshot", max_entries=100000, stacks="all", steps=0, every=0, keep=0,
                 max_files=0, max_bytes="10GiB", csv=True, auto_step=True, keep_peaks=False):
        if stacks not in ("python", "all"):
            raise ValueError("stacks must be 'python' or 'all'")
        self.folder = os.path.abspath(os.path.join(output, name) if name else output)
        restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        if restart.isdigit() and int(restart) > 0:  # torchrun began again: what led to that stays
            self.folder = os.path.join(self.folder, "restart_%d" % int(restart))
        self.max_entries, self.stacks, self.every, self.keep = max_entries, stacks, every, keep
        self.only, self.max_files, self.max_bytes = steps, max_files, parse_size(max_bytes)
        self.wants_csv, self.auto_step, self.keep_peaks = csv, auto_step, keep_peaks
        self.torch = None
        self.is_on = False  # history is being recorded
        self.is_over = False
        self.pid = os.getpid()  # a forked child has this object, too, and must not write
        self.steps = 0
        self.files = []  # paths of what was written and is there, in order
        self.ooms = 0
        self.dropped = 0  # snapshots, for want of room
        self._lock = threading.RLock()
        self._why_not = "the program did not import torch"
        self._hook = None
        self._optimizer = None  # a weak reference to the one whose steps are counted
        self._csv = None
        self._csv_path = None
        self._initial = {}

    # ---- beginning ----

    @quietly
    def start(self):
        """Begins to record as soon as torch is there and the program initialises CUDA."""
        global _active
        _active = self
        atexit.register(self.stop)
        if "torch" in sys.modules:
            self._prepare(sys.modules["torch"])
        else:
            sys.meta_path.insert(0, _AfterImport("torch", self._prepare))

    @quietly
    def _prepare(self, torch):
        if self.is_over:
            return
        self.torch = torch
        if getattr(torch.version, "cuda", None) is None and getattr(torch.version, "hip", None) is None:
            self._why_not = "this torch is built without CUDA"
            return
        self._why_not = "the program did not use CUDA"
        torch.cuda._lazy_call(self._begin)  # now, if CUDA is initialised; else when the program does it

    @quietly
    def _begin(self):
        if self.is_over or os.getpid() != self.pid:
            return
        torch, self._why_not = self.torch, "recording could not begin"
        start_history(torch, self.max_entries, self.stacks)
        self.is_on = True
        observe = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
        if observe is None:
            say("this torch does not tell when memory runs out: no snapshot will be written then")
        else:
            observe(self._out_of_memory)
        if self.wants_csv:
            self._read_initial()
        if self.auto_step:
            self._follow_optimizers()

    @quietly
    def _follow_optimizers(self):
        optimizers = importlib.import_module("torch.optim.optimizer")  # torch.optim hides it
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if register is None:
            say("this torch has no hook for optimizers: call step() yourself")
            return
        compiler = getattr(self.torch, "compiler", None)
        is_compiling = getattr(compiler, "is_compiling", None)

        def after_step(optimizer, args, kwargs):
            if is_compiling is not None and is_compiling():
                return  # torch.compile is looking; it must see nothing to compile
            self._optimizer_stepped(optimizer)

        self._hook = register(after_step)

    @quietly
    def _optimizer_stepped(self, optimizer):
        """Where a program has several, one round through all of them is a step: the first one's steps are counted."""
        with self._lock:
            first = self._optimizer() if self._optimizer is not None else None
            if first is None:
                self._optimizer = weakref.ref(optimizer)
            elif first is not optimizer:
                return
        self._count_step()

    # ---- steps ----

    def step(self):
        """Ends a step. From the first call on, optimizers are no longer looked at."""
        was_counted = self.auto_step and self.steps == 1  # the optimizer's part in this very step
        self.auto_step = False
        hook, self._hook = self._hook, None
        if hook is not None:
            quietly(hook.remove)()
        if not was_counted:
            self._count_step()

    @quietly
    def _count_step(self):
        with self._lock:
            if self.is_over or os.getpid() != self.pid:
                return
            self.steps += 1
            if not self.is_on:
                return
            if self.wants_csv:
                self._add_rows(str(self.steps))
            if self.only > 0 and self.steps >= self.only:
                self.stop()
            elif self.every > 0 and self.steps % self.every == 0:
                self.snapshot(is_periodic=True)

    def _drop_old(self):
        """The oldest go first: those of `every`, then the others. The newest stays, however large it is."""
        periodic = [one for one in _written if one.is_periodic and one.path in self.files]
        for one in periodic[:-self.keep] if self.keep > 0 else ():
            self._drop(one)
        while len(_written) > 1 and (0 < self.max_files < len(_written) or
                                     0 < self.max_bytes < sum(one.bytes for one in _written)):
            self._drop(next((one for one in _written[:-1] if one.is_periodic), _written[0]))
            self.dropped += 1

    def _drop(self, one):
        if one.path in self.files:
            self.files.remove(one.path)
        _written.remove(one)
        one.remove()

    # ---- the table ----

    def _levels(self):
        """{device: (peak allocated, peak reserved, allocated now)} of the devices that are used."""
        cuda, levels = self.torch.cuda, {}
        for device in range(cuda.device_count()):
            stats = cuda.memory_stats(device)
            peak = stats.get("reserved_bytes.all.peak", 0)
            if peak > 0:
                levels[device] = (stats.get("allocated_bytes.all.peak", 0), peak,
                                  stats.get("allocated_bytes.all.current", 0))
                if not self.keep_peaks:
                    cuda.reset_peak_memory_stats(device)
        return levels

    @quietly
    def _read_initial(self):
        if not self.keep_peaks:  # what was before this recording is not part of it
            for device in range(self.torch.cuda.device_count()):
                self.torch.cuda.reset_peak_memory_stats(device)
        self._initial = {"time": timestamp(), "levels": self._levels(), "told": set()}

    def _row(self, when, device, step, levels):
        return "%s,%d,%s,%s\n" % (when, device, step, ",".join(thousandths(level) for level in levels))

    @quietly
    def _add_rows(self, step):
        levels, rows = self._levels(), []
        if not self._initial:
            return
        for device in sorted(levels):
            if device not in self._initial["told"]:
                self._initial["told"].add(device)
                rows.append(self._row(self._initial["time"], device, "init",
                                      self._initial["levels"].get(device, (0, 0, 0))))
            rows.append(self._row(timestamp(), device, step, levels[device]))
        if not rows:
            return
        if self._csv is None:
            os.makedirs(self.folder, exist_ok=True)
            self._csv_path = self._free_path(self.folder, "", "memory_steps.csv")
            self._csv = open("%s.part%d" % (self._csv_path, self.pid), "w", encoding="utf-8", newline="")
            self._csv.write(COLUMNS)
        self._csv.write("".join(rows))
        self._csv.flush()  # a program that is killed leaves the rows in the .part file

    @quietly
    def _end_table(self):
        self._add_rows("final")
        if self._csv is not None:
            self._csv.close()
            os.replace(self._csv.name, self._csv_path)
            self.files.append(self._csv_path)

    # ---- snapshots ----

    def _free_path(self, folder, kind, last):
        """A path that this process has not written: "rank0_memory_snapshot.pickle", "rank0_2_memory_snapshot.pickle"."""
        start, count = os.path.join(folder, "rank%d_" % find_rank(self.torch)) + kind, 1
        path = start + last
        while path in _names:
            count += 1
            path = "%s%d_%s" % (start, count, last)
        _names.add(path)
        return path

    @quietly
    def snapshot(self, kind="", is_periodic=False):
        """Writes a snapshot of this moment and returns its path, or None."""
        with self._lock:
            if not self.is_on or os.getpid() != self.pid:
                return None
            path = self._free_path(os.path.join(self.folder, "iteration_%d" % self.steps), kind + "_" if kind else "",
                                   "memory_snapshot.pickle")
            _written.append(_File(path, self.torch.cuda.memory._dump_snapshot, is_periodic))
            self.files.append(path)
            self._drop_old()
            return path

    @quietly
    def _out_of_memory(self, device, requested, total=None, free=None, *rest):
        if self.is_over or os.getpid() != self.pid:
            return
        with self._lock:
            self.ooms += 1
            if self.ooms > OOM_FILES:
                return
            path = self.snapshot("oom")
            if path is None:
                return
            why = "out of memory on device %s (%s bytes were asked for)" % (device, requested)
            say("%s: %s" % (why, path))
            rows = (("time", timestamp()), ("rank", find_rank(self.torch)), ("step", self.steps), ("device", device),
                    ("requested_bytes", requested), ("device_total_bytes", total), ("device_free_bytes", free))
            _written[-1].reason = _text_file(path[:-len("pickle")] + "txt", why + "\n\n" + "".join(
                "%s: %s\n" % row for row in rows if row[1] is not None))

    # ---- end ----

    @quietly
    def stop(self):
        """Writes what is left to write; more calls do nothing."""
        global _active
        with self._lock:
            if self.is_over or os.getpid() != self.pid:
                return
            if _active is self:
                _active = None
            if self.is_on:
                self._finish()
            else:
                say("%s: nothing was recorded" % self._why_not)
            self.is_over = True
        atexit.unregister(self.stop)

    def _finish(self):
        if self.wants_csv:
            self._end_table()
        self.snapshot()
        self.is_on = False
        if self._hook is not None:
            quietly(self._hook.remove)()
        quietly(self.torch.cuda.memory._record_memory_history)(None)
        if self.ooms > OOM_FILES:
            say("memory ran out %d times; the first %d have snapshots" % (self.ooms, OOM_FILES))
        if self.dropped > 0:
            say("removed %d older snapshot%s to stay within max_files and max_bytes" % (self.dropped,
                                                                                        "s"[self.dropped == 1:]))
        if self.files:
            say("%d step%s, %d file%s in %s" % (self.steps, "s"[self.steps == 1:], len(self.files),
                                                "s"[len(self.files) == 1:], self.folder))

    def __enter__(self):
        if _active is None:
            self.start()
        return self

    def __exit__(self, *exception):
        self.stop()
        return False


class _Joined(_Decorates):
    """record() inside of another recording: the outer one goes on, and has all of it."""

    def __init__(self, recorder):
        self.recorder = recorder

    def __enter__(self):
        return self.recorder

    def __exit__(self, *exception):
        return False


class _AfterImport:
    """Calls `then` with the module `name` once the program has imported it. Importing torch ahead of the program would
    read settings (PYTORCH_CUDA_ALLOC_CONF) that it may still be about to make."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            self._wrap(spec.loader)
        return spec

    @quietly
    def _wrap(self, loader):
        execute = loader.exec_module

        def exec_module(module):
            del loader.exec_module
            execute(module)
            self.then(module)

        loader.exec_module = exec_module


def record(name=None, **options):
    """A context manager, or a decorator, that records what happens inside; see Recorder and the command's --help for
    the options."""
    is_inside = _active is not None and _active.pid == os.getpid()
    recording = _Joined(_active) if is_inside else Recorder(name, **options)
    recording.made_of = (name, options)
    return recording


# ---- trainers: classes that are made when they are first asked for, so that nothing is imported for them before ----

class _Follows:
    """What both callbacks do: a recording from the trainer's beginning to its end, its steps being the trainer's."""

    def __init__(self, name=None, **options):
        super().__init__()
        self._made_of = (name, dict(options, auto_step=False))
        self._recording = self._recorder = None
        Recorder(name, **options)  # a wrong option is told now

    def _begin(self):
        if self._recording is None:
            self._recording = record(self._made_of[0], **self._made_of[1])
            self._recorder = self._recording.__enter__()

    def _end(self):
        recording, self._recording, self._recorder = self._recording, None, None
        if recording is not None:
            recording.__exit__(None, None, None)


def _make_lightning_callback():
    names = ("lightning.pytorch", "pytorch_lightning")  # two packages of one trainer: the one that the program has
    found = [name for name in names if name in sys.modules] or [name for name in names
                                                                if importlib.util.find_spec(name.partition(".")[0])]
    base = importlib.import_module((found or names)[0]).Callback

    class LightningCallback(_Follows, base):
        """Trainer(callbacks=[LightningCallback("fit", steps=10)]): a step is a batch after which weights changed."""

        def setup(self, trainer, pl_module, stage=None):
            if stage in (None, "fit"):
                self._begin()

        def on_train_start(self, trainer, pl_module):
            self._seen = trainer.global_step

        def on_train_batch_end(self, trainer, *unused):
            if self._recorder is not None and trainer.global_step != self._seen:
                self._seen = trainer.global_step
                self._recorder.step()

        def on_exception(self, trainer, pl_module, exception):
            self._end()

        def teardown(self, trainer, pl_module, stage=None):
            self._end()

    return LightningCallback


def _make_trainer_callback():
    base = importlib.import_module("transformers").TrainerCallback

    class TrainerCallback(_Follows, base):
        """Trainer(callbacks=[TrainerCallback("fit", steps=10)]): a step is the trainer's, of the optimizer. Recording
        begins with the callback itself, since the trainer moves the weights to the device when it is made."""

        def __init__(self, name=None, **options):
            super().__init__(name, **options)
            self._begin()

        def on_train_begin(self, args, state, control, **unused):
            self._begin()

        def on_step_end(self, args, state, control, **unused):
            self._recorder.step()

        def on_train_end(self, args, state, control, **unused):
            self._end()

    return TrainerCallback


_MAKERS = {"LightningCallback": _make_lightning_callback, "TrainerCallback": _make_trainer_callback}


def __getattr__(name):
    if name not in _MAKERS:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    made = _MAKERS[name]()
    made.__module__, made.__qualname__ = "gm_record", name  # so that it can be pickled, as spawned ranks need it
    globals()[name] = made
    return made


# ---- the command ----

def run_script(path, arguments):
    sys.argv = [path] + arguments
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec")
    main = types.ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main  # pickle and multiprocessing look there for what the program defines
    exec(code, main.__dict__)


def run_module(name, arguments):
    sys.argv = [name] + arguments
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.getcwd()
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def make_parser():
    head, _, rest = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="gm_record.py", usage="python gm_record.py [options] -- SCRIPT|-m MODULE [ARGS...]", description=head,
        epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-o", "--output", metavar="DIR", default="memory_snapshot", help="where files go (%(default)s)")
    add("-n", "--name", help="a folder of its own in DIR")
    add("--max-entries", type=int, default=100000, metavar="N", help="events kept for each device (%(default)s)")
    add("--stacks", choices=("all", "python"), default="all", help="all: C++ frames, too (%(default)s)")
    add("--steps", type=int, default=0, metavar="N", help="end the recording after N steps; the program goes on")
    add("--every", type=int, default=0, metavar="N", help="a snapshot after every N steps, too")
    add("--keep", type=int, default=0, metavar="K", help="of those, keep the newest K")
    add("--max-files", type=int, default=0, metavar="N", help="of all snapshots of a rank, keep the newest N")
    add("--max-bytes", type=parse_size, default="10GiB", metavar="SIZE",
        help="... and no more than SIZE; 0: no limit (%(default)s)")
    add("--no-csv", dest="csv", action="store_false", help="no table of steps")
    add("--no-auto-step", dest="auto_step", action="store_false", help="steps are not counted by the optimizer")
    add("--keep-peaks", action="store_true", help="do not reset PyTorch's peak counters: the program reads them, too")
    return parser


def split(argv):
    """Our options, and the program's words: from `--`, `-m` or the first word that is no option's value."""
    with_value = {word for option in make_parser()._actions if option.nargs != 0 for word in option.option_strings}
    i = 0
    while i < len(argv):
        if argv[i] == "--":
            return argv[:i], argv[i + 1:]
        if argv[i] == "-m" or not argv[i].startswith("-"):
            break
        i += 2 if argv[i] in with_value else 1
    return argv[:i], argv[i:]


def main():
    ours, program = split(sys.argv[1:])
    parser = make_parser()
    options = parser.parse_args(ours)
    if not program or (program[0] == "-m" and len(program) < 2):
        parser.error("no program is given")
    this = sys.modules["__main__"]
    sys.modules.setdefault("gm_record", this)  # a program that imports gm_record joins this recording
    recorder = Recorder(**vars(options))
    recorder.start()
    try:
        if program[0] == "-m":
            run_module(program[1], program[2:])
        else:
            run_script(program[0], program[1:])
    finally:
        recorder.stop()


if __name__ == "__main__":
    main()
