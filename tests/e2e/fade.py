"""Runs programs under FADE as a user would, and reads what comes out."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ["E2E_BIN"]
LIB = os.environ["E2E_LIB"]
HERE = os.environ["E2E_BUILD"]  # programs and code objects that were built for the tests
HANDLERS = os.environ["E2E_HANDLERS"]
SUFFIX = os.environ.get("E2E_SUFFIX", "")  # of programs for another ROCm than this machine's
GPU = os.environ.get("E2E_GPU", "gfx90a")
LANES = 64 if GPU.startswith("gfx9") else 32  # of a wave
IS_NEXT = SUFFIX.endswith("next")  # HIP 7 behind libraries that look like ROCm 10 to tools (tests/rocm_next)
HIP = 7 if IS_NEXT else int(SUFFIX[-1]) if SUFFIX else 5


def waves(items):
    """Of a workgroup of so many work-items."""
    return -(-items // LANES)


def without_runtime(text):
    """Without a line that HIP 6 and 7 also write without FADE."""
    return "".join(x for x in text.splitlines(True) if "leak detected by SharedSignalPool" not in x)


def signals_left(text):
    """How many signals ROCr 6 and 7 missed when they were shut down."""
    return sum(int(x) for x in re.findall(r"SharedSignalPool, (\d+) Signals leaked", text))


PROBE = os.path.join(BIN, "fadeprobe")
TRANSPORT = os.environ.get("E2E_TRANSPORT")  # of every run that does not choose one itself
CARD = os.environ.get("E2E_CARD")  # the software GPU is as unforgiving as a card


def program(name):
    return os.path.join(HERE, "programs", f"e2e_{name}{SUFFIX}")


def example(name):
    """One of the examples, with twins."""
    return program("example_" + name) if SUFFIX else os.path.join(BIN, "..", "examples", "programs", "example_" + name)


def code_object(name):
    return os.path.join(HERE, f"e2e_{name}{SUFFIX}-{GPU}.hsaco")


def handler(name):
    return os.path.join(HANDLERS, f"lib{name}.so")


SOON = {"FADE_PATIENCE": "0.1"}  # for tests in which something is stuck


class Result:
    def __init__(self, code, stdout, stderr, log):
        self.code, self.stdout, self.stderr, self.log = code, stdout, stderr, log
        # Without the line that says that no GPU was found.
        self.said = [x for x in without_runtime(stderr).splitlines() if "no AMD GPU found" not in x and "the copy engine of gfx908" not in x]

    def text(self):
        with open(self.log) as file:
            return file.read()

    def objects(self, kind=None):
        found = [json.loads(line) for line in self.text().splitlines()]
        for each in found:
            assert each["version"] == 1 and each["type"], each
        return found if kind is None else [x for x in found if x["type"] == kind]

    def summary(self):
        found = self.objects("summary")
        assert len(found) == 1, found
        return found[0]

    def dispatches(self, kernel):
        return [x for x in self.objects("dispatch") if x["kernel"].startswith(kernel)]


def clean_environment(extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FADE_", "E2E_"))}
    for name in ("HSA_TOOLS_LIB", "LD_PRELOAD"):
        env.pop(name, None)
    if TRANSPORT:
        env["FADE_TRANSPORT"] = TRANSPORT
    if CARD:
        env["FADE_GPU_CARD"] = CARD
    if "E2E_GPU" in os.environ:
        env["FADE_GPU"] = GPU
    env.update(x.split("=", 1) for x in os.environ.get("E2E_MODES", "").split() if x)  # of the software GPU
    env["FADE_PATIENCE"] = "10"  # a busy machine is not stuck
    env.update(extra)
    return env


def read(path):
    with open(path) as file:
        return file.read()


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def threads_of(pid):
    """What each thread of a process and of its children waits in, for messages of tests that hang."""
    lines = []
    for task in sorted(glob.glob(f"/proc/{pid}/task/*")):
        try:
            name, call, children = (read(os.path.join(task, x)).strip() for x in ("comm", "syscall", "children"))
        except OSError as error:
            lines.append(f"{task}: {error}")
            continue
        lines.append(f"{os.path.basename(task)} {name}: {call}")
        lines += [line for child in children.split() for line in [threads_of(child)]]
    return "\n".join(lines)


def kill_with_children(pid):
    """Children that hang keep its pipes open."""
    for task in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            children = read(task).split()
        except OSError:
            continue
        for child in children:
            kill_with_children(int(child))
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


class Test(unittest.TestCase):
    maxDiff = None

    def skip_in_front_of_hip(self):
        """Without anything preloaded the first call is found on the stack, in HIP's own code, which is in another library there."""
        if IS_NEXT:
            self.skipTest("the first call is not found through a front library")

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="fade-e2e-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.log = os.path.join(self.dir, "log")

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self, options, app, env=None, json_log=True, **more):
        """fadeprobe with a JSON log of its own, unless the options say where to."""
        command = [PROBE]
        if json_log:
            command += ["-t", "json", "-l", self.log]
        command += list(options) + ["--"] + [str(x) for x in app]
        return subprocess.Popen(command, env=clean_environment(env or {}), text=True,
                                errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.PIPE, **more)

    def finish(self, process, stdin="", timeout=100):
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            threads = threads_of(process.pid)
            kill_with_children(process.pid)
            try:
                out, err = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:  # a child that has no parent any more
                out = err = "(still open)"
            self.fail(f"it did not end within {timeout} s; stdout: {out}; stderr: {err}; threads, and the system calls that they are in:\n{threads}")
        return Result(process.returncode, out, err, self.log)

    def probe(self, options, app, stdin="", timeout=100, **more):
        return self.finish(self.start(options, app, **more), stdin, timeout)

    def bare(self, command, env=None, stdin="", **more):
        """Anything, in a clean environment."""
        return self.finish(subprocess.Popen([str(x) for x in command], env=clean_environment(env or {}), text=True,
                                            errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, **more), stdin)

    def software_gpu(self, command, env=None, stdin=""):
        """Without FADE's host runtime."""
        env = dict(env or {}, LD_PRELOAD=os.path.join(LIB, "libfadegpu.so"))
        return self.bare(command, env, stdin)

    def assert_fine(self, result, stdout=None, code=0):
        self.assertEqual(result.code, code, result.stderr + result.stdout)
        self.assertEqual(result.said, [])
        if stdout is not None:
            self.assertEqual(result.stdout, stdout)

    def assert_mistake(self, options, expected, env=None):
        """One line that matches, exit code 2, and the application does not run."""
        marker = self.path("ran")
        result = self.bare([PROBE, *options, "--", "touch", marker], env)
        self.assertEqual(result.code, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertRegex(result.stderr, expected)
        self.assertFalse(os.path.exists(marker))


def main():
    unittest.main(argv=[sys.argv[0], "-q", *sys.argv[1:]])
