"""FADE_TRANSPORT: records come through host memory or through device memory, and nothing else differs.

That programs and their ends are what they were is checked by the other suites, which CMakeLists.txt
runs a second time with rings in device memory; here is what concerns the transports themselves."""
import collections
import json

import fade
from fade import code_object, program

# What differs from run to run.
PASSING = {"dispatch_id", "worst_dispatch", "queue", "start_ns", "end_ns", "clock", "hardware_id", "wave",
           "durations", "number", "name", "address", "host_bound", "date", "pid", "options", "value",
           "wave_instructions", "lane_instructions"}


def lasting(x):
    """An object of a report without what differs from run to run."""
    if isinstance(x, dict):
        return {k: relative(v) if k == "addresses" and isinstance(v, list) else lasting(v)
                for k, v in x.items() if k not in PASSING}
    return [lasting(each) for each in x] if isinstance(x, list) else x


def relative(addresses):
    values = [int(x, 16) if isinstance(x, str) else x for x in addresses]
    return [x - values[0] for x in values]


class Tests(fade.Test):
    def setUp(self):
        super().setUp()
        if fade.GPU == "gfx908":
            self.skipTest("its copy engine does not see writes of a running kernel, so records go to host memory")

    def contents(self, transport, options, app):
        result = self.probe(["--transport", transport, *options], app)
        self.assert_fine(result)
        found = collections.Counter()
        for each in result.objects():
            found[json.dumps(lasting(each), sort_keys=True)] += 1
        return found

    def same(self, *app, options=("-a", "MemoryAnalysis", "Heatmap", "MessageLogger")):
        options = ["-i", *options]
        app = [program(app[0]), *app[1:]]
        host = self.contents("host", options, app)
        device = self.contents("device", options, app)
        self.assertEqual(host - device, collections.Counter())
        self.assertEqual(device - host, collections.Counter())
        self.assertGreater(sum('"access"' in x for x in host), 0)

    def test_every_record_of_a_grid_is_the_same(self):
        self.same("grid")

    def test_every_record_of_kernels_of_many_shapes_is_the_same(self):
        kernels = "nothing|forty|reversed|scratch"  # the one that prints waits for the host
        self.same("shapes", options=("-a", "MemoryAnalysis", "MessageLogger", "-k", kernels))

    def test_every_record_of_several_queues_is_the_same(self):
        self.same("many", 20, 4)

    def test_every_record_is_the_same_on_gfx1030(self):
        self.same("many", 8, 2, options=("--gpu", "gfx1030", "-a", "MemoryAnalysis", "MessageLogger"))

    def test_every_record_of_two_gpus_is_the_same(self):
        self.same("agents", options=("--gpu", "gfx90a,gfx1030", "-a", "MemoryAnalysis", "MessageLogger"))

    def test_a_stream_larger_than_the_ring_is_the_same_on_both_kinds_of_gpu(self):
        for gpu in ("gfx90a", "gfx1030"):
            reports = []
            for transport in ("host", "device"):
                result = self.probe(["-i", "-a", "MemoryAnalysis", "--gpu", gpu, "--memory", "1M",
                                     "--transport", transport], [program("streaming"), 3, 2])
                self.assert_fine(result)
                # Dispatches of several queues are reported in the order in which their ends are seen.
                reports.append(sorted((lasting(x) for x in result.objects()), key=json.dumps))
                self.assertEqual(result.summary()["incomplete"], 0)
            self.assertEqual(reports[0], reports[1])

    def test_the_largest_records_in_the_smallest_rings(self):
        # With 1M there are rings of 128K, and when these are in use, of 64K.
        result = self.probe(["-i", "--transport", "device", "--memory", "1M"],
                            [program("streaming"), 4, 16])
        self.assert_fine(result)
        summary = result.summary()
        self.assertEqual((summary["instrumented"], summary["incomplete"], summary["dropped"]), (16, 0, 0))
        self.assertGreater(summary["bytes"], 3_900_000)

    def test_verbose_says_where_records_go(self):
        result = self.probe(["-i", "-v", "--transport", "device"], [program("grid")])
        self.assertIn("device memory", "\n".join(result.said))
        result = self.probe(["-i", "-v"], [program("grid")])
        self.assertNotIn("device memory", "\n".join(result.said))

    def test_a_transport_that_does_not_exist_is_a_mistake(self):
        self.assert_mistake(["--transport", "devise"], "'devise' is neither host nor device.*'device'")

    def test_recordings_of_both_are_the_same(self):
        sizes = []
        for transport in ("host", "device"):
            trace = self.path("trace-" + transport)
            result = self.probe(["-i", "--transport", transport, "--record", trace], [program("grid")])
            self.assert_fine(result)
            again = self.bare([fade.PROBE, "analyze", trace, "-a", "MemoryAnalysis", "-t", "json", "-l",
                               self.path("log-" + transport)])
            self.assertEqual((again.code, again.said), (0, []))
            with open(self.path("log-" + transport)) as log:
                sizes.append([lasting(json.loads(line)) for line in log])
        self.assertEqual(sizes[0], sizes[1])

    def test_without_device_memory_records_go_through_host_memory(self):
        if fade.GPU.startswith("gfx115"):
            self.skipTest("it has no memory of its own")
        result = self.direct("full")
        said = [x for x in result.said if not x.startswith("HSA exception")]  # the runtime's own words
        self.assertEqual(said, ["fade: no device memory left for records: they go to host memory"])
        self.assertEqual((result.code, result.stdout), (0, "all batches are right\n"))
        summary = result.summary()
        self.assertEqual((summary["instrumented"], summary["records"], summary["incomplete"]),
                         (30, 360 * fade.waves(64), 0))

    # ---- the copy engine has other things to do

    def direct(self, how, options=(), **more):
        return self.probe(["-i", "--transport", "device", *options],
                          [program("direct"), how, code_object("scale1-twin")], **more)

    def assert_all(self, result):
        self.assert_fine(result, "all batches are right\n")
        summary = result.summary()
        self.assertEqual((summary["records"], summary["incomplete"]), (2048 * 3 * fade.waves(64), 0))

    def test_copies_that_wait_for_the_kernel_do_not_hold_up_its_records(self):
        self.assert_all(self.direct("copies", ["--memory", "1M"]))

    def test_copies_of_rectangles_keep_their_place_among_the_others(self):
        self.assert_all(self.direct("rows"))

    def test_copies_that_are_done_by_kernels_bring_records_too(self):
        result = self.direct("copies", ["--memory", "1M"], env={"HSA_ENABLE_SDMA": "0"})
        self.assert_all(result)

    def test_a_copy_engine_that_is_stuck_costs_records_but_not_the_application(self):
        # A copy of a rectangle waits for the kernel, and the kernel for the copies behind it.
        result = self.direct("rows", ["--memory", "1M"], env=fade.SOON)
        self.assertEqual((result.code, result.stdout), (0, "all batches are right\n"), result.stderr)
        self.assertEqual(len(result.said), 1, result.said)
        self.assertRegex(result.said[0], r"records of scale do not arrive .*FADE_TRANSPORT=host")
        self.assertEqual(result.summary()["incomplete"], 1)


if __name__ == "__main__":
    fade.main()
