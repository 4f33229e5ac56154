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
        self.assert_fine(result, None)
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
            self.assertEqual(self.reports(summed), self.reports(recorded))

    def test_analyze_gives_what_the_run_gave(self):
        trace = self.path("trace")
        live = self.results(SUMS, *BOTH, "--record", trace, env={})
        log = self.path("analyzed")
        again = self.bare([PROBE, "analyze", trace, "-t", "json", "-l", log, *BOTH])
        again.log = log
        self.assert_fine(again, "")
        self.assertEqual(again.objects(), live.objects())

    def test_analyzers_that_need_every_access_say_what_a_recording_lacks(self):
        trace, log = self.path("trace"), self.path("analyzed")
        self.results(SUMS, *BOTH, "--record", trace, env={})
        again = self.bare([PROBE, "analyze", trace, "-t", "json", "-l", log, "-a", "Heatmap"])
        self.assertEqual(again.code, 0)
        self.assertEqual(len(again.said), 1, again.said)
        self.assertIn("missing in the report of Heatmap", again.said[0])
        self.results(SUMS, *BOTH, "--stream", "--record", trace, env={})
        again = self.bare([PROBE, "analyze", trace, "-t", "json", "-l", log, "-a", "Heatmap"])
        self.assert_fine(again, "")

    def test_analyzers_that_take_no_summaries_get_records(self):
        heatmap = self.results(SUMS, "-a", "Heatmap", env={})
        self.assertEqual(self.records(heatmap), self.records(self.results(SUMS, "--stream", env={})))
        with_others = self.results(SUMS, *BOTH, "Heatmap", env={})
        self.assertEqual(self.records(with_others), self.records(heatmap))
        counts = [[(x["kernel"], sum(y["reads"] for y in x["pages"])) for x in run.objects("heatmap")]
                  for run in (heatmap, with_others)]
        self.assertEqual(counts[0], counts[1])

    def test_chosen_executions_and_workgroups_are_recorded_as_ever(self):
        for options in (("--sample-executions", "3"), ("--workgroups", "x=1-1"), ("--sample", "2")):
            summed = self.results(SUMS, "-a", "MemoryAnalysis", *options, env={})
            streamed = self.results(SUMS, "-a", "MemoryAnalysis", "--stream", *options, env={})
            self.assertEqual(self.reports(summed), self.reports(streamed), options)


if __name__ == "__main__":
    fade.main()
