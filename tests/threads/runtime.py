"""The host runtime under ThreadSanitizer, in programs that use HIP or HSA: no data race is found, and
exit code and report are what they are without the sanitizer."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

RUNTIME = os.environ["TSAN_RUNTIME"]
LIB = os.environ["TSAN_LIB"]
PLAIN = os.environ["PLAIN"]
HERE = os.path.dirname(os.path.abspath(__file__))
RACE = 66  # exit code of the sanitizer


def program(name):
    return os.path.join(PLAIN, "tests/e2e/host/programs/e2e_" + name)


def code_object(name):
    return os.path.join(PLAIN, f"tests/e2e/host/e2e_{name}-gfx90a.hsaco")


class Tests(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="fade-threads-")
        self.addCleanup(shutil.rmtree, self.dir, True)

    def start(self, app, **settings):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FADE_")}
        env.update({
            "TSAN_OPTIONS": f"suppressions={HERE}/suppressions.txt log_path={self.dir}/races "
                            f"exitcode={RACE} handle_segv=0 handle_abort=0",
            "LD_PRELOAD": f"{RUNTIME}:{PLAIN}/lib/libfadegpu.so",
            "HSA_TOOLS_LIB": f"{LIB}/libfade.so",
            "FADE_INSTRUMENTED": "true",
            "FADE_HANDLERS": "Heatmap;MemoryAnalysis;BlockCounts",
            "FADE_WORKERS": "2",
            "FADE_PATIENCE": "10",  # a busy machine is not stuck
            "FADE_LOG_FORMAT": "json",
            "FADE_LOG_LOCATION": f"{self.dir}/log",
        })
        env.update({f"FADE_{name.upper()}": value for name, value in settings.items()})
        return subprocess.Popen([str(x) for x in app], env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.PIPE, text=True)

    def finish(self, process, code=0, stdin=""):
        out, err = process.communicate(stdin, timeout=200)
        races = "".join(open(path).read() for path in glob.glob(f"{self.dir}/races*"))
        self.assertEqual(races, "", races)
        self.assertEqual(process.returncode, code, out + err)
        with open(f"{self.dir}/log") as log:
            found = [json.loads(line) for line in log]
        return [x for x in found if x["type"] == "summary"][-1]

    def fine(self, app, stdin="", **settings):
        summary = self.finish(self.start(app, **settings), stdin=stdin)
        self.assertEqual((summary["incomplete"], summary["dropped"]), (0, 0))
        return summary

    def test_eight_streams(self):
        self.assertEqual(self.fine([program("many"), 200, 8])["instrumented"], 200)

    def test_eight_streams_with_durations_only(self):
        self.assertGreaterEqual(self.fine([program("many"), 2000, 8], instrumented="0")["dispatches"], 2000)

    def test_threads_of_the_host(self):
        self.assertGreater(self.fine([program("host_threads")])["instrumented"], 0)

    def test_events(self):
        self.assertEqual(self.fine([program("many"), 100, 4, "events"])["instrumented"], 100)

    def test_two_agents(self):
        self.assertGreater(self.fine([program("agents")], gpu="gfx90a,gfx1030")["instrumented"], 0)

    def test_graphs(self):
        self.assertGreater(self.fine([program("graphs")])["instrumented"], 0)

    def test_a_stream_larger_than_the_rings(self):
        self.assertGreater(self.fine([program("streaming"), 8], memory="1M")["records"], 0)

    def test_rings_in_device_memory(self):
        self.assertEqual(self.fine([program("many"), 100, 4], transport="device")["instrumented"], 100)
        self.assertGreater(self.fine([program("streaming"), 4], transport="device", memory="1M")["records"], 0)

    def test_copies_that_wait_for_a_kernel_with_a_ring_in_device_memory(self):
        summary = self.fine([program("direct"), "copies", code_object("scale1-twin")],
                            transport="device", memory="1M")
        self.assertEqual(summary["records"], 2048 * 3)

    def test_a_recording_and_a_handler_that_needs_order(self):
        trace = f"{self.dir}/trace"
        self.fine([program("many"), 50, 4], handlers="MessageLogger:addresses=false", record=trace)
        self.assertGreater(os.path.getsize(trace), 0)

    def test_packets_with_signals_of_the_application(self):
        for how in ("memory", "again"):
            summary = self.fine([program("direct"), how, code_object("scale1-twin")])
            self.assertEqual(summary["instrumented"], 30)

    def test_several_threads_put_packets_into_a_short_queue(self):
        summary = self.fine([program("direct"), "producers", code_object("scale1-twin")])
        self.assertEqual(summary["instrumented"], 804)

    def test_the_kernel_cache(self):
        shutil.copy(code_object("scale1-replaced"), self.dir)
        summary = self.fine([program("scaling")], f"file {code_object('scale1')}\nunload\n" * 3,
                            kernel_cache=self.dir)
        self.assertGreaterEqual(summary["instrumented"], 6)

    def test_exit_while_other_threads_launch(self):
        self.finish(self.start([program("endings"), "amid"]), 12)

    def test_a_signal_while_other_threads_launch(self):
        process = self.start([program("endings"), "launching"])
        self.assertEqual(process.stdout.readline(), "launched\n")
        self.assertEqual(process.stdout.readline(), "launching\n")
        process.send_signal(signal.SIGINT)
        self.finish(process, -signal.SIGINT)

    def test_fork(self):
        self.finish(self.start([program("endings"), "fork"]), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q", *sys.argv[1:]])
