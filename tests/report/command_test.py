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

    def report(self, *arguments, cwd=None):
        return subprocess.run([PROBE, "report", *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=cwd or self.root)

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


class Terminal(Command):
    def test_a_place_without_a_line_says_how_to_get_one(self):
        # Any program will do that leaves lines where those of a run would be.
        lines, log = self.root / "lines", self.root / "made.jsonl"
        log_lines.write(lines, log_lines.small(""))
        done = subprocess.run([PROBE, "--gpu", "gfx90a", "--report", self.html, "-l", log, "--", "cp", lines, log], capture_output=True, text=True, timeout=60)
        self.assertIn("\n   unknown line (compile with -g) store\n", done.stderr)


class Mistakes(Command):
    def test_no_page_is_a_mistake_of_use(self):
        self.expect(2, "expected -o FILE", self.log)

    def test_no_input_is_a_mistake_of_use(self):
        self.expect(2, "expected a file of JSON lines", "-o", self.html)

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

    def test_a_second_run_is_what_diff_is_for(self):
        self.expect(2, f"report: unexpected argument '{self.log}.2': expected one run; fadeprobe diff A B compares two", self.log, f"{self.log}.2", "-o", self.html)


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
            done = self.report(self.log, "-o", self.html)
            self.assertIn(done.returncode, (0, 1), "\n".join(broken))
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


class Sources(Command):
    """A run may have been made by somebody else, who names files of this machine: only what the user means is in the report."""

    def lines_of(self, path):
        return next((f["lines"] for f in self.data()["files"] if f["path"] == str(path)), None)

    def run_about(self, path):
        log_lines.write(self.log, log_lines.small(str(path)))

    def test_source_below_the_current_folder_is_shown(self):
        (self.root / "kernel.hip").write_text("int a;\n")
        self.assertEqual(self.report(self.log, "-o", self.html).stderr, "")
        self.assertEqual(self.lines_of(self.root / "kernel.hip"), ["int a;"])

    def test_source_elsewhere_is_shown_if_its_folder_is_named_and_else_said_to_be_missing(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            source = pathlib.Path(elsewhere) / "kernel.hip"
            source.write_text("int secret;\n")
            self.run_about(source)
            said = self.report(self.log, "-o", self.html)
            self.assertEqual(said.returncode, 0)
            self.assertRegex(said.stderr, f"^fadeprobe: {self.log}: the report has no text of 1 source file, because of {source}: .*--sources.*\n$")
            self.assertIsNone(self.lines_of(source))
            self.assertNotIn("secret", self.html.read_text())
            self.assertEqual(self.report(self.log, "-o", self.html, "--sources", elsewhere).stderr, "")
            self.assertEqual(self.lines_of(source), ["int secret;"])

    def test_a_file_that_is_no_source_is_never_shown(self):
        key = self.root / ".ssh" / "id_ed25519"
        key.parent.mkdir()
        key.write_text("PRIVATE KEY\n")
        link = self.root / "kernel.hip"  # a source by its name only
        link.symlink_to(key)
        for path in (key, link):
            self.run_about(path)
            self.assertEqual(self.report(self.log, "-o", self.html).returncode, 0)
            self.assertNotIn("PRIVATE KEY", self.html.read_text())

    def test_a_link_out_of_the_folder_is_not_followed(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            (pathlib.Path(elsewhere) / "kernel.hip").write_text("int secret;\n")
            (self.root / "link").symlink_to(elsewhere)
            self.run_about(self.root / "link" / "kernel.hip")
            self.assertEqual(self.report(self.log, "-o", self.html).returncode, 0)
            self.assertNotIn("secret", self.html.read_text())


class HostSide(Command):
    """Traces of the application's side, alone and beside the lines of a run."""

    def host(self, count=20):
        path = self.root / "host.jsonl"
        log_lines.write(path, log_lines.host(count))
        return path

    def test_a_trace_alone_makes_a_page(self):
        self.assertEqual(self.report(self.host(), "-o", self.html).returncode, 0)
        data = self.data()
        self.assertEqual(data["dispatches"]["id"], [])
        self.assertEqual(data["host"]["totals"], {"calls": 22, "markers": 21, "operations": 21, "errors": 1, "lost": 0, "omitted": 0})
        self.assertEqual(data["host"]["processes"], ["process 40: /usr/bin/train, /usr/lib/libamdhip64.so.5"])
        spans, operations = data["host"]["spans"], data["host"]["operations"]
        names = data["host"]["names"]
        for i, span in enumerate(operations["span"]):
            self.assertEqual(names[spans["name"][span]], "hipLaunchKernel" if operations["kind"][i] == 0 else "hipMemcpy")
        self.assertFalse(data["totals"]["cut_off"])

    def test_kernels_are_tied_to_the_dispatches_of_the_run(self):
        # The clocks of both sides differ by a little.
        lines = [log_lines.dispatch(i + 1, f"kernel_{i % 4}(float*)", 5_000_000_000 + 1000 * i + 610, 400, queue=i % 2) for i in range(20) if i != 7]
        log_lines.write(self.log, lines)
        self.assertEqual(self.report(self.log, "--host", self.host(), "-o", self.html).returncode, 0)
        data = self.data()
        ids = [None if i is None else data["dispatches"]["id"][i] for i in data["host"]["operations"]["dispatch"]]
        self.assertEqual(ids, [None if i == 7 else i + 1 for i in range(20)] + [None])

    def test_without_a_trace_there_is_no_host_side(self):
        self.assertEqual(self.report(self.log, "-o", self.html).returncode, 0)
        self.assertIsNone(self.data()["host"])

    def test_a_host_file_that_is_none_is_named(self):
        self.expect(1, "command_test.py: is neither JSON lines nor an RPD file", self.log, "--host", __file__, "-o", self.html)
        self.expect(1, "nowhere: no such file", self.log, "--host", self.root / "nowhere", "-o", self.html)


if __name__ == "__main__":
    unittest.main()
