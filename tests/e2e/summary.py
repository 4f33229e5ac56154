"""Accesses that kernels add up on the GPU: the reports are those of the stream."""
import json
import os

import fade
from fade import PROBE, program

SUMS = program("sums")
BOTH = ("-a", "MemoryAnalysis", "AccessPatterns")
# What is first among several is what it was before only if they come in the same order.
ORDERED = {"FADE_GPU_WORKERS": "1"}


class Tests(fade.Test):
    def gpus(self):
        return [{}] if "E2E_GPU" in os.environ else [{"FADE_GPU": x} for x in ("gfx90a", "gfx1030")]

    def results(self, app, *options, env):
        """Read at once: the next run writes to the same file."""
        result = self.probe(["-i", *options], [app], env={**ORDERED, **env})
        self.assertEqual(result.code, 0, result.stderr)
        self.assertEqual([x for x in result.said if "(--observe)" not in x], [])
        found = result.objects()
        result.objects = lambda kind=None: [x for x in found if kind in (None, x["type"])]
        return result

    def reports(self, result):
        """Of the analyzers, in one order; how many records there were is another matter. Where memory
        lies changes from run to run, but not within a page."""
        found = [json.loads(json.dumps(x)) for x in result.objects() if x["type"] in ("memory", "memory_total", "pattern")]
        for each in found:
            for access in each.get("global", ()):
                if "hottest" in access:
                    access["hottest"]["address"] %= 4096
            # Which wave comes first is another matter, too, also among those that are as bad.
            if each["type"] == "pattern":
                for key in ("addresses", "mask", "work_item", "workgroup", "dispatch_id"):
                    each.pop(key)
                for key in ("lines_needed", "lines_used", "conflicts"):
                    if each["which"] == "first":
                        each.pop(key, None)
        return sorted(found, key=lambda x: [str(x.get(k, "")) for k in (
            "type", "kernel", "dispatch_id", "line", "column", "op", "bytes", "space", "which")])

    def records(self, result):
        return sum(x["records"] for x in result.objects("dispatch"))

    def test_reports_are_those_of_the_stream(self):
        for env in self.gpus():
            summed = self.results(SUMS, *BOTH, env=env)
            streamed = self.results(SUMS, *BOTH, "--stream", env=env)
            self.assertEqual(summed.stdout, streamed.stdout)
            self.assertGreater(len(self.reports(summed)), 20)
            for a, b in zip(self.reports(summed), self.reports(streamed), strict=True):
                self.assertEqual(a, b)
            self.assertLess(self.records(summed), self.records(streamed))

    def test_reports_are_those_of_a_program_that_only_records(self):
        for env in self.gpus():
            summed = self.results(SUMS, "-a", "MemoryAnalysis", env=env)
            recorded = self.results(program("unsummed"), "-a", "MemoryAnalysis", env=env)
            reports = [self.reports(result) for result in (summed, recorded)]
            modules = [{x.pop("module") for x in of_result} for of_result in reports]
            self.assertEqual([len(x) for x in modules], [1, 1])
            self.assertNotEqual(*modules)  # two code objects, with the same kernels
            self.assertEqual(*reports)
            # With all that is recorded, too.
            streamed = self.results(SUMS, "--stream", env=env)
            recorded = self.results(program("unsummed"), env=env)
            self.assertEqual(self.records(streamed), self.records(recorded))

    def test_analyze_gives_what_the_run_gave(self):
        trace = self.path("trace")
        live = self.results(SUMS, *BOTH, "--record", trace, env={})
        again = self.analyzed(trace, *BOTH)
        self.assert_fine(again, "")
        self.assertEqual(again.objects(), live.objects())

    def numbers(self, result):
        """Of each access that corners.hip has a line for: what MemoryAnalysis says, whoever saw it."""
        found = {}
        for each in result.objects("memory"):
            for space in ("global", "lds"):
                for access in each[space]:
                    if not access["file"].endswith("corners.hip"):
                        continue
                    what = {k: v for k, v in access.items() if k not in ("file", "column", "function", "via", "machine", "parts", "advice")}
                    if "hottest" in what:
                        what["hottest"]["address"] %= 4096
                    found.setdefault((each["kernel"], space, access["line"], access["op"], access["bytes"]), []).append(what)
        return {key: sorted(value, key=str) for key, value in found.items()}

    def allocations(self, result):
        """How often each was read and written: what the machine loads beside the application's memory is in none."""
        return sorted(str([each["kernel"], each["dispatch_id"], [[x[k] for k in ("number", "reads", "writes", "atomics")] for x in sorted(
            each["allocations"], key=lambda x: x["number"]) if "address" in x]]) for each in result.objects("heatmap"))

    def corners(self, level):
        app = program("corners_" + level)
        for env in self.gpus():
            for analyzers in (BOTH, ("-a", "MemoryAnalysis", "Heatmap")):
                summed, streamed, observed = (self.results(app, *analyzers, *how, env=env) for how in ((), ("--stream",), ("--observe", "gpu")))
                self.assertEqual({summed.stdout, streamed.stdout}, {observed.stdout})
                self.assertEqual(self.reports(summed), self.reports(streamed), env)
                self.assertLess(2 * self.records(summed), self.records(streamed))
                self.assertGreater(len(self.numbers(streamed)), 60)
                self.assertEqual(self.numbers(streamed), self.numbers(observed), env)
                if "Heatmap" in analyzers:
                    self.assertEqual(self.pages(summed), self.pages(streamed))
                    self.assertEqual(self.allocations(streamed), self.allocations(observed))

    def test_accesses_of_all_kinds_are_those_of_the_stream_and_of_the_gpu(self):
        self.corners("O2")

    def test_accesses_of_all_kinds_without_optimization(self):
        self.corners("O0")

    def test_accesses_of_all_kinds_with_some_optimization(self):
        self.corners("O1")

    def test_accesses_of_all_kinds_with_all_optimizations(self):
        self.corners("O3")

    def pages(self, result):
        """What Heatmap says, by allocation; pages in their order, not where they lie."""
        found = []
        for each in result.objects("heatmap") + result.objects("heatmap_total"):
            counts = [tuple(x[k] for k in ("reads", "writes", "atomics")) for x in each["pages"]]
            owners = [{k: v for k, v in x.items() if k not in ("address", "origin")} for x in each["allocations"]]
            found.append((each["type"], each["kernel"], each.get("dispatch_id"), sorted(counts),
                          sorted(owners, key=lambda x: x["number"])))
        return sorted(found, key=str)  # dispatches need not end in their order

    def test_pages_are_those_of_the_stream(self):
        for env, heatmap in zip(self.gpus(), ("Heatmap:page=128", "Heatmap")):
            summed = self.results(SUMS, "-a", "MemoryAnalysis", heatmap, env=env)
            streamed = self.results(SUMS, "-a", "MemoryAnalysis", heatmap, "--stream", env=env)
            self.assertGreater(len(self.pages(summed)), 8)
            self.assertEqual(self.pages(summed), self.pages(streamed))
            self.assertEqual(self.reports(summed), self.reports(streamed))
            self.assertLess(self.records(summed), self.records(streamed))

    def analyzed(self, trace, *options):
        log = self.path("analyzed")
        again = self.bare([PROBE, "analyze", trace, "-t", "json", "-l", log, *options])
        self.assertEqual(again.code, 0)
        again.log = log
        return again

    def test_analyzers_that_need_more_than_a_recording_has_say_so(self):
        trace = self.path("trace")
        self.results(SUMS, *BOTH, "--record", trace, env={})
        for analyzer in ("Heatmap", "Heatmap:steps=8", "BlockCounts"):
            again = self.analyzed(trace, "-a", analyzer)
            self.assertEqual(len(again.said), 1, again.said)
            self.assertIn("missing in the report of " + analyzer.split(":")[0], again.said[0])
        self.results(SUMS, *BOTH, "--stream", "--record", trace, env={})
        self.assert_fine(self.analyzed(trace, "-a", "Heatmap"), "")

    def test_a_recording_with_pages_serves_pages_that_are_no_smaller(self):
        trace = self.path("trace")
        live = self.results(SUMS, "-a", "Heatmap", "--record", trace, env={})
        same = self.analyzed(trace, "-a", "Heatmap")
        self.assert_fine(same, "")
        self.assertEqual(same.objects(), live.objects())
        larger = self.analyzed(trace, "-a", "Heatmap:page=64K")
        self.assert_fine(larger, "")
        totals = [[[y[k] for k in ("number", "reads", "writes", "atomics")] for y in x["allocations"]]
                  for run in (live, larger) for x in run.objects("heatmap_total") if x["kernel"] is None]
        self.assertEqual(totals[0], totals[1])
        smaller = self.analyzed(trace, "-a", "Heatmap:page=256")
        self.assertEqual(len(smaller.said), 1, smaller.said)
        self.assertIn("missing in the report of Heatmap", smaller.said[0])

    def test_analyzers_that_take_no_summaries_get_records(self):
        for other in ("Heatmap:steps=8", "BlockCounts"):
            alone = self.results(SUMS, "-a", other, env={})
            self.assertEqual(self.records(alone), self.records(self.results(SUMS, "--stream", env={})))
            with_others = self.results(SUMS, *BOTH, other, env={})
            self.assertEqual(self.records(with_others), self.records(alone))

    def test_chosen_executions_and_workgroups_are_recorded_as_ever(self):
        for options in (("--sample-executions", "3"), ("--workgroups", "x=1-1"), ("--sample", "2")):
            summed = self.results(SUMS, "-a", "MemoryAnalysis", *options, env={})
            streamed = self.results(SUMS, "-a", "MemoryAnalysis", "--stream", *options, env={})
            self.assertEqual(self.reports(summed), self.reports(streamed), options)


if __name__ == "__main__":
    fade.main()
