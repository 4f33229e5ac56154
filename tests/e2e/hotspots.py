"""Hotspots: executions of instructions and lines, against counts worked out by hand (programs/counted.hip)."""
import json
import os

import fade
from fade import program

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "counted.hip")
ITEMS = 256


def line_of(mark):
    with open(SOURCE, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if "// " + mark in line:
                return number
    raise ValueError(mark)


class Counts:
    """What one kernel has done."""

    def __init__(self, test, objects, kernel):
        found = [each for each in objects if each["type"] == "hotspots" and each["kernel"].startswith(kernel + "(")]
        test.assertEqual(len(found), 1, kernel)
        self.all = found[0]
        self.lanes = self.all["wave_size"]
        self.waves = ITEMS // self.lanes

    def line(self, mark):
        return next(each for each in self.all["lines"] if each["line"] == line_of(mark))

    def named(self, name):
        return [each for each in self.all["instructions"] if each["text"].startswith(name)]


class Tests(fade.Test):
    def counted(self, gpu, *options):
        result = self.probe(["-i", "-a", "Hotspots", "--gpu", gpu, *options], [program("counted")])
        self.assertEqual(result.code, 0, result.said)
        self.assertEqual(result.stdout, "8\n")
        return result.objects()

    def check_loop(self, gpu):
        loop = Counts(self, self.counted(gpu), "loop")
        self.assertEqual(loop.all["dispatches"], 2)
        self.assertEqual(loop.all["waves"], 2 * loop.waves)
        (fma,) = loop.named("v_fma_f32")
        self.assertEqual(fma["line"], line_of("loop.fma"))
        self.assertEqual(fma["executions"], 15 * loop.waves)
        self.assertEqual(fma["lanes"], 15 * ITEMS)
        self.assertEqual(fma["flops"], 2 * 15 * ITEMS)
        self.assertEqual(loop.all["flops"], {"all": 2 * 15 * ITEMS, "f64": 0, "f32": 2 * 15 * ITEMS, "f16": 0, "bf16": 0,
                                             "f8": 0, "packed": 0, "matrix": 0, "matrix_integer": 0})
        self.assertEqual(loop.line("loop.fma")["runs"], 15 * loop.waves)
        self.assertEqual(loop.all["bytes"]["stored"], 2 * ITEMS * 4)
        self.assertEqual(loop.all["bytes"]["loaded"], 0)
        # the way back is taken each time but the last
        backward = [each for each in loop.named("s_cbranch") if each["executions"] == 15 * loop.waves]
        self.assertEqual([each["taken"] for each in backward], [13 * loop.waves])
        total = sum(each["executions"] for each in loop.all["instructions"])
        self.assertEqual(loop.all["executions"], total)
        self.assertEqual(sum(each["executions"] for each in loop.all["mix"]), total)
        self.assertEqual(sum(each["executions"] for each in loop.all["lines"]), total)
        costs = [each["executions"] for each in loop.all["lines"]]
        self.assertEqual(costs, sorted(costs, reverse=True))

    def test_a_loop_has_as_many_executions_as_turns_on_gfx90a(self):
        self.check_loop("gfx90a")

    def test_a_loop_has_as_many_executions_as_turns_on_gfx1030(self):
        self.check_loop("gfx1030")

    def check_branches(self, gpu):
        kernel = Counts(self, self.counted(gpu), "branches")
        first = [each for each in kernel.named("v_not_b32") if each["line"] == line_of("branches.first")]
        self.assertEqual([(each["executions"], each["lanes"]) for each in first], [(kernel.waves, ITEMS // 4)])
        second = [each for each in kernel.named("v_lshlrev_b32") if each["line"] == line_of("branches.second")]
        self.assertEqual([(each["executions"], each["lanes"]) for each in second], [(3 * kernel.waves, 3 * ITEMS * 3 // 8)])
        # each wave parts twice: at the first condition, and at the second
        splits = [each["splits"] for each in kernel.all["instructions"] if each.get("splits")]
        self.assertTrue(splits)
        self.assertTrue(all(each == kernel.waves for each in splits), splits)

    def test_lanes_of_both_sides_of_a_branch_are_exact_on_gfx90a(self):
        self.check_branches("gfx90a")

    def test_operations_and_bytes_are_told_by_type(self):
        kernel = Counts(self, self.counted("gfx90a"), "types")
        matrix = kernel.waves * 2 * 32 * 32 * 2
        self.assertEqual(kernel.all["flops"], {
            "all": 3 * ITEMS + 5 * ITEMS + ITEMS + 2 * ITEMS + matrix, "f64": 3 * ITEMS, "f32": 3 * ITEMS + matrix,
            "f16": 5 * ITEMS, "bf16": 0, "f8": 0, "packed": 6 * ITEMS, "matrix": matrix, "matrix_integer": 0})
        moved = kernel.all["bytes"]
        self.assertEqual((moved["loaded"], moved["stored"]), (16 * ITEMS, 4 * ITEMS))
        self.assertEqual((moved["lds_stored"], moved["lds_loaded"]), (16 * ITEMS, 4 * ITEMS))
        units = {each["unit"]: each["executions"] for each in kernel.all["mix"]}
        self.assertEqual((units["matrix"], units["barrier"]), (kernel.waves, kernel.waves))

    def test_chosen_workgroups_and_dispatches_are_counted_alone(self):
        loop = Counts(self, self.counted("gfx90a", "-d", "1", "--workgroups", "x=1-1"), "loop")
        self.assertEqual(loop.named("v_fma_f32")[0]["executions"], 10 * loop.waves // 2)

    def test_a_recording_has_the_counts(self):
        path = self.path("counts.fade")
        live = [each for each in self.counted("gfx90a", "--record", path) if each["type"] == "hotspots"]
        self.bare([fade.PROBE, "analyze", path, "-a", "Hotspots", "-t", "json", "-l", self.path("again")])
        with open(self.path("again"), encoding="utf-8") as lines:
            again = [each for each in map(json.loads, lines) if each["type"] == "hotspots"]
        self.assertEqual(live, again)

    def test_inspect_shows_the_counts_beside_the_code(self):
        self.counted("gfx90a")
        shown = self.bare([fade.PROBE, "inspect", "-t", "gfx90a", "-k", "branches", "--source", "--counts", self.log, program("counted")])
        self.assertRegex(shown.stdout, r"\n +12 +24\.0 +[0-9a-f]+ +v_lshlrev_b32")
        self.assertRegex(shown.stdout, r"s_cbranch_scc1 .* taken 8 of 12\n")
        self.assertRegex(shown.stdout, r"s_and_saveexec_b64 .* 4 splits\n")
        self.assertRegex(shown.stdout, r"branches\.second   <- \d+\.\d% of \d+ instructions\n")
        other = self.bare([fade.PROBE, "inspect", "-t", "gfx1030", "--isa", "--counts", self.log, program("counted")])
        self.assertIn("has no counts of these kernels", other.stderr)

    def test_where_nothing_is_counted_one_line_says_so(self):
        result = self.probe(["-i", "-a", "Hotspots", "--observe", "pass"], [program("grid")])
        self.assertEqual(result.code, 0, result.said)
        self.assertFalse(result.objects("hotspots"))
        self.assertEqual(sum("no instruction counts: only the software GPU counts instructions" in line for line in result.said), 1, result.said)


if __name__ == "__main__":
    fade.main()
