"""Memory as on a card: what FADE and HIP leave in caches is old where somebody else looks."""
import json
import fade
from fade import code_object, program

CARD = {"FADE_GPU_CACHES": "card"}


class Tests(fade.Test):
    def scopes(self, env):
        result = self.software_gpu([program("direct"), "scopes", code_object("scale1-twin")], env)
        self.assertEqual((result.code, result.said), (0, []))
        return result.stdout.splitlines()[:2]

    def test_a_packet_without_a_release_leaves_old_data(self):
        if fade.GPU != "gfx90a":
            self.skipTest("from gfx10 on the runtime writes back before each copy")
        self.assertEqual(self.scopes(CARD), ["without a release: 1", "with one: 3"])
        self.assertEqual(self.scopes({"FADE_GPU_CACHES": "off"}), ["without a release: 3", "with one: 3"])

    def test_a_value_of_the_mode_that_is_not_known_is_named(self):
        result = self.software_gpu([program("direct"), "memory", code_object("scale1-twin")], {"FADE_GPU_CACHES": "cards"})
        self.assertEqual(result.code, 0)
        self.assertIn("FADE_GPU_CACHES: 'cards' is not known", result.stderr)
        self.assertEqual(len(result.said), 1)

    def test_no_record_in_host_memory_writes_back_l2(self):
        for transport, is_none in (("host", True), ("device", False)):
            stats = self.path("stats-" + transport)
            result = self.probe(["-i", "-a", "MemoryAnalysis", "--stream", "--transport", transport], [program("shapes")], env=dict(CARD, FADE_GPU_STATS=stats))
            self.assertEqual(result.code, 0, result.stderr)
            records = sum(x["records"] for x in result.objects("dispatch") if x["instrumented"] and "speaks" not in x["kernel"])
            self.assertGreater(records, 15)
            with open(stats) as f:
                dispatches = [json.loads(x) for x in f]
            # What prints has fences of its own.
            write_backs = sum(x["l2_write_backs"] for x in dispatches if x["kernel"].startswith("__fade_") and "speaks" not in x["kernel"])
            if is_none:
                self.assertEqual(write_backs, 0)
            elif fade.GPU.startswith("gfx9") and fade.GPU != "gfx908":  # which has no such instruction
                self.assertGreaterEqual(write_backs, records)


if __name__ == "__main__":
    fade.main()
