#!/usr/bin/env python3
"""Kernels that come as IR (Triton) or OpenCL C.   usage: routes_test.py FADEPROBE BUILD_DIR"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROBE, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
IR = pathlib.Path(__file__).resolve().parent.parent / "data/triton-ir/vector_add.ll"


def run(*words):
    return subprocess.run([PROBE, "--gpu", "gfx90a", "-t", "json", *map(str, words)], capture_output=True, text=True)


def lines(result, kind):
    objects = [json.loads(text) for text in result.stderr.splitlines() if text.startswith("{")]
    return [o for o in objects if o["type"] == kind]


class Routes(unittest.TestCase):
    def app(self, file, kernel, *options):
        result = run(*options, "--", WORK / "programs/module_app", file, kernel)
        self.assertEqual((result.returncode, result.stdout), (0, "right\n"), result.stderr)
        return result

    def test_triton_ir_through_opt_and_the_cache(self):
        result = self.app(WORK / "plain/vector_add.hsaco", "vector_add", "-i", "-c", WORK / "cache", "-a", "MemoryAnalysis")
        (memory,) = lines(result, "memory")
        self.assertEqual(memory["kernel"], "vector_add")
        seen = [(pathlib.Path(a["file"]).name, a["line"], a["op"], a["lanes"]) for a in memory["global"]]
        # 1000 elements in 4 programs of 256 lanes; the lines are those of the Python source.
        self.assertEqual(sorted(seen), [("triton_kernels.py", 12, "load", 1000), ("triton_kernels.py", 12, "load", 1000),
                                        ("triton_kernels.py", 12, "store", 1000)])

    def test_triton_atomics_are_seen(self):
        result = self.app(WORK / "plain/histogram.hsaco", "histogram", "-i", "-c", WORK / "cache", "-a", "MemoryAnalysis")
        (memory,) = lines(result, "memory")
        self.assertEqual({a["op"] for a in memory["global"]}, {"load", "atomic"})
        self.assertEqual(sum(a["lanes"] for a in memory["global"] if a["op"] == "load"), 1000)

    def test_without_a_cache_the_kernel_runs_as_it_is_and_the_reason_is_said(self):
        result = self.app(WORK / "plain/vector_add.hsaco", "vector_add", "-i", "--observe", "pass", "-a", "MemoryAnalysis")
        (summary,) = lines(result, "summary")
        self.assertEqual(summary["instrumented"], 0)
        self.assertEqual([s["kernel"] for s in summary["skipped"]], ["vector_add"])

    def test_without_a_cache_the_software_gpu_observes_the_kernel_as_it_is(self):
        result = self.app(WORK / "plain/vector_add.hsaco", "vector_add", "-i", "-a", "MemoryAnalysis")
        (memory,) = lines(result, "memory")
        moved = {op: sum(a["lanes"] * a["bytes"] for a in memory["global"] if a["op"] == op) for op in ("load", "store")}
        self.assertEqual(moved, {"load": 8000, "store": 4000})  # two and one of 1000 floats, however they were merged

    def triton(self, *application):
        """fadeprobe triton with a cache as Triton has it: a folder for each kernel, with its IR and its code object."""
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, True)
        (folder / "cache/HASH").mkdir(parents=True)
        shutil.copy(WORK / "plain/vector_add.hsaco", folder / "cache/HASH")
        shutil.copy(IR, folder / "cache/HASH/vector_add.llir")
        words = [str(word).replace("FOLDER", str(folder)) for word in application]
        return subprocess.run([PROBE, "triton", "--llvm", "19", "--triton-cache", folder / "cache", "--instrumented-code", folder / "made", "--gpu", "gfx90a", "-t", "json",
                               "-a", "MemoryAnalysis", "BlockCounts", "--", *words], capture_output=True, text=True, timeout=200)

    def test_one_command_instruments_what_is_in_tritons_cache(self):
        result = self.triton(WORK / "programs/module_app", "FOLDER/cache/HASH/vector_add.hsaco", "vector_add")
        self.assertEqual((result.returncode, result.stdout), (0, "right\n"), result.stderr)
        self.assertIn("1 kernel of", result.stderr)
        (memory,) = lines(result, "memory")
        self.assertEqual(sum(a["lanes"] for a in memory["global"]), 3000)
        self.assertEqual(len(lines(result, "blocks")), 1)

    def test_python_with_triton_whose_kernels_have_several_versions(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, True)
        here = pathlib.Path(__file__).resolve().parent
        # Triton's cache is where TRITON_HOME says, and keeps IR whatever was wanted.
        environment = dict(os.environ, TRITON_HOME=str(folder), TRITON_STORE_BINARY_ONLY="1", PYTHONPATH=str(here / "standin"), PYTHONDONTWRITEBYTECODE="1")
        environment.pop("TRITON_CACHE_DIR", None)

        def triton():
            result = subprocess.run([PROBE, "triton", "--llvm", "19", "--instrumented-code", folder / "made", "--gpu", "gfx90a", "--observe", "pass", "-t", "json", "-a", "MemoryAnalysis",
                                     "--", "python3", here / "triton_app.py", IR, folder / "made"], capture_output=True, text=True, timeout=200, env=environment)
            self.assertEqual((result.returncode, result.stdout), (0, "right\n"), result.stderr)
            return [d["instrumented"] for d in lines(result, "dispatch")], result
        seen, result = triton()
        # The first two are those of before, unless instrumented code was made while they ran; of the others, both versions are instrumented, each by its own.
        if "instrumented when the first two had run: 0\n" in result.stderr:
            self.assertEqual(seen[:2], [False, False], result.stderr)
        self.assertEqual(seen[-2:], [True, True], result.stderr)
        self.assertIn("TRITON_STORE_BINARY_ONLY is removed from the environment", result.stderr)
        self.assertEqual({sum(a["lanes"] for a in m["global"]) for m in lines(result, "memory")}, {3000})
        # The next run has all of them, and nothing is made again.
        seen, result = triton()
        self.assertEqual(set(seen), {True}, result.stderr)
        self.assertNotIn("kernels of", result.stderr)

    def test_mistakes_of_triton_are_said_in_one_line(self):
        for words, text in ((["triton"], "no application given"), (["triton", "--llvm", "3", "--", "true"], "LLVM 3 or its FADE plugin was not found")):
            result = subprocess.run([PROBE, *words], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(text, result.stderr)
        # A Python without Triton runs, with a word.
        result = self.triton("python3", "-S", "-c", "print(1)")
        self.assertEqual((result.returncode, result.stdout), (0, "1\n"))
        self.assertIn("python3 has no module 'triton'", result.stderr)

    def test_opencl_kernel_loaded_as_a_module(self):
        result = self.app(WORK / "saxpy.hsaco", "saxpy", "-i", "-a", "MemoryAnalysis")
        (memory,) = lines(result, "memory")
        seen = sorted((pathlib.Path(a["file"]).name, a["line"], a["op"], a["bytes"], a["lanes"]) for a in memory["global"])
        self.assertEqual(seen, [("saxpy.cl", 5, "load", 4, 1000), ("saxpy.cl", 5, "load", 4, 1000),
                                ("saxpy.cl", 5, "store", 4, 1000)])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
