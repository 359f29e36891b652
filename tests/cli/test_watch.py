# SPDX-License-Identifier: Apache-2.0
"""gmanalyze --watch: which files are reported, when, and how it ends."""
import os
import shutil
import signal
import subprocess
import threading
import time

from harness import BINARY, Case, main, one_block, write

WAIT = 60  # seconds: of a busy machine


class Watch(Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.at("dump"))
        self.out, self.err, self.readers = [], [], []

    @staticmethod
    def read(stream, lines):
        with stream:
            for line in stream:
                lines.append(line)

    def start(self, *options, directory="dump", stdout=subprocess.PIPE):
        self.program = subprocess.Popen([BINARY, "--no-charts", "--no-page", *options, "--watch", directory],
                                        cwd=self.folder, stdout=stdout, stderr=subprocess.PIPE, text=True)
        for stream, lines in ((self.program.stdout, self.out), (self.program.stderr, self.err)):
            if stream is not None:
                self.readers.append(threading.Thread(target=self.read, args=(stream, lines), daemon=True))
                self.readers[-1].start()
        self.addCleanup(self.program.wait)
        self.addCleanup(self.program.kill)
        self.wait_for(lambda: any("waiting for snapshots" in line for line in self.err))

    def wait_for(self, is_so):
        until = time.monotonic() + WAIT
        while not is_so():
            self.assertLess(time.monotonic(), until, self.out + self.err)
            time.sleep(0.02)

    def runs(self):
        names = os.listdir(self.at("results")) if os.path.isdir(self.at("results")) else []
        return sorted(name[16:] for name in names if name != "latest")

    def wait_for_runs(self, *names):
        self.wait_for(lambda: self.runs() == sorted(names))

    def end(self, code, number=signal.SIGINT):
        self.program.send_signal(number)
        self.assertEqual(self.program.wait(WAIT), code, self.out + self.err)
        for reader in self.readers:
            reader.join(WAIT)

    def put(self, name, megabytes=1):
        """As the recorder does: under a hidden name, then renamed."""
        path = self.at("dump", *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        part = os.path.join(os.path.dirname(path), "." + os.path.basename(path) + ".part1")
        write(part, one_block(megabytes))
        os.rename(part, path)
        return path

    def test_each_as_it_appears(self):
        self.put("iteration_1/rank0_memory_snapshot.pickle")
        self.start()
        self.assertIn("1 that is there already is left out", self.err[0])
        self.put("iteration_2/rank0_memory_snapshot.pickle")
        self.wait_for_runs("iter2_rank0")
        for rank in range(4):
            self.put(f"iteration_3/rank{rank}_memory_snapshot.pickle", rank + 1)
        ranks = [f"iter3_rank{rank}" for rank in range(4)]
        self.wait_for_runs("iter2_rank0", *ranks)
        self.wait_for(lambda: os.readlink(self.at("results", "latest"))[16:] in ranks)
        self.put("mine.pickle")
        self.wait_for_runs("iter2_rank0", *ranks, "mine")
        self.wait_for(lambda: os.readlink(self.at("results", "latest"))[16:] == "mine")
        self.end(0)
        self.assertEqual(sum("dump/" in line and line.endswith(":\n") for line in self.out), 6)
        self.assertEqual(len(self.err), 1, self.err)

    def test_not_before_it_is_complete(self):
        whole = write(self.at("whole"), one_block(3))
        with open(whole, "rb") as file:
            data = file.read()
        self.start("-n", "job")
        with open(self.at("dump", "slow.pickle"), "wb") as file:
            for i in range(8):
                file.write(data[len(data) * i // 8:len(data) * (i + 1) // 8])
                file.flush()
                time.sleep(0.3)
            self.assertEqual((self.runs(), len(self.err)), ([], 1))
        self.wait_for_runs("job_slow")
        shutil.copy(whole, self.at("dump", "again.pickle"))
        self.wait_for_runs("job_slow", "job_again")
        write(self.at("dump", "slow.pickle"), one_block(5))  # another one under its name
        self.wait_for(lambda: len(self.runs()) == 3)
        self.end(0, signal.SIGTERM)

    def test_one_that_is_being_written_when_it_begins(self):
        whole = write(self.at("whole"), one_block(3))
        with open(whole, "rb") as file:
            data = file.read()
        with open(self.at("dump", "slow.pickle"), "wb") as file:
            file.write(data)
            file.flush()
            self.start()
        self.wait_for_runs("slow")
        self.end(0)

    def test_damaged(self):
        self.start("--fail-above", "1KiB")
        self.put("good.pickle")
        self.wait_for_runs("good")
        with open(self.at("dump", "bad.pickle"), "wb") as file:
            file.write(b"\x80\x04}\x94(\x8c\x08segments")
        self.wait_for(lambda: any("dump/bad.pickle: " in line for line in self.err))
        self.put("other.pickle")
        self.wait_for_runs("good", "other")
        self.end(3)
        self.assertEqual(sum("bad.pickle" in line for line in self.err), 1)
        self.assertEqual(sum("check failed" in line for line in self.err), 2)

    def test_what_is_no_snapshot(self):
        self.start()
        for name in ("notes.txt", ".hidden.pickle", "rank0_memory_steps.csv"):
            with open(self.at("dump", name), "w", encoding="ascii") as file:
                file.write("told\n")
        self.put("good.pickle")
        self.wait_for_runs("good")
        self.end(0)
        self.assertEqual(len(self.err), 1, self.err)

    def test_its_own_results_are_not_watched(self):
        self.start(directory=".")
        self.put("good.pickle")
        self.wait_for_runs("good")
        time.sleep(1.5)
        self.assertEqual((self.runs(), len(self.err)), (["good"], 1))
        self.end(0)

    def test_usage(self):
        for words, why in ((("--watch", "dump", "x.pickle"), "takes no SNAPSHOT"),
                           (("--watch", "dump", "--json", "-"), "takes no --json")):
            done = subprocess.run([BINARY, *words], cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)
        done = subprocess.run([BINARY, "--watch", "nowhere"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, "gmanalyze: nowhere: cannot watch: No such file or directory\n"))

    def test_reader_has_gone(self):
        end, stdout = os.pipe()
        self.start(stdout=stdout)
        os.close(stdout)
        os.close(end)
        self.put("a.pickle")
        self.assertEqual(self.program.wait(WAIT), 141)


main()
