"""Accesses that kernels add up on the GPU: the reports are those of the stream."""
import fade
import reports
from fade import PROBE, program
from reports import BOTH

SUMS = program("sums")


class Tests(reports.Test):
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
