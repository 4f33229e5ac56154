#!/usr/bin/env python3
"""How `fadeprobe check` behaves around its findings: exit codes, limits, suppressions, choices, mistakes."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FADEPROBE, MEMORY, GROUPS, ARRAYS, NO_TORCH, NANS = sys.argv[1:7]
del sys.argv[1:]


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def check(self, *options, program=(MEMORY, "broken"), **environment):
        gpu = [] if "--gpu" in options else ["--gpu", "gfx90a"]
        return subprocess.run([FADEPROBE, "check", *gpu, *options, "--", *program], capture_output=True, text=True,
                              timeout=100, env={**os.environ, "TMPDIR": str(self.path), **environment})

    def test_error_exitcode_is_used_only_if_there_are_findings(self):
        run = self.check("--error-exitcode", "9", "--max", "2", "--json", "-")
        self.assertEqual(run.returncode, 9)
        first, *lines = run.stdout.splitlines()
        self.assertEqual((first, [json.loads(line)["type"] for line in lines]), ("done", ["finding"] * 2), "- is stdout")
        self.assertEqual(run.stderr.count("\nmemory: ") + run.stderr.startswith("memory: "), 2)
        self.assertIn("10 more are not shown", run.stderr)
        self.assertIn("12 findings (memory 12) in 12 dispatches", run.stderr)
        self.assertEqual(self.check("--error-exitcode", "9", program=(MEMORY, "clean")).returncode, 5)
        self.assertEqual(list(self.path.iterdir()), [], "files are left behind")

    def test_suppressed_findings_and_kernels_that_were_not_chosen_are_left_out(self):
        (self.path / "known").write_text("# comment\n\nmemory store_after\n* . memory_cases.hip:26\n")
        run = self.check("--suppress", str(self.path / "known"))
        self.assertIn("10 findings (memory 10) in 12 dispatches; 2 suppressed", run.stderr)
        self.assertNotIn("store_after", run.stderr)
        run = self.check("-k", "nothing_like_it", "--error-exitcode", "9")
        self.assertEqual((run.returncode, run.stderr), (5, "fadeprobe: check: -k and -d chose none of the 12 dispatches, so nothing was checked\n"))
        run = self.check("-k", "wide_load|use_freed", "--json", str(self.path / "lines"))
        self.assertIn("2 findings (memory 2) in 2 dispatches", run.stderr)
        lines = [json.loads(line) for line in (self.path / "lines").read_text().splitlines()]
        self.assertEqual([(f["type"], f["version"], f["check"], f["problem"]) for f in lines],
                         [("finding", 1, "memory", "gap"), ("finding", 1, "memory", "freed")])
        self.assertEqual(lines[0]["allocation"]["size"], 63 * 16)
        self.assertEqual(lines[0]["work_item"], [63, 0, 0])
        self.assertEqual(lines[1]["allocation"]["api"], "hipMalloc")
        self.assertTrue(lines[1]["allocation"]["file"].endswith("memory_cases.hip"))
        self.assertIn("global_load_dwordx4", lines[0]["instruction"])

    def test_suppressed_are_counted_as_they_would_be_shown(self):
        lines = self.path / "lines"
        shown = self.check("--json", str(lines), program=(GROUPS, "broken"))
        findings = [json.loads(line) for line in lines.read_text().splitlines()]
        self.assertTrue(any(f.get("details") for f in findings), "one cause in several places")
        (self.path / "known").write_text("* .\n")
        run = self.check("--suppress", str(self.path / "known"), program=(GROUPS, "broken"))
        self.assertIn(f"; {len(findings)} suppressed", run.stderr, shown.stderr)

    def test_what_a_card_need_not_compute_alike_is_named_if_it_was_used(self):
        tail = r"; memory accesses are in order here, on a card they need not be \(docs/software-gpu.md#exactness\)\nfadeprobe: check: \w+ finding"
        self.assertRegex(self.check(program=(GROUPS, "clean")).stderr, "arithmetic is bit for bit that of a card" + tail)
        self.assertRegex(self.check(program=(NANS, "clean")).stderr, r"results may differ from a card's in approximate instructions \(.*rsq.*\).*" + tail)

    def test_a_gpu_of_another_version_is_named(self):
        # What it does when it loads its observer.
        load = "import ctypes, os; ctypes.CDLL(os.environ['FADE_GPU_OBSERVER']).fade_observer(ctypes.c_uint32(3), b'gfx90a', None)"
        run = self.check(program=(sys.executable, "-c", load))
        self.assertRegex(run.stderr, r"check: nothing was checked: the software GPU has version 3 of the observer interface, libfadecheck.so version \d+; install both from one FADE\n\Z")

    def test_memory_that_is_not_freed_is_told_by_line(self):
        run = self.check("--checks", "leak", program=(GROUPS, "leak"))
        self.assertRegex(run.stderr, r"leak: never freed: 3,072 bytes in 3 allocations, the first of them allocation \d+, 1,024 bytes, "
                                     r"hipMalloc at group_cases.hip:\d+\n")
        self.assertIn("1 finding (leak 1)", run.stderr)
        self.assertIn("no findings", self.check(FADE_CHECKS="leak", program=(GROUPS, "clean")).stderr)

    def test_an_atomic_that_is_not_aligned_is_told_although_the_program_ends_by_it(self):
        run = self.check(program=(ARRAYS, "misaligned-later"))
        self.assertEqual(run.returncode, -6)
        self.assertRegex(run.stderr, r"memory: atomic of 4 bytes at 0x[0-9a-f]+2, which is not a multiple of 4")
        self.assertRegex(run.stderr, r"array_cases.hip:\d+:\d+\n +atomicAdd")
        self.assertRegex(run.stderr, r"kernel +void row_of_a_tile<true>", "found before the process became another program")
        # Whatever the runtime says about it comes before: the findings are the last thing, and the number of them is the last line.
        self.assertRegex(run.stderr, r"\nfadeprobe: check: 2 findings \(memory 2\) in 2 dispatches\n\Z")
        self.assertLess(max(run.stderr.rfind(said) for said in ("Aborted", "HSA_STATUS", "PtrInfo", "failed")), run.stderr.find("memory: "))
        run = self.check(program=(ARRAYS, "misaligned-not"))
        self.assertEqual(run.returncode, 0)
        self.assertIn("no findings", run.stderr)

    def test_what_a_runtime_has_for_itself_is_not_meant(self):
        run = self.check(program=(ARRAYS, "far-before"))
        distance = int(re.match(r"(\d+) bytes before\n", run.stdout)[1])
        self.assertRegex(run.stderr, rf"^memory: store of 4 bytes, {distance:,} bytes before allocation \d+, 1,200,000 bytes, hipMalloc at array_cases.hip:\d+ through cases.h:\d+")

    def test_errors_are_found_in_captures_at_their_lines(self):
        environment = {**os.environ, "TMPDIR": str(self.path)}
        for program, kernel, check in ((MEMORY, "store_after", "memory"), (MEMORY, "lds_after", "memory"),
                                       (GROUPS, "unwritten_lds", "init"), (GROUPS, "missing_barrier", "race")):
            for kind in ("broken", "clean"):
                capture = self.path / f"{kernel}-{kind}"
                subprocess.run([FADEPROBE, "capture", "--gpu", "gfx90a", "-k", kernel, "-o", str(capture), "--", program, kind],
                               capture_output=True, timeout=100, env=environment)
                lines = self.path / "lines"
                run = subprocess.run([FADEPROBE, "check", "--json", str(lines), str(capture)], capture_output=True, text=True,
                                     timeout=100, env=environment)
                self.assertEqual(run.returncode, 0, run.stderr)
                found = [json.loads(line) for line in lines.read_text().splitlines()]
                self.assertEqual(bool(found), kind == "broken", run.stderr)
                for one in found:
                    self.assertEqual((one["check"], kernel in one["kernel"]), (check, True))
                    self.assertIn(f"// finds: {check}", pathlib.Path(one["file"]).read_text().splitlines()[one["line"] - 1])

        # Of an application its own code counts; of a version of a kernel, whether it was checked.
        run = subprocess.run([FADEPROBE, "check", "-k", "no such kernel", str(capture)], capture_output=True, text=True, timeout=100, env=environment)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("so nothing was checked", run.stderr)

    def test_findings_as_a_page(self):
        page = self.path / "page.html"
        run = self.check("--report", str(page), "--json", str(self.path / "lines"))
        self.assertIn(f"see {page}", run.stderr)
        data = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])
        self.assertEqual(len(data["errors"]), 12)
        first = data["errors"][0]
        where = first["places"][0]
        self.assertEqual((first["check"], data["files"][where["file"]]["path"].endswith("memory_cases.hip")), ("memory", True))
        self.assertIn("// finds: memory", data["files"][where["file"]]["lines"][where["line"] - 1])
        # The same from the lines.
        again = self.path / "again.html"
        subprocess.run([FADEPROBE, "report", str(self.path / "lines"), "-o", str(again)], check=True)
        page_again = json.loads(again.read_text().split('id="data">')[1].split("</script>")[0])
        self.assertEqual(page_again["errors"], data["errors"])
        # What of the run is exact, on the page and in each line.
        exactness = re.search(r"check: (.*#exactness\))", run.stderr).group(1)
        self.assertEqual((data["notes"], page_again["notes"]), ([exactness], [exactness]))
        self.assertEqual({json.loads(line)["exactness"] for line in (self.path / "lines").read_text().splitlines()}, {exactness})
        clean = self.check("--report", "-", program=(MEMORY, "clean")).stdout
        self.assertTrue(clean.startswith("done\n<!"), clean[:100])
        self.assertEqual(json.loads(clean.split('id="data">')[1].split("</script>")[0])["errors"], [])

    def test_a_baseline_fails_only_on_new_findings(self):
        lines, sarif, junit = (self.path / name for name in ("lines", "sarif", "junit"))
        self.check("--json", str(lines))
        found = [json.loads(line) for line in lines.read_text().splitlines()]
        self.assertEqual(len({one["id"] for one in found}), len(found))
        self.assertTrue(all(one["advice"] and one["page"] == f"docs/check.md#{one['check']}" for one in found), found)
        run = self.check("--baseline", str(lines), "--error-exitcode", "9")
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn(f"no new findings in", run.stderr)
        self.assertIn(f"{len(found)} in the baseline", run.stderr)
        older = self.path / "older"
        older.write_text("".join(json.dumps(one) + "\n" for one in found[1:]) + json.dumps({"id": "race-0123456789ab"}) + "\n")
        run = self.check("--baseline", str(older), "--sarif", str(sarif), "--junit", str(junit))
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("1 new finding (", run.stderr)
        self.assertIn("1 of the baseline no longer found", run.stderr)
        results = json.loads(sarif.read_text())["runs"][0]["results"]
        self.assertEqual([(one["partialFingerprints"]["fade/v1"], one["baselineState"]) for one in results],
                         [(one["id"], "new" if one is found[0] else "unchanged") for one in found])
        self.assertIn(found[0]["advice"], results[0]["message"]["text"])
        self.assertEqual([one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in results], [one["line"] for one in found])
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("5", "1"))
        self.assertIn(found[0]["id"], suite.find(".//failure").text)
        (self.path / "known").write_text(f"{found[0]['id']}  it is harmless\n")
        run = self.check("--suppress", str(self.path / "known"), "--json", str(lines))
        self.assertEqual([json.loads(line)["id"] for line in lines.read_text().splitlines()], [one["id"] for one in found[1:]])

    def test_mistakes_are_said_before_the_application_starts(self):
        (self.path / "bad").write_text("memory ok\nmemory [\n")
        for options, text in (
                (["--checks", "memori"], "--checks: 'memori' is not a check"),
                (["--gpu", "real"], "--gpu real: checks run on the software GPU only"),
                (["--suppress", str(self.path / "bad")], "bad:2: '"),
                (["--suppress", "/nonexistent"], "--suppress: cannot read /nonexistent"),
                (["--suppress", str(self.path)], "Is a directory"),
                (["--baseline", str(self.path / "bad")], "bad:1: expected a finding with an id"),
                (["--baseline", "/nonexistent"], "--baseline: cannot read /nonexistent"),
                (["--max", "-1"], "--max: "),
                (["--max", "99999999999999999999"], "--max: "),
                (["--error-exitcode", "300"], "--error-exitcode: "),
                (["--json", str(self.path / "x"), "--report", str(self.path / "x")], "--json and --report are the same file"),
                (["--json", "-", "--report", "-"], "--json and --report are the same file"),
                (["--json", "/nonexistent/x"], "--json: "),
                (["--report", "/nonexistent/x"], "--report: "),
                (["-k", "["], "--kernels: ")):
            run = self.check(*options)
            self.assertEqual((run.returncode, run.stdout), (2, ""), options)
            self.assertIn(text, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertIn("no application", subprocess.run([FADEPROBE, "check"], capture_output=True, text=True).stderr)

    def test_the_allocator_of_pytorch_is_off_which_is_said_where_pytorch_is(self):
        program = ("sh", "-c", 'echo "$PYTORCH_NO_HIP_MEMORY_CACHING$PYTORCH_NO_CUDA_MEMORY_CACHING" >&2; exec "$0" clean', MEMORY)
        said = "fade: check: PyTorch allocates each tensor by itself in this run (PYTORCH_NO_CUDA_MEMORY_CACHING=1)\n"
        run = self.check(program=program, LD_PRELOAD=NO_TORCH)
        self.assertEqual((run.returncode, run.stderr.count(said)), (5, 1), run.stderr)
        self.assertTrue(run.stderr.startswith("11\n"), run.stderr)
        run = self.check(program=program, PYTORCH_NO_HIP_MEMORY_CACHING="0")
        self.assertEqual(run.stderr.count("PyTorch"), 0, run.stderr)
        self.assertTrue(run.stderr.startswith("01\n"), run.stderr)

    def test_a_program_without_kernels_is_told(self):
        run = self.check(program=("true",))
        self.assertEqual(run.returncode, 0)
        self.assertIn("no kernel ran", run.stderr)

    def test_without_a_place_for_findings_the_application_is_left_alone(self):
        run = self.check(program=("sh", "-c", 'rm -r "$FADE_CHECK_DIR"; exec "$0" clean', MEMORY))
        self.assertEqual((run.returncode, run.stdout), (5, "done\n"))
        self.assertRegex(run.stderr, r"^fade: check: cannot write \S+: No such file or directory\nfadeprobe: check: .* nothing was checked\n$")


unittest.main()
