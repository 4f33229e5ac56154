"""Where reports and recordings go, disks that are full, and files that are not what they should be."""
import os
import random

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
        result = self.probe(["-i", "--record", "/no/such/place/trace"], [MANY, 5])
        self.assertEqual((result.code, len(result.said)), (0, 1), result.stderr)
        self.assertIn("cannot record to /no/such/place/trace", result.said[0])
        self.assertEqual(result.summary()["instrumented"], 5)

    def test_a_stderr_that_nobody_reads_harms_nobody(self):
        result = self.bare(["sh", "-c", f"{PROBE} -- {MANY} 3 2>&-"])
        self.assertEqual((result.code, result.stdout), (0, "3 dispatches are right\n"))
        self.assertEqual(self.bare(["sh", "-c", f"{PROBE} -e >/dev/full"]).code, 1)
        result = self.bare(["bash", "-c", f"{PROBE} -- {MANY} 3 2> >(exec true); exit $?"])
        self.assertEqual((result.code, result.stdout), (0, "3 dispatches are right\n"))

    def test_memory_stays_flat_while_a_kernel_streams(self):
        """With 150 MB of records through 8 MB of rings; the bound is what the process needs anyway."""
        def peak(megabytes):
            process = self.start(["-i", "-a", "MemoryAnalysis", "--memory", "8M"],
                                 [program("streaming"), megabytes])
            highest = 0
            while process.poll() is None:
                try:
                    with open(f"/proc/{process.pid}/status") as file:
                        sizes = [x for x in file if x.startswith("VmHWM:")]
                    highest = max(highest, *(int(x.split()[1]) for x in sizes))
                except (FileNotFoundError, ProcessLookupError, TypeError):
                    pass
                fade.time.sleep(0.02)
            result = self.finish(process)
            self.assert_fine(result)
            self.assertGreater(result.summary()["bytes"], megabytes * 980_000)
            return highest
        small, large = peak(5), peak(150)
        self.assertLess(large, small + 20_000, "kB")


if __name__ == "__main__":
    fade.main()
