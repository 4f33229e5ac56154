"""fadeprobe trace: what the application asked of HIP, as JSON lines, compared with what the program says it did."""
import collections
import glob
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import fade
import pftrace
from fade import PROBE, program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../parquet"))
from parquet_file import ParquetFile

DL = program("dl_calls")


class Tests(fade.Test):
    def trace(self, app, options=(), code=0, env=None):
        """The calls, and what the program printed."""
        log = self.path("calls.jsonl")
        result = self.bare([PROBE, "trace", "--api-log", log, *options, "--", *app], env)
        self.assertEqual(result.code, code, result.stderr + result.stdout)
        self.assertEqual(os.listdir(self.dir), ["calls.jsonl"])  # nothing is left behind
        with open(log) as file:
            calls = [x for x in map(json.loads, file) if x["type"] not in ("finding", "stack", "library")]
        for number, call in enumerate(calls, 1):
            self.assertEqual((call["type"], call["version"], call["id"]), ("call", 1, number))
            if call["end_ns"] is not None:
                self.assertLessEqual(call["start_ns"], call["end_ns"])
        return calls, result

    def everything(self, app, options=(), code=0):
        """Calls and operations."""
        log = self.path("all.jsonl")
        result = self.bare([PROBE, "trace", "-o", log, "--format", "json", *options, "--", *app])
        self.assertEqual(result.code, code, result.stderr + result.stdout)
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        calls = {x["id"]: x for x in lines if x["type"] == "call"}
        return calls, [x for x in lines if x["type"] == "operation"], result

    def of(self, calls, function):
        return [x for x in calls if x["function"] == function]

    # ---- calls

    def test_tables_that_hip_registers_are_used_and_its_code_is_left_alone(self):
        calls, result = self.trace([program("registered")], ["-v"])
        # Who is registered with rocprofiler-register has the table first.
        self.assertEqual(result.stdout, "hip 70200 1 as it is\n3 2 in its own code\n")
        self.assertEqual([(x["function"], x["args"], x.get("partial")) for x in calls],
                         [("hipGetDeviceCount", {"count": 3}, None), ("hipGetDevice", {"deviceId": 2}, None)])
        self.assertIn("fade: HIP has registered 506 functions of its runtime with rocprofiler-register", result.stderr)

    def test_arguments_and_results_of_a_client_that_takes_functions_with_dlsym(self):
        calls, result = self.trace([DL, "typed"])
        self.assertEqual(result.said, [])
        did = json.loads(result.stdout)
        self.assertEqual(
            [x["function"] for x in calls if "parent" not in x],
            ["hipGetDeviceCount", "hipMalloc", "hipMemcpy", "hipMalloc", "hipGetErrorName", "hipModuleLoad", "hipEventCreate",
             "hipEventCreate", "hipEventRecord", "hipEventRecord", "hipEventSynchronize", "hipEventElapsedTime", "hipDeviceGetName",
             "__hipPushCallConfiguration", "__hipPopCallConfiguration", "hipFree"])
        self.assertEqual((calls[0]["args"], calls[0]["result"]), ({"count": did["count"]}, "hipSuccess"))
        self.assertFalse([x for x in calls if "partial" in x])
        self.assertEqual({x["thread"] for x in calls}, {did["thread"]})
        good, bad = self.of(calls, "hipMalloc")
        self.assertEqual((good["args"], good["result"]), ({"ptr": did["memory"], "size": 4096}, "hipSuccess"))
        self.assertEqual((bad["args"], bad["result"]), ({"ptr": None, "size": 1 << 50}, did["name"]))
        self.assertEqual(did["huge"], 2)
        self.assertEqual(self.of(calls, "hipMemcpy")[0]["args"],
                         {"dst": did["memory"], "src": did["bytes"], "sizeBytes": 4096, "kind": "hipMemcpyHostToDevice"})
        self.assertEqual(self.of(calls, "hipGetErrorName")[0]["result"], did["name"])
        load = self.of(calls, "hipModuleLoad")[0]
        self.assertEqual(load["args"], {"module": None, "fname": "/no/such/file.hsaco"})
        self.assertEqual(load["result"], {301: "hipErrorFileNotFound"}.get(did["missing"], did["missing"]))
        self.assertEqual(self.of(calls, "hipEventCreate")[0]["args"], {"event": did["begin"]})
        self.assertAlmostEqual(self.of(calls, "hipEventElapsedTime")[0]["args"]["ms"], did["ms"], places=6)
        self.assertEqual(self.of(calls, "hipDeviceGetName")[0]["args"], {"name": did["device"], "len": 256, "device": 0})
        self.assertEqual(self.of(calls, "__hipPushCallConfiguration")[0]["args"],
                         {"gridDim": {"x": 3, "y": 4, "z": 5}, "blockDim": {"x": 6, "y": 7, "z": 8}, "sharedMem": 99, "stream": None})
        self.assertEqual(self.of(calls, "__hipPopCallConfiguration")[0]["args"]["sharedMem"], 99)

    def test_launches_of_a_linked_program(self):
        calls, result = self.trace([program("plain"), 5])
        self.assertEqual(result.said, [])
        launches = self.of(calls, "hipLaunchKernel")
        self.assertEqual(len(launches), 5)
        pushes = self.of(calls, "__hipPushCallConfiguration")
        self.assertEqual([x["args"]["numBlocks"] for x in launches], [x["args"]["gridDim"] for x in pushes])
        self.assertEqual(len({x["args"]["function_address"] for x in launches}), 1)
        self.assertEqual(self.of(calls, "hipGetStreamDeviceId"), [])  # in which FADE asks HIP 5 for the kernel's name

    def test_threads_have_all_of_their_calls(self):
        calls, _ = self.trace([DL, "threads", 4, 3000], ["--api", "^hipGetDevice$"])
        counts = collections.Counter(x["thread"] for x in calls)
        self.assertEqual(sorted(counts.values()), [3000] * 4)

    def test_calls_within_a_callback_are_there_and_a_killed_process_leaves_what_it_did(self):
        calls, _ = self.trace([DL, "killed"], code=-signal.SIGKILL)
        self.assertEqual(len([x for x in self.of(calls, "hipGetDevice") if "parent" not in x]), 7)
        waiting = self.of(calls, "hipStreamSynchronize")
        self.assertEqual([(x["result"], x["end_ns"]) for x in waiting], [(None, None)])

    def test_a_forked_child_writes_into_the_same_file(self):
        calls, result = self.trace([DL, "fork"], ["--api", "^hipGetDevice$"])
        parent, child = map(int, result.stdout.split())
        counts = collections.Counter(x["pid"] for x in calls)
        self.assertEqual(counts, {parent: 8, child: 20})
        self.assertEqual({x["thread"] for x in calls if x["pid"] == child}, {child})

    def test_several_programs_of_a_script_are_in_one_file(self):
        calls, _ = self.trace(["sh", "-c", f"'{DL}' churn 3; '{DL}' churn 4"], ["--api", "^hipGetDevice$"])
        counts = collections.Counter(x["pid"] for x in calls)
        self.assertEqual(sorted(counts.values()), [4, 5])

    def test_a_full_disk_ends_the_recording_and_not_the_application(self):
        calls, result = self.trace([DL, "limited", 1 << 20])
        self.assertEqual(result.stdout, "done\n")
        self.assertRegex("\n".join(result.said), r"fade: .*\.events: File too large: the recording ends here; the application continues")
        self.assertRegex("\n".join(result.said), r"fadeprobe: 1 events were not recorded")
        self.assertGreater(len(calls), 5000)  # seven blocks
        self.assertLess(len(calls), 100_000)

    def test_only_what_is_chosen_is_recorded(self):
        calls, _ = self.trace([DL, "typed"], ["--api", "event,hipFree"])
        self.assertEqual([x["function"] for x in calls],
                         ["hipEventCreate"] * 2 + ["hipEventRecord"] * 2 + ["hipEventSynchronize", "hipEventElapsedTime", "hipFree"])

    def test_nothing_is_recorded_when_it_starts_off(self):
        calls, _ = self.trace([DL, "typed"], ["--start", "off"])
        self.assertEqual(calls, [])

    def test_without_fadeprobe(self):
        self.skip_in_front_of_hip()
        events = self.path("run.events")
        env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": events, "FADE_TRACE_API": "event,hipGetDeviceCount"}
        result = self.software_gpu([DL, "typed"], env)
        self.assertEqual((result.code, result.said), (0, []))
        self.assertGreater(os.path.getsize(events), 4096)
        # FADE is loaded inside of the first call.
        self.assertEqual(self.bare([PROBE, "log", events, "-o", self.path("calls.jsonl"), "--format", "json"]).code, 0)
        with open(self.path("calls.jsonl")) as file:
            first = next(x for x in map(json.loads, file) if x["type"] == "call")
        self.assertEqual((first["function"], first["args"], first["partial"]), ("hipGetDeviceCount", None, True))
        self.assertRegex(self.bare([PROBE, "log", events]).stdout, r"known by name only.*\n +1  hipGetDeviceCount\n")

    # ---- operations

    def launches(self, threads, times, queues):
        calls, operations, result = self.everything([DL, "launches", fade.code_object("scale1"), threads, times, queues])
        self.assertEqual(fade.without_runtime(result.stdout), "")
        kernels = [x for x in operations if x["kind"] == "kernel"]
        self.assertEqual(len(kernels), threads * times)
        self.assertEqual(len({x["call"] for x in kernels}), threads * times)
        threads_of, last = collections.defaultdict(set), {}
        for kernel in sorted(kernels, key=lambda x: x["call"]):
            call = calls[kernel["call"]]
            self.assertEqual(call["function"], "hipModuleLaunchKernel")
            self.assertEqual(call["args"]["gridDimX"] * 64, kernel["grid"][0])
            self.assertTrue(kernel["kernel"].startswith("scale"), kernel)
            self.assertGreater(kernel["vgprs"], 0)
            self.assertLessEqual(call["start_ns"], kernel["submitted_ns"])
            self.assertLessEqual(kernel["submitted_ns"], kernel["end_ns"])
            self.assertLessEqual(kernel["start_ns"], kernel["end_ns"])
            threads_of[kernel["grid"][0]].add(call["thread"])
            # What a thread has put into a stream is in one queue, in that order.
            stream = (call["thread"], call["args"]["stream" if "stream" in call["args"] else "hStream"])
            before = last.get(stream)
            if before:
                self.assertEqual(before["queue"], kernel["queue"])
                self.assertLess(before["packet"], kernel["packet"])
            last[stream] = kernel
        self.assertEqual([len(x) for x in threads_of.values()], [1] * threads)
        self.assertEqual(len(last), threads * queues)

    def test_kernels_belong_to_the_calls_that_launched_them(self):
        self.launches(threads=8, times=int(os.environ.get("E2E_LAUNCHES", 300)), queues=4)

    def test_what_the_gpu_has_done_is_there_when_no_exit_handler_runs(self):
        for how, code in (("_exit", 10), ("become", 0)):
            _, operations, result = self.everything([program("endings"), how], code=code)
            kernels = [x for x in operations if x["kind"] == "kernel"]
            self.assertEqual([x["end_ns"] is not None for x in kernels], [True] * 3, how)

    def test_copies_have_size_direction_and_the_call_that_meant_them(self):
        calls, operations, result = self.everything([DL, "copies"])
        self.assertEqual(result.stdout, "right\n")
        by_call = collections.defaultdict(list)
        for operation in operations:
            by_call[operation["call"]].append(operation)
        directions = {"hipMemcpyHostToDevice": "host_to_device", "hipMemcpyDeviceToHost": "device_to_host",
                      "hipMemcpyDeviceToDevice": "device_to_device"}
        seen, found_out = collections.Counter(), collections.Counter()
        for call in calls.values():
            name = call["function"]
            if call["args"] is None or name not in ("hipMemcpy", "hipMemset"):
                continue
            found, size = by_call[call["id"]], call["args"]["sizeBytes"]
            self.assertEqual("by_host" in call, not found, call)
            if found:  # also where it takes several kernels
                self.assertEqual(sum(x["bytes"] for x in found), size, (call, found))
            if name == "hipMemset":
                self.assertEqual({x["kind"] for x in found}, {"fill"})
                at = int(call["args"]["dst"], 16)
                self.assertEqual(sorted(int(x["to"], 16) - at for x in found)[0], 0)
                self.assertEqual(len({x["to"] for x in found}), len(found))
            elif call["args"]["kind"] == "hipMemcpyDefault":
                found_out.update(x["direction"] for x in found)
            elif call["args"]["kind"] == "hipMemcpyHostToHost":
                self.assertEqual(found, [])
            else:
                for operation in found:
                    self.assertEqual((operation["kind"], operation["direction"]), ("copy", directions[call["args"]["kind"]]))
                if size >= 65536:  # small ones may be done by the host itself
                    self.assertTrue(found, call)
                    seen[call["args"]["kind"]] += 1
        self.assertEqual(seen, {"hipMemcpyHostToDevice": 4, "hipMemcpyDeviceToHost": 5, "hipMemcpyDeviceToDevice": 2})
        self.assertEqual(found_out, {"device_to_host": 1, "host_to_device": 1, "device_to_device": 1})
        box = next(x["id"] for x in calls.values() if x["function"] == "hipMemset3D")
        self.assertEqual(sum(x["bytes"] for x in by_call[box]), 37 * 5 * 3)
        for operation in operations:
            self.assertLessEqual(operation["start_ns"], operation["end_ns"])
            self.assertLessEqual(calls[operation["call"]]["start_ns"], operation["end_ns"])

    def test_kernels_of_a_graph_belong_to_its_launch(self):
        calls, operations, result = self.everything([program("graphs")])
        launches = {x["id"] for x in calls.values() if x["function"] == "hipGraphLaunch"}
        self.assertTrue(launches)
        of_graphs = [x for x in operations if x.get("call") in launches]
        self.assertGreater(len(of_graphs), len(launches))
        self.assertTrue(all("call" in x for x in operations), operations)
        # What its nodes copy and fill.
        node = next(x["args"]["pMemsetParams"] for x in calls.values() if x["function"] == "hipGraphAddMemsetNode")
        self.assertEqual({x["bytes"] for x in of_graphs if x["kind"] == "fill"}, {node["width"] * node["elementSize"] * node["height"]})
        copied = {x["args"]["count" if "count" in x["args"] else "sizeBytes"] for x in calls.values() if x["function"] == "hipGraphAddMemcpyNode1D"}
        copies = [x for x in of_graphs if x["kind"] == "copy"]
        self.assertEqual({x["bytes"] for x in copies}, copied)
        directions = {x["direction"] for x in copies}  # HIP 5 does the one to the device itself
        self.assertEqual(directions | {"host_to_device"}, {"host_to_device", "device_to_host"})

    def test_every_operation_of_all_kinds_of_launches_has_its_call(self):
        for app, options, function in ((["cooperative"], [], "hipLaunchCooperativeKernel"), (["host_threads"], [], "hipLaunchKernel"),
                                       (["events"], [], "hipLaunchKernel"), (["agents"], ["--gpu", "gfx90a,gfx90a"], "hipLaunchKernel")):
            calls, operations, _ = self.everything([program(app[0]), *app[1:]], options)
            kernels = [x for x in operations if x["kind"] == "kernel"]
            self.assertTrue(kernels, app)
            self.assertTrue(all("call" in x for x in operations), app)
            functions = collections.Counter(calls[x["call"]]["function"] for x in kernels)
            self.assertGreater(functions[function], 0, functions)
            self.assertTrue(all("Launch" in x for x in functions), functions)
            # One kernel for each launch; a cooperative one has another of the runtime's before it.
            launches = [x for x in calls.values() if "Launch" in x["function"] and x["result"] == "hipSuccess" and "parent" not in x]
            own = [x for x in kernels if not x["kernel"].startswith("__")]
            self.assertEqual(len({x["call"] for x in own}), len(launches), app)
            self.assertEqual(len(own), len(launches), [x["kernel"] for x in own])
            self.assertEqual(len({x["gpu"] for x in kernels}), 2 if app == ["agents"] else 1)

    def test_a_kernel_that_never_ends_is_there_without_an_end(self):
        log = self.path("all.jsonl")
        process = subprocess.Popen([PROBE, "trace", "-o", log, "--format", "json", "--", program("endings"), "endless"],
                                   env=fade.clean_environment({}), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while (line := process.stdout.readline()) != "endless\n":
            self.assertTrue(line)
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        with open(log) as file:
            operations = [x for x in map(json.loads, file) if x["type"] == "operation"]
        last = max(operations, key=lambda x: x["submitted_ns"])
        self.assertEqual((last["complete"], last["start_ns"]), (False, None))
        self.assertGreaterEqual(len(operations), 4)

    # ---- files

    def database(self, app, options=()):
        """An RPD file, opened."""
        path = self.path("run.rpd")
        result = self.bare([PROBE, "trace", "-o", path, *options, "--", *app])
        self.assertEqual(result.code, 0, result.stderr)
        connection = sqlite3.connect(path)
        self.addCleanup(connection.close)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
        return connection

    def test_an_rpd_file_has_calls_kernels_and_copies_with_their_links(self):
        db = self.database([program("plain"), 5])
        kernels = db.execute("SELECT kernelName, gridX, workgroupX, end - start FROM kernel").fetchall()
        self.assertEqual(len(kernels), 5)
        self.assertEqual(len({x[:3] for x in kernels}), 1)
        self.assertTrue(all(x[3] > 0 for x in kernels))
        self.assertEqual(db.execute("SELECT Name, TotalCalls FROM top WHERE Name = ?", (kernels[0][0],)).fetchall(),
                         [(kernels[0][0], 5)])
        copies = db.execute("SELECT kind, size, dst, src FROM copy").fetchall()
        linked = db.execute("SELECT count(*) FROM copyop").fetchone()[0]
        self.assertTrue(copies and linked)
        self.assertTrue(all(size > 0 and dst != "0x0" and src != "0x0" for _, size, dst, src in copies))
        self.assertEqual(db.execute("SELECT DISTINCT domain FROM api").fetchall(), [("hip",)])
        # What tools rely on: in a thread everything nests, and no two times are the same.
        times = [x for row in db.execute("SELECT start, end FROM rocpd_api") for x in row]
        self.assertEqual(len(set(times)), len(times))

    def table(self, folder, name):
        """The rows of a table as dicts, the file, and where it is."""
        found = [os.path.join(root, x) for root, _, names in os.walk(os.path.join(folder, name)) for x in names]
        self.assertEqual(len(found), 1, found)
        file = ParquetFile(found[0])
        rows = [dict(zip(file.columns, row)) for row in file.rows]
        self.assertEqual([x["start_ns"] for x in rows], sorted(x["start_ns"] for x in rows))
        return rows, file, os.path.relpath(found[0], folder)

    def test_tables_of_columns_have_what_json_lines_have(self):
        events, lines, folder = self.path("run.events"), self.path("run.jsonl"), self.path("run")
        env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": events}
        self.assertEqual(self.software_gpu([program("plain"), 3], env).code, 0)
        self.assertEqual(self.bare([PROBE, "log", events, "-o", lines, "--format", "json"]).code, 0)
        self.assertEqual(self.bare([PROBE, "log", events, "-o", folder, "--format", "parquet"], {"OMPI_COMM_WORLD_RANK": "3"}).code, 0)
        self.assertEqual(sorted(os.listdir(folder)), ["calls", "operations", "processes", "ranges"])
        with open(lines) as file:
            known = collections.defaultdict(list)
            for line in map(json.loads, file):
                known[line["type"]].append(line)
        calls, file, place = self.table(folder, "calls")
        pid = known["call"][0]["pid"]
        self.assertEqual(place, f"calls/host={os.uname().nodename}/rank=3/{pid}.parquet")
        self.assertIn("software GPU: times on the GPU are those of the emulation", file.facts["fade.times"])
        first, begin = known["call"][0]["start_ns"], calls[0]["start_ns"]
        self.assertLess(abs(begin / 1e9 - time.time()), 600)  # the time since 1970
        number = {x["id"]: i for i, x in enumerate(calls, 1)} | {None: None}  # JSON lines count from 1
        self.assertEqual([(number[x["id"]], x["start_ns"] - begin, x["duration_ns"], x["function"], x["error"], x["kernel"], x["pid"], x["tid"], number[x["parent"]])
                          for x in calls],
                         [(x["id"], x["start_ns"] - first, x["end_ns"] - x["start_ns"], x["function"], x["result"], x.get("kernel"), x["pid"], x["thread"], x.get("parent"))
                          for x in known["call"]])
        operations, _, _ = self.table(folder, "operations")
        self.assertTrue(any(x["kind"] == "kernel" for x in operations) and any(x["kind"] == "copy" for x in operations))
        self.assertEqual([(x["start_ns"] - begin, x["duration_ns"], number[x["call"]], x["gpu"], x["kind"], x["kernel"], x["direction"], x["bytes"]) for x in operations],
                         [(x["start_ns"] - first, x["end_ns"] - x["start_ns"], x.get("call"), x["gpu"], x["kind"], x.get("kernel"), x.get("direction"),
                           x.get("bytes")) for x in known["operation"]])
        processes, _, _ = self.table(folder, "processes")
        self.assertEqual([(x["pid"], x["program"]) for x in processes], [(x["pid"], x["program"]) for x in known["process"]])

    def test_memory_for_tables_does_not_depend_on_the_number_of_events(self):
        def peak(calls):
            events, folder = self.path(f"{calls}.events"), self.path(f"{calls}")
            env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": events}
            self.assertEqual(self.software_gpu([DL, "loop", calls], env).code, 0)
            process = subprocess.Popen([PROBE, "log", events, "-o", folder, "--format", "parquet"])
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            return usage.ru_maxrss
        small, large = peak(160_000), peak(480_000)
        self.assertLess(large, small + 25_000, "kB")
        rows, file, _ = self.table(self.path("480000"), "calls")
        self.assertGreaterEqual(len(rows), 480_000)
        self.assertEqual(file.groups[:-1], [122_880] * (len(file.groups) - 1))

    def paced(self, *options):
        """A traced program that makes as many calls as it is told to: the process, the program's id, and a function that tells it."""
        process = subprocess.Popen([PROBE, "trace", *options, "--", DL, "paced"], env=fade.clean_environment({}), text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        pid = int(process.stdout.readline())

        def calls(count):
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "done\n")

        return process, pid, calls

    def test_tables_are_there_while_the_application_runs_once_they_are_asked_for(self):
        folder = self.path("run")
        process, pid, calls = self.paced("-o", folder, "--format", "parquet")
        calls(30)
        self.control("flush", pid)
        before, _, place = self.table(folder, "calls")
        self.assertEqual(len([x for x in before if x["function"] == "hipGetDevice"]), 31)  # and one at its start
        self.assertEqual(os.path.basename(place), f"{pid}.parquet")
        calls(5)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        parts = {x: len(ParquetFile(os.path.join(os.path.dirname(os.path.join(folder, place)), x)).rows) for x in os.listdir(os.path.dirname(os.path.join(folder, place)))}
        self.assertEqual(set(parts), {f"{pid}.parquet", f"{pid}.1.parquet"})
        self.assertEqual(parts[f"{pid}.parquet"], len(before))  # what was readable stays as it is
        self.assertGreater(parts[f"{pid}.1.parquet"], 0)

    def test_files_are_there_while_the_application_runs_once_they_are_asked_for(self):
        def count(path, form):
            if form == "perfetto":
                with open(path) as file:
                    return sum(x["name"] == "hipGetDevice" for x in json.load(file)["traceEvents"])
            if form in ("json", "calls"):
                with open(path) as file:
                    return sum(json.loads(line).get("function") == "hipGetDevice" for line in file)
            if form == "pftrace":
                with open(path, "rb") as file:
                    return sum(x["name"] == "hipGetDevice" for x in pftrace.Trace(file.read()).slices)
            db = sqlite3.connect(path)
            query = "SELECT count(*) FROM api WHERE apiName = 'hipGetDevice'" if form == "rpd" else "SELECT count(*) FROM regions WHERE name = 'hipGetDevice'"
            (found,), = db.execute(query)
            db.close()
            return found

        for form in ("rpd", "rocpd", "json", "calls", "perfetto", "pftrace"):
            path = self.path("run." + form)
            process, pid, calls = self.paced(*(["--api-log", path] if form == "calls" else ["-o", path, "--format", form]))
            seen = []
            for more in (30, 5):
                calls(more)
                self.control("flush", pid)
                seen.append(count(path, form))
            calls(2)
            _, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, [x for x in errors.splitlines() if "no AMD GPU" not in x]), (0, []), form)
            self.assertEqual([*seen, count(path, form)], [31, 36, 38], form)  # and one at its start
            self.assertEqual([x for x in os.listdir(self.dir) if x.startswith("run." + form)], ["run." + form])

    def test_a_folder_of_columns_takes_several_runs_and_a_file_in_its_place_is_said(self):
        folder = self.path("run")
        for rank in ("0", "1"):
            result = self.bare([PROBE, "trace", "-o", folder, "--format", "parquet", "--", program("plain"), 1], {"PMI_RANK": rank})
            self.assertEqual((result.code, result.said), (0, []))
        files = sorted(os.path.relpath(os.path.dirname(os.path.join(root, x)), folder) for root, _, names in os.walk(folder) for x in names)
        host = os.uname().nodename
        self.assertEqual(files, [f"{table}/host={host}/rank={rank}" for table in ("calls", "operations", "processes", "ranges") for rank in (0, 1)])
        path = self.path("file")
        with open(path, "w") as file:
            file.write("mine")
        result = self.bare([PROBE, "trace", "-o", path, "--format", "parquet", "--", program("plain"), 1])
        self.assertEqual((result.code, result.stdout), (1, ""))  # before the application starts
        self.assertEqual(result.said, [f"fadeprobe: {path}: Not a directory; --format parquet needs a folder to write to"])
        self.assert_mistake(["trace", "-o", folder, "--format", "parquet", "--append", "--", "true"], "--append needs an RPD file")

    def rocpd_of(self, events, name):
        path = self.path(name)
        self.assertEqual(self.bare([PROBE, "log", events, "-o", path, "--format", "rocpd"]).code, 0)
        db = sqlite3.connect(path)
        self.addCleanup(db.close)
        return path, db

    def test_a_rocpd_database_has_what_was_recorded_and_is_read_back(self):
        self.assertEqual(self.bare([PROBE, "trace", "-o", self.path("run") + "/", "--", program("training")]).code, 0)
        events, = glob.glob(self.path("run/*/*/*/events"))
        path, db = self.rocpd_of(events, "run.db")
        self.assertEqual((db.execute("PRAGMA foreign_key_check").fetchall(), db.execute("PRAGMA integrity_check").fetchall()), ([], [("ok",)]))
        guid, = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'guid'").fetchone()
        self.assertEqual(db.execute("SELECT value FROM rocpd_metadata WHERE tag IN ('schema_version', 'uuid') ORDER BY tag").fetchall(),
                         [("3",), ("_" + guid.replace("-", "_"),)])
        said = {x: self.bare([PROBE, "log", x]).stdout.split("\n") for x in (events, path)}
        # The tables of calls, of groups and of what the GPU did are the same; findings and HIP's path are not there.
        whole, back = (x[1:x.index("errors")] for x in said.values())
        self.assertEqual(back, whole)
        self.assertGreater(len(back), 30)
        kernels = db.execute("SELECT name, count(*), min(workgroup_x) > 0, count(DISTINCT stack_id) FROM kernels WHERE name NOT LIKE '__amd%' GROUP BY name").fetchall()
        self.assertEqual([x[0] for x in kernels], ["add(float*, float const*)", "scale(float*, float)"])
        self.assertEqual(db.execute("SELECT count(*) FROM kernels K WHERE NOT EXISTS (SELECT 1 FROM regions R WHERE R.stack_id = K.stack_id)").fetchone(), (0,))
        self.assertEqual(db.execute("SELECT count(*) FROM regions WHERE category = 'MARKER_CORE_RANGE_API' AND name LIKE 'epoch%'").fetchone()[0] > 0, True)
        self.assertEqual(db.execute("SELECT value FROM rocpd_arg WHERE name = 'result'").fetchall(), [("hipErrorOutOfMemory",)])

    def test_hardware_counters_of_a_rocpd_database_are_shown_per_kernel(self):
        events = self.path("run.events")
        env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": events}
        self.assertEqual(self.software_gpu([program("plain"), 2], env).code, 0)
        path, db = self.rocpd_of(events, "run.db")
        suffix, = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()
        db.execute(f"INSERT INTO rocpd_info_pmc{suffix} (id, nid, pid, name, symbol) VALUES (7, 1, 1, 'SQ_WAVES', 'SQ_WAVES')")
        dispatches = [x[0] for x in db.execute("SELECT event_id FROM rocpd_kernel_dispatch K JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id "
                                               "WHERE display_name NOT LIKE '__amd%'")]
        self.assertEqual(len(dispatches), 2)
        for event, values in zip(dispatches, ((3, 4), (5, 6))):  # two instances each
            db.executemany(f"INSERT INTO rocpd_pmc_event{suffix} (event_id, pmc_id, value) VALUES (?, 7, ?)", [(event, x) for x in values])
        db.commit()
        said = self.bare([PROBE, "log", path]).stdout.split("\n")
        at = next(i for i, x in enumerate(said) if x.startswith("counter of"))
        self.assertEqual(said[at + 1].split()[-5:], ["2", "9", "7", "11", "SQ_WAVES"])

    def test_a_wrong_rocpd_database_is_one_line(self):
        events = self.path("run.events")
        env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": events}
        self.assertEqual(self.software_gpu([program("plain"), 1], env).code, 0)
        for number, (change, what) in enumerate((
                ("DROP TABLE rocpd_region{0}", "is a rocpd database of another version: it has no rocpd_region"),
                ("ALTER TABLE rocpd_region{0} RENAME COLUMN pid TO track_id", "is a rocpd database of another version than 3"),
                ("ALTER TABLE rocpd_kernel_dispatch{0} RENAME COLUMN event_id TO x", "no such column: K.event_id"),
                ("DROP TABLE rocpd_kernel_dispatch{0}", "is a database, but no RPD file"))):
            path, db = self.rocpd_of(events, f"{number}.db")
            suffix, = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()
            for view, in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
                db.execute(f"DROP VIEW {view}")
            db.execute(change.format(suffix))
            db.commit()
            result = self.bare([PROBE, "log", path])
            self.assertEqual((result.code, result.stdout, len(result.said)), (1, "", 1), result.stderr)
            self.assertIn(what, result.said[0])
        # Values of any kind: nothing is taken for a place.
        path, db = self.rocpd_of(events, "values.db")
        suffix, = db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()
        for column in ("start", "end", "queue_id", "kernel_id", "extdata", "event_id"):
            db.execute(f"UPDATE rocpd_kernel_dispatch{suffix} SET {column} = -9223372036854775808")
        db.execute(f"UPDATE rocpd_event{suffix} SET stack_id = 'x', extdata = '}}'")
        db.commit()
        self.assertEqual(self.bare([PROBE, "log", path]).code, 0)
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) // 2)
        result = self.bare([PROBE, "log", path])
        self.assertEqual((result.code, result.stdout, len(result.said)), (1, "", 1), result.stderr)

    def test_sql_runs_duckdb_with_a_view_for_each_table(self):
        folder, tools = self.path("it's a run"), self.path("tools")
        result = self.bare([PROBE, "sql", folder, "select 1"])
        self.assertEqual((result.code, result.said), (1, [f"fadeprobe: {folder}: no such folder"]))
        run, empty = self.path("run"), self.path("empty")
        os.makedirs(os.path.join(run, "host=a", "rank=0"))
        os.makedirs(os.path.join(empty, "calls", "host=a"))  # a process that was killed has no file
        result = self.bare([PROBE, "sql", run, "select 1"])
        self.assertEqual((result.code, result.said), (1, [f"fadeprobe: {run}: holds no tables; fadeprobe trace --format parquet -o DIR writes them"]))
        result = self.bare([PROBE, "sql", empty, "select 1"])
        self.assertEqual((result.code, result.said), (1, [f"fadeprobe: {empty}: holds no tables; fadeprobe trace --format parquet -o DIR writes them"]))
        self.assertEqual(self.bare([PROBE, "trace", "-o", folder, "--format", "parquet", "--", program("plain"), 1]).code, 0)
        result = self.bare([PROBE, "sql", folder, "select 1"], {"PATH": tools})
        self.assertEqual(result.code, 1)
        self.assertRegex(result.said[0], "^fadeprobe: sql needs DuckDB's command line: install duckdb, or ")
        os.mkdir(tools)
        with open(os.path.join(tools, "duckdb"), "w") as file:
            file.write("#!/bin/sh\nfor each; do printf '<%s>\\n' \"$each\"; done\nexit 7\n")
        os.chmod(os.path.join(tools, "duckdb"), 0o755)
        result = self.bare([PROBE, "sql", folder, "select 1", "--format", "csv"], {"PATH": tools + ":/usr/bin:/bin"})
        views = "".join(f"create view {x} as select * from read_parquet('{folder.replace(chr(39), 2 * chr(39))}/{x}/**/*.parquet', hive_partitioning = true);\n"
                        for x in ("calls", "operations", "ranges", "processes"))
        self.assertEqual((result.code, result.stdout), (7, f"<-init>\n</dev/null>\n<-csv>\n<-cmd>\n<{views}>\n<-c>\n<select 1>\n"))
        self.assert_mistake(["sql", folder, "select 1", "--format", "xml"], "--format")

    def test_sql_makes_the_tables_of_a_run_once_and_again_when_more_was_recorded(self):
        run, tools = self.path("run/"), self.path("tools")
        os.mkdir(tools)
        with open(os.path.join(tools, "duckdb"), "w") as file:
            file.write("#!/bin/sh\nprintf '%s\n' \"$5\"\n")
        os.chmod(os.path.join(tools, "duckdb"), 0o755)
        before = None
        for processes in (1, 1, 2):
            if processes == 2 or before is None:
                self.assertEqual(self.bare([PROBE, "trace", "-o", run, "--", program("plain"), 1]).code, 0)
            result = self.bare([PROBE, "sql", run, "select 1"], {"PATH": tools + ":/usr/bin:/bin"})
            self.assertEqual((result.code, result.said), (0, []))
            self.assertIn(f"create view calls as select * from read_parquet('{run}tables/calls/**/*.parquet', hive_partitioning = true);\n", result.stdout)
            files = {str(x): x.stat().st_mtime_ns for x in pathlib.Path(run, "tables", "calls").rglob("*.parquet")}
            self.assertEqual(len(files), processes)
            if processes == 1 and before:
                self.assertEqual(files, before)
            before = files
        self.assertEqual(self.bare([PROBE, "log", run]).code, 0)  # the tables are no process

    def test_every_form_of_a_trace_says_that_its_times_are_the_software_gpus(self):
        about = "software GPU: times on the GPU are those of the emulation on this machine, not of a card"
        for form, ending in (("rpd", "rpd"), ("rpd2", "rpd"), ("json", "jsonl"), ("perfetto", "json")):
            path = self.path(f"{form}.{ending}")
            result = self.bare([PROBE, "trace", "-o", path, "--format", form, "--", program("plain"), 2])
            self.assertEqual(result.code, 0, result.stderr)
            if form == "perfetto":
                with open(path) as file:
                    trace = json.load(file)
                self.assertEqual(trace["otherData"], {"times": about})
                self.assertEqual([x["args"]["name"] for x in trace["traceEvents"] if x["name"] == "process_name" and x["pid"] >= 10**9], ["GPU 0 (software GPU, times of this machine)"])
                continue
            if form == "json":
                with open(path) as file:
                    head = json.loads(file.readline())
                self.assertEqual((head["software"], head["times"]), (True, about))
            else:
                connection = sqlite3.connect(path)
                self.assertEqual(connection.execute("SELECT value FROM rocpd_metadata WHERE tag LIKE 'fade::times::%'").fetchall(), [(about,)])
                connection.close()
            # Also when it is read again.
            for options in ([], ["--callstack"], ["--graphs"]):
                self.assertIn(about + "\n", self.bare([PROBE, "log", path, *options]).stdout)
            page = self.path("page.html")
            self.assertEqual(self.bare([PROBE, "report", path, "-o", page]).code, 0)
            with open(page) as file:
                self.assertIn('"software":true', file.read())

    def test_the_older_rpd_version(self):
        db = self.database([program("plain"), 2], ["--format", "rpd2"])
        self.assertEqual(db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'").fetchone(), ("2",))
        self.assertEqual(db.execute("SELECT count(*) FROM kernel").fetchone()[0], 2)
        registers = db.execute("SELECT vgpr, sgpr FROM rocpd_kernelapi JOIN rocpd_kernelcodeobject C ON C.id = codeObject_id").fetchall()
        self.assertEqual(len(registers), 2)
        self.assertTrue(all(vector > 0 and scalar > 0 for vector, scalar in registers), registers)

    def test_a_graph_is_there_as_rocpd_wants_it(self):
        db = self.database([program("graphs")])
        texts = {name: args for name, args in db.execute("SELECT apiName, args FROM api WHERE apiName LIKE '%Graph%' OR apiName LIKE '%Capture'")}
        self.assertRegex(texts["hipStreamBeginCapture"], r"^stream = 0x[0-9a-f]+ \| mode = \d$")
        self.assertRegex(texts["hipStreamEndCapture"], r"^stream = 0x[0-9a-f]+ \| graph = 0x[0-9a-f]+$")
        self.assertRegex(texts["hipGraphInstantiate"], r"^graphExec = 0x[0-9a-f]+ \| graph = 0x[0-9a-f]+$")
        self.assertRegex(texts["hipGraphLaunch"], r"^graphExec = 0x[0-9a-f]+ \| stream = 0x[0-9a-f]+$")
        # Kernels that were captured have a name, though they made no packet.
        captured = db.execute("SELECT string FROM rocpd_kernelapi JOIN rocpd_string ON id = kernelName_id WHERE api_ptr_id NOT IN "
                              "(SELECT api_id FROM rocpd_api_ops)").fetchall()
        self.assertTrue(captured)
        self.assertTrue(all(name for (name,) in captured), captured)
        # The same text under the same id in both tables.
        self.assertEqual(db.execute("SELECT count(*) FROM rocpd_api JOIN rocpd_ustring U ON U.id = args_id LEFT JOIN rocpd_string S ON "
                                    "S.id = args_id AND S.string = U.string WHERE U.string LIKE 'graphExec = %' AND S.id IS NULL").fetchone(), (0,))

    def test_sessions_are_appended_only_when_asked(self):
        self.database([program("plain"), 2])
        self.database([program("plain"), 2])
        db = self.database([program("plain"), 3], ["--append"])
        self.assertEqual(db.execute("SELECT count(*) FROM kernel").fetchone()[0], 5)

    def test_a_timeline_has_arrows_from_calls_to_kernels(self):
        path = self.path("run.json")
        result = self.bare([PROBE, "trace", "-o", path, "--format", "perfetto", "--", program("plain"), 3])
        self.assertEqual(result.code, 0, result.stderr)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        kernels = [x for x in events if x.get("cat") == "kernel"]
        self.assertEqual(len(kernels), 3)
        ends = collections.defaultdict(dict)
        for event in events:
            if event.get("cat") == "cause":
                ends[event["id"]][event["ph"]] = event
        slices = {(x["pid"], x["tid"], x["ts"]): x["name"] for x in events if x["ph"] == "X"}
        pairs = {(slices[(e["s"]["pid"], e["s"]["tid"], e["s"]["ts"])], slices[(e["f"]["pid"], e["f"]["tid"], e["f"]["ts"])])
                 for e in ends.values()}
        self.assertIn(("hipLaunchKernel", kernels[0]["name"]), pairs)
        self.assertTrue(all(x["args"]["stream"] for x in kernels))
        names = {(x["pid"], x["tid"]): x["args"]["name"] for x in events if x["ph"] == "M" and x["name"] == "thread_name"}
        threads = {(x["pid"], x["tid"]) for x in events if x.get("cat") == "call"}
        self.assertEqual({names[one] for one in threads}, {"main thread"})
        running = [x["args"]["count"] for x in events if x["ph"] == "C" and x["name"] == "kernels running"]
        self.assertEqual((min(running), running[-1]), (0, 0))
        self.assertGreaterEqual(max(running), 1)

    def test_a_timeline_has_arrows_from_events_to_who_waits_for_them(self):
        path = self.path("run.json")
        result = self.bare([PROBE, "trace", "-o", path, "--format", "perfetto", "--", program("ordered"), "events"])
        self.assertEqual(result.code, 0, result.stderr)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        slices = {(x["pid"], x["tid"], x["ts"]): x["name"] for x in events if x["ph"] == "X"}
        arrows = [(x["ph"], slices[(x["pid"], x["tid"], x["ts"])]) for x in events if x.get("cat") == "event"]
        self.assertTrue(arrows)
        self.assertEqual({name for phase, name in arrows if phase == "s"}, {"hipEventRecord"})
        self.assertLessEqual({name for phase, name in arrows if phase == "f"}, {"hipStreamWaitEvent", "hipEventSynchronize"})

    def test_perfettos_own_format_says_the_same_as_json(self):
        for app in ([program("plain"), 3], [program("ordered"), "events"]):
            run = self.path(f"{app[1]}/")
            result = self.bare([PROBE, "trace", "-o", run, "--", *app])
            self.assertEqual(result.code, 0, result.stderr)
            events, = glob.glob(run + "*/*/*/events")
            for path in (self.path("run.json"), self.path("run.pftrace"), self.path("run.perfetto-trace")):
                options = ["--format", "perfetto"] if path.endswith(".json") else []
                self.assertEqual(self.bare([PROBE, "log", events, "-o", path, *options]).said, [])
            with open(self.path("run.json")) as file:
                json_trace = json.load(file)
            with open(self.path("run.pftrace"), "rb") as file:
                data = file.read()
            with open(self.path("run.perfetto-trace"), "rb") as file:
                self.assertEqual(file.read(), data)
            trace = pftrace.Trace(data)
            self.assertEqual(trace.marks, [json_trace["otherData"]["times"]])
            expected = [x for x in json_trace["traceEvents"] if x["ph"] == "X"]
            self.assertGreater(len(expected), 10)

            def place(uuid):
                track = trace.tracks[uuid]
                parent = trace.tracks.get(track["parent"], {})
                return track.get("pid", parent.get("pid")), track["name"]

            def value(x):  # null is a text there, and nothing is empty
                return {k: value(v) for k, v in x.items() if v not in ({}, [])} if isinstance(x, dict) else [value(v) for v in x] if isinstance(x, list) else "null" if x is None else x

            names = {(x["pid"], x["tid"]): x["args"]["name"] for x in json_trace["traceEvents"] if x["ph"] == "M" and x["name"] == "thread_name"}
            key = repr
            self.assertEqual(sorted(((x["cat"], x["name"], x["pid"], names[(x["pid"], x["tid"])], round(x["ts"] * 1000), round(x["dur"] * 1000), value(x["args"])) for x in expected), key=key),
                             sorted(((x["category"], x["name"], *place(x["track"]), x["start"], x["end"] - x["start"], x["args"]) for x in trace.slices), key=key))
            self.assertEqual(sorted((x["name"], round(x["ts"] * 1000), x["args"]["count"]) for x in json_trace["traceEvents"] if x["ph"] == "C"),
                             sorted((name, time, count) for name, _, time, count in trace.counters))
            # An arrow leads from the call to what it caused; several may wait for an event.
            causes = {frozenset((x["name"] for x in ends)) for ends in trace.flows.values() if len(ends) == 2}
            kernel = next(x["name"] for x in expected if x["cat"] == "kernel")
            self.assertIn(frozenset(("hipLaunchKernel", kernel)), causes)
            ids = {x["id"] for x in json_trace["traceEvents"] if x.get("cat") == "cause"}
            self.assertEqual(ids, {flow for flow, ends in trace.flows.items() if any(x["category"] != "call" for x in ends)})
            if app[1] == "events":
                self.assertTrue(any({"hipEventRecord"} < {x["name"] for x in ends} for ends in trace.flows.values()))

    def test_log_sums_up_every_kind_of_file(self):
        texts = []
        for name, options in (("a.rpd", []), ("a.jsonl", ["--format", "json"])):
            path = self.path(name)
            to = "/dev/stdout" if options else path  # JSON lines also go into a pipe, with events elsewhere
            result = self.bare([PROBE, "trace", "-o", to, *options, "--", program("plain"), 4], {"TMPDIR": self.dir})
            self.assertEqual((result.code, result.said), (0, []))
            if options:
                with open(path, "w") as file:
                    file.writelines(x for x in result.stdout.splitlines(True) if x.startswith("{"))
            result = self.bare([PROBE, "log", path])
            self.assertEqual((result.code, result.stderr), (0, ""))
            texts.append(result.stdout)
        self.assertEqual(sorted(os.listdir(self.dir)), ["a.jsonl", "a.rpd"])
        for text in texts:
            self.assertRegex(text, r"(?m)^hipLaunchKernel +4 ")
            self.assertRegex(text, r"(?m)^\d+ calls in 1 threads")
            self.assertNotIn("without effect", text)
            self.assertNotIn("known by name only", text)
        calls = self.path("calls.jsonl")
        self.bare([PROBE, "trace", "--api-log", calls, "--", DL, "typed"])
        result = self.bare([PROBE, "log", calls])
        self.assertRegex(result.stdout, r"(?m)^ +1  hipMalloc: hipErrorOutOfMemory$")
        self.assertRegex(result.stdout, r"(?m)^ +1  hipModuleLoad: hipErrorFileNotFound$")
        self.assertNotIn("kernels and copies", result.stdout)  # a log of calls alone does not know

    def test_log_makes_files_from_what_a_killed_run_left_behind(self):
        events = self.path("run.events")
        env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": events}
        self.software_gpu([DL, "killed"], env)
        result = self.bare([PROBE, "log", events])
        self.assertIn("calls that did not return\n       1  hipStreamSynchronize", result.stdout)
        result = self.bare([PROBE, "log", events, "-o", self.path("x.rpd")])
        self.assertEqual((result.code, result.stdout), (0, ""), result.stderr)
        self.assertIn("calls that did not return\n       1  hipStreamSynchronize", self.bare([PROBE, "log", self.path("x.rpd")]).stdout)
        with sqlite3.connect(self.path("x.rpd")) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM api WHERE apiName = 'hipStreamSynchronize'").fetchone(), (1,))

    # ---- markers

    def test_marks_and_ranges_of_roctx_without_its_library(self):
        log, events = self.path("all.jsonl"), self.path("run.events")
        preload = ":".join(os.path.join(fade.LIB, x) for x in ("libfaderoctx.so", "libfadegpu.so"))
        result = self.bare([DL, "markers"], {"LD_PRELOAD": preload, "HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_TRACE": events})
        self.assertEqual((result.code, result.stdout), (0, "-1 0 1 1 0\n"), result.stderr)
        self.assertEqual(self.bare([PROBE, "log", events, "-o", log, "--format", "json"]).code, 0)
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        markers = {x["text"]: x for x in lines if x["type"] == "marker"}
        self.assertEqual(set(markers), {"early", "aten::add, seq = 1, op_id = 2", 'inner "quoted"', "here", "free"})
        inner, outer, here = markers['inner "quoted"'], markers["aten::add, seq = 1, op_id = 2"], markers["here"]
        self.assertEqual(here["start_ns"], here["end_ns"])
        self.assertTrue(outer["start_ns"] < inner["start_ns"] < here["start_ns"] < inner["end_ns"] < outer["end_ns"])
        calls = [x for x in lines if x["type"] == "call"]
        self.assertEqual(sum(inner["start_ns"] < x["start_ns"] and x["end_ns"] < inner["end_ns"] for x in calls), 3)
        self.assertEqual(self.bare([PROBE, "log", events, "-o", self.path("x.rpd")]).code, 0)
        with sqlite3.connect(self.path("x.rpd")) as db:
            self.assertEqual({x[0] for x in db.execute("SELECT args FROM api WHERE domain = 'UserMarker'")}, set(markers))

    # ---- start and stop

    def control(self, what, pid, code=0):
        result = self.bare([PROBE, "control", what, pid])
        self.assertEqual(result.code, code, result.stderr)
        return result.stdout or result.stderr

    def test_control_says_what_it_needs(self):
        for words in ([], ["start"]):
            result = self.bare([PROBE, "control", *words])
            self.assertEqual((result.code, result.stderr), (2, "fadeprobe: usage: fadeprobe control start|stop|flush|status PID\n"))

    def test_recording_is_switched_on_and_off_from_outside(self):
        log = self.path("calls.jsonl")
        process, pid, calls = self.paced("--api-log", log, "--start", "off")
        calls(3)
        self.assertRegex(self.control("status", pid), rf"process {pid}: recording is off, .* in {log}.*, 0 events lost")
        self.control("start", pid)
        self.control("start", pid)
        calls(50)
        self.assertIn("recording is on", self.control("status", pid))
        self.control("flush", pid)
        self.control("stop", pid)
        calls(700)
        self.control("start", pid)
        calls(4)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        with open(log) as file:
            found = [x for x in map(json.loads, file) if x.get("function") == "hipGetDevice"]
        self.assertEqual(len(found), 54)

    def test_what_goes_on_in_the_background_keeps_its_events(self):
        log, go = self.path("calls.jsonl"), self.path("go")
        script = f"exec 3<&0; '{DL}' paced <&3 & while [ ! -e '{go}' ]; do sleep 0.02; done"
        process = subprocess.Popen([PROBE, "trace", "--api-log", log, "--api", "^hipGetDevice$", "--", "sh", "-c", script],
                                   env=fade.clean_environment({}), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        pid = int(process.stdout.readline())

        def calls(count):
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "done\n")

        calls(3)
        open(go, "w").close()
        self.assertEqual(process.wait(timeout=60), 0)
        calls(5)
        _, said = process.communicate(timeout=60)  # the end of its output is that of the process
        events = re.search(rf"fadeprobe: process {pid} is still running and being recorded; when it has ended, run: fadeprobe log (\S+) -o FILE", said)
        self.assertTrue(events, said)
        for file, expected in ((log, 1 + 3), (self.path("again.jsonl"), 1 + 3 + 5)):
            if file != log:
                self.assertEqual(self.bare([PROBE, "log", events[1], "-o", file, "--format", "json"]).code, 0)
            with open(file) as lines:
                self.assertEqual(sum(x.get("function") == "hipGetDevice" for x in map(json.loads, lines)), expected, file)

    def test_a_process_can_be_told_to_record_before_it_uses_the_gpu(self):
        code = ("import ctypes, os, sys\n"
                "print(os.getpid(), flush=True)\n"
                "input()\n"
                "hip = next(ctypes.CDLL(f'libamdhip64.so.{n}') for n in sys.argv[1])\n"
                "for i in range(6): hip.hipGetDevice(ctypes.byref(ctypes.c_int()))\n")
        for start, words, expected in (("off", ["start"], 6), ("on", ["stop"], 0), ("off", ["start", "stop", "flush"], 0), ("on", ["status"], 6)):
            log = self.path("calls.jsonl")
            process = subprocess.Popen([PROBE, "trace", "--api-log", log, "--start", start, "--", sys.executable, "-c", code, str(fade.HIP)],
                                       env=fade.clean_environment({}), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            pid = int(process.stdout.readline())
            for word in words:
                said = self.control(word, pid)
            self.assertEqual(said, f"process {pid} has not used the GPU yet; recording will be {'on' if expected else 'off'} when it does\n")
            _, errors = process.communicate("go\n", timeout=60)
            self.assertEqual((process.returncode, fade.Result(0, "", errors, "").said), (0, []))
            with open(log) as file:
                found = [x for x in map(json.loads, file) if x.get("function") == "hipGetDevice"]
            self.assertEqual(len(found), expected, (start, words))
            self.assertEqual(os.listdir(self.dir), ["calls.jsonl"])

    def switched(self, rounds, *app):
        """Switched on and off while it is busy. What the program said, and the lines of the log."""
        log = self.path("all.jsonl")
        process = subprocess.Popen([PROBE, "trace", "-o", log, "--format", "json", "--start", "off", "--", DL, "paced", *app],
                                   env=fade.clean_environment({}), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        pid = int(process.stdout.readline())
        process.stdin.write("-1\n")  # until the end of the input
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "busy\n")
        for _ in range(rounds):
            self.control("start", pid)
            self.control("stop", pid)
        self.control("start", pid)
        out, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, fade.Result(0, "", errors, "").said), (0, []))
        with open(log) as file:
            return fade.without_runtime(out), [json.loads(line) for line in file]

    def test_switching_in_a_loop_from_outside_under_load(self):
        made, lines = self.switched(12, "4")
        calls = [x for x in lines if x["type"] == "call"]
        self.assertGreater(len(calls), 100)
        self.assertLess(len(calls), int(made))
        self.assertEqual(len({x["thread"] for x in calls}), 4)
        for call in calls:
            self.assertEqual((call["function"], call["result"]), ("hipGetDevice", "hipSuccess"))
            self.assertLessEqual(call["start_ns"], call["end_ns"])

    def test_switching_while_eight_threads_launch(self):
        made, lines = self.switched(8, "8", fade.code_object("scale1"))
        calls = {x["id"]: x for x in lines if x["type"] == "call"}
        launches = [x for x in calls.values() if x["function"] == "hipModuleLaunchKernel"]
        self.assertTrue(80 <= len(launches) < int(made), (len(launches), made))  # the last ten of each thread
        kernels = [x for x in lines if x["type"] == "operation" and x.get("call") and x["kind"] == "kernel"]
        self.assertGreater(len(kernels), 0)
        for kernel in kernels:
            self.assertEqual(kernel["grid"][0], 64 * calls[kernel["call"]]["args"]["gridDimX"])
        self.assertEqual(len({x["call"] for x in kernels}), len(kernels))
        # What was being recorded when it was switched off is no launch without effect.
        self.assertEqual([x for x in lines if x["type"] == "finding" and x["kind"] == "no_effect"], [])

    def test_processes_that_do_not_record_are_left_alone(self):
        process = subprocess.Popen(["sleep", "60"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertRegex(self.control("start", process.pid, code=1), f"process {process.pid} records nothing")
        self.assertIsNone(process.poll())
        self.assertRegex(self.control("stop", 2**22 + 1, code=1), f"no such process: {2**22 + 1}")
        self.assertRegex(self.control("begin", process.pid, code=2), "'begin' is none of start, stop, flush and status")

    # ---- mistakes

    def test_mistakes_are_named_before_the_application_runs(self):
        self.assert_mistake(["trace"], "expected -o FILE or --api-log FILE")
        self.assert_mistake(["--gpu", "gfx1030", "trace", "-o", self.path("x")], "--gpu: put it after trace, whose option it is")
        self.assert_mistake(["trace", "--api-log", self.path("x"), "--api", "memroy"], "--api: .*did you mean 'memory'")
        self.assert_mistake(["trace", "-o", self.path("x"), "--format", "rdp"], "--format: 'rdp' is none of .*did you mean 'rpd'")
        self.assert_mistake(["trace", "-o", self.path("x"), "--format", "json", "--append"], "--append needs an RPD file")
        self.assert_mistake(["trace", "--api-log", self.path("x"), "--start", "maybe"], "--start: 'maybe' is neither true nor false")
        for depth in ("x", "0x", "129", "1.5"):
            self.assert_mistake(["trace", "-o", self.path("x"), f"--stacks={depth}"], f"--stacks: '{depth}' is neither true nor false nor a number")
        self.assert_mistake(["trace", "-o", self.path("x"), "--verbose=x"], "--verbose: 'x' is neither true nor false")
        result = self.bare([PROBE, "log", "x", "--dot", "chian"])
        self.assertEqual(result.code, 2)
        self.assertRegex(result.stderr, "--dot: 'chian' is neither chain nor data .did you mean 'chain'")
        for path, what in ((__file__, "is neither JSON lines nor an RPD file"), ("/no/such/file", "no such file")):
            result = self.bare([PROBE, "log", path])
            self.assertEqual((result.code, result.stdout), (1, ""))
            self.assertIn(what, result.stderr)
        result = self.bare([PROBE, "trace", "--api-log", "/no/such/x", "--", "true"])
        self.assertEqual(result.code, 1)
        self.assertRegex(result.stderr, "cannot write /no/such/x")
        os.mkfifo(self.path("pipe"))
        for options, what in ((["-o", self.path("pipe")], "pipe is not a file: a database needs one"),
                              (["-o", __file__, "--append"], "--append: .*trace.py is not an RPD file"),
                              (["-o", self.path("x" * 250)], r"cannot write .*xxx\.\d+\.events: File name too long")):
            result = self.bare([PROBE, "trace", *options, "--", "touch", self.path("ran")])
            self.assertEqual((result.code, result.said[1:]), (1, []))
            self.assertRegex(result.said[0], what)
        self.assertEqual(os.listdir(self.dir), ["pipe"])

    def test_an_application_without_a_gpu_gets_a_line_and_keeps_its_exit_code(self):
        result = self.bare([PROBE, "trace", "--api-log", self.path("x"), "--", "sh", "-c", "exit 3"])
        self.assertEqual(result.code, 3)
        self.assertRegex(result.stderr, "did not use the GPU")


if __name__ == "__main__":
    fade.main()
