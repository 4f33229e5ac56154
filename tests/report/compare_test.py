"""fadeprobe diff and --fail-if: two runs side by side, and conditions on a run."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import log_lines
from log_lines import access, dispatch, lines, memory

PROBE = os.environ["REPORT_PROBE"]
SHOWCASE = os.environ["REPORT_SHOWCASE"]
PLAIN = os.environ["REPORT_PLAIN"]
COPY, SUM = "copy(float*, int)", "sum(float*)"


def run(*words, **options):
    return subprocess.run([PROBE, *map(str, words)], capture_output=True, text=True, timeout=200, **options)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, objects):
        log_lines.write(self.root / name, objects)
        return self.root / name

    def one(self, name, kernel=COPY, line=17, column=3, used=3200, needed=200, conflicts=None, op="load", times=(), totals=()):
        """A run with one dispatch with records, and others without."""
        global_accesses = [access("/src/k.hip", line, column, op, **lines(used, needed))]
        lds = [] if conflicts is None else [access("/src/k.hip", line + 1, 5, "store", conflicts=conflicts)]
        plain = [dispatch(i + 2, kernel, 10**6 * (i + 2), t, instrumented=False, variant="original", records=0) for i, t in enumerate(times)]
        return self.write(name, [dispatch(1, kernel, 100, 10**5), memory(1, kernel, global_accesses, lds), *plain, *totals, {"type": "summary", "version": 1}])

    def changes(self, *words):
        done = run("diff", *words, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        objects = [json.loads(x) for x in done.stdout.splitlines()]
        self.assertEqual(objects[-1]["type"], "difference_summary")
        return objects[:-1], objects[-1]


class Diff(Command):
    def test_a_better_access_is_told_with_numbers(self):
        before, after = self.one("a", conflicts=6200), self.one("b", used=200, conflicts=0)
        done = run("diff", before, after)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"k\.hip:17 load +better +32 -> 2 cache lines per execution, -93\.8 %\n")
        self.assertRegex(done.stdout, r"k\.hip:18 store +better +62 -> 0 bank conflicts per execution")
        self.assertEqual(done.stdout.splitlines()[-1], "3 better, 0 worse, 0 the same")
        self.assertNotIn("median", done.stdout)  # the time of an instrumented dispatch says nothing
        objects, summary = self.changes(after, before)
        self.assertEqual((summary["better"], summary["worse"], summary["same"]), (0, 3, 0))
        place = next(x for x in objects if x.get("line") == 17)
        change = next(x for x in place["changes"] if x["metric"] == "lines")
        self.assertEqual((change["before"], change["after"], change["verdict"]), (2, 32, "worse"))

    def test_the_same_run_is_the_same_and_small_changes_do_not_count(self):
        done = run("diff", self.one("a"), self.one("b"))
        same = r"^equal: kernels take [\d.]+ us by the model, as before [^\n]*\n0 better, 0 worse, 2 the same\n$"
        self.assertRegex(done.stdout, same)
        self.assertRegex(run("diff", self.one("a", used=1000), self.one("b", used=1005)).stdout, same)
        self.assertIn("0 better, 2 worse", run("diff", "--least", "0.1", self.one("a", used=1000), self.one("b", used=1005)).stdout)

    def test_a_line_that_moved_is_found_by_its_text(self):
        total = lambda line, text: {"type": "memory_total", "version": 1, "kernel": COPY, "dispatches": 1,
                                    "global": [access("/src/k.hip", line, 3, "load", source=text, **lines(3200))], "lds": []}
        a = self.one("a", line=17, totals=[total(17, "x = in[i];")])
        # At the old place there is another access now.
        b = self.write("b", [dispatch(1, COPY, 100, 10**5), memory(1, COPY, [access("/other/k.hip", 20, 3, "load", **lines(200)),
                                                                            access("/other/k.hip", 17, 3, "load", **lines(400))]),
                             {**total(20, "x = in[i];"), "global": [access("/other/k.hip", 20, 3, "load", source="x = in[i];", **lines(200)),
                                                                    access("/other/k.hip", 17, 3, "load", source="y = 0;", **lines(400))]},
                             {"type": "summary", "version": 1}])
        objects, summary = self.changes(a, b)
        moved = next(x for x in objects if x.get("line") == 20)
        self.assertEqual((moved["in"], moved["line_before"]), ("both", 17))
        self.assertEqual(next(x for x in objects if x.get("line") == 17)["in"], "after")
        self.assertEqual(summary["only_after"], 1)

    def test_a_copy_of_the_file_with_a_new_name_is_compared_line_by_line(self):
        before, after = self.one("a", conflicts=6200), self.one("b", used=200, conflicts=0, line=40)
        after.write_text(after.read_text().replace("/src/k.hip", "/src/k_fast.hip"))
        done = run("diff", before, after)
        self.assertRegex(done.stdout, r"k_fast\.hip:40 load +better +32 -> 2 cache lines per execution, -93\.8 %\n")
        self.assertRegex(done.stdout, r"k_fast\.hip:41 store +better +62 -> 0 bank conflicts per execution")
        self.assertNotIn("only in", done.stdout)
        # The only one of its kind on both sides, though it is wider now.
        wider = self.root / "wider"
        wider.write_text(after.read_text().replace('"bytes": 4', '"bytes": 16'))
        self.assertNotIn("only in", run("diff", before, wider).stdout)
        self.assertRegex(run("diff", after, before).stdout, r"k\.hip:17 load +worse +2 -> 32 cache lines per execution, 16 times\n")

    def test_kernels_come_go_and_are_renamed(self):
        a = self.write("a", [dispatch(1, COPY, 0, 1), dispatch(2, SUM, 9, 1), {"type": "summary", "version": 1}])
        b = self.write("b", [dispatch(1, COPY, 0, 1), dispatch(2, "fill(float*)", 9, 1), dispatch(3, "scan(float*)", 20, 1), {"type": "summary", "version": 1}])
        text = run("diff", a, b).stdout
        self.assertIn(f"{SUM}\n", text)
        self.assertEqual((text.count(f"only in {a}"), text.count(f"only in {b}")), (1, 2))
        renamed = run("diff", "--all", self.one("a", "old<4>(int)"), self.one("b", "fast(int)")).stdout
        self.assertIn("old<4>(int) -> fast(int)\n", renamed)
        template = run("diff", "--all", self.write("a", [dispatch(1, "void f<4>(int)", 0, 1), dispatch(2, SUM, 9, 1), {"type": "summary", "version": 1}]),
                       self.write("b", [dispatch(1, "void f<8>(int)", 0, 1), dispatch(2, SUM, 9, 1), {"type": "summary", "version": 1}])).stdout
        self.assertIn("void f<4>(int) -> void f<8>(int)\n", template)

    def test_times_differ_only_beyond_chance(self):
        slow = self.one("a", times=[1000, 1100, 1200, 1300, 1400])
        for times, verdict, chance in (((600, 700, 800, 900, 950), "better", 0.0122), ((1050, 1080, 1250, 1290, 1500), "unclear", 0.9), ((500, 510), "unclear", None)):
            objects, _ = self.changes(slow, self.one("b", times=times))
            time = next(x for x in objects[0]["changes"] if x["metric"] == "time")
            self.assertEqual(time["before"], 1200)
            self.assertEqual(time["verdict"], verdict, times)
            if chance is None:
                self.assertNotIn("chance", time)
            else:
                self.assertAlmostEqual(time["chance"], chance, delta=0.12 if verdict == "unclear" else 0.0001)

    def test_runs_of_the_software_gpu_are_compared_by_instructions(self):
        def software(name, count):
            return self.write(name, [dispatch(i, COPY, 10**6 * i, 999 * i * count, instrumented=False, variant="original", records=0, software=True, wave_instructions=count)
                                     for i in range(1, 7)] + [{"type": "summary", "version": 1}])
        before, after = software("a", 1000), software("b", 400)
        objects, _ = self.changes(before, after)
        metrics = {x["metric"]: x for x in objects[0]["changes"]}
        self.assertNotIn("time", metrics)
        self.assertEqual((metrics["instructions"]["before"], metrics["instructions"]["after"], metrics["instructions"]["verdict"]), (1000, 400, "better"))
        self.assertEqual(run("report", after, "--fail-if", "kernel.instructions>500").returncode, 0)
        self.assertEqual(run("report", before, "--fail-if", "kernel.instructions>500").returncode, 3)

    def test_a_page_and_names_that_would_like_to_be_markup(self):
        page = self.root / "d.html"
        done = run("diff", self.one("a", log_lines.HOSTILE), self.one("b", log_lines.HOSTILE, used=200), "--report", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text()
        self.assertEqual(text.count("<script"), 1)  # its own
        self.assertIn("k.hip:17 load", text)
        self.assertIn("-93.8 %", text)
        self.assertIn('id=verdict>better: kernels take', text)
        self.assertIn("<tr><td>L1</td>", text)

    def test_a_page_has_both_rooflines_and_the_source(self):
        source = self.root / "k.hip"
        source.write_text("".join(f"line {i};\n" for i in range(1, 30)))
        def counted(name, used):
            memories = memory(1, COPY, [access(str(source), 17, 3, "load", **lines(used))])
            cache = {"type": "cache", "version": 1, "kernel": COPY, "target": "gfx90a", "accesses": [{"file": str(source), "line": 17, "column": 3, "op": "load", "bytes": 4,
                     "requests": used, "l1_hits": 0, "l2_hits": 0, "misses": used, "fetched": used * 128, "unused": 0, "written": 0, "unwanted": 0}]}
            counts = {"type": "hotspots", "version": 1, "kernel": COPY, "target": "gfx90a", "by_blocks": True, "wave_size": 64, "dispatches": 1, "executions": 100, "flops": {"f32": 6400},
                      "instructions": [{"address": 0, "text": "v_add_f32 v0, v1, v2", "file": str(source), "line": 17, "column": 3, "executions": 100, "lanes": 6400}]}
            return self.write(name, [log_lines.RUN, dispatch(1, COPY, 100, 10**5), memories, cache, counts, {"type": "summary", "version": 1}])
        page = self.root / "d.html"
        done = run("diff", counted("a", 3200), counted("b", 200), "--report", page, cwd=self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text()
        (picture,) = re.findall(r"<svg class=roofline.*?</svg>", text, re.S)
        self.assertEqual(re.findall(r"<title>(before|after): ([\d.e-]+) flop/byte", picture), [("before", "0.0156"), ("after", "0.25")])
        self.assertIn("<td class=code>line 17;</td><td><span class=better>lines 32 &rarr; 2</span>", text)
        self.assertIn("<td class=code>line 14;</td>", text)
        # Whoever made the run may have named any file.
        self.assertEqual(run("diff", counted("a", 3200), counted("b", 200), "--report", page, cwd="/usr").returncode, 0)
        self.assertNotIn("line 17;", page.read_text())

    def test_mistakes_are_one_line(self):
        a = self.one("a")
        for code, said, words in ((2, "expected two runs", [a]), (2, "not both", [a, a, "--", "true", "--", "true"]), (2, "two commands", ["--", "true"]),
                                  (1, "nowhere: No such file", [a, self.root / "nowhere"]), (2, "'([' is not a regular expression", [a, a, "-k", "(["]),
                                  (1, "false ended with exit code 1", ["--", "false", "--", "true"]), (1, "did not use the GPU", ["--", "true", "--", "true"])):
            done = run("diff", *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), (words, done.stderr))
            self.assertIn(said, done.stderr.splitlines()[-1])
        self.assertEqual(run("diff", a, a, "--json", "/dev/full").returncode, 1)
        self.assertIn("0 better", run("diff", a, a, "-k", "nothing").stdout)


class FailIf(Command):
    def judge(self, log, *conditions, more=()):
        return run("report", log, *[x for c in conditions for x in ("--fail-if", c)], *more)

    def test_conditions_are_met_or_not(self):
        log = self.one("a", conflicts=100)  # 32 lines instead of 2; one extra cycle per execution
        for condition, fails in (("efficiency<60%", True), ("efficiency<6%", False), ("efficiency<0.0625", False), ("efficiency<=6.25%", True),
                                 ("conflicts>0@kernel=^copy", True), ("conflicts>1", False), ("conflicts>=1", True), ("lines==32", True), ("lines!=32", False),
                                 ("waste>29@file=k.hip$,line=17,op=load", True), ("kernel.lines>3000", True), ("kernel.dispatches>1", False)):
            done = self.judge(log, condition)
            self.assertEqual(done.returncode, 3 if fails else 0, (condition, done.stderr))
            self.assertEqual(done.stderr.splitlines()[-1], f"{0 if fails else 1} of 1 conditions passed")
        done = self.judge(log, "efficiency<60%", "conflicts>5")
        self.assertIn("failed: k.hip:17 load: efficiency is 6.25 %, below 60 % (in copy(float*, int))\n", done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], "1 of 2 conditions passed")

    def test_a_condition_that_is_about_nothing_fails(self):
        for condition, why in (("efficiency<60%@kernel=nothing", ": no kernel has such a name; the run has copy(float*, int)\n"), ("conflicts>0", ": no kernel has accesses to LDS\n"),
                               ("kernel.time>1s", ": kernels ran instrumented, which takes longer: add --no-instrumented\n"), ("efficiency<60%@line=99", "\n")):
            done = self.judge(self.one("a"), condition)
            self.assertEqual(done.returncode, 3, condition)
            self.assertIn(f"failed: {condition}: no measurement matches{why}", done.stderr)

    def test_the_terminal_has_a_few_of_many_failures_and_the_files_have_all(self):
        log = self.write("many", [memory(1, "k", [access("/src/k.hip", i, 3, "load", **lines(3200)) for i in range(1, 51)]), {"type": "summary", "version": 1}])
        done = run("report", log, "--fail-if", "lines>4", "--junit", self.root / "out.xml")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.splitlines()[19:], ["failed: k.hip:20 load: lines is 32, above 4 (in k)", "failed: lines>4: 30 more, which --junit and --sarif list", "0 of 1 conditions passed"])
        self.assertEqual(set(re.findall(r"k\.hip:(\d+)", (self.root / "out.xml").read_text())), {str(i) for i in range(1, 51)})

    def test_names_of_any_length_can_be_chosen(self):
        log = self.one("a", kernel=f"void k<{'x' * 200_000}, last>(int)")
        self.assertEqual(self.judge(log, "lines>99@kernel=.*(x|y)*last.*").returncode, 0)
        done = run("diff", log, self.one("b", kernel=f"void k<{'x' * 200_000}, last>(int)", used=400), "-k", ".*last.*", "--report", self.root / "diff.html")
        self.assertRegex(done.stdout, r"^better: .*\nk<\.\.\.>\(\.\.\.\) #[0-9a-f]{4}\n")
        self.assertIn("2 better", done.stdout)
        self.assertEqual((self.root / "diff.html").read_text().count("x" * 200_000), 1)
        # For people they are short, and whole once where a program may want them.
        junit, sarif = self.root / "j.xml", self.root / "s.sarif"
        done = self.judge(log, "lines>1", "kernel.lines>1", "efficiency<60%", more=("--junit", junit, "--sarif", sarif))
        self.assertRegex(done.stderr, r"^failed: k\.hip:17 load: lines is 32, above 1 \(in k<\.\.\.>\(\.\.\.\) #[0-9a-f]{4}\)\nfailed: k<\.\.\.>")
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertLess(max(len(case[0].text) for case in suite if case.tag == "testcase"), 300)
        self.assertRegex(suite.find("system-out").text, r"^k<\.\.\.>\(\.\.\.\) #[0-9a-f]{4} is void k<x{200000}, last>\(int\)\n$")
        (of_run,) = json.loads(sarif.read_text())["runs"]
        self.assertEqual([x["fullyQualifiedName"] for x in of_run["logicalLocations"]], [f"void k<{'x' * 200_000}, last>(int)"])
        for result in of_run["results"]:  # a kernel as a whole is where its first access is
            self.assertEqual((result["locations"][0]["logicalLocations"], result["locations"][0]["physicalLocation"]["region"]["startLine"]), ([{"index": 0}], 17))
            self.assertEqual(of_run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"], result["ruleId"])
        self.assertLess(sarif.stat().st_size, 210_000)

    def test_regressions_against_a_baseline(self):
        good, bad = self.one("good", used=32000), self.one("bad", used=40000)
        for name in ("regress", "kernel.regress", "run.regress", "lines.regress"):
            self.assertEqual(self.judge(good, f"{name}>5%:{good}").returncode, 0)
            self.assertEqual(self.judge(good, f"{name}>5%:{bad}").returncode, 0)
            done = self.judge(bad, f"{name}>5%:{good}@kernel=copy")
            self.assertEqual(done.returncode, 3, name)
            self.assertEqual("k.hip:17 load: lines went from 320 to 400" in done.stderr, name == "lines.regress")
            self.assertEqual("copy(float*, int): a dispatch takes" in done.stderr, name in ("regress", "kernel.regress"), done.stderr)
            self.assertEqual("all kernels: they take" in done.stderr, name in ("regress", "run.regress"))
            self.assertEqual(self.judge(bad, f"{name}>30%:{good}").returncode, 0)
        self.assertIn("because of L1 4.71 us -> 5.88 us, cache lines 32000 -> 40000\n", self.judge(bad, f"kernel.regress>5%:{good}").stderr)
        self.assertEqual(run("diff", good, bad, "--fail-if", f"regress>5%:{good}").returncode, 3)
        cut = self.root / "cut.jsonl"
        cut.write_bytes(good.read_bytes() + b'{"type":"mem')
        done = self.judge(bad, f"regress>5%:{cut}")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^fadeprobe: \S*cut\.jsonl: line 4: it is not JSON, or was cut off; the rest is used\n")
        odd = self.root / "a@b"  # a path with what begins filters elsewhere
        odd.write_bytes(good.read_bytes())
        self.assertEqual([self.judge(bad, f" regress > 5%:{odd}{more}").returncode for more in ("", "@kernel=copy", "@line=99")], [3, 3, 2])

    def test_a_kernel_that_got_faster_is_no_regression_though_a_line_is_worse(self):
        def two(name, first, second):
            return self.write(name, [dispatch(1, COPY, 100, 10**5), memory(1, COPY, [access("/src/k.hip", 17, 3, "load", **lines(first)),
                                                                                    access("/src/k.hip", 18, 3, "load", **lines(second))]), {"type": "summary", "version": 1}])
        before, after = two("a", 90000, 200), two("b", 200, 400)
        self.assertEqual(self.judge(after, f"regress>5%:{before}").returncode, 0)
        done = self.judge(after, f"lines.regress>5%:{before}@line=18")
        self.assertEqual(done.returncode, 3)
        self.assertIn("k.hip:18 load: lines went from 2 to 4", done.stderr)
        self.assertEqual(self.judge(before, f"regress>5%:{after}").returncode, 3)
        # More launches of the same kernel are worse for the run, not for the kernel.
        twice = self.write("c", [dispatch(i, COPY, 10**6 * i, 10**5) for i in (1, 2)] + [
            memory(i, COPY, [access("/src/k.hip", 17, 3, "load", **lines(200)), access("/src/k.hip", 18, 3, "load", **lines(400))]) for i in (1, 2)] + [{"type": "summary", "version": 1}])
        self.assertEqual([self.judge(twice, f"{name}>5%:{after}").returncode for name in ("kernel.regress", "run.regress")], [0, 3])
        first = run("diff", before, after).stdout.splitlines()[0]
        self.assertRegex(first, r"^better: kernels take [\d.]+ us instead of [\d.]+ us by the model, [\d.]+ times as fast, because of copy\(float\*, int\) \(L1 .* -> .*, cache lines 90200 -> 600\)")
        first = run("diff", after, twice).stdout.splitlines()[0]
        self.assertRegex(first, r"^worse: .* because of copy\(float\*, int\) \(1 -> 2 dispatches")
        _, summary = self.changes(before, after)
        self.assertEqual((summary["verdict"], summary["cost"], summary["is_estimated"]), ("better", "modeled", True))
        self.assertGreater(summary["cost_before"], 2 * summary["cost_after"])


    def test_files_for_other_programs(self):
        log, junit, sarif = self.one("a"), self.root / "j.xml", self.root / "s.sarif"
        done = self.judge(log, "efficiency<60%", "lines>99", "conflicts>0", more=("--junit", junit, "--sarif", sarif))
        self.assertEqual(done.returncode, 3)
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("3", "2"))
        self.assertEqual([len(x) for x in suite], [1, 0, 1])
        self.assertIn("6.25 %", suite[0][0].get("message"))
        document = json.loads(sarif.read_text())
        results = document["runs"][0]["results"]
        self.assertEqual([x["ruleId"] for x in results], ["efficiency<60%", "conflicts>0"])
        place = results[0]["locations"][0]["physicalLocation"]
        self.assertEqual((place["artifactLocation"]["uri"], place["region"]), ("file:///src/k.hip", {"startLine": 17, "startColumn": 3}))
        self.assertEqual(len(document["runs"][0]["tool"]["driver"]["rules"]), 3)
        # Conditions given twice are one rule; bytes that are no text are none in XML, either.
        odd = os.fsdecode(b"lines > 1@kernel=\xff\xc3\xa9|copy")
        self.assertEqual(run("report", log, "--fail-if", odd, "--fail-if", odd, "--junit", junit, "--sarif", sarif, errors="replace").returncode, 3)
        self.assertEqual(xml.etree.ElementTree.parse(junit).getroot()[0].get("name"), "lines > 1@kernel=?é|copy")
        document = json.loads(sarif.read_text())
        self.assertEqual((len(document["runs"][0]["tool"]["driver"]["rules"]), len(document["runs"][0]["results"])), (1, 2))
        self.assertEqual(self.judge(log, "lines>99", more=("--junit", "/dev/full")).returncode, 1)

    def test_mistakes_are_known_before_anything_runs(self):
        marker = self.root / "ran"
        for condition, said in (("speed<1", "'speed' is none of"), ("efficiency", "no comparison: expected METRIC<NUMBER"), ("efficiency<", "no limit"), ("lines<5%", "no limit"),
                                ("efficiency<60%@kernel", "is not NAME=VALUE"), ("efficiency<60%@color=red", "is not kernel, file, line, op or cause"),
                                ("efficiency<60%@op=read", "is not load, store or atomic"), ("efficiency<60%@kernel=([", "not a regular expression"),
                                ("kernel.lines>1@line=3", "cannot be filtered by line"), ("regress<5%:x", "regress>5%:BASELINE"), ("regress>5%", "regress>5%:BASELINE"),
                                ("regress>5%:x@line=3", "a condition on whole kernels cannot be filtered by line; use lines.regress"), ("kernel.model_time>5x", "a number of ns, us, ms or s"),
                                ("regress>5%:/nowhere", "/nowhere: No such file"), ("regress>-5%:x", "regress>5%:BASELINE"), ("lines>5@", "expected a filter after @"),
                                ("lines>5@line=99999999999", "is not a line number"), ("lines>5@line=0", "is not a line number"),
                                ("efficiency<60", "efficiency is a share, at most 100 %: write 60% or 0.6"), ("gain>150%", "gain is a share, at most 100 %"),
                                ("gain>5%@cause=divergense", "is none of scattered access, bank conflicts")):
            done = run("--fail-if", condition, "--", "touch", marker)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), (condition, done.stderr))
            self.assertIn(said, done.stderr)
        self.assertEqual(run("--junit", self.root / "x", "--", "touch", marker).returncode, 2)
        self.assertEqual(run("--fail-if", "lines>1", "--sarif", self.root / "no/x", "--", "touch", marker).returncode, 1)
        self.assertFalse(marker.exists())


class Run(Command):
    """On a program that really runs."""
    def test_a_run_fails_by_its_conditions_and_keeps_its_own_exit_code(self):
        done = run("--gpu", "gfx90a", "--fail-if", "efficiency<1%", "--fail-if", "kernel.lane_share<1%", "--", SHOWCASE, cwd=self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 2 conditions passed", done.stderr)
        done = run("--gpu", "gfx90a", "--fail-if", "efficiency<100%", "--", SHOWCASE, cwd=self.root)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"failed: showcase\.hip:\d+ \w+: efficiency is")
        self.assertEqual(run("--fail-if", "lines>1", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(run("--fail-if", "lines>1", "--", "true").returncode, 3)  # nothing was measured
        self.assertEqual(list(self.root.iterdir()), [])

    def test_two_commands_are_sampled_unless_all_is_wanted(self):
        seen = self.root / "seen"
        command = ["sh", "-c", f'echo "sample=$FADE_SAMPLE" >> {seen}; exec {SHOWCASE}']
        for options, sample in (((), "auto"), (("--exact",), ""), (("--fail-if", "efficiency<1%"), "")):
            seen.unlink(missing_ok=True)
            done = run("diff", "--gpu", "gfx90a", *options, "--", *command, "--", *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(seen.read_text(), 2 * f"sample={sample}\n", options)

    def test_instructions_of_kernels_and_accesses_are_conditions_of_one_run(self):
        plain = self.root / "plain.jsonl"
        self.assertEqual(run("--gpu", "gfx90a", "-t", "json", "-l", plain, "--", SHOWCASE).returncode, 0)
        executed = {}  # of kernels as compiled
        for line in map(json.loads, plain.read_text().splitlines()):
            if line["type"] == "dispatch":
                executed.setdefault(line["kernel"].split("(")[0], []).append(line["wave_instructions"])
        name = next(x for x in executed if x.startswith("transpose"))
        mean = sum(executed[name]) // len(executed[name])
        done = run("--gpu", "gfx90a", "-l", "/dev/null", "--fail-if", f"kernel.instructions!={mean}@kernel=^{name}\\(", "--fail-if", "efficiency<1%", "--", SHOWCASE, cwd=self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 2 conditions passed", done.stderr)
        self.assertEqual(list(self.root.iterdir()), [plain])

    def test_conditions_on_times_say_what_they_need(self):
        done = run("--gpu", "gfx90a", "--fail-if", "time>5us", "--", SHOWCASE, cwd=self.root)
        self.assertEqual(done.returncode, 3)
        self.assertIn("failed: time>5us: no measurement matches: times of kernels need a GPU; on the software GPU, use kernel.model_time\n", done.stderr)

    def test_recordings_are_compared_filtered_and_reported(self):
        record, text = self.root / "run.fade", self.root / "run.jsonl"
        self.assertEqual(run("--gpu", "gfx90a", "-i", "-a", "MemoryAnalysis", "--record", record, "-t", "json", "-l", text, "--", SHOWCASE).returncode, 0)
        objects, summary = self.changes(record, text)
        self.assertEqual((summary["worse"], summary["better"], summary["only_before"], summary["only_after"]), (0, 0, 0, 0))
        self.assertGreater(summary["same"], 3)
        kernels = sorted({x["kernel"] for x in objects if "(" in x["kernel"]})  # not those of HIP itself
        self.assertGreater(len(kernels), 1)
        chosen = kernels[0].split("(")[0]
        done = run("analyze", record, "-a", "MemoryAnalysis", "-t", "json", "-k", f"^{chosen}\\(", "-d", "1")
        seen = [json.loads(x) for x in done.stderr.splitlines()]
        self.assertEqual({x["kernel"] for x in seen if x["type"] == "dispatch"}, {kernels[0]})
        self.assertEqual(len([x for x in seen if x["type"] == "dispatch"]), 1)
        everything = [json.loads(x) for x in text.read_text().splitlines()]
        first = next(x for x in everything if x["type"] == "memory" and x["kernel"] == kernels[0])
        self.assertEqual([x["global"] for x in seen if x["type"] == "memory"], [first["global"]])
        page = self.root / "r.html"
        self.assertEqual(run("analyze", record, "-k", chosen, "--report", page).returncode, 0)
        names = lambda: {x["name"] for x in json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.S).group(1))["kernels"]}
        self.assertEqual(names(), {kernels[0]})
        self.assertEqual(run("report", record, "-o", page).returncode, 0)
        self.assertLessEqual(set(kernels), names())
        self.assertIn("0 better, 0 worse", run("analyze", record, "--diff", text).stdout)
        done = run("analyze", record, "-a", "MemoryAnalysis", "-k", "nothing")
        self.assertRegex(done.stderr, r"--kernels and --dispatches choose none of the recorded dispatches \(\d+\)\n")
        # What a recording has up to where it was cut off is used.
        record.write_bytes(record.read_bytes()[:-2000])
        done = run("report", record, "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the recording was cut off, or is damaged", page.read_text())
        self.assertGreater(len(names()), 0)
        record.write_bytes(record.read_bytes()[:20])
        done = run("report", record, "-o", page)
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (1, f"fadeprobe: {record} cannot be used"))

    def test_lines_of_a_run_have_what_a_baseline_needs_when_the_program_is_gone(self):
        kept = self.root / "kept.jsonl"
        program = self.root / "program"
        program.write_bytes(pathlib.Path(SHOWCASE).read_bytes())
        program.chmod(0o755)
        found = self.root / "findings.jsonl"
        done = run("--gpu", "gfx90a", "--findings", found, "-t", "json", "-l", kept, "--", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        costs = {x["kernel"]: x for x in map(json.loads, found.read_text().splitlines()) if x["type"] == "cost"}
        program.unlink()
        again = self.root / "again.jsonl"
        self.assertEqual(run("report", kept, "--findings", again).returncode, 0)
        for line in map(json.loads, again.read_text().splitlines()):
            if line["type"] == "cost":
                self.assertEqual((line["is"], line["dispatch_ns"]), (costs[line["kernel"]]["is"], costs[line["kernel"]]["dispatch_ns"]))
        self.assertIn("modeled", {x["is"] for x in costs.values()})
        done = run("diff", kept, kept)
        self.assertRegex(done.stdout, r"^equal: kernels take [\d.]+ us by the model, as before(; \d+ kernels? (was|were) not measured in both runs)?\n")
        self.assertEqual(run("report", kept, "--fail-if", f"regress>0%:{kept}").returncode, 0)

    def test_two_commands(self):
        done = run("diff", "--gpu", "gfx90a", "--", SHOWCASE, "--", SHOWCASE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.splitlines()[-1], r"^0 better, 0 worse, \d+ the same$")

    def test_plain_kernels_have_the_times_that_profile_gives_them(self):
        command = [PLAIN, "few_groups", "stride_load"]
        folder = self.root / "profile"
        done = run("profile", "--gpu", "gfx90a", "--exact", "-o", folder, "--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        kernels = json.loads((folder / "profile.json").read_text())["kernels"]
        wanted = sum(k["roofline"]["time"]["all_ns"] for k in kernels)
        self.assertGreater(wanted, 0)
        done = run("diff", "--gpu", "gfx90a", "--exact", "--", *command, "--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        verdict = re.search(r"^equal: kernels take ([\d.]+) (ns|us|ms) by the model", done.stdout, re.M)
        self.assertIsNotNone(verdict, done.stdout)
        self.assertAlmostEqual(float(verdict[1]) * {"ns": 1, "us": 1e3, "ms": 1e6}[verdict[2]] / wanted, 1, delta=2e-3)


if __name__ == "__main__":
    unittest.main()
