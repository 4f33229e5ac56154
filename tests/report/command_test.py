"""fadeprobe report: what it says about mistakes and broken input, and the trace it makes."""
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

import log_lines

PROBE = os.environ["REPORT_PROBE"]


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.log, self.html, self.trace = self.root / "run.jsonl", self.root / "out.html", self.root / "trace.json"
        log_lines.write(self.log, log_lines.small(str(self.root / "kernel.hip")))

    def report(self, *arguments):
        return subprocess.run([PROBE, "report", *map(str, arguments)], capture_output=True, text=True, timeout=60)

    def expect(self, code, words, *arguments):
        """One line on stderr with the words, and the exit code."""
        done = self.report(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "")

    def data(self):
        text = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.html.read_text(), re.S).group(1)
        return json.loads(text)


class Mistakes(Command):
    def test_neither_page_nor_trace_is_a_mistake_of_use(self):
        self.expect(2, "give -o or --trace", self.log)

    def test_no_input_is_a_mistake_of_use(self):
        self.expect(2, "no file of JSON lines", "-o", self.html)

    def test_an_input_that_is_not_there_is_named(self):
        self.expect(1, "nowhere.jsonl: No such file", self.root / "nowhere.jsonl", "-o", self.html)

    def test_an_output_that_cannot_be_written_is_named(self):
        self.expect(1, "cannot write", self.log, "-o", self.root / "nowhere" / "out.html")

    def test_a_full_disk_is_named(self):
        if not os.path.exists("/dev/full"):
            self.fail("there is no /dev/full to test with")
        self.expect(1, "/dev/full: No space left", self.log, "-o", "/dev/full")

    def test_a_file_of_something_else_is_refused(self):
        self.log.write_text("dispatches: 12\n")
        self.expect(1, "holds no JSON lines of a report", self.log, "-o", self.html)

    def test_an_empty_file_is_refused(self):
        self.log.write_text("")
        self.expect(1, "holds no JSON lines of a report", self.log, "-o", self.html)

    def test_a_wrong_option_names_the_right_one(self):
        done = self.report(self.log, "--outptu", self.html)
        self.assertEqual(done.returncode, 2)


class BrokenLines(Command):
    def with_lines(self, *more):
        with open(self.log, "a") as out:
            out.writelines(more)
        before = len(self.log.read_text().splitlines())
        done = self.report(self.log, "-o", self.html)
        self.assertEqual(done.returncode, 0, done.stderr)
        return before, done.stderr, self.data()

    def test_a_bad_line_is_named_by_its_number_and_the_rest_is_used(self):
        number, words, data = self.with_lines("{nonsense\n")
        self.assertIn(f"line {number}: it is not JSON", words)
        self.assertEqual(data["totals"]["dispatches"], 4)
        self.assertIn(f"line {number}", data["problems"][0])

    def test_a_last_line_that_was_cut_off_is_left_out(self):
        number, words, data = self.with_lines(json.dumps(log_lines.dispatch(5, "k()", 1, 2))[:70])
        self.assertIn(f"line {number}", words)
        self.assertEqual(data["totals"]["dispatches"], 4)

    def test_wrong_types_in_a_line_cost_only_the_line(self):
        for bad in ('[1]', '{"version":1}', '{"type":"dispatch","version":1,"kernel":7}', '{"type":"dispatch","version":1,"kernel":"k()","grid":["x"]}',
                    '{"type":"memory","version":1,"kernel":"k()","global":{}}', '{"type":"pattern","version":1,"kernel":"k()","addresses":["x"]}',
                    '{"type":"heatmap","version":1,"kernel":"k()"}', '{"type":"dispatch","version":99,"kernel":"k()"}', '"\\ud800"'):
            with self.subTest(bad):
                log_lines.write(self.log, log_lines.small("kernel.hip"))
                number, words, data = self.with_lines(bad + "\n")
                self.assertIn(f"line {number}: ", words)
                self.assertEqual(data["totals"]["dispatches"], 4)

    def test_numbers_and_types_at_random_never_end_in_a_crash(self):
        random.seed(6)
        lines = [json.dumps(line) for line in log_lines.small("kernel.hip")]
        odd = ["-1", "1e300", "18446744073709551615", "18446744073709551616", '"x"', "null", "[]", "{}", "[7]", "true", "0", "3.5"]
        for _ in range(60):
            broken = list(lines)
            for _ in range(random.randint(1, 8)):
                at = random.randrange(len(broken))
                values = list(re.finditer(r'(?<=: )(-?\d+|"[^"]*"|true|false|null)(?=[,}\]])', broken[at]))
                if values:
                    value = random.choice(values)
                    broken[at] = broken[at][:value.start()] + random.choice(odd) + broken[at][value.end():]
            self.log.write_text("\n".join(broken))
            done = self.report(self.log, "-o", self.html, "--trace", self.trace)
            self.assertIn(done.returncode, (0, 1), "\n".join(broken))
            json.loads(self.trace.read_text())
            self.data()

    def test_a_thousand_bad_lines_are_not_a_thousand_messages(self):
        _, words, data = self.with_lines(*["nonsense\n"] * 1000)
        self.assertLess(words.count("\n"), 30)
        self.assertIn("980 more lines", words)

    def test_kinds_that_are_not_known_are_skipped_in_silence(self):
        _, words, data = self.with_lines('{"type":"of the future","version":1}\n')
        self.assertEqual(words, "")

    def test_a_run_without_a_summary_says_that_it_was_cut_off(self):
        lines = [line for line in self.log.read_text().splitlines(True) if '"summary"' not in line]
        self.log.write_text("".join(lines))
        self.assertEqual(self.report(self.log, "-o", self.html).returncode, 0)
        self.assertTrue(self.data()["totals"]["cut_off"])

    def test_bytes_that_are_no_text_in_a_source_file_do_no_harm(self):
        source = self.root / "kernel.hip"
        source.write_bytes(b"int a;\n\xff\xfe</script>\n")
        self.assertEqual(self.report(self.log, "-o", self.html).returncode, 0)
        file = next(f for f in self.data()["files"] if f["path"] == str(source))
        self.assertEqual(file["lines"], ["int a;", "\ufffd\ufffd</script>"])
        self.assertEqual(self.html.read_text().count("</script>"), 2)


