"""fadeprobe trace: structures behind pointers, and kernels of all kinds of launches with the call that asked for them."""
import collections
import json
import platform
import sys
import unittest

import fade
from fade import PROBE, program

ASKING = program("asking")


class Tests(fade.Test):
    def lines(self, app, options=()):
        """Calls by id, operations, and what the program printed."""
        log = self.path("all.jsonl")
        result = self.bare([PROBE, "trace", "-o", log, "--format", "json", *options, "--", *app])
        self.assertEqual((result.code, result.said), (0, []), result.stdout)
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        self.findings = {(x["kind"], x["text"]) for x in lines if x["type"] == "finding"}
        return {x["id"]: x for x in lines if x["type"] == "call"}, [x for x in lines if x["type"] == "operation"], fade.without_runtime(result.stdout)

    def args(self, calls, function):
        return [x["args"] for x in calls.values() if x["function"] == function and x["args"] is not None]

    def workgroups(self, kernels):
        return [x["grid"][0] // x["workgroup"][0] for x in kernels]

    # ---- structures

    def test_structures_have_their_members(self):
        calls, operations, said = self.lines([ASKING, "structures"])
        did = json.loads(said)
        name = "hipGetDeviceProperties" if fade.HIP == 5 else "hipGetDevicePropertiesR0600"
        (good, refused), = [self.args(calls, name)]
        properties = good["prop"]
        self.assertEqual([properties[x] for x in ("name", "gcnArchName", "multiProcessorCount", "totalGlobalMem")],
                         [did[x] for x in ("device", "arch", "units", "memory")])
        self.assertEqual((len(properties["maxGridSize"]), properties["maxGridSize"][1]), (3, did["grid"]))
        self.assertGreater(len(properties), 50)
        # Bit-fields.
        self.assertEqual([properties["arch"][x] for x in ("hasDoubles", "hasDynamicParallelism")], did["bits"])
        self.assertGreater(len(properties["arch"]), 15)
        self.assertEqual([x for x in properties if "reserved" in x.lower()], [])
        self.assertEqual(list(refused.values()), [None, 99])
        pointer, = self.args(calls, "hipPointerGetAttributes")
        kind = "memoryType" if fade.HIP == 5 else "type"
        self.assertEqual((pointer["attributes"]["devicePointer"], pointer["attributes"][kind]), (did["pointer"], "hipMemoryTypeDevice"))
        function, = self.args(calls, "hipFuncGetAttributes")
        self.assertEqual((function["attr"]["numRegs"], function["attr"]["maxThreadsPerBlock"]), (did["registers"], did["threads"]))
        box, = self.args(calls, "hipMalloc3D")
        self.assertTrue(did["pitched"] or platform.machine() == "aarch64")
        if did["pitched"]:
            self.assertEqual((box["pitchedDevPtr"]["ptr"], box["pitchedDevPtr"]["pitch"]), (did["box"], did["pitch"]))
        self.assertEqual(box["extent"], {"width": 100, "height": 5, "depth": 3})  # by value
        copy, = self.args(calls, "hipMemcpy3D")
        self.assertEqual(copy["p"]["srcPtr"], {"ptr": did["host"], "pitch": 100, "xsize": 100, "ysize": 5})
        self.assertEqual((copy["p"]["extent"], copy["p"]["kind"]), ({"width": 100, "height": 5, "depth": 3}, "hipMemcpyHostToDevice"))
        node, = self.args(calls, "hipGraphAddKernelNode")
        self.assertEqual((node["pNodeParams"]["gridDim"], node["pNodeParams"]["blockDim"], node["pNodeParams"]["sharedMemBytes"]),
                         ({"x": 7, "y": 6, "z": 5}, {"x": 32, "y": 2, "z": 1}, 16))
        got, = self.args(calls, "hipGraphKernelNodeGetParams")
        self.assertEqual(got["pNodeParams"]["gridDim"]["y"], did["node_grid"])
        # What the copies are, whoever does them.
        for function, direction, size, to in (("hipMemcpy3D", "host_to_device", 1500, did["box"]), ("hipMemcpyParam2D", "device_to_host", 320, did["host"])):
            call, = [x for x in calls.values() if x["function"] == function]
            for operation in (x for x in operations if x.get("call") == call["id"] and x["kind"] == "copy" and "queue" in x):
                self.assertEqual((operation["direction"], operation["bytes"], operation["to"]), (direction, size, to))

    # ---- Python

    def test_threads_and_processes_of_python(self):
        script = self.path("app.py")
        with open(script, "w") as file:
            file.write("import ctypes, json, multiprocessing, os, sys, threading\n"
                       "def work(times):\n"
                       "    hip = ctypes.CDLL(f'libamdhip64.so.{sys.argv[1]}')\n"
                       "    memory = ctypes.c_void_p()\n"
                       "    for i in range(times):\n"
                       "        assert hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(4096 * times)) == 0\n"
                       "        assert hip.hipMemset(memory, 1, ctypes.c_size_t(4096)) == 0\n"
                       "        assert hip.hipFree(memory) == 0\n"
                       "    return os.getpid(), threading.get_native_id(), times\n"
                       "if __name__ == '__main__':\n"
                       "    done = []\n"
                       "    for method in ('fork', 'spawn'):\n"
                       "        with multiprocessing.get_context(method).Pool(2) as pool:\n"
                       "            done += pool.map(work, [3, 4], chunksize=1)\n"
                       "            pool.close()\n"
                       "            pool.join()\n"
                       "    done.append(work(1))\n"
                       "    threads = [threading.Thread(target=lambda n=n: done.append(work(n))) for n in (5, 6, 7)]\n"
                       "    for thread in threads: thread.start()\n"
                       "    for thread in threads: thread.join()\n"
                       "    print(json.dumps(done))\n")
        calls, operations, said = self.lines([sys.executable, script, fade.HIP])
        done = json.loads(said)
        self.assertEqual(sum(x[2] for x in done), 2 * (3 + 4) + 1 + 5 + 6 + 7)
        want, found = collections.Counter(), collections.Counter()
        for pid, thread, times in done:
            want[pid, thread] += times
        for call in calls.values():
            if call["function"] == "hipMalloc":
                found[call["pid"], call["thread"]] += 1
        self.assertEqual(found, want)
        # Each fill belongs to the call of its own process.
        fills = [x for x in operations if x["kind"] == "fill"]
        self.assertEqual(len(fills), sum(want.values()))
        for fill in fills:
            call = calls[fill["call"]]
            self.assertEqual((call["function"], call["pid"], call["args"]["dst"]), ("hipMemset", fill["pid"], fill["to"]))

    # ---- launches

    def test_kernels_of_hiprtc_belong_to_their_launches(self):
        calls, operations, said = self.lines([ASKING, "rtc", fade.GPU])
        did = json.loads(said)
        self.assertEqual(did["sum"], 5 * 64 * (1 + 2 + 3))
        kernels = [x for x in operations if x["kind"] == "kernel"]
        self.assertEqual([x["kernel"] for x in kernels], ["made"] * 3)
        self.assertEqual([calls[x["call"]]["function"] for x in kernels], ["hipModuleLaunchKernel"] * 3)
        self.assertEqual([calls[x["call"]]["args"]["gridDimX"] for x in kernels], self.workgroups(kernels))
        # Before the HSA runtime has loaded FADE; since HIP 6 in a library of its own, which the program loads then.
        names = [x["function"] for x in calls.values() if x["function"].startswith("hiprtc") and "parent" not in x]
        self.assertEqual(names, ["hiprtcCreateProgram", "hiprtcCompileProgram", "hiprtcGetCodeSize", "hiprtcGetCode", "hiprtcDestroyProgram"] +
                         (["hiprtcVersion"] if fade.HIP < 7 else []))
        self.assertEqual([x["major"] for x in self.args(calls, "hiprtcVersion")], [did["version"]] if fade.HIP < 7 else [])
        self.assertEqual(self.args(calls, "hiprtcCreateProgram")[0]["name"], "made.cpp")
        self.assertEqual(self.args(calls, "hiprtcGetCodeSize")[0]["codeSizeRet"], did["size"])

    def test_functions_of_the_host_between_kernels_confuse_nobody(self):
        calls, operations, said = self.lines([ASKING, "callbacks"])
        self.assertEqual(said, "20\n")
        kernels = [x for x in operations if x["kind"] == "kernel" and not x["kernel"].startswith("__")]
        self.assertEqual(len(kernels), 30)
        for kernel, groups in zip(kernels, self.workgroups(kernels)):
            call = calls[kernel["call"]]
            self.assertEqual((call["function"], call["args"]["numBlocks"]["x"], call["kernel"]), ("hipLaunchKernel", groups, kernel["kernel"]))
        self.assertEqual(len({x["call"] for x in kernels}), 30)
        self.assertGreaterEqual(len(self.args(calls, "hipGetDevice")), 10)
        self.assertEqual({x for x in self.findings if x[0] in ("no_effect", "unseen_error")}, set())

    def test_a_graph_with_parallel_branches_has_all_of_its_kernels_at_each_launch(self):
        calls, operations, _ = self.lines([ASKING, "branches", 6])
        of = collections.defaultdict(list)
        for kernel in (x for x in operations if x["kind"] == "kernel"):
            of[kernel["call"]].append(kernel)
        launches = [x["id"] for x in calls.values() if x["function"] == "hipGraphLaunch"]
        self.assertEqual(len(launches), 6)
        for launch in launches:
            self.assertEqual(sorted(self.workgroups(of[launch])), [1, 2, 3, 4, 5])
            self.assertEqual(collections.Counter("twice" if "twice" in x["kernel"] else "count" for x in of[launch]), {"count": 3, "twice": 2})
        beside = [x for x in calls.values() if x["function"] == "hipLaunchKernel" and x["args"]["numBlocks"]["x"] == 9]
        self.assertEqual(len(beside), 18)
        for call in beside:
            self.assertEqual(self.workgroups(of[call["id"]]), [9])
        self.assertEqual(sum(map(len, of.values())), 6 * 5 + 18)
        # Captured ones did not run by themselves, which is nothing to wonder about.
        self.assertEqual({x for x in self.findings if x[0] == "no_effect"}, set())

    def test_kernels_of_modules_belong_to_their_launches(self):
        calls, operations, _ = self.lines([ASKING, "modules", fade.code_object("scale1")])
        kernels = [x for x in operations if x["kind"] == "kernel" and x["kernel"].startswith("scale")]
        self.assertEqual([(calls[x["call"]]["function"], n) for x, n in zip(kernels, self.workgroups(kernels))],
                         [("hipModuleLaunchKernel", 2), ("hipModuleLaunchKernel", 3), ("hipExtModuleLaunchKernel", 4)])


if __name__ == "__main__":
    fade.main()
