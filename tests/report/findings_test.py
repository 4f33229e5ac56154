"""Findings in one currency: what a run's counts cost, worked out by hand.

A GPU without a name is taken for an MI210 (gfx90a): lines of 64 bytes in L1, 16 lanes' addresses per cycle, 963.5 bytes of memory per cycle, 1.7 GHz.
The dispatches here have 104 workgroups of 4 waves, so that all compute units are busy, and 2 us of each are its beginning and end."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import log_lines
from log_lines import access, dispatch, lines, memory

PROBE = os.environ["REPORT_PROBE"]
SUMMARY = {"type": "summary", "version": 1, "records": 1, "bytes": 1, "dropped": 0, "dispatches": 1, "instrumented": 1, "incomplete": 0, "durations": [], "skipped": []}
APART = {"strides": [{"stride": 512, "executions": 100}], "lane_slots": 6400}


def time(cycles):
    """Of a dispatch whose busiest unit takes so many cycles, ns."""
    return 2000 + cycles / 1.7


def cache(kernel, *entries):
    everything = {"requests": 0, "l1_hits": 0, "l2_hits": 0, "misses": 0, "fetched": 0, "unused": 0, "written": 0, "unwanted": 0, "first_uses": 0, "reuse": []}
    return {"type": "cache", "version": 1, "kernel": kernel, "target": "gfx90a", "dispatches": 1, "all": everything, "allocations": [],
            "accesses": [{**everything, **entry} for entry in entries]}


class Findings(unittest.TestCase):
    def page(self, *objects, kernel="k(int)", **more):
        with tempfile.TemporaryDirectory() as folder:
            log, html = pathlib.Path(folder) / "run.jsonl", pathlib.Path(folder) / "out.html"
            log_lines.write(log, [dispatch(1, kernel, 1000, 100, **{"grid": [256 * 104, 1, 1], **more}), *objects, SUMMARY])
            done = subprocess.run([PROBE, "report", str(log), "-o", str(html)], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html.read_text(), re.S).group(1))

    def only(self, page):
        self.assertEqual(len(page["findings"]), 1, page["findings"])
        return page["findings"][0]

    def test_perfect_accesses_are_no_finding(self):
        page = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200))], [access("a.hip", 4, 1, "load", conflicts=0)]))
        self.assertEqual(page["findings"], [])

    def test_five_lines_with_one_cause_are_one_finding_with_five_places(self):
        found = self.only(self.page(memory(1, "k(int)", [access("a.hip", 10 + i, 1, "load", **{**lines(6400), **APART}) for i in range(5)])))
        self.assertEqual(found["cause"], "scattered access")
        self.assertEqual([place["line"] for place in found["places"]], [10, 11, 12, 13, 14])
        # Each wants 2 * 6400 lines of L1 where 25600 / 64 = 400 would do, on 104 compute units.
        self.assertEqual(found["unit"], "L1")
        self.assertAlmostEqual(found["cycles"], 5 * (12800 - 400) / 104)
        # What is left are 416 waves that wait for loads of 700 cycles, 4 at a time, and issue an instruction every 4 cycles.
        self.assertAlmostEqual(found["before_ns"], time(5 * 12800 / 104))
        self.assertAlmostEqual(found["after_ns"], time((500 * 4 + 125 * (4 + 700)) / 416))
        self.assertAlmostEqual(found["gain"], 1 - found["after_ns"] / found["before_ns"])

    def test_lines_that_are_used_up_later_cost_no_memory_traffic(self):
        # 32 loads of a row for each lane: 3 % of each access, and every byte of what is fetched.
        place = dict(file="a.hip", line=3, column=1, op="load", bytes=4)
        rows = access(**{**place, **lines(6400), **APART})
        used = self.only(self.page(memory(1, "k(int)", [rows]), cache("k(int)", {**place, "requests": 12800, "l1_hits": 12400, "fetched": 25600, "unused": 0})))
        self.assertEqual((used["bytes"], used["unit"]), (0, "L1"))
        wasted = self.only(self.page(memory(1, "k(int)", [rows]), cache("k(int)", {**place, "requests": 12800, "fetched": 12800 * 128, "unused": 12800 * 124})))
        self.assertEqual(wasted["bytes"], 12800 * 124)
        self.assertEqual(wasted["unit"], "memory")  # 12800 * 124 / 963.5 cycles, more than 12400 / 104

    def test_what_matters_more_comes_first_whatever_it_is_counted_in(self):
        # 100 lines too many on one side, 50,000 turns on the other: fewer in number, but not in cycles.
        page = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "store", **{**lines(6400), **APART})],
                                [access("a.hip", 4, 1, "load", conflicts=50000, lane_slots=6400, strides=[{"stride": 128, "executions": 100}])]))
        self.assertEqual([found["cause"] for found in page["findings"]], ["bank conflicts", "scattered access"])
        first, second = page["findings"]
        self.assertAlmostEqual(first["cycles"], 50000 / 104)
        # Once the conflicts are gone, L1 is what the kernel waits for.
        self.assertAlmostEqual(first["before_ns"], time((50000 + 200) / 104))
        self.assertAlmostEqual(first["after_ns"], time(12800 / 104))
        self.assertGreater(second["gain"], 0)
        self.assertAlmostEqual(second["before_ns"], first["after_ns"])
        self.assertAlmostEqual(first["run_gain"], first["gain"])

    def test_conflicts_that_nothing_waits_for_are_no_finding(self):
        page = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200), executions=100000, lanes=6400000, lane_slots=6400000)],
                                [access("a.hip", 4, 1, "load", conflicts=300, lane_slots=6400)]))
        self.assertEqual(page["findings"], [])

    def test_combined_atomics_are_no_finding_and_others_are(self):
        hot = {"machine": "combined", "executions": 100, "lanes": 100, "lane_slots": 6400, "hottest": {"address": 64, "operations": 100}}
        busy = access("a.hip", 3, 1, "load", **lines(20000, 20000), executions=10000, lanes=640000, lane_slots=640000)
        self.assertEqual(self.page(memory(1, "k(int)", [busy, access("a.hip", 4, 1, "atomic", **{**lines(100, 100), **hot})]))["findings"], [])
        apart = {**hot, "machine": "", "lanes": 64000, "lane_slots": 64000, "executions": 1000, "same_address": 63000, "hottest": {"address": 64, "operations": 64000}}
        found = self.only(self.page(memory(1, "k(int)", [busy, access("a.hip", 4, 1, "atomic", **{**lines(1000, 1000), **apart})])))
        self.assertEqual((found["cause"], found["unit"]), ("atomics on one address in a wave", "atomics"))
        self.assertAlmostEqual(found["cycles"], 63000)

    def test_lanes_that_stand_by_are_a_finding(self):
        counts = {"type": "hotspots", "version": 1, "kernel": "k(int)", "symbol": "k", "target": "gfx90a", "dispatches": 1, "wave_size": 64, "executions": 80000, "lanes": 2560000,
                  "mix": [{"unit": "valu", "executions": 80000, "lanes": 2560000}], "bytes": {}, "instructions": [], "lines": []}
        found = self.only(self.page(counts))
        self.assertEqual((found["cause"], found["unit"]), ("divergence", "vector ALU"))
        self.assertAlmostEqual(found["cycles"], 80000 * 4 / 4 / 104 / 2)
        self.assertAlmostEqual(found["after_ns"] - 2000, (found["before_ns"] - 2000) / 2)
        self.assertIn("same branch", found["advice"])
        # Where the counts follow from blocks and may be wrong, it says so.
        add = {"address": 256, "text": "v_add_u32_e32 v0, v1, v2", "file": "", "line": 0, "column": 0, "executions": 80000, "lanes": 2560000, "flops": 0, "bytes": 0}
        self.assertEqual([self.only(self.page({**counts, "instructions": [add], **doubt}))["counts"] for doubt in ({}, {"by_blocks": True, "doubt": "the compiler has split the block at 0x100"})],
                         [x + "50% of the lanes of the vector ALU are active" for x in ("", "about ")])
        # One lane that does the rest: a fifth of all is the end of a reduction, half of it is work that others could share.
        for alone, advice in ((1600, []), (4000, ["One lane works"])):
            lanes = (8000 - alone) * 64 + alone
            counts.update(mix=[{"unit": "valu", "executions": 8000, "lanes": lanes}],
                          instructions=[{"address": 256 + i, "text": "v_add_u32_e32 v0, v1, v2", "file": "", "line": 0, "column": 0, "executions": n, "lanes": active, "flops": 0, "bytes": 0}
                                        for i, (n, active) in enumerate(((alone, alone), (8000 - alone, (8000 - alone) * 64)))])
            self.assertEqual([one["advice"][:14] for one in self.page(counts)["findings"]], advice)
        # A kernel of little else than accesses, all but one by one lane of the wave.
        counts.update(mix=[{"unit": "valu", "executions": 80, "lanes": 80 * 64}], instructions=[])
        alone = access("a.hip", 3, 1, "store", **lines(4000, 4000), executions=4000, lanes=4000, lane_slots=256000, total_bytes=16000)
        found = self.only(self.page(counts, memory(1, "k(int)", [alone, access("a.hip", 2, 1, "load", **lines(200), lane_slots=6400)])))
        self.assertEqual((found["cause"], found["unit"], found["counts"]), ("divergence", "L1", "2% of the lanes take part in most accesses to global memory"))
        # 4100 * 4 cycles for addresses, of which 8000 + 400 lines of L1 are left.
        self.assertAlmostEqual(found["cycles"], (4100 * 4 - 8400) / 104)
        self.assertIn("One lane works", found["advice"])

    def test_lanes_that_a_workgroup_does_not_have_are_not_those_that_parted(self):
        def run(lanes, *grid):
            counts = {"type": "hotspots", "version": 1, "kernel": "k(int)", "symbol": "k", "target": "gfx90a", "dispatches": 1, "wave_size": 64, "executions": 832000, "lanes": lanes,
                      "mix": [{"unit": "valu", "executions": 832000, "lanes": lanes}], "bytes": {}, "instructions": [], "lines": []}
            return self.page(counts, grid=[grid[0] * grid[1], 1, 1], workgroup=[grid[1], 1, 1])["findings"]
        # 8320 workgroups of 16 lanes, all of them active: a quarter of the waves would do.
        (found,) = run(832000 * 16, 8320, 16)
        self.assertEqual((found["cause"], found["unit"], found["counts"]), ("partly filled waves", "vector ALU", "workgroups fill 25% of the lanes of their 64-lane waves"))
        self.assertAlmostEqual((found["after_ns"] - 2000) / (found["before_ns"] - 2000), 0.25)
        self.assertIn("a multiple of 64 lanes", found["advice"])
        # Half of those that there are stand by, too.
        both = run(832000 * 8, 8320, 16)
        self.assertEqual([one["cause"] for one in both], ["partly filled waves", "divergence"])
        self.assertAlmostEqual((both[1]["after_ns"] - 2000) / (both[0]["before_ns"] - 2000), 0.125)
        # One wave cannot be filled by another.
        self.assertEqual(run(832000, 1, 1), [])

    def test_structs_that_are_read_whole_in_several_steps_are_no_finding(self):
        def run(apart, unused, *sizes):
            places = [dict(file="a.hip", line=3, column=i, op="load", bytes=size) for i, size in enumerate(sizes)]
            steps = [access(**{**place, **lines(6400), "strides": [{"stride": apart, "executions": 100}]}, lane_slots=6400, total_bytes=6400 * place["bytes"]) for place in places]
            page = self.page(memory(1, "k(int)", steps), cache("k(int)", *({**place, "requests": 12800, "fetched": 6400 * apart // len(sizes), "unused": 6400 * unused // len(sizes)} for place in places)), grid=[2048, 1, 1])
            return [one["cause"] for one in page["findings"] if one["cause"] != "too few workgroups"]  # there are 8
        def at_one_place(times, apart):
            place = dict(file="a.hip", line=3, column=1, op="load", bytes=4)
            counts = {"executions": 32 * times, "lanes": 2048 * times, "lane_slots": 2048 * times, "total_bytes": 8192 * times, "strides": [{"stride": apart, "executions": 32 * times}]}
            line = memory(1, "k(int)", [access(**{**place, **lines(2048 * times, 64 * times), **counts})])
            line["waves"] = {"count": 32, "executions": 32 * times, "most": times}
            page = self.page(line, cache("k(int)", {**place, "requests": 4096 * times, "l1_hits": 4096 * times - 4096, "fetched": 2048 * apart, "unused": 0}))
            return [one["cause"] for one in page["findings"]]
        self.assertEqual(at_one_place(2, 8), [])
        self.assertEqual(at_one_place(16, 64), ["scattered access"])  # a row for each lane
        for sizes in ((32,), (48,), (12, 2, 1), (4, 4)):
            self.assertEqual(run(sum(sizes) + sum(sizes) % 2, 0, *sizes), [], sizes)
        # A part of each; nobody needs the rest of it; rows of lanes that lie apart.
        self.assertEqual(run(32, 0, 12), ["scattered access"])
        self.assertEqual(run(8, 4, 4, 4), ["scattered access"])
        self.assertEqual(run(4, 0, 4), ["scattered access"])
        self.assertEqual(run(512, 0, *[16] * 32), ["scattered access"])

    def test_atomics_on_one_address_of_lds_are_a_finding(self):
        # 63 of 64 lanes find another one there, and each takes a turn of its own: 100 + 6300 turns on 104 compute units.
        one = access("a.hip", 4, 1, "atomic", conflicts=0, same_address=6300, same_address_turns=6300)
        found = self.only(self.page(memory(1, "k(int)", [], [one])))
        self.assertEqual((found["cause"], found["unit"]), ("atomics on one address in a wave", "LDS"))
        self.assertAlmostEqual(found["cycles"], 6300 / 104)
        apart = access("a.hip", 4, 1, "atomic", conflicts=0, same_address=0, same_address_turns=0)
        self.assertEqual(self.page(memory(1, "k(int)", [], [apart]))["findings"], [])

    def test_lanes_that_stand_by_for_a_combined_atomic_are_no_finding_by_themselves(self):
        counts = {"type": "hotspots", "version": 1, "kernel": "k(int)", "symbol": "k", "target": "gfx90a", "dispatches": 1, "wave_size": 64, "executions": 160000, "lanes": 6400000,
                  "mix": [{"unit": "valu", "executions": 160000, "lanes": 6400000}], "bytes": {}, "instructions": [], "lines": []}
        def run(machine):
            one = access("a.hip", 4, 1, "atomic", **{**lines(100, 100), "machine": machine, "lanes": 100, "lane_slots": 6400, "hottest": {"address": 64, "operations": 1}})
            return self.page(counts, memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200), executions=70, lanes=4480, lane_slots=4480), one]))["findings"]
        self.assertEqual([one["cause"] for one in run("")], ["divergence"])
        self.assertEqual(run("combined"), [])

    def test_one_wave_that_does_the_work_of_many_is_a_finding(self):
        line = memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200), executions=1032, lanes=66048, lane_slots=66048)])
        line["waves"] = {"count": 32, "executions": 1032, "most": 1001}
        found = self.only(self.page(line))
        self.assertEqual(found["cause"], "uneven waves")
        self.assertIn("1001", found["counts"])
        line["waves"]["most"] = 33
        self.assertEqual(self.page(line)["findings"], [])

    def test_a_launch_that_leaves_most_units_idle_is_a_finding_behind_all_others(self):
        def run(executions, wasteful=False, **more):
            used = {**lines(2 * executions, 2 * executions), **({**lines(64 * executions), **APART} if wasteful else {})}
            line = memory(1, "k(int)", [access("a.hip", 3, 1, "load", **{**used, "executions": executions, "lanes": 64 * executions, "lane_slots": 64 * executions, "total_bytes": 256 * executions, **more})])
            line["waves"] = {"count": 32, "executions": executions, "most": executions // 32}
            return self.page(line, grid=[2048, 1, 1])
        # 100 loads by each wave, on 8 of 104 units: what they do could be shared by 13 times as many.
        found = self.only(run(3200))
        self.assertEqual((found["cause"], found["counts"]), ("too few workgroups", "workgroups for 8 of 104 compute units, whose waves execute 125 instructions each"))
        self.assertAlmostEqual((found["after_ns"] - 2000) / (found["before_ns"] - 2000), 8 / 104, delta=0.01)  # of waves that do as much less
        self.assertEqual([one["cause"] for one in run(32 * 2)["findings"]], [])  # too little to share
        # Lanes that walk alone through memory: that they share it is one change.
        both = run(3200, wasteful=True)["findings"]
        self.assertEqual([(one["cause"], one["together"]) for one in both], [("too few workgroups", "scattered access"), ("scattered access", "too few workgroups")])
        self.assertEqual((both[1]["gain"], both[1]["after_ns"]), (0, both[0]["after_ns"]))

    def test_a_busy_bin_is_a_finding_although_its_lanes_are_few(self):
        # 100 waves, 64 bins: each lane has its own, and each bin is hit by every wave.
        hot = {"executions": 3200, "lanes": 204800, "lane_slots": 204800, "same_address": 0, "hottest": {"address": 64, "operations": 3200}}
        found = self.only(self.page(memory(1, "k(int)", [access("a.hip", 4, 1, "atomic", **{**lines(6400, 6400), **hot, "advice": "Of cache lines."})])))
        self.assertEqual((found["cause"], found["unit"]), ("atomics of all waves on one address", "atomics"))
        self.assertAlmostEqual(found["cycles"], 3200 - 104)  # one for each workgroup
        self.assertIn("Collect in LDS", found["advice"])

    def test_places_that_are_the_same_for_a_reader_are_one(self):
        # The same column, once with 4 and once with 8 bytes.
        found = self.only(self.page(memory(1, "k(int)", [access("a.hip", 10, 1, "load", **{**lines(6400), **APART}), access("a.hip", 10, 1, "load", bytes=8, **{**lines(6400), **APART})])))
        self.assertEqual([(place["line"], place["column"]) for place in found["places"]], [(10, 1)])
        self.assertAlmostEqual(found["places"][0]["cycles"], found["cycles"])

    def test_bytes_that_nobody_uses_are_counted_as_bytes(self):
        # Every line that is used is needed, and most of what comes with it is not.
        place = dict(file="a.hip", line=3, column=1, op="load", bytes=4)
        found = self.only(self.page(memory(1, "k(int)", [access(**{**place, **lines(200)})]),
                                    cache("k(int)", {**place, "requests": 400, "fetched": 2560000, "unused": 2500000})))
        self.assertEqual((found["unit"], found["bytes"]), ("memory", 2500000))
        self.assertEqual(found["counts"], "2500000 of 2560000 bytes moved are never used")
        self.assertNotEqual(found["advice"], "")

    def test_lines_that_l2_is_asked_for_are_counted_by_its_channels(self):
        # All 104 compute units look up 104 lines in a cycle, but L2 has 32 channels; stores pass L1, of loads only what it does not have.
        place = dict(file="a.hip", line=3, column=1, bytes=4)
        for op, hits, asked in (("store", 0, 6400), ("load", 1600, 4800)):
            entry = {**place, "op": op, "requests": 6400, "l1_hits": hits}
            page = self.page(memory(1, "k(int)", [access(**{**place, **lines(6400), **APART, "op": op})]), cache("k(int)", entry), grid=[256 * 128, 1, 1])
            self.assertAlmostEqual(page["costs"][0]["units"]["L2"], asked / 32)
            found = self.only(page)
            self.assertEqual(found["unit"], "L2")
            self.assertAlmostEqual(found["cycles"], (asked - 200) / 32)

    def test_lanes_side_by_side_that_do_not_begin_with_a_line_are_no_finding(self):
        misaligned = self.page(memory(1, "k(int)", [access("a.hip", 3 + i, 1, "load", **lines(400)) for i in range(5)]))
        self.assertEqual(misaligned["findings"], [])
        self.only(self.page(memory(1, "k(int)", [access("a.hip", 3 + i, 1, "load", **lines(4800)) for i in range(5)])))  # rows of a few lanes

    def test_what_another_unit_hides_is_no_finding(self):
        # 1500 cycles of vector memory, nearly all for nothing, behind 5000 of LDS without conflicts.
        page = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "store", **{**lines(6000), **APART})],
                                [access("a.hip", 4, 1, "load", conflicts=0, executions=20000, lanes=1280000, lane_slots=1280000, total_bytes=5120000)]))
        self.assertEqual(page["findings"], [])

    def test_costs_are_those_of_the_busiest_unit(self):
        cost = self.page(memory(1, "k(int)", [access("a.hip", 3, 1, "load", **lines(200), lane_slots=6400)]))["costs"][0]
        self.assertAlmostEqual(cost["units"]["L1"], max(100 * 64 / 16, 400) / 104)


class Lines(unittest.TestCase):
    """--findings, and conditions on what there is to gain."""
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.log, self.found = self.root / "run.jsonl", self.root / "found.jsonl"
        log_lines.write(self.log, [dispatch(1, "k(int)", 1000, 100, grid=[256 * 104, 1, 1]), dispatch(2, "fine(int)", 2000, 100, grid=[256 * 104, 1, 1]),
                                   memory(1, "k(int)", [access("/src/a.hip", 3, 7, "store", **{**lines(6400), **APART})],
                                          [access("/src/a.hip", 4, 1, "load", conflicts=500000, lane_slots=6400, strides=[{"stride": 128, "executions": 100}])]),
                                   memory(2, "fine(int)", [access("/src/a.hip", 9, 1, "load", **lines(200), lane_slots=6400)]), SUMMARY])

    def probe(self, *words):
        return subprocess.run([PROBE, *map(str, words)], capture_output=True, text=True, timeout=60)

    def test_findings_are_json_lines_in_the_order_of_the_page(self):
        done = self.probe("report", self.log, "--findings", self.found)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        objects = [json.loads(line) for line in self.found.read_text().splitlines()]
        found = [x for x in objects if x["type"] == "finding"]
        self.assertEqual([(x["rank"], x["cause"], x["kernel"]) for x in found], [(1, "bank conflicts", "k(int)"), (2, "scattered access", "k(int)")])
        self.assertEqual((found[0]["version"], found[0]["unit"], found[0]["cycles"]), (1, "LDS", round(500000 / 104)))
        self.assertEqual(found[1]["places"], [{"file": "/src/a.hip", "line": 3, "column": 7, "op": "store", "cycles": found[1]["cycles"]}])
        self.assertEqual([(x["kernel"], x["busiest"]) for x in objects if x["type"] == "cost"], [("k(int)", "LDS"), ("fine(int)", "latency")])
        self.assertEqual(self.probe("report", self.log, "--findings", "/dev/full").returncode, 1)
        # Such lines may stand among those of a run.
        both = self.root / "both.jsonl"
        both.write_text(self.log.read_text() + self.found.read_text())
        done = self.probe("report", both, "-o", self.root / "x.html")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_conditions_on_gains(self):
        for condition, fails in (("gain>50%", True), ("gain>50%@cause=scattered", False), ("gain>0%@cause=divergence", False), ("gain>10%@kernel=fine", False),
                                 ("gain>10%@file=a.hip,op=load", True), ("gain>10%@line=99", False), ("kernel.gain>55%", True), ("kernel.gain>10%@kernel=fine", False), ("gain>0%@kernel=none", True)):
            done = self.probe("report", self.log, "--fail-if", condition)
            self.assertEqual(done.returncode, 3 if fails else 0, (condition, done.stderr))
        junit, sarif = self.root / "j.xml", self.root / "s.sarif"
        done = self.probe("report", self.log, "--fail-if", "gain>50%", "--junit", junit, "--sarif", sarif)
        self.assertRegex(done.stderr, r"failed: a.hip:4 load: bank conflicts: gain is \d+\.?\d* %, above 50 % \(in k\(int\)\)")
        result = json.loads(sarif.read_text())["runs"][0]["results"][0]
        self.assertEqual(result["locations"][0]["physicalLocation"]["region"], {"startLine": 4, "startColumn": 1})
        self.assertIn("bank conflicts", junit.read_text())
        for condition, said in (("lines>1@cause=x", "only gain can be filtered by cause"), ("gain>nan", "no limit"), ("gain>inf%", "no limit"), ("regress>nan%:x", "regress>5%:BASELINE")):
            done = self.probe("report", self.log, "--fail-if", condition)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), (condition, done.stderr))
            self.assertIn(said, done.stderr)


class Resources(unittest.TestCase):
    """Occupancy and scratch memory, which the code objects tell, on a program that runs."""
    def test_low_occupancy_and_scratch_are_findings_with_their_cause(self):
        with tempfile.TemporaryDirectory() as folder:
            found, html = pathlib.Path(folder) / "found.jsonl", pathlib.Path(folder) / "out.html"
            done = subprocess.run([PROBE, "--gpu", "gfx90a", "--report", html, "--findings", found, "--fail-if", "gain>40%@cause=occupancy", "--", os.environ["REPORT_RESOURCES"]],
                                  capture_output=True, text=True, timeout=200)
            objects = [json.loads(line) for line in found.read_text().splitlines()]
            page = json.loads(re.search(r'id="data">(.*?)</script>', html.read_text(), re.S).group(1))
            # Without a page, the code is read for the findings alone.
            subprocess.run([PROBE, "report", html.with_suffix(".jsonl"), "--code", os.environ["REPORT_RESOURCES"], "--findings", found], check=True, timeout=60)
            self.assertEqual(objects, [json.loads(line) for line in found.read_text().splitlines()])
        self.assertEqual([(x["cause"], x["counts"]) for x in page["findings"]], [(x["cause"], x["counts"]) for x in objects if x["type"] == "finding"])
        few = next(x for x in page["code"] if page["kernels"][x["kernel"]]["name"].startswith("few_waves"))
        self.assertEqual((few["facts"]["occupancy"]["workgroups"], few["facts"]["occupancy"]["waves_per_workgroup"], few["facts"]["occupancy"]["limit"]), (1, 1, "lds"))
        # Compiled with -g, the twin has its lines, too.
        self.assertTrue({13, 14, 16} <= {row[4] for row in few["twin"]["instructions"]}, sorted({row[4] for row in few["twin"]["instructions"]}))
        self.assertEqual((done.returncode, done.stdout), (3, "done\n"), done.stderr)
        self.assertRegex(done.stderr, r"(?m)^failed: few_waves\(float const\*, float\*\): low occupancy: gain is 4\d")
        by_kernel = {}
        for one in objects:
            if one["type"] == "finding":
                by_kernel.setdefault(one["kernel"].split("(")[0], []).append(one)
        self.assertNotIn("many_waves", by_kernel)
        # 95 % of the lanes of what the vector ALU executed (Hotspots) are active in the one, about half in the other.
        self.assertEqual([one["cause"] for one in by_kernel.get("few_lanes_at_the_end", [])], [])
        self.assertEqual([one["cause"] for one in by_kernel["half_of_the_lanes"]], ["divergence"])
        self.assertRegex(by_kernel["half_of_the_lanes"][0]["counts"], r"^5\d% of the lanes of the vector ALU are active")
        self.assertEqual([one["cause"] for one in by_kernel["few_waves"]], ["low occupancy"])
        low = by_kernel["few_waves"][0]
        # 416 waves on 104 units, of which LDS has room for one at a time instead of four.
        self.assertEqual(low["unit"], "latency")
        self.assertIn("0.25 of 8 waves fit on a SIMD, limited by LDS", low["counts"])
        # The same without so much LDS is what it promises.
        without = next(x["dispatch_ns"] for x in objects if x["type"] == "cost" and x["kernel"].startswith("many_waves"))
        self.assertAlmostEqual(low["after_ns"] / without, 1, delta=0.05)
        scratch = [one for one in by_kernel["in_scratch"] if one["cause"] == "scratch memory"]
        self.assertEqual([one["unit"] for one in scratch], ["latency"])
        self.assertRegex(scratch[0]["counts"], r"^10\d\d bytes of scratch per lane, 0 spilled registers, \d+ bytes moved$")
        # 256 lanes store 256 dwords and load 64 of them. All of it fits into the caches.
        self.assertAlmostEqual(int(re.search(r"(\d+) bytes moved", scratch[0]["counts"])[1]) / (256 * (256 + 64) * 4), 1, delta=0.05)
        self.assertEqual(scratch[0]["bytes"], 0)
        self.assertIn("LDS", scratch[0]["advice"])
        # As the software GPU counts it, of the kernel as it was compiled.
        with tempfile.TemporaryDirectory() as folder:
            found = pathlib.Path(folder) / "found.jsonl"
            subprocess.run([PROBE, "--gpu", "gfx90a", "--observe", "gpu", "-i", "-a", "Hotspots", "MemoryAnalysis", "-k", "in_scratch", "--report", pathlib.Path(folder) / "out.html", "--findings", found, "--", os.environ["REPORT_RESOURCES"]], capture_output=True, timeout=200)
            counted = [json.loads(line) for line in found.read_text().splitlines()]
            (spots,) = [x for x in map(json.loads, (pathlib.Path(folder) / "out.jsonl").read_text().splitlines()) if x["type"] == "hotspots" and x["kernel"].startswith("in_scratch")]
        # What goes through the descriptor of scratch memory is neither loaded nor stored elsewhere: 256 lanes do so with a dword each.
        self.assertEqual({way: spots["bytes"][way] for way in ("scratch", "loaded", "stored")}, {"scratch": 327680, "loaded": 1024, "stored": 1024})
        self.assertIn("0 spilled registers, 327680 bytes moved", next(x for x in counted if x["type"] == "finding" and x["kernel"].startswith("in_scratch") and x["cause"] == "scratch memory")["counts"])
        # It is there for one lane of 1024.
        self.assertEqual([one["cause"] for one in by_kernel["seldom_in_scratch"]], ["scratch memory"])  # its waves are alone: full lanes would not make the longest faster
        # 832 waves on 104 units: registers have room for 4 of the 8 of each.
        registers = by_kernel["many_registers"][0]
        self.assertEqual((registers["cause"], registers["counts"]), ("low occupancy", "1 of 8 waves fit on a SIMD, limited by VGPRs (512 VGPRs, 256 AGPRs among them, 0 bytes of LDS)"))
        self.assertGreater(registers["gain"], 0.15)
        self.assertIn("fewer registers", registers["advice"])


if __name__ == "__main__":
    unittest.main()