class Trace(Command):
    def events(self, kind):
        self.assertEqual(self.report(self.log, "--trace", self.trace).returncode, 0)
        self.assertFalse(self.html.exists())
        trace = json.loads(self.trace.read_text())
        return trace, [event for event in trace["traceEvents"] if event["ph"] == kind]

    def test_slices_have_the_times_of_the_dispatches_to_the_nanosecond(self):
        trace, slices = self.events("X")
        first = int(trace["otherData"]["first_start_ns"])
        self.assertEqual(first, log_lines.BASE + 17)
        expected = {(d["dispatch_id"], d["start_ns"], d["end_ns"]) for d in log_lines.small("x") if d["type"] == "dispatch"}
        found = {(s["args"]["dispatch_id"], first + round(s["ts"] * 1000), first + round(s["ts"] * 1000) + round(s["dur"] * 1000)) for s in slices}
        self.assertEqual(found, expected)

    def test_slices_carry_grid_workgroup_and_efficiency(self):
        _, slices = self.events("X")
        by_id = {s["args"]["dispatch_id"]: s for s in slices}
        self.assertEqual(by_id[1]["name"], log_lines.NAIVE)
        self.assertEqual(by_id[1]["args"]["grid"], [1024, 2, 1])
        self.assertEqual(by_id[1]["args"]["workgroup"], [256, 1, 1])
        self.assertAlmostEqual(by_id[1]["args"]["efficiency"], 400 / 3400)
        self.assertEqual(by_id[3]["args"]["lds_conflicts"], 700)
        self.assertNotIn("efficiency", by_id[4]["args"])
        self.assertEqual(by_id[4]["name"], log_lines.HOSTILE)

    def test_queues_are_tracks_with_names(self):
        trace, slices = self.events("X")
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
        of = lambda number: next(names[s["pid"], s["tid"]] for s in slices if s["args"]["dispatch_id"] == number)
        self.assertEqual([of(1), of(2), of(3)], ["queue 0", "queue 0", "queue 1"])
        self.assertIn("agent 1", [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"])

    def test_slices_of_a_track_never_overlap(self):
        log_lines.write(self.log, [log_lines.dispatch(i + 1, "k()", 1000 * i, 3500) for i in range(50)])
        _, slices = self.events("X")
        tracks = {}
        for s in slices:
            tracks.setdefault(s["tid"], []).append((s["ts"], s["ts"] + s["dur"]))
        self.assertEqual(len(tracks), 4)
        for spans in tracks.values():
            spans.sort()
            self.assertTrue(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])))

    def test_the_counter_adds_up_to_the_bytes_of_the_dispatches(self):
        _, counters = self.events("C")
        for name, key, total in (("ring traffic", "bytes per us", 400 + 800 + 1200), ("ring records", "records per us", 60)):
            points = sorted((c["ts"], c["args"][key]) for c in counters if c["name"] == name)
            self.assertAlmostEqual(sum((b[0] - a[0]) * a[1] for a, b in zip(points, points[1:])), total, places=3)
            self.assertEqual(points[-1][1], 0)

    def test_dispatches_without_times_are_counted_and_left_out(self):
        log_lines.write(self.log, [log_lines.dispatch(1, "k()", 5, 5), log_lines.dispatch(2, "k()", 5, 5, start_ns=None, end_ns=None)])
        trace, slices = self.events("X")
        self.assertEqual(len(slices), 1)
        self.assertEqual(trace["otherData"]["dispatches_without_times"], 1)


if __name__ == "__main__":
    unittest.main()
