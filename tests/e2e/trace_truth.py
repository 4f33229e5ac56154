"""fadeprobe trace: from where calls are made, and whether what HIP says is true."""
import json
import os
import re
import shutil
import sqlite3
import sys
import unittest

import fade
from fade import PROBE, program

DL = program("dl_calls")
LAYER = os.path.join(fade.HERE, "programs", "libcudart-e2e.so")


class Tests(fade.Test):
    def lines(self, options, app, code=0):
        log = self.path("all.jsonl")
        result = self.bare([PROBE, "trace", "-o", log, "--format", "json", *options, "--", *app])
        self.assertEqual(result.code, code, result.stderr + result.stdout)
        with open(log) as file:
            return [json.loads(line) for line in file], result

    def facts(self, lines, kind):
        return {x["text"]: x["count"] for x in lines if x["type"] == "finding" and x["kind"] == kind}

    def summary(self, file="all.jsonl"):
        result = self.bare([PROBE, "log", self.path(file)])
        self.assertEqual((result.code, result.stderr), (0, ""))
        return result.stdout

    # ---- stacks

    def test_python_ends_while_its_daemon_threads_call(self):
        # Threads that wait for the interpreter's lock at its end are ended by it.
        code = ("import ctypes, sys, threading, time\n"
                "hip = next(ctypes.CDLL(f'libamdhip64.so.{n}') for n in sys.argv[1])\n"
                "hip.hipGetDevice(ctypes.byref(ctypes.c_int()))\n"  # ROCr does not survive an exit while it is being initialized
                "names = {}\n"
                "for i in range(400): exec('def f%d(x):\\n    hip.hipGetDevice(x)\\n' % i, {'hip': hip}, names)\n"
                "def work():\n"
                "    x = ctypes.byref(ctypes.c_int())\n"
                "    while True:\n"
                "        for f in names.values(): f(x)\n"
                "for _ in range(4): threading.Thread(target=work, daemon=True).start()\n"
                "time.sleep(0.05)\n")
        for _ in range(4):
            result = self.bare([PROBE, "trace", "--stacks", "-o", self.path("x.json"), "--format", "json", "--", sys.executable, "-c", code,
                                str(fade.HIP)])
            self.assertEqual((result.code, result.said), (0, []))

    def test_stacks_have_functions_files_and_lines_also_of_libraries_that_are_gone(self):
        lines, _ = self.lines(["--stacks"], [DL, "cuda", LAYER])
        stacks = {x["id"]: x["frames"] for x in lines if x["type"] == "stack"}
        calls = [x for x in lines if x["type"] == "call" and x["function"] == "hipMalloc"]
        self.assertEqual(len(calls), 4)
        inner, outer = stacks[calls[0]["stack"]][:2]
        self.assertEqual((inner["function"], os.path.basename(inner["file"])), ("cudaMalloc", "cuda_layer.cpp"))
        with open(os.path.join(os.path.dirname(__file__), "programs", "cuda_layer.cpp")) as file:
            source = file.read().splitlines()
        self.assertIn("(memory, size)", source[inner["line"] - 1])
        self.assertRegex(outer["function"], r"cuda\(char const\*, long\)")
        self.assertEqual(outer["library"], DL)
        # The same as RPD has it, the innermost with depth 0.
        self.assertEqual(self.bare([PROBE, "trace", "-o", self.path("x.rpd"), "--stacks", "--", DL, "cuda", LAYER]).code, 0)
        with sqlite3.connect(self.path("x.rpd")) as db:
            names = db.execute("SELECT depth, F.string FROM rocpd_stackframe S JOIN rocpd_string F ON F.id = name_id JOIN api A ON A.id = api_ptr_id "
                               "WHERE A.apiName = 'hipMalloc' AND depth < 2 ORDER BY S.id LIMIT 2").fetchall()
        self.assertEqual(names[0][0], 0)
        self.assertRegex(names[0][1], r"^cudaMalloc .*cuda_layer.cpp:\d+$")
        self.assertRegex(names[1][1], r"cuda\(char const\*, long\)")

    def test_stacks_tell_libraries_apart_that_were_at_the_same_address(self):
        copies = [self.path(f"lib{x}.so") for x in "ab"]
        for copy in copies:
            shutil.copy(LAYER, copy)
        code = ("import _ctypes, ctypes, sys\n"
                "ctypes.CDLL(f'libamdhip64.so.{sys.argv[1]}').hipFree(None)\n"
                "for path in sys.argv[2:] * 2:\n"
                "    layer = ctypes.CDLL(path)\n"
                "    assert layer.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(64)) == 0\n"
                "    _ctypes.dlclose(layer._handle)\n")
        lines, _ = self.lines(["--stacks=1"], [sys.executable, "-c", code, str(fade.HIP), *copies])
        stacks = {x["id"]: x["frames"] for x in lines if x["type"] == "stack"}
        self.assertEqual([stacks[x["stack"]][0]["library"] for x in lines if x.get("function") == "hipMalloc"], copies * 2)

    def test_stacks_are_as_deep_as_asked_and_absent_unless_asked(self):
        lines, _ = self.lines(["--stacks=2"], [DL, "churn", 2])
        frames = [len(x["frames"]) for x in lines if x["type"] == "stack"]
        self.assertTrue(frames)
        self.assertEqual(max(frames), 2)
        lines, _ = self.lines([], [DL, "churn", 2])
        self.assertEqual([x for x in lines if x["type"] == "stack" or "stack" in x], [])

    def test_frames_of_python(self):
        script = self.path("app.py")
        with open(script, "w") as file:
            file.write("import ctypes, sys, threading\n"
                       "hip = next(ctypes.CDLL(f'libamdhip64.so.{n}') for n in sys.argv[1])\n"
                       "def inner():\n"
                       "    hip.hipGetDevice(ctypes.byref(ctypes.c_int()))\n"
                       "def outer():\n"
                       "    for i in range(3): inner()\n"
                       "outer()\n"
                       "thread = threading.Thread(target=outer)\n"
                       "thread.start()\n"
                       "thread.join()\n")
        lines, _ = self.lines(["--stacks"], [sys.executable, script, str(fade.HIP)])
        stacks = {x["id"]: x["frames"] for x in lines if x["type"] == "stack"}
        calls = [x for x in lines if x["type"] == "call" and x["function"] == "hipGetDevice"]
        self.assertEqual(len(calls), 6)
        for call in calls:
            frames = [(x["function"], x.get("line")) for x in stacks[call["stack"]] if x.get("file") == script]
            self.assertEqual(frames[:2], [("inner", 4), ("outer", 6)])
        self.assertEqual([len({x["stack"] for x in calls[:3]}), len({x["stack"] for x in calls[3:]})], [1, 1])
        main, other = stacks[calls[0]["stack"]], stacks[calls[-1]["stack"]]
        self.assertIn(("<module>", 7), [(x["function"], x.get("line")) for x in main])
        self.assertIn("run", [x["function"] for x in other])  # of threading.py

    # ---- what HIP says of devices

    def test_properties_are_compared_and_corrected(self):
        forms = ("",) if fade.HIP == 5 else ("", "R0600")
        for gpu, said, right in (("gfx1030", "36 36 36, 0 0\n", "72 72 72, 0 0\n"), ("gfx90a", "104 104 104, 0 0\n", "104 104 104, 0 0\n")):
            lines, result = self.lines(["--gpu", gpu], [DL, "properties"])
            self.assertEqual(result.stdout, said)
            found = self.facts(lines, "property")
            calls = [x for x in lines if x["type"] == "call" and x["args"] is not None]
            units = {x["function"]: x["args"]["prop"]["multiProcessorCount"] for x in calls if x["function"].startswith("hipGetDeviceProp")}
            self.assertEqual(units, {f"hipGetDeviceProperties{form}": int(said.split()[0]) for form in forms})
            chosen = {x["function"]: x["args"]["device"] for x in calls if x["function"].startswith("hipChooseDevice")}
            self.assertEqual(chosen, {f"hipChooseDevice{form}": 0 for form in forms})
            if gpu == "gfx90a":
                self.assertEqual(found, {})
            else:
                self.assertTrue(all(re.match(r"device .*\(gfx1030\): HIP says multi.* 36, HSA says 72$", x) for x in found), found)
                self.assertEqual(len(found), 2)
                self.assertIn("wrong device properties", self.summary())
            lines, result = self.lines(["--gpu", gpu, "--correct", "properties"], [DL, "properties"])
            self.assertEqual(result.stdout, right)
            self.assertEqual(len(self.facts(lines, "corrected")), len(found))
        self.assert_mistake(["trace", "-o", self.path("x"), "--correct", "propertys"], "--correct: 'propertys' is neither .*did you mean 'properties'")

    def test_properties_and_attributes_of_several_devices_agree_once_corrected(self):
        gpus = ["--gpu", "gfx1030,gfx90a,gfx1030"]
        lines, result = self.lines(gpus, [DL, "both_answers"])
        self.assertEqual(result.stdout, "36 36\n104 104\n36 36\n")
        found = self.facts(lines, "property")
        self.assertEqual(len([x for x in found if "multiprocessor count 36, HSA says 72" in x]), 2, found)
        self.assertEqual(len([x for x in found if "multiProcessorCount 36, HSA says 72" in x]), 2, found)
        _, result = self.lines([*gpus, "--correct", "properties"], [DL, "both_answers"])
        self.assertEqual(result.stdout, "72 72\n104 104\n72 72\n")

    def test_the_summary_tells_devices_and_groups_of_calls_apart(self):
        result = self.bare([PROBE, "trace", "-o", self.path("run.rpd"), "--gpu", "gfx90a,gfx1030", "--", program("agents")])
        self.assertEqual(result.code, 0, result.stderr)
        text = self.summary("run.rpd")
        rows = [line.split() for line in text.splitlines() if re.match(r"GPU \d ", line)]
        self.assertEqual(len(rows), 2, text)
        self.assertEqual([int(row[2]) > 0 for row in rows], [True, True])
        self.assertRegex(text, r"\ngroups of calls +count ")
        self.assertRegex(text, r"\n(memory|launch|device) +\d+ ")

    # ---- errors, layers, libraries

    def test_errors_that_nobody_asked_about_and_allocations_that_failed(self):
        lines, _ = self.lines([], [DL, "ignored"])
        unseen = self.facts(lines, "unseen_error")
        self.assertEqual(unseen.pop("hipMalloc: hipErrorOutOfMemory"), 3)
        self.assertEqual(list(unseen.values()), [1])
        self.assertRegex(list(unseen)[0], "^hipFree: hipErrorInvalid")
        self.assertEqual(self.facts(lines, "no_memory"), {f"hipMalloc of {1 << 50} bytes": 3, f"hipMalloc of {1 << 51} bytes": 1})
        self.assertEqual(self.bare([PROBE, "trace", "-o", self.path("x.rpd"), "--", DL, "ignored"]).code, 0)
        for text in (self.summary(), self.summary("x.rpd")):
            self.assertRegex(text, r"unchecked errors.*\n( +1  hipFree.*\n)? +3  hipMalloc: hipErrorOutOfMemory")
            self.assertRegex(text, r"\nerrors\n(.*\n)* +4  hipMalloc: hipErrorOutOfMemory")
            self.assertNotIn("hipGetLastError:", text)  # it only says what another one has failed with

    def test_launches_that_nothing_came_of(self):
        # By a HIP that does nothing.
        library = os.path.join(fade.HERE, "programs", "idle", "libamdhip64.so")
        code = ("import ctypes, sys\n"
                "class Dim3(ctypes.Structure): _fields_ = [(n, ctypes.c_uint32) for n in 'xyz']\n"
                "hip = ctypes.CDLL(sys.argv[1])\n"
                "hip.hipLaunchKernel.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]\n"
                "assert hip.hipInit(0) == 0\n"
                "for i in range(3): assert hip.hipLaunchKernel(0x100000, Dim3(4, 1, 1), Dim3(64, 1, 1), None, 0, None) == 0\n"
                "hip.hipDeviceSynchronize()\n")
        lines, _ = self.lines([], [sys.executable, "-c", code, library])
        self.assertEqual(self.facts(lines, "no_effect"), {"hipLaunchKernel": 3})
        calls = [x for x in lines if x["type"] == "call" and x["function"] == "hipLaunchKernel"]
        self.assertEqual([x["args"]["numBlocks"]["x"] for x in calls], [4, 4, 4])
        self.assertEqual(self.bare([PROBE, "trace", "-o", self.path("x.rpd"), "--", sys.executable, "-c", code, library]).code, 0)
        for text in (self.summary(), self.summary("x.rpd")):
            self.assertRegex(text, r"launches without effect: they returned success, but nothing reached a queue\n +3  hipLaunchKernel\n")

    def test_a_program_that_found_a_gpu_and_computed_without_it(self):
        lines, _ = self.lines([], [DL, "without_gpu", 6])
        found = self.facts(lines, "fallback")
        self.assertEqual(len(found), 1, found)
        seconds, = re.match(r"(\d+\.\d) s of processor time in .* without work for the GPU, and no kernel at all$", list(found)[0]).groups()
        self.assertGreaterEqual(float(seconds), 5.0)
        self.assertRegex(self.summary(), rf"a GPU was found, but work ran without it\n.*{seconds} s of processor time")

    def test_calls_through_a_cuda_layer_are_said_to_be_that(self):
        lines, _ = self.lines([], [DL, "cuda", LAYER])
        self.assertEqual(self.facts(lines, "redirect"), {f"{os.path.basename(DL)} -> libcudart-e2e.so cudaMalloc -> hipMalloc": 4})
        lines, _ = self.lines([], [DL, "cuda", LAYER, 3])  # and three that are made without the layer
        self.assertEqual(len([x for x in lines if x["type"] == "call" and x["function"] == "hipMalloc"]), 7)
        self.assertEqual(self.facts(lines, "redirect"), {f"{os.path.basename(DL)} -> libcudart-e2e.so cudaMalloc -> hipMalloc": 4})
        self.assertIn("calls through a CUDA layer", self.summary())
        self.assertIn("libcudart-e2e.so", self.bare([PROBE, "log", self.path("all.jsonl"), "--dot", "chain"]).stdout)
        lines, _ = self.lines([], [DL, "churn", 2])
        self.assertEqual(self.facts(lines, "redirect"), {})
        # From Python, whose bridge to C is nobody.
        code = "import ctypes, sys\nlayer = ctypes.CDLL(sys.argv[1])\nfor i in range(2): layer.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(4096))\n"
        lines, _ = self.lines([], [sys.executable, "-c", code, LAYER])
        self.assertRegex(" ".join(self.facts(lines, "redirect")), r"^(lib)?python\S* -> libcudart-e2e.so cudaMalloc -> hipMalloc$")

    def test_a_program_for_cuda_knows_nothing_of_hip_and_is_told_who_does_it(self):
        client = program("cuda_client")
        lines, _ = self.lines([], [client])
        calls = [x["function"] for x in lines if x["type"] == "call" and "parent" not in x]
        self.assertEqual([x for x in calls if x in ("hipMalloc", "hipFree")], ["hipMalloc", "hipFree"] * 3)
        layer, name = "libcuda-e2e.so", os.path.basename(client)
        self.assertEqual(self.facts(lines, "redirect"), {f"{name} -> {layer} cudaMalloc -> hipMalloc": 3})
        # cudaFree jumps on to HIP: only the symbols tell.
        self.assertEqual(self.facts(lines, "cuda_layer"), {f"{name} takes from {layer}: cudaFree, cudaMalloc": 1})
        self.assertIn("libraries with CUDA's names", self.summary())

    def test_who_asks_for_which_library(self):
        lines, _ = self.lines(["--libraries"], [DL, "cuda", LAYER])
        asked = {(x["file"], x["requested_by"]) for x in lines if x["type"] == "library"}
        self.assertIn((LAYER, DL), asked)
        for who in (DL, LAYER):
            self.assertTrue(any(x.startswith("libamdhip64.so") and by == who for x, by in asked), asked)
        self.assertFalse(any("libfade.so" in by for _, by in asked), asked)
        self.assertRegex(self.summary(), rf"library loads\n(.*\n)* .*{re.escape(LAYER)}  by {re.escape(DL)}\n")
        lines, _ = self.lines([], [DL, "cuda", LAYER])
        self.assertEqual([x for x in lines if x["type"] == "library"], [])


if __name__ == "__main__":
    fade.main()
