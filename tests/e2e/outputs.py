"""Where reports and recordings go, disks that are full, and files that are not what they should be."""
import json
import os
import random
import subprocess
import time

import fade
from fade import PROBE, program

MANY = program("many")


class Tests(fade.Test):
    def record(self, name="trace", app=(MANY, 5), options=()):
        trace = self.path(name)
        result = self.probe(["-i", "--record", trace, *options], app)
        self.assert_fine(result)
        return trace, result

    def analyze(self, trace, *options):
        log = self.path("analyzed")
        result = self.bare([PROBE, "analyze", trace, "-t", "json", "-l", log, *options])
        result.log = log
        return result

    def test_what_is_kept_for_a_while_is_where_nobody_else_can_put_something(self):
        script = 'file=$%s; stat -c "%%a %%u" "$(dirname "$file")"; echo "$file"'
        for variable, options in (("FADE_LOG_LOCATION", ["--fail-if", "kernel.efficiency<1%"]), ("FADE_TRACE", ["trace", "--api-log", "/dev/null"])):
            result = self.bare([fade.PROBE, *options, "--", "sh", "-c", script % variable], {"TMPDIR": self.dir})
            access, file = result.stdout.splitlines()
            self.assertEqual(access, f"700 {os.getuid()}")
            self.assertTrue(file.startswith(self.dir + "/fadeprobe-"), file)
            self.assertEqual(os.listdir(self.dir), [], "and goes away")

    def test_analyze_gives_what_the_run_gave(self):
        analyzers = ("-a", "Heatmap", "MemoryAnalysis", "BlockCounts")
        trace, live = self.record(options=analyzers)
        again = self.analyze(trace, *analyzers)
        self.assert_fine(again, "")
        self.assertEqual(again.objects(), live.objects())

    def test_analyze_takes_analyzers_that_were_not_there_when_it_ran(self):
        trace, live = self.record()
        again = self.analyze(trace, "-a", "MemoryAnalysis")
        self.assert_fine(again, "")
        self.assertEqual(len(again.objects("memory")), 5)
        self.assertEqual(again.summary(), live.summary())

    def test_a_trace_name_has_the_process_in_it(self):
        self.record("trace-%p")
        self.assertEqual(len([x for x in os.listdir(self.dir) if x.startswith("trace-")]), 1)

    # ---- several processes

    def test_each_of_two_processes_has_a_recording(self):
        for script in (f"{MANY} 2; {MANY} 3", f"{MANY} 2 & {MANY} 3; wait"):
            trace = self.path("trace")
            for old in os.listdir(self.dir):
                os.remove(self.path(old))
            result = self.probe(["-i", "--record", trace], ["sh", "-c", script])
            self.assertEqual(result.code, 0)
            others = [x for x in os.listdir(self.dir) if x.startswith("trace.")]
            self.assertEqual(len(others), 1)
            self.assertEqual(result.said, [f"fade: {trace} already holds a recording: "
                                           f"this process records to {self.path(others[0])}"])
            counts = [self.analyze(x).summary()["instrumented"]
                      for x in (trace, self.path(others[0]))]
            self.assertEqual(sorted(counts), [2, 3])

    def test_a_new_run_takes_the_place_of_an_older_recording(self):
        trace, _ = self.record(app=(MANY, 5))
        self.record(app=(MANY, 2))
        self.assertEqual(sorted(os.listdir(self.dir)), ["log", "trace"])
        self.assertEqual(self.analyze(trace).summary()["instrumented"], 2)

    def test_without_fadeprobe_a_recording_is_not_written_over_either(self):
        trace = self.path("trace")
        env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_INSTRUMENTED": "1",
               "FADE_RECORD": trace, "FADE_LOG_LOCATION": "/dev/null"}
        for count in (2, 3):
            self.assertEqual(self.software_gpu([MANY, count], env).code, 0)
        others = [x for x in os.listdir(self.dir) if x.startswith("trace.")]
        self.assertEqual(len(others), 1)
        self.assertEqual(self.analyze(trace).summary()["instrumented"], 2)
        self.assertEqual(self.analyze(self.path(others[0])).summary()["instrumented"], 3)

    def test_without_fadeprobe_a_child_adds_to_the_log_of_its_parent(self):
        env = {"HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so"), "FADE_LOG_FORMAT": "json",
               "FADE_LOG_LOCATION": self.log}
        for _ in range(2):  # and the next run begins anew
            result = self.software_gpu([program("endings"), "exec"], env)
            self.assertEqual(result.code, 0, result.stderr)
            self.assertEqual(len(result.objects("summary")), 2)

    def test_a_page_and_a_timeline_have_the_dispatches_of_all_processes(self):
        page, timeline = self.path("page.html"), self.path("timeline.json")
        result = self.bare([PROBE, "--report", page, "--timeline", timeline, "--", "sh", "-c",
                            f"{MANY} 20; {MANY} 30"])
        self.assertEqual(result.code, 0, result.stderr)
        with open(timeline) as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual(len([x for x in events if x["ph"] == "X" and x["name"].startswith("step")]), 50)
        with open(self.path("page.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(len([x for x in lines if x["type"] == "summary"]), 2)

    def test_the_first_call_on_a_page_and_a_timeline_is_whole(self):
        page, timeline = self.path("page.html"), self.path("timeline.json")
        for options, events in ((["--timeline", timeline], None), (["--report", page, "--timeline", timeline], None),
                                (["--timeline", timeline], self.path("own.events"))):
            env = {"FADE_TRACE": events, "FADE_TRACE_FORMAT": "events"} if events else {}
            result = self.bare([PROBE, *options, "--", MANY, 2], env)
            self.assertEqual(result.code, 0, result.stderr)
            with open(timeline) as file:
                calls = [x for x in json.load(file)["traceEvents"] if x["ph"] == "X" and x["name"].startswith("hip")]
            first = min(calls, key=lambda x: x["ts"])
            self.assertEqual((first["name"], first["args"]["result"]), ("hipStreamCreate", "hipSuccess"), first)
            self.assertIn("stream", first["args"]["args"])
            self.assertGreater(first["dur"], 1000)  # the GPU is opened in it
        with open(page) as file:
            self.assertNotIn('"partial":true', file.read())

    # ---- places

    def test_names_are_those_of_the_directory_it_was_started_in(self):
        os.mkdir(self.path("there"))
        program_there = ["sh", "-c", f"cd there && exec {MANY} 3"]
        result = self.bare([PROBE, "-i", "-a", "Heatmap:svg=picture.svg", "-t", "json", "-l", "log",
                            "--record", "trace", "--", *program_there], cwd=self.dir)
        self.assertEqual(result.code, 0, result.stderr)
        self.assertEqual(result.summary()["instrumented"], 3)
        self.assertIn("trace", os.listdir(self.dir))

    def test_a_pipe_as_log_is_read_by_another_program(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
        time.sleep(0.3)
        result = self.probe(["-t", "json", "-l", pipe], [MANY, 3], json_log=False)
        self.assert_fine(result)
        text, _ = reader.communicate(timeout=100)
        self.assertEqual(json.loads(text.splitlines()[-1])["type"], "summary")

    def test_a_pipe_that_nobody_reads_does_not_stop_the_application(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        result = self.probe(["-l", pipe], [MANY, 3], json_log=False, timeout=60)
        self.assertEqual(result.code, 0)
        self.assertEqual(result.stdout, "3 dispatches are right\n")
        self.assertIn(f"cannot open {pipe}", result.stderr)
        self.assertIn("step(", result.stderr)

    def test_analyze_names_what_it_cannot_read(self):
        text = self.path("text")
        with open(text, "w") as file:
            file.write("this is no trace\n" * 10)
        for path in (text, self.dir, "/dev/null", "/no/such/file"):
            result = self.bare([PROBE, "analyze", path])
            self.assertEqual((result.code, result.stdout), (2, ""))
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(path, result.stderr)

    def test_mistakes_in_analyze_are_one_line(self):
        trace, _ = self.record()
        for words in (["analyze"], ["analyze", trace, "-a", "Heatmep"], ["analize", trace],
                      ["analyze", trace, "--analyser", "Heatmap"], ["analyze", trace, "-t", "tex"]):
            result = self.bare([PROBE, *words])
            self.assertEqual(result.code, 2, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_a_trace_that_was_cut_off_is_read_up_to_there(self):
        trace, live = self.record()
        with open(trace, "rb") as file:
            whole = file.read()
        for size in (len(whole) - 1, len(whole) * 2 // 3, len(whole) // 3, 40):
            with open(trace, "wb") as file:
                file.write(whole[:size])
            result = self.analyze(trace, "-a", "MemoryAnalysis")
            self.assertEqual((result.code, result.stdout), (1, ""))
            self.assertEqual(len(result.said), 1, result.stderr)
            self.assertIn("cut off", result.said[0])
            self.assertLessEqual(result.summary()["dispatches"], live.summary()["dispatches"])

    def test_hostile_traces_end_in_an_orderly_way(self):
        trace, _ = self.record()
        with open(trace, "rb") as file:
            whole = file.read()
        dice = random.Random(5)
        for _ in range(60):
            bytes_ = bytearray(whole)
            for _ in range(dice.choice((1, 4, 40))):
                at = dice.randrange(32, len(bytes_))
                bytes_[at] = dice.choice((0, 0xff, bytes_[at] ^ 1 << dice.randrange(8)))
            with open(trace, "wb") as file:
                file.write(bytes_)
            result = self.analyze(trace, "-a", "MemoryAnalysis", "Heatmap", "MessageLogger")
            self.assertIn(result.code, (0, 1), result.stderr)
            result.objects()  # whatever was reported is still JSON

    def test_a_full_disk_for_the_log_harms_nobody(self):
        result = self.probe(["-i", "-a", "MemoryAnalysis", "-t", "json", "-l", "/dev/full"],
                            [MANY, 5], json_log=False)
        self.assertEqual((result.code, result.stdout), (0, "5 dispatches are right\n"))
        self.assertEqual(len(result.said), 1, result.stderr)
        self.assertRegex(result.said[0], "/dev/full: No space left on device")

    def test_a_full_disk_for_the_recording_harms_neither_application_nor_report(self):
        result = self.probe(["-i", "-a", "MemoryAnalysis", "--record", "/dev/full"], [MANY, 5])
        self.assertEqual((result.code, result.stdout), (0, "5 dispatches are right\n"))
        self.assertEqual(len(result.said), 1, result.stderr)
        self.assertRegex(result.said[0], "record to /dev/full: No space left on device")
        self.assertEqual(len(result.objects("memory")), 5)

    def test_a_log_that_cannot_be_written_is_named_and_stderr_gets_the_report(self):
        for place in ("/no/such/place/log", self.dir):
            result = self.probe(["-l", place], [MANY, 5], json_log=False)
            self.assertEqual((result.code, result.stdout), (0, "5 dispatches are right\n"))
            self.assertIn(f"cannot open {place}", result.stderr)
            self.assertRegex(result.stderr, r"\d+ dispatches, 0 instrumented")

    def test_a_recording_that_cannot_be_written_is_one_line(self):
        # fadeprobe refuses; without it the application runs.
        env = {"FADE_RECORD": "/no/such/place/trace", "FADE_INSTRUMENTED": "true", "FADE_LOG_FORMAT": "json",
               "FADE_LOG_LOCATION": self.log, "HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so")}
        result = self.software_gpu([MANY, 5], env)
        self.assertEqual((result.code, len(result.said)), (0, 1), result.stderr)
        self.assertIn("cannot record to /no/such/place/trace", result.said[0])
        self.assertEqual(result.summary()["instrumented"], 5)

    def test_a_stderr_that_nobody_reads_harms_nobody(self):
        result = self.bare(["sh", "-c", f"{PROBE} -- {MANY} 3 2>&-"])
        self.assertEqual((result.code, result.stdout), (0, "3 dispatches are right\n"))
        self.assertEqual(self.bare(["sh", "-c", f"{PROBE} -e >/dev/full"]).code, 1)
        # HIP 6 and 7 write to stderr themselves when they end, and SIGPIPE ends the program.
        gone = "2> >(exec true); exit $?"
        alone = self.bare(["bash", "-c", f"{MANY} 3 {gone}"], {"LD_PRELOAD": os.path.join(fade.LIB, "libfadegpu.so")})
        self.assertIn(alone.code, (0, 141) if fade.HIP > 5 else (0,))
        result = self.bare(["bash", "-c", f"{PROBE} -- {MANY} 3 {gone}"])
        self.assertEqual((result.code, result.stdout), (alone.code, alone.stdout))

    def test_memory_stays_flat_while_a_kernel_streams(self):
        """With 60 MB of records through 8 MB of rings; the bound is what the process needs anyway. Without the software GPU's compiler, which takes memory of its own."""
        def peak(megabytes):
            process = self.start(["-i", "-a", "MemoryAnalysis", "--memory", "8M"],
                                 [program("streaming"), megabytes], {"FADE_GPU_JIT": "0"})
            with process:
                process.stdin.close()
                said = process.stderr.read()  # until it ends
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                result = fade.Result(process.returncode, process.stdout.read(), said, self.log)
            self.assert_fine(result)
            self.assertGreater(result.summary()["bytes"], megabytes * 980_000)
            return usage.ru_maxrss
        small, large = peak(5), peak(60)
        self.assertLess(large, small + 20_000, "kB")


if __name__ == "__main__":
    fade.main()
