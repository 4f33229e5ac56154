"""What kernels record by themselves, and what is known of a dispatch: arguments, allocations, instructions, where its waves ran."""
import json
import os

import fade
from fade import program

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "recorded.hip")


def line_of(mark):
    with open(SOURCE, encoding="utf-8") as lines:
        return next(number for number, line in enumerate(lines, 1) if "// " + mark in line)


class Tests(fade.Test):
    def run_it(self, *options, handlers=("UserRecords",)):
        result = self.probe(["-i", "-a", *handlers, *options], [program("recorded")])
        self.assertEqual((result.code, result.stdout), (0, "1792\n"), result.said)
        return result.objects()

    def of(self, objects, kind):
        return [one for one in objects if one["type"] == kind]

    def test_values_of_all_lanes_arrive(self):
        whole, real = self.of(self.run_it(), "user_records")
        self.assertEqual((whole["number"], whole["line"], whole["lanes"], whole["least"], whole["most"], whole["mean"]), (7, line_of("integer"), 256, -3, 4, 0.5))
        self.assertEqual([one["lanes"] for one in whole["frequent"]], [32] * 5)
        self.assertEqual((real["number"], real["line"], real["lanes"], real["least"], real["most"]), (9, line_of("float"), 128, 0, 127))

    def test_they_are_the_same_from_a_recording_and_through_device_memory(self):
        path = self.path("r.fade")
        live = self.of(self.run_it("--record", path), "user_records")
        self.bare([fade.PROBE, "analyze", path, "-a", "UserRecords", "-t", "json", "-l", self.path("again")])
        with open(self.path("again"), encoding="utf-8") as lines:
            again = [json.loads(line) for line in lines]
        self.assertEqual(self.of(again, "user_records"), live)
        self.assertEqual(self.of(self.run_it("--transport", "device"), "user_records"), live)
        runs = self.of(again, "run")
        self.assertEqual([gpu["software"] for gpu in runs[0]["gpus"]], [True])
        self.assertIn("recorded", runs[0]["command"])
        (dispatch,) = [one for one in self.of(again, "dispatch") if one["kernel"].startswith("recording")]
        self.assertGreater(dispatch["wave_instructions"], 0)
        self.assertEqual(len(dispatch["arguments"]), 4)

    def test_arguments_and_allocations_have_names(self):
        objects = self.run_it(handlers=("Heatmap",))
        (dispatch,) = [one for one in self.of(objects, "dispatch") if one["kernel"].startswith("recording")]
        types = [one.get("argument_type") for one in dispatch["arguments"]]
        self.assertEqual(types, ["int*", "int const*", "int", "float"])
        self.assertEqual(dispatch["arguments"][2]["value"], 256)
        self.assertEqual(dispatch["arguments"][3]["value"], 0x3f000000)
        self.assertTrue(dispatch["software"])
        (heat,) = self.of(objects, "heatmap")
        by_number = {one["number"]: one for one in heat["allocations"]}
        out, source = (by_number[dispatch["arguments"][i]["allocation"]] for i in (0, 1))
        self.assertEqual((out["size"], source["size"]), (2048, 1024))
        self.assertEqual(out["origin"], f"main (recorded.hip:{line_of('output')})")
        self.assertIn(f"(recorded.hip:{line_of('input')})", source["origin"])

    def test_executed_instructions_are_those_the_gpu_counts(self):
        stats = self.path("stats")
        result = self.probe([], [program("recorded")], env={"FADE_GPU_STATS": stats})
        self.assertEqual(result.code, 0, result.said)
        with open(stats, encoding="utf-8") as lines:
            counted = [(one["wave_instructions"], one["lane_instructions"]) for one in map(json.loads, lines) if "recording" in one["kernel"]]
        told = [(one["wave_instructions"], one["lane_instructions"]) for one in result.dispatches("recording")]
        self.assertEqual(told, counted)
        self.assertEqual(len(told), 1)

    def test_text_has_the_place_and_instructions_and_no_times(self):
        text = self.probe([], [program("recorded")], json_log=False).stderr
        self.assertIn("(software GPU); FADE ", text)
        self.assertIn("instructions executed, counted once per wave", text)
        self.assertNotRegex(text, r"\d (ns|us|ms)\b")

    def test_waves_have_places(self):
        (placement,) = self.of(self.run_it(handlers=("Placement",)), "placement")
        self.assertEqual(placement["waves"], 4 * fade.waves(64))
        self.assertEqual(sum(unit["waves"] for unit in placement["units"]), 4 * fade.waves(64))
        self.assertEqual(len(placement["units"]), 4)  # a workgroup for each


if __name__ == "__main__":
    fade.main()
