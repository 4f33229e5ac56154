"""FADE without fadeprobe: variables alone, and mistakes in them."""
import os

import fade
from fade import LIB, program

MANY = program("many")


class Tests(fade.Test):
    def run_with(self, variables, command=(MANY, 4), env=None):
        base = {"HSA_TOOLS_LIB": os.path.join(LIB, "libfade.so"), "FADE_LOG_FORMAT": "json",
                "FADE_LOG_LOCATION": self.log}
        base.update(env or {})
        return self.software_gpu(command, {**base, **variables})

    def test_the_tools_library_alone_is_enough(self):
        path = os.pathsep.join(filter(None, (LIB, os.environ.get("LD_LIBRARY_PATH"))))
        result = self.software_gpu([MANY, 4], {
            "HSA_TOOLS_LIB": "libfade.so", "LD_LIBRARY_PATH": path, "FADE_INSTRUMENTED": "true",
            "FADE_HANDLERS": "libHeatmap.so"})
        self.assertEqual((result.code, result.stdout), (0, "4 dispatches are right\n"))
        self.assertRegex(result.stderr, "(?i)heatmap")
        self.assertRegex(result.stderr, r"\d+ dispatches, 4 instrumented")

    def test_nothing_set_gives_durations(self):
        result = self.run_with({})
        self.assert_fine(result, "4 dispatches are right\n")
        self.assertEqual(result.summary()["instrumented"], 0)

    def test_every_variable_does_what_its_option_does(self):
        result = self.run_with({
            "FADE_INSTRUMENTED": "1", "FADE_HANDLERS": "MessageLogger,Heatmap:page=1M",
            "FADE_KERNELS": "step", "FADE_DISPATCHES": "2-3", "FADE_SEED": "7",
            "FADE_WORKGROUPS": "x=1", "FADE_SAMPLE": "1", "FADE_SAMPLE_EXECUTIONS": "1",
            "FADE_MEMORY": "8M", "FADE_LOSSY": "no", "FADE_TRANSPORT": "device",
            "FADE_WORKERS": "2", "FADE_VERBOSE": "off", "FADE_RECORD": self.path("trace"), "FADE_LOG_APPEND": "false",
            "FADE_KERNEL_CACHE": self.dir})
        self.assert_fine(result, "4 dispatches are right\n")
        self.assertEqual(result.summary()["instrumented"], 2)
        self.assertEqual({tuple(x["workgroup"]) for x in result.objects("access")}, {(1, 0, 0)})
        self.assertEqual({x["page_size"] for x in result.objects("heatmap")}, {1 << 20})
        self.assertGreater(os.path.getsize(self.path("trace")), 100)

    def test_relative_names_are_those_of_the_directory_it_started_in(self):
        # The application goes elsewhere and closes all files: the log has to be opened again.
        os.mkdir(self.path("there"))
        env = {"HSA_TOOLS_LIB": os.path.join(LIB, "libfade.so"), "FADE_LOG_FORMAT": "json",
               "LD_PRELOAD": os.path.join(LIB, "libfadegpu.so"), "FADE_LOG_LOCATION": "log"}
        result = self.bare([program("endings"), "close", self.path("mine"), self.path("there")], env, cwd=self.dir)
        self.assertEqual(result.code, 4, result.stderr)
        self.assertEqual(os.listdir(self.path("there")), [])
        self.assertEqual(len(result.dispatches("touch(")), 3)

    def test_log_append_keeps_what_was_there(self):
        self.run_with({})
        result = self.run_with({"FADE_LOG_APPEND": "true"})
        self.assertEqual(len(result.objects("summary")), 2)
        result = self.run_with({})
        self.assertEqual(len(result.objects("summary")), 1)

    def test_a_wrong_value_is_one_line_and_the_default_holds(self):
        for name, value, expected in (
                ("FADE_INSTRUMENTED", "maybe", "neither true nor false"),
                ("FADE_HANDLERS", "Heatmop", "'Heatmap'"),
                ("FADE_KERNELS", "(", "not a regular expression"),
                ("FADE_DISPATCHES", "sometimes", "none of all, random"),
                ("FADE_SEED", "-", "not a number"),
                ("FADE_LOG_FORMAT", "xml", "none of text, json and csv"),
                ("FADE_WORKGROUPS", "1", "not of the form"),
                ("FADE_SAMPLE", "none", "not a number"),
                ("FADE_MEMORY", "much", "not a size"),
                ("FADE_LOSSY", "x", "neither true nor false"),
                ("FADE_TRANSPORT", "gpu", "neither host nor device"),
                ("FADE_ALLOC", "corse", "'coarse'"),
                ("FADE_EXPLAIN", "x", "neither true nor false"),
                ("FADE_WORKERS", "99", "more than 64"),
                ("FADE_PATIENCE", "nan", "not a number from 0.01"),
                ("FADE_VERBOSE", "loud", "neither true nor false"),
                ("FADE_LOG_LOCATION", "", "empty"),
                ("FADE_INSTRUMENTEDD", "true", "'FADE_INSTRUMENTED'")):
            with self.subTest(name):
                result = self.run_with({name: value})
                self.assertEqual((result.code, result.stdout), (0, "4 dispatches are right\n"))
                complaints = [x for x in result.said if name in x]
                self.assertEqual(len(complaints), 1, result.stderr)
                self.assertIn(expected, complaints[0])

    def test_a_handler_that_is_not_there_is_one_line_and_the_rest_works(self):
        result = self.run_with({"FADE_INSTRUMENTED": "true",
                                "FADE_HANDLERS": "/no/such/libX.so;MemoryAnalysis"})
        self.assertEqual(result.code, 0)
        self.assertEqual(len(result.said), 1, result.stderr)
        self.assertIn("no such file: /no/such/libX.so", result.said[0])
        self.assertTrue(result.objects("memory"))

    def test_a_cache_that_is_not_there_is_one_line_and_harms_nobody(self):
        result = self.run_with({"FADE_KERNEL_CACHE": "/no/such/cache"})
        self.assertEqual((result.code, result.stdout, result.said),
                         (0, "4 dispatches are right\n", ["fade: kernel cache: /no/such/cache: No such file or directory"]))

    def test_another_tools_library_that_cannot_be_loaded_harms_nobody(self):
        result = self.run_with({"HSA_TOOLS_LIB": os.path.join(LIB, "libfade.so") + " /no/such.so"})
        self.assertEqual((result.code, result.stdout), (0, "4 dispatches are right\n"))
        self.assertEqual(result.summary()["instrumented"], 0)


if __name__ == "__main__":
    fade.main()
