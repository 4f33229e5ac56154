"""The libraries that are preloaded, RPD's names, and tracing without fadeprobe: the file is made by a process of FADE's own."""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import fade
import pftrace
from fade import PROBE, program

DL = program("dl_calls")
FADE_LIBRARY = os.path.join(fade.LIB, "libfade.so")
TRACER = os.path.join(fade.LIB, "librpd_tracer.so")
REMOTE = os.path.join(fade.LIB, "librpd_remote.so")
GPU = os.path.join(fade.LIB, "libfadegpu.so")


class Tests(fade.Test):
    def rows(self, query, path=None):
        connection = sqlite3.connect(path or self.path("run.rpd"), timeout=30)
        try:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def calls(self, path=None):
        return self.rows("SELECT count(*) FROM api WHERE apiName = 'hipGetDevice'", path)[0][0]

    def only(self, *names):
        """The events are gone once the file is there."""
        for _ in range(600):
            if sorted(os.listdir(self.dir)) == sorted(names):
                return
            time.sleep(0.1)
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(names))

    def preloaded(self, *libraries, **env):
        return dict(env, LD_PRELOAD=":".join([*libraries, GPU]))

    def start(self, command, env):
        process = subprocess.Popen(command, env=fade.clean_environment(env), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process

    # ---- without fadeprobe

    def test_an_rpd_file_is_there_when_the_program_has_ended(self):
        env = {"HSA_TOOLS_LIB": FADE_LIBRARY, "FADE_TRACE": self.path("run.rpd")}
        result = self.software_gpu([program("plain"), 5], env)
        self.assert_fine(result)
        self.assertEqual(self.rows("SELECT count(*) FROM kernel"), [(5,)])
        self.assertEqual(self.rows("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), [("1",)])
        # What is called after main() is there, too.
        self.assertEqual(self.rows("SELECT count(*) FROM api WHERE apiName = '__hipUnregisterFatBinary'")[0][0] > 0, True)
        self.only("run.rpd")

    def test_programs_of_a_script_and_forked_children_append_sessions(self):
        self.skip_in_front_of_hip()
        env = {"HSA_TOOLS_LIB": FADE_LIBRARY, "FADE_TRACE": self.path("run.rpd"), "FADE_TRACE_API": "^hipGetDevice$"}
        result = self.software_gpu(["sh", "-c", f"'{DL}' churn 3; '{DL}' fork; exec '{DL}' churn 4"], env)
        self.assertEqual(result.code, 0, result.stderr)
        self.only("run.rpd")
        self.assertEqual(sorted(self.rows("SELECT count(*) FROM api WHERE args != 'x' GROUP BY pid")), [(4,), (5,), (8,), (20,)])
        self.assertEqual(self.rows("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), [("3",)])

    def test_other_forms_and_events_as_they_are(self):
        for name, form in (("a.json", "perfetto"), ("a.jsonl", "json"), ("a.events", ""), ("b.rpd", "rpd2"), ("a.perfetto-trace", ""), ("b.trace", "pftrace")):
            env = {"HSA_TOOLS_LIB": FADE_LIBRARY, "FADE_TRACE": self.path(name)}
            if form:
                env["FADE_TRACE_FORMAT"] = form
            self.assert_fine(self.software_gpu([DL, "churn", 2], env))
        self.only("a.json", "a.jsonl", "a.events", "b.rpd", "a.perfetto-trace", "b.trace")
        for name in ("a.perfetto-trace", "b.trace"):
            with open(self.path(name), "rb") as file:
                self.assertTrue(any(x["name"] == "hipGetDevice" for x in pftrace.Trace(file.read()).slices), name)
        with open(self.path("a.json")) as file:
            self.assertTrue(json.load(file)["traceEvents"])
        with open(self.path("a.events"), "rb") as file:
            self.assertEqual(file.read(8), b"FDEVENTS")
        self.assertEqual(self.rows("SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'", self.path("b.rpd")), [("2",)])

    def test_a_killed_program_leaves_a_file_with_everything(self):
        env = {"HSA_TOOLS_LIB": FADE_LIBRARY, "FADE_TRACE": self.path("run.rpd")}
        self.assertEqual(self.software_gpu([DL, "killed"], env).code, -signal.SIGKILL)
        self.only("run.rpd")
        self.assertEqual(self.calls() >= 7, True)

    def test_what_cannot_be_written_is_said_and_the_events_stay(self):
        with open(self.path("run.rpd"), "w") as file:
            file.write("something else")
        result = self.software_gpu([DL, "churn", 2], {"HSA_TOOLS_LIB": FADE_LIBRARY, "FADE_TRACE": self.path("run.rpd")})
        self.assertEqual(result.code, 0)
        self.assertRegex("\n".join(result.said), r"fade: .*run\.rpd.*; the recorded events are in .*\.events")
        self.assertEqual(len(os.listdir(self.dir)), 2)

    def test_the_application_has_no_child_and_no_file_more_than_before(self):
        code = ("import ctypes, os, sys\n"
                "hip = next(ctypes.CDLL(f'libamdhip64.so.{n}') for n in sys.argv[1])\n"
                "before = set(os.listdir('/proc/self/fd'))\n"
                "hip.hipGetDevice(ctypes.byref(ctypes.c_int()))\n"
                "try:\n    print(os.waitpid(-1, os.WNOHANG))\n"
                "except ChildProcessError:\n    print('no child')\n"
                "print([x for x in set(os.listdir('/proc/self/fd')) - before if int(x) < 200 and os.path.exists('/proc/self/fd/' + x)"
                " and 'socket' in os.readlink('/proc/self/fd/' + x)])\n")
        result = self.software_gpu([sys.executable, "-c", code, str(fade.HIP)], {"HSA_TOOLS_LIB": FADE_LIBRARY, "FADE_TRACE": self.path("run.rpd")})
        self.assertEqual((result.code, result.stdout), (0, "no child\n[]\n"), result.stderr)

    HIP_CALLS = ("import ctypes, os, sys, time\n"
                 "hip = next(ctypes.CDLL(f'libamdhip64.so.{n}') for n in sys.argv[1])\n"
                 "def calls(n):\n"
                 "    for i in range(n): hip.hipGetDevice(ctypes.byref(ctypes.c_int()))\n"
                 "calls(4)\n")

    def python(self, code, **env):
        env = dict({"HSA_TOOLS_LIB": FADE_LIBRARY, "FADE_TRACE": self.path("run.rpd"), "FADE_TRACE_API": "^hipGetDevice$"}, **env)
        return self.software_gpu([sys.executable, "-c", self.HIP_CALLS + code, str(fade.HIP)], env)

    def test_an_application_that_closes_files_that_are_not_its_own_loses_nothing(self):
        self.skip_in_front_of_hip()
        self.assert_fine(self.python("os.closerange(200, 300)\ncalls(5)\ntime.sleep(0.5)\ncalls(6)\n"))
        self.assertEqual(self.calls(), 15)
        self.only("run.rpd")

    def test_a_child_that_outlives_its_parent_is_in_the_file(self):
        self.skip_in_front_of_hip()
        result = self.python("if os.fork() == 0:\n    time.sleep(0.5)\n    calls(7)\n    os._exit(0)\ncalls(2)\n")
        self.assertEqual(result.code, 0, result.stderr)
        self.only("run.rpd")
        self.assertEqual(sorted(self.rows("SELECT count(*) FROM api WHERE apiName = 'hipGetDevice' GROUP BY pid")), [(6,), (7,)])
        self.assertEqual(self.rows("SELECT value FROM rocpd_metadata WHERE tag = 'session_count'"), [("1",)])

    # ---- RPD's names

    def test_rpds_functions_are_counted_and_flush_writes_the_file(self):
        env = self.preloaded(TRACER, RPDT_FILENAME=self.path("run.rpd"), RPDT_AUTOSTART="0", FADE_TRACE_API="^hipGetDevice$")
        process = self.start([DL, "rpd"], env)
        self.assertEqual(process.stdout.readline(), "flushed\n")
        self.assertEqual(self.calls(), 15)
        process.stdin.write("x")
        _, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, fade.without_runtime(errors)), (0, ""))
        self.only("run.rpd")
        self.assertEqual(self.calls(), 17)
        self.assertEqual(self.rows("SELECT apiName, args FROM api WHERE domain != 'hip'"), [("step", "epoch=1")])
        inside = self.rows("SELECT count(*) FROM api A JOIN api M ON M.apiName = 'step' AND A.start > M.start AND A.end < M.end")
        self.assertEqual(inside, [(15,)])

    def test_what_was_flushed_has_its_end_and_what_was_not_is_no_launch_without_effect(self):
        code = ("rpd = ctypes.CDLL(sys.argv[2])\n"
                "memory = ctypes.c_void_p()\n"
                "assert hip.hipMalloc(ctypes.byref(memory), 4096) == 0\n"
                "def fill():\n"
                "    for i in range(5): hip.hipMemsetAsync(memory, 1, ctypes.c_size_t(4096), None)\n"
                "    hip.hipDeviceSynchronize()\n"
                "fill()\n"
                "rpd.rpdflush()\n"
                "fill()\n"
                "os.kill(os.getpid(), 9)\n")
        env = self.preloaded(TRACER, RPDT_FILENAME=self.path("run.rpd"))
        self.assertEqual(self.bare([sys.executable, "-c", self.HIP_CALLS + code, str(fade.HIP), TRACER], env).code, -signal.SIGKILL)
        self.only("run.rpd")
        fills = self.rows("SELECT args, count(op_id) FROM api LEFT JOIN rocpd_api_ops ON api_id = api.id WHERE apiName = 'hipMemsetAsync' GROUP BY api.id ORDER BY api.id")
        self.assertEqual([count for _, count in fills[:5]], [1] * 5)
        self.assertEqual([count + args.endswith(" | unended=1") for args, count in fills[5:]], [1] * 5)
        text = self.bare([PROBE, "log", self.path("run.rpd")]).stdout
        self.assertNotIn("by the host itself", text)

    def test_rpds_tracer_loaded_from_python_appends_to_the_file_it_finds(self):
        # As rpdTracerControl.py does it: the variable, the library, then the GPU.
        code = ("import ctypes, os, sys\n"
                "os.environ['RPDT_AUTOSTART'] = '0'\n"
                f"rpd = ctypes.CDLL({TRACER!r})\n"
                "hip = next(ctypes.CDLL(f'libamdhip64.so.{n}') for n in sys.argv[1])\n"
                "device = ctypes.c_int()\n"
                "rpd.rpd_rangePush(b'python', b'early', b'')\n"
                "for i in range(3): hip.hipGetDevice(ctypes.byref(device))\n"
                "rpd.rpdstart()\n"
                "for i in range(7): hip.hipGetDevice(ctypes.byref(device))\n"
                "rpd.rpd_rangePush(b'python', b'late', b'')\n"
                "rpd.rpd_rangePop()\n"
                "rpd.rpdstop()\n")
        for times in (1, 2):
            result = self.software_gpu([sys.executable, "-c", code, str(fade.HIP)], {"RPDT_FILENAME": self.path("run.rpd")})
            self.assert_fine(result)
            self.assertEqual(self.calls(), 7 * times)
        self.assertEqual(self.rows("SELECT DISTINCT apiName, args FROM api WHERE domain = 'python'"), [("late", "")])
        # From the first call after rpdstart, with arguments.
        self.assertEqual(self.rows("SELECT count(*) FROM api WHERE apiName = 'hipGetDevice' AND args LIKE '%partial%'"), [(0,)])

    def test_ranges_of_rpd_have_their_name_and_arguments_apart(self):
        code = ("tracer = ctypes.CDLL(sys.argv[2])\n"
                "tracer.rpd_rangePush(b'python', b'train', b'epoch=1, \"x\"')\n"
                "calls(2)\n"
                "tracer.rpd_mark(b'', b'here', b'step=7')\n"
                "tracer.rpd_rangePop()\n")
        env = {"RPDT_FILENAME": self.path("run.rpd"), "LD_PRELOAD": f"{TRACER}:{os.path.join(fade.LIB, 'libfadegpu.so')}"}
        result = self.bare([sys.executable, "-c", self.HIP_CALLS + code, str(fade.HIP), TRACER], env)
        self.assertEqual(result.code, 0, result.stderr)
        self.assertEqual(self.rows("SELECT domain, apiName, args FROM api WHERE domain != 'hip' ORDER BY apiName"),
                         [("UserMarker", "here", "step=7"), ("python", "train", 'epoch=1, "x"')])
        lines = self.bare([PROBE, "log", self.path("run.rpd"), "-o", self.path("run.jsonl")])
        text = self.bare([PROBE, "log", self.path("run.rpd"), "--callstack"]).stdout
        self.assertIn('train, epoch=1, "x"', text, lines.stderr)
        self.assertNotIn("train", self.bare([PROBE, "log", self.path("run.rpd")]).stdout)  # no call of HIP

    def test_the_class_that_users_of_rpd_have(self):
        code = ("import sys, ctypes\n"
                "from rpdTracerControl import rpdTracerControl\n"
                "rpdTracerControl.setFilename(sys.argv[2], append=False)\n"
                "tracer = rpdTracerControl()\n"
                "hip = next(ctypes.CDLL(f'libamdhip64.so.{n}') for n in sys.argv[1])\n"
                "device = ctypes.c_int()\n"
                "def calls(n):\n"
                "    for i in range(n): hip.hipGetDevice(ctypes.byref(device))\n"
                "calls(3)\n"
                "with tracer:\n"
                "    calls(5)\n"
                "    tracer.start(); tracer.stop()  # counted\n"
                "    calls(2)\n"
                "    tracer.setPythonTrace(True)\n"
                "    calls(1)\n"
                "    tracer.setPythonTrace(False)\n"
                "calls(100)\n"
                "tracer.flush()\n")
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")
        libraries = ":".join([fade.LIB, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        for _ in range(2):  # the file is made anew
            result = self.software_gpu([sys.executable, "-c", code, str(fade.HIP), self.path("run.rpd")], {"PYTHONPATH": path, "LD_LIBRARY_PATH": libraries})
            self.assertEqual((result.code, result.said), (0, []), result.stderr)
            self.assertEqual(self.calls(), 8)
        self.assertIn(("calls",), self.rows("SELECT apiName FROM api WHERE domain = 'python'"))

    def test_a_tracer_that_comes_after_the_gpu_was_used_records_calls_and_says_so(self):
        code = ("rpd = ctypes.CDLL(sys.argv[2])\n"
                "calls(5)\n"
                "rpd.rpd_rangePush(b'python', b'late', b'')\n"
                "calls(2)\n"
                "rpd.rpd_rangePop()\n"
                "rpd.rpdstop()\n"
                "calls(100)\n")
        env = {"RPDT_FILENAME": self.path("run.rpd"), "FADE_TRACE_API": "^hipGetDevice$"}
        result = self.software_gpu([sys.executable, "-c", self.HIP_CALLS + code, str(fade.HIP), TRACER], env)
        self.assertEqual(result.code, 0, result.stderr)
        self.assertEqual(result.said, ["fade: the GPU was in use before FADE was loaded: HIP calls and markers are recorded from here on, "
                                       "kernels and copies are not"])
        self.assertEqual(self.calls(), 7)
        self.assertEqual(self.rows("SELECT apiName, args FROM api WHERE domain = 'python'"), [("late", "")])
        self.only("run.rpd")

    def test_rpds_remote_starts_and_stops_by_signals(self):
        process = self.start([DL, "paced"], self.preloaded(REMOTE, RPDT_FILENAME=self.path("run.rpd")))
        pid = int(process.stdout.readline())

        def calls(count):
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "done\n")

        calls(3)
        process.send_signal(signal.SIGUSR1)
        calls(50)
        process.send_signal(signal.SIGUSR2)
        calls(700)
        for _ in range(600):  # the signal asks for the file
            if os.path.exists(self.path("run.rpd")) and self.calls() >= 50:
                break
            time.sleep(0.1)
        self.assertIn(self.calls(), (50, 51))
        self.assertEqual(self.bare([PROBE, "control", "start", pid]).code, 0)
        calls(4)
        self.assertEqual(self.bare([PROBE, "control", "flush", pid]).code, 0)
        self.assertIn(self.calls(), (54, 55))  # at once: control waits for the file
        calls(2)
        self.assertEqual(self.bare([PROBE, "control", "stop", pid]).code, 0)
        self.assertIn(self.calls(), (56, 57))
        _, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, fade.without_runtime(errors)), (0, ""))
        self.only("run.rpd")
        self.assertIn(self.calls(), (56, 57))

    def test_a_signal_before_the_gpu_is_used_holds_from_then_on(self):
        code = ("import ctypes, os, signal, sys\n"
                "os.kill(os.getpid(), signal.SIGUSR1)\n"
                "hip = next(ctypes.CDLL(f'libamdhip64.so.{n}') for n in sys.argv[1])\n"
                "for i in range(6): hip.hipGetDevice(ctypes.byref(ctypes.c_int()))\n")
        result = self.bare([sys.executable, "-c", code, str(fade.HIP)], self.preloaded(REMOTE, RPDT_FILENAME=self.path("run.rpd")))
        self.assert_fine(result)
        self.assertIn(self.calls(), (5, 6))  # one is the first call

    def test_flushing_now_and_then(self):
        process = self.start([DL, "paced"], self.preloaded(TRACER, RPDT_FILENAME=self.path("run.rpd"), RPDT_AUTOFLUSH="1"))
        process.stdout.readline()
        process.stdin.write("9\n")
        process.stdin.flush()
        for _ in range(600):
            if os.path.exists(self.path("run.rpd")) and self.calls() >= 9:
                break
            time.sleep(0.1)
        self.assertGreaterEqual(self.calls(), 9)
        process.communicate(timeout=60)

    # ---- markers

    def markers(self, library):
        log = self.path("all.jsonl")
        result = self.bare([PROBE, "trace", "-o", log, "--format", "json", "--", DL, "markers", library])
        self.assertEqual((result.code, result.stdout), (0, "-1 0 1 1 0\n"), result.stderr)
        with open(log) as file:
            return [x["text"] for x in map(json.loads, file) if x["type"] == "marker"]

    def test_markers_by_every_name_of_their_library(self):
        expected = ["aten::add, seq = 1, op_id = 2", "early", "free", "here", 'inner "quoted"']
        for library in ("libroctx64.so.4", "libroctx64.so", "librocprofiler-sdk-roctx.so", "/opt/rocm/lib/librocprofiler-sdk-roctx.so.1"):
            self.assertEqual(sorted(self.markers(library)), expected, library)

    def test_the_header_of_fade(self):
        log = self.path("all.jsonl")
        result = self.bare([PROBE, "trace", "-o", log, "--format", "json", "--api", "^hipGetDevice$", "--", DL, "header"])
        self.assert_fine(result)
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(len([x for x in lines if x["type"] == "call"]), 2 + 3 + 4)
        ranges = {x["text"]: x for x in lines if x["type"] == "marker"}
        self.assertEqual(set(ranges), {"before the GPU", "free", "here"})
        self.assertLess(ranges["before the GPU"]["start_ns"], min(x["start_ns"] for x in lines if x["type"] == "call"))
        # Without FADE nothing happens.
        self.assert_fine(self.software_gpu([DL, "header"]))

    def test_dlopen_still_knows_who_calls_it(self):
        outer = os.path.join(fade.HERE, "programs", "libe2e_outer.so")
        code = f"import ctypes; print(ctypes.CDLL({outer!r}).load_inner())"
        for libraries in ([], [TRACER], [os.path.join(fade.LIB, "libfaderoctx.so")]):
            result = self.bare([sys.executable, "-c", code], {"LD_PRELOAD": ":".join(libraries), "RPDT_FILENAME": self.path("run.rpd")})
            self.assertEqual((result.code, result.stdout), (0, "1\n"), result.stderr)


if __name__ == "__main__":
    fade.main()
