"""Every option of fadeprobe: what it does, and what a mistake in it looks like."""
import ctypes
import os
import re
import shutil

import fade
from fade import PROBE, program

MANY = program("many")
AGENTS = program("agents")


class Tests(fade.Test):
    # ---- without anything: durations

    def test_durations_of_all_dispatches_are_the_default(self):
        result = self.probe([], [MANY, 20, 2])
        self.assert_fine(result, "20 dispatches are right\n")
        steps = result.dispatches("step(unsigned int*, unsigned int)")
        self.assertEqual(len(steps), 20)
        self.assertEqual(len({x["queue"] for x in steps}), 2)
        self.assertEqual(len({x["dispatch_id"] for x in steps}), 20)
        for step in steps:
            self.assertLess(step["start_ns"], step["end_ns"])
            self.assertEqual(step["grid"], [128, 1, 1])
            self.assertEqual(step["workgroup"], [64, 1, 1])
            self.assertFalse(step["instrumented"])
        self.assertEqual(result.summary()["records"], 0)
        self.assertEqual(result.summary()["skipped"], [])

    def test_help_names_every_option(self):
        text = self.bare([PROBE, "--help"])
        self.assertEqual(text.code, 0)
        for option in ("-i", "--instrumented", "--no-instrumented", "-a", "--analyzers", "-k",
                       "--kernels", "-d", "--dispatches", "-c", "--cache-location", "-l",
                       "--log-location", "-t", "--log-format", "-e", "--env-dump", "-v",
                       "--verbose", "--workgroups", "--sample", "--record", "--gpu", "analyze",
                       "--seed", "--memory", "--lossy", "--workers", "--sample-executions",
                       "--log-append", "--transport", "--patience"):
            self.assertIn(option, text.stdout)

    # ---- -i

    def test_instrumented_kernels_run_and_are_counted(self):
        result = self.probe(["-i"], [MANY, 10])
        self.assert_fine(result, "10 dispatches are right\n")
        steps = result.dispatches("step(")
        self.assertEqual([x["instrumented"] for x in steps], [True] * 10)
        # two workgroups of 64: an announcement, a load and a store of each wave
        self.assertEqual([x["records"] for x in steps], [6 * fade.waves(64)] * 10)
        self.assertEqual(result.summary()["records"], 60 * fade.waves(64))

    def test_no_instrumented_takes_it_back(self):
        result = self.probe(["-i", "--no-instrumented"], [MANY, 3])
        self.assert_fine(result)
        self.assertEqual(result.summary()["instrumented"], 0)

    # ---- -a

    def test_several_analyzers_report_each(self):
        result = self.probe(["-i", "-a", "Heatmap", "MemoryAnalysis"], [MANY, 2])
        self.assert_fine(result)
        self.assertTrue(result.objects("heatmap"))
        memory = [x for x in result.objects("memory") if x["kernel"].startswith("step(")]
        self.assertTrue(memory)
        self.assertEqual({(x["op"], x["bytes"]) for x in memory[0]["global"]},
                         {("load", 4), ("store", 4)})

    def test_analyzers_that_will_see_nothing_are_told_so(self):
        for options, env in ((["--no-instrumented"], {}), ([], {"FADE_INSTRUMENTED": "false"})):
            result = self.probe(["-a", "Heatmap", *options], [MANY, 1], env=env)
            self.assertEqual(result.code, 0)
            self.assertEqual(len(result.said), 1, result.stderr)
            self.assertIn("without -i no kernel is instrumented", result.said[0])
        for options, env in (([], {}), (["-i"], {}), ([], {"FADE_INSTRUMENTED": "true"})):
            result = self.probe(["-a", "Heatmap", *options], [MANY, 1], env=env)
            self.assert_fine(result)
            self.assertEqual(result.summary()["instrumented"], 1)

    def test_analyzers_can_be_given_one_by_one_and_with_options(self):
        result = self.probe(["-i", "-a", "Heatmap:page=64K", "-a", "MessageLogger"], [MANY, 1])
        self.assert_fine(result)
        self.assertEqual({x["page_size"] for x in result.objects("heatmap")}, {65536})
        self.assertEqual(len(result.objects("access")), 4 * fade.waves(64))

    def test_an_analyzer_can_be_a_file(self):
        result = self.probe(["-i", "-a", os.path.join(fade.LIB, "libMemoryAnalysis.so")],
                            [MANY, 1])
        self.assert_fine(result)
        self.assertTrue(result.objects("memory"))

    def test_paths_of_analyzers_and_of_their_files_may_have_blanks(self):
        folder = self.path("my project, here")
        os.mkdir(folder)
        shutil.copy(os.path.join(fade.LIB, "libMemoryAnalysis.so"), folder)
        shutil.copy(os.path.join(fade.LIB, "libHeatmap.so"), folder)
        picture = os.path.join(self.dir, "a picture; of it.svg")
        quoted = "./libHeatmap.so:svg=" + picture.replace(";", "\\;")
        result = self.finish(self.start(["-i", "-a", "./libMemoryAnalysis.so", quoted], [MANY, 1], cwd=folder))
        self.assert_fine(result)
        self.assertTrue(result.objects("memory"))
        self.assertTrue(os.path.exists(picture))

    def library_of_mathematics(self):
        ctypes.CDLL("libm.so.6")
        with open("/proc/self/maps") as maps:
            return next(x.split()[-1] for x in maps if "libm.so.6" in x or "libm-2" in x)

    def test_a_wrong_analyzer_is_one_line_with_the_nearest_name(self):
        self.assert_mistake(["-a", "Heatmp"], "--analyzers: unknown analyzer 'Heatmp' .*'Heatmap'")
        self.assert_mistake(["-a", "./no/such.so"], "--analyzers: no such file: ./no/such.so")
        self.assert_mistake(["-a", "/bin/ls"], "--analyzers: .*/bin/ls: ")
        self.assert_mistake(["-a", "libm.so.6"], "--analyzers: unknown analyzer 'libm.so.6'")
        self.assert_mistake(["-a", self.library_of_mathematics()],
                            r"--analyzers: .*libm\S*: it is not a handler")

    def test_a_wrong_option_of_an_analyzer_is_named_before_the_application_starts(self):
        self.assert_mistake(["-i", "-a", "Heatmap:pgae=4K"], "--analyzers: .*Heatmap: .*'pgae'.*'page'")
        self.assert_mistake(["-a", "MemoryAnalysis:foo=1"], "MemoryAnalysis: unknown option 'foo'")
        self.assert_mistake(["-a", "Heatmap:page=3"], "page must be a power of two")
        self.assert_mistake([], "MemoryAnalysis: unknown option 'foo'",
                            env={"FADE_HANDLERS": "MemoryAnalysis:foo=1"})

    def test_the_check_of_analyzers_writes_nothing(self):
        log = self.path("there")
        with open(log, "w") as file:
            file.write("of an earlier run")
        self.assert_mistake(["-t", "csv", "-l", log, "-a", "MessageLogger", "MemoryAnalysis:foo=1"],
                            "unknown option 'foo'")
        with open(log) as file:
            self.assertEqual(file.read(), "of an earlier run")
        result = self.probe(["-t", "csv", "-l", log, "-i", "-a", "MessageLogger"], [MANY, 1],
                            json_log=False)
        self.assert_fine(result)
        with open(log) as file:
            self.assertEqual(file.read().count("workgroup_z,file"), 1)

    # ---- -k

    def test_kernels_choose_by_demangled_name(self):
        shapes = program("shapes")
        result = self.probe(["-i", "-k", r"^(nothing\(\)|forty)"], [shapes])
        self.assert_fine(result)
        chosen = {x["kernel"].split("(")[0] for x in result.objects("dispatch") if x["instrumented"]}
        self.assertEqual(chosen, {"nothing", "forty"})

    def test_expressions_that_could_be_matched_for_ever_are_not(self):
        for expression in ("(.*)*x(.*)*y(.*)*z", "(step|ste|st)+(p|ep)*$x", "^(([a-z])+.)+[A-Z]([a-z])+$"):
            result = self.probe(["-i", "-k", expression], [program("many"), 2], timeout=20)
            self.assertEqual((result.code, result.stdout), (0, "2 dispatches are right\n"))
            self.assertEqual(result.summary()["instrumented"], 0)

    def test_an_expression_that_matches_nothing_is_said_with_what_ran(self):
        result = self.probe(["-i", "-k", "nomatch"], [MANY, 2])
        self.assertEqual((result.code, result.stdout), (0, "2 dispatches are right\n"))
        line = ("--kernels 'nomatch' matches none of the kernels that ran: "
                "step(unsigned int*, unsigned int)")
        self.assertEqual(result.said, ["fade: " + line])
        self.assertEqual(result.summary()["hint"], line)
        # Without instrumentation and without a cache no kernel is chosen.
        for options in (["-k", "step"], ["-d", "1", "--no-instrumented"]):
            result = self.probe(options, [MANY, 2])
            self.assertEqual((result.code, result.stdout, len(result.dispatches("step"))), (0, "2 dispatches are right\n", 2))
            self.assertEqual(len(result.said), 1, result.stderr)
            self.assertRegex(result.said[0], "without -i no kernel is instrumented: --(kernels|dispatches) has no effect")
        self.assert_fine(self.probe(["-i", "-d", "1"], [MANY, 2]))

    def test_kernels_are_chosen_by_the_file_that_has_them(self):
        for chosen in ("/e2e_many", "!/librocblas", "!^$"):
            result = self.probe(["-i", "--library-filter", chosen], [MANY, 2])
            self.assert_fine(result)
            self.assertEqual(result.summary()["instrumented"], 2, chosen)
        result = self.probe(["-i", "--library-filter", "!e2e_many"], [MANY, 2])
        self.assertEqual((result.code, result.stdout, result.summary()["instrumented"]), (0, "2 dispatches are right\n", 0))
        self.assertEqual(result.said, ["fade: --library-filter '!e2e_many' chooses none of the kernels that ran: step(unsigned int*, unsigned int)"])
        # A module that the program loads from a file is of that file.
        for chosen, count in (("\\.hsaco$", True), ("!\\.hsaco$", False)):
            result = self.probe(["-i", "--library-filter", chosen], [program("scaling")], stdin=f"file {fade.code_object('scale1-twin')}\n")
            self.assertEqual(result.code, 0, result.stderr)
            self.assertEqual(result.summary()["instrumented"] > 0, count, chosen)
        self.assert_mistake(["-i", "--library-filter", "(["], "not a regular expression")
        self.assert_mistake(["-i", "--library-filter", "!"], "empty")

    def test_a_program_without_twins_is_told_how_to_get_them(self):
        result = self.probe(["-i", "--observe", "pass"], [program("plain"), 2])
        self.assertEqual((result.code, len(result.said)), (0, 1), result.stderr)
        self.assertRegex(result.said[0], "^fade: no kernel was instrumented: .*'fadeprobe cc'$")
        self.assertEqual(result.summary()["hint"], result.said[0][6:])
        self.assert_fine(self.probe([], [program("plain"), 2]))

    def test_a_program_that_cannot_use_the_gpu_is_said(self):
        for options in (["-i"], []):
            result = self.probe([*options, "--gpu", "gfx90a"], [program("nothing")], json_log=False)
            self.assertEqual((result.code, result.stdout, len(result.said)), (0, "nothing\n", 1), result.stderr)
            self.assertRegex(result.said[0], "e2e_nothing\\S* cannot use the GPU: .* nothing to report")
            result = self.probe([*options, "--gpu", "gfx90a"], ["sh", "-c", "echo nothing"], json_log=False)
            self.assert_fine(result, "nothing\n")

    def test_a_program_for_another_gpu_is_said_with_one_that_fits(self):
        foreign = program("foreign")
        line = f"{foreign} has code for gfx1030, gfx906, but none for the GPU it runs on \\(gfx90a\\): --gpu gfx1030 would fit"
        preloaded = {"LD_PRELOAD": os.path.join(fade.LIB, "libfadegpu.so")}
        if fade.GPU != "gfx90a":  # which is the one without a choice
            preloaded["FADE_GPU"] = "gfx90a"
        for options, env in ((["--gpu", "gfx90a"], {}), ([], {"FADE_GPU": "gfx90a"}), (["--gpu", "auto"], preloaded)):
            if "--gpu" not in options and os.path.exists("/dev/kfd"):
                continue
            result = self.probe(options, [foreign, 2], env=env)
            self.assertNotEqual(result.code, 0)
            self.assertEqual(len([x for x in result.said if re.search(line, x)]), 1, result.stderr)
        for options in (["--gpu", "gfx1030"], ["--gpu", "gfx90a,gfx1030"]):
            self.assertNotRegex(self.probe(options, [foreign, 2]).stderr, "has code for")
        self.assert_fine(self.probe(["--gpu", "gfx1030"], [foreign, 2]), "2 dispatches are right\n")
        self.assert_fine(self.probe(["--gpu", "gfx1030"], [MANY, 2]), "2 dispatches are right\n")

    def test_back_references_are_refused_before_the_application_starts(self):
        self.assert_mistake(["-i", "-k", r"(unsigned) int.*\1"], r"--kernels: .* is not a regular expression: it has the back-reference \\1, which is not supported")

    def test_a_wrong_expression_is_one_line(self):
        self.assert_mistake(["-k", "a(b"], r"--kernels: 'a\(b' is not a regular expression")

    # ---- -d

    def ordinals(self, choice, *more):
        result = self.probe(["-i", "-d", choice, *more], [MANY, 40])
        self.assert_fine(result, "40 dispatches are right\n")
        steps = sorted(result.dispatches("step("), key=lambda x: x["dispatch_id"])
        self.assertEqual(len(steps), 40)
        return [i + 1 for i, x in enumerate(steps) if x["instrumented"]]

    def test_dispatches_all(self):
        self.assertEqual(self.ordinals("all"), list(range(1, 41)))

    def test_dispatches_one_and_the_seventh(self):
        self.assertEqual(self.ordinals("1"), [1])
        self.assertEqual(self.ordinals("7"), [7])

    def test_dispatches_a_range(self):
        self.assertEqual(self.ordinals("5-8"), [5, 6, 7, 8])
        self.assertEqual(self.ordinals("39-1000"), [39, 40])

    def test_dispatches_random_depend_on_the_seed_only(self):
        first = self.ordinals("random:4", "--seed", "3")
        self.assertTrue(0 < len(first) < 40)
        self.assertEqual(self.ordinals("random:4", "--seed", "3"), first)
        self.assertNotEqual(self.ordinals("random:4", "--seed", "4"), first)
        self.assertTrue(len(self.ordinals("random")) < 20)

    def test_wrong_dispatches_are_one_line(self):
        self.assert_mistake(["-d", "al"], "--dispatches: 'al' .*'all'")
        self.assert_mistake(["-d", "randon"], "--dispatches: 'randon' .*'random'")
        self.assert_mistake(["-d", "0"], "--dispatches: '0'")
        self.assert_mistake(["-d", "8-5"], "--dispatches: '8-5' ends before it begins")
        self.assert_mistake(["-d", "-3"], "--dispatches")
        self.assert_mistake(["--seed", "x"], "--seed: 'x' is not a number")

    # ---- -l and -t

    def test_log_names_have_process_host_and_rank(self):
        result = self.probe(["-t", "json", "-l", self.path("r%r-h%h-p%p-%%")], [MANY, 1],
                            env={"OMPI_COMM_WORLD_RANK": "5"}, json_log=False)
        self.assert_fine(result)
        names = os.listdir(self.dir)
        self.assertEqual(len(names), 1)
        host = re.escape(os.uname().nodename)
        self.assertRegex(names[0], rf"^r5-h{host}-p\d+-%$")

    def test_console_is_stderr(self):
        result = self.probe(["-l", "console"], [MANY, 1], json_log=False)
        self.assertEqual(result.stdout, "1 dispatches are right\n")
        self.assertRegex(result.stderr, r"(?m)^\d+ dispatches, 0 instrumented")

    def test_dev_null_is_silence(self):
        result = self.probe(["-l", "/dev/null"], [MANY, 1], json_log=False)
        self.assert_fine(result, "1 dispatches are right\n")

    def test_text_and_csv(self):
        result = self.probe(["-l", self.log], [MANY, 3], json_log=False)
        self.assert_fine(result)
        self.assertRegex(result.text(), r"(?m)^ +3 .* original +step\(unsigned int\*, unsigned int\)$")
        result = self.probe(["-t", "csv", "-l", self.log], [MANY, 3], json_log=False)
        self.assert_fine(result)
        lines = result.text().splitlines()
        self.assertEqual(lines[0].split(",")[:4], ["type", "version", "fade", "runtime"])
        self.assertRegex(lines[1], r"^run,1,[\d.]+,.*,gfx\w+,[^,]*,true$")
        self.assertEqual(lines[2].split(",")[:4], ["type", "version", "kernel", "dispatch_id"])
        self.assertEqual(sum(x.startswith("dispatch,1,\"step(unsigned int*, unsigned int)\"")
                             for x in lines), 3)

    def test_wrong_formats_are_one_line(self):
        self.assert_mistake(["-t", "jsn"], "--log-format: 'jsn' .*'json'")
        self.assert_mistake(["-l", ""], "--log-location")

    def test_the_log_is_new_in_every_run_and_grows_with_log_append(self):
        for _ in range(2):
            result = self.probe([], [MANY, 1])
            self.assertEqual(len(result.objects("summary")), 1)
        result = self.probe(["--log-append"], [MANY, 1])
        self.assertEqual(len(result.objects("summary")), 2)

    # ---- -e

    def test_env_dump_prints_what_would_be_set_and_runs_nothing(self):
        marker = self.path("ran")
        result = self.bare([PROBE, "-e", "-i", "-a", "Heatmap:page=1M", "BlockCounts", "-k", "x y",
                            "-d", "2-3", "--sample", "4", "--gpu", "gfx90a", "--lossy", "--",
                            "touch", marker])
        self.assertEqual((result.code, result.stderr), (0, ""))
        values = dict(line.split("=", 1) for line in result.stdout.splitlines())
        self.assertEqual(values["FADE_INSTRUMENTED"], "true")
        self.assertEqual(values["FADE_HANDLERS"], "Heatmap:page=1M;BlockCounts")
        self.assertEqual(values["FADE_KERNELS"], "x y")
        self.assertEqual(values["FADE_DISPATCHES"], "2-3")
        self.assertEqual(values["FADE_SAMPLE"], "4")
        self.assertEqual(values["FADE_LOSSY"], "true")
        self.assertEqual(values["FADE_GPU"], "gfx90a")
        self.assertTrue(os.path.isfile(values["HSA_TOOLS_LIB"]))
        self.assertEqual(values["HSA_TOOLS_ROCPROFILER_V1_TOOLS"], "1")
        self.assertEqual(values["HSA_TOOLS_DISABLE_REGISTER"], "1")
        self.assertTrue(os.path.isfile(values["LD_PRELOAD"]))
        self.assertFalse(os.path.exists(marker))

    def test_other_tools_are_kept_if_that_is_wanted(self):
        for options, env in ((["--other-tools", "keep"], {}), ([], {"FADE_OTHER_TOOLS": "keep"})):
            result = self.bare([PROBE, "-e", *options], env)
            values = dict(line.split("=", 1) for line in result.stdout.splitlines())
            self.assertEqual(values["HSA_TOOLS_ROCPROFILER_V1_TOOLS"], "1")
            self.assertNotIn("HSA_TOOLS_DISABLE_REGISTER", values)
        result = self.bare([PROBE, "-e", "--other-tools", "both"])
        self.assertEqual((result.code, result.stderr), (2, "fadeprobe: --other-tools: 'both' is neither off nor keep\n"))
        self.assert_fine(self.probe(["-i", "--other-tools", "keep"], [MANY, 3]), "3 dispatches are right\n")

    def test_a_runtime_that_did_not_load_fade_is_named_with_the_reason(self):
        result = self.probe([], ["env", "HSA_TOOLS_LIB=", MANY, 2])
        self.assertEqual((result.code, result.stdout), (0, "2 dispatches are right\n"))
        self.assertEqual(result.said, [f"fade: {os.path.basename(MANY)}: the HSA runtime started without loading FADE, so nothing was seen: "
                                       "HSA_TOOLS_LIB was changed by the application or what starts it (it is not set)"])
        # Nobody says anything of processes that did not use the GPU, or whose errors go elsewhere by now.
        self.assertEqual(self.probe([], ["env", "HSA_TOOLS_LIB=", "true"]).said, [])
        self.assertEqual(self.probe([], ["sh", "-c", "HSA_TOOLS_LIB= \"$0\" 2 2>&-", MANY]).said, [])

    def test_what_env_dump_prints_does_the_same(self):
        dump = self.bare([PROBE, "-e", "-i", "-d", "2", "-t", "json", "-l", self.log])
        env = dict(line.split("=", 1) for line in dump.stdout.splitlines())
        result = self.bare([MANY, 5], env)
        self.assert_fine(result, "5 dispatches are right\n")
        self.assertEqual(result.summary()["instrumented"], 1)

    # ---- -v

    def test_verbose_says_what_was_seen_swapped_and_why_not(self):
        result = self.probe(["-v", "-i", "-k", "step"], [MANY, 2])
        self.assertEqual((result.code, result.stdout), (0, "2 dispatches are right\n"))
        said = "\n".join(result.said)
        self.assertRegex(said, rf"queue 0 on agent 1 \({fade.GPU}\)")
        self.assertRegex(said, r"kernel step\(unsigned int\*, unsigned int\) at 0x")
        self.assertRegex(said, r"step\(unsigned int\*, unsigned int\): runs as instrumented")
        self.assertRegex(said, r"kernel __amd_rocclr_\w+ at 0x[0-9a-f]+, not chosen")
        result = self.probe(["-v", "-i", "--observe", "pass"], [program("plain"), 2])
        self.assertRegex("\n".join(result.said), r"step\(.*: the original runs: .*no instrumented twin")

    # ---- device-side filters

    def accesses(self, *options):
        result = self.probe(["-i", "-a", "MessageLogger", *options], [program("grid")])
        self.assert_fine(result)
        return [x for x in result.objects("access") if x["op"] == "store"]

    def test_workgroups_choose_on_the_device(self):
        every = self.accesses()
        self.assertEqual(len(every), 4 * 3 * 2 * fade.waves(64))
        some = self.accesses("--workgroups", "x=1-2,y=2")
        self.assertEqual({tuple(x["workgroup"]) for x in some},
                         {(x, 2, z) for x in (1, 2) for z in (0, 1)})

    def test_sample_takes_one_workgroup_in_n(self):
        some = self.accesses("--sample", "4")
        self.assertEqual(len({tuple(x["workgroup"]) for x in some}), 6)

    def test_what_was_sampled_is_said_in_every_format(self):
        said = "Accesses and blocks cover 6 of 24 workgroups (one in 4); their counts are not scaled"
        grid = [program("grid")]
        sample = ["-i", "--sample", "4"]
        result = self.probe(sample, grid)
        self.assert_fine(result)
        summary = result.summary()
        self.assertEqual(summary["notes"], [said])
        self.assertEqual([summary[x] for x in ("workgroups", "workgroups_recorded", "sample")], [24, 6, 4])
        marked = result.dispatches("mark(")[0]
        self.assertEqual((marked["workgroups"], marked["workgroups_recorded"]), (24, 6))
        result = self.probe([*sample, "-l", self.log], grid, json_log=False)
        self.assertIn(said, result.text().splitlines())
        result = self.probe([*sample, "-t", "csv", "-l", self.log], grid, json_log=False)
        rows = [x.split(",") for x in result.text().splitlines()]
        head, row = rows[-2], rows[-1]
        self.assertEqual([row[head.index(x)] for x in ("type", "workgroups", "workgroups_recorded", "sample")],
                         ["summary", "24", "6", "4"])

    def test_nothing_is_said_of_samples_where_all_is_recorded(self):
        result = self.probe(["-i"], [program("grid")])
        self.assertEqual(result.summary()["notes"], [])
        self.assertEqual(result.summary()["workgroups_recorded"], 24)
        result = self.probe(["--sample", "4"], [program("grid")])  # durations only: nothing is recorded
        self.assertEqual(result.summary()["notes"], [])

    def test_a_recording_knows_what_was_sampled(self):
        trace = self.path("trace")
        self.assert_fine(self.probe(["-i", "--sample", "4", "--record", trace], [program("grid")]))
        again = self.bare([PROBE, "analyze", trace])
        self.assertIn("cover 6 of 24 workgroups", again.stderr)

    def test_executions_that_were_not_recorded_are_counted_all_the_same(self):
        everything = self.probe(["-i", "-a", "MemoryAnalysis"], [program("grid")]).objects("memory")
        result = self.probe(["-i", "-a", "MemoryAnalysis", "--sample-executions", "4"], [program("grid")])
        self.assertEqual(len(result.summary()["notes"]), 1)
        self.assertIn("one execution in 4", result.summary()["notes"][0])
        for full, some in zip(everything, result.objects("memory"), strict=True):
            for a, b in zip(full["global"], some["global"], strict=True):
                self.assertNotIn("all_executions", a)
                self.assertEqual(b["all_executions"], a["executions"])
                self.assertLess(b["executions"], a["executions"])

    def test_sample_executions_takes_one_in_n(self):
        some = self.accesses("--sample-executions", "4")
        self.assertTrue(0 < len(some) <= 6 * fade.waves(64), len(some))

    def test_wrong_filters_are_one_line(self):
        self.assert_mistake(["--workgroups", "q=1"], "--workgroups: 'q=1' is not of the form")
        self.assert_mistake(["--workgroups", "x=5-2"], "--workgroups: 'x=5-2' ends before")
        self.assert_mistake(["--sample", "0"], "--sample: '0'")
        self.assert_mistake(["--sample-executions", "-1"], "--sample-executions")

    # ---- --memory, --lossy, --workers

    def test_little_memory_is_enough(self):
        result = self.probe(["-i", "--memory", "1M"], [program("streaming"), 5])
        self.assert_fine(result)
        self.assertEqual(result.summary()["dropped"], 0)
        self.assertGreater(result.summary()["bytes"], 4_900_000)

    def test_lossy_mode_counts_what_it_drops(self):
        everything = self.probe(["-i"], [program("streaming"), 8]).summary()
        lossy = self.probe(["-i", "--lossy", "--memory", "1M"], [program("streaming"), 8])
        self.assertEqual(lossy.code, 0)
        summary = lossy.summary()
        self.assertEqual(summary["records"] + summary["dropped"], everything["records"])

    def test_any_number_of_workers_gives_the_same_numbers(self):
        memory = []
        for workers in ("1", "3"):
            result = self.probe(["-i", "-a", "MemoryAnalysis", "--workers", workers],
                                [program("streaming"), 3])
            self.assert_fine(result)
            memory.append([(x["line"], x["executions"], x["lanes"], x["lines_used"])
                           for x in result.objects("memory")[-1]["global"]])
        self.assertEqual(memory[0], memory[1])

    def test_wrong_sizes_are_one_line(self):
        self.assert_mistake(["--memory", "lots"], "--memory: 'lots' is not a size")
        self.assert_mistake(["--memory", "1K"], "--memory: '1K' is less than 1M")
        self.assert_mistake(["--workers", "0"], "--workers: '0'")
        self.assert_mistake(["--workers", "1000"], "--workers: '1000' is more than 64")
        self.assert_mistake(["--patience", "0"], "--patience: '0' is not a number from 0.01 to 1000")
        self.assert_mistake(["--patience", "2x"], "--patience: '2x' is not a number from 0.01 to 1000")

    # ---- --gpu

    def test_gpu_by_name(self):
        result = self.probe(["--gpu", "gfx1030", "-i", "-a", "MemoryAnalysis"], [AGENTS])
        self.assert_fine(result, "1 devices are right\n")
        self.assertEqual(fade.without_runtime(result.stderr), "")
        self.assertTrue(result.objects("memory"))

    def test_gpu_auto_says_in_one_line_that_it_is_not_a_real_one(self):
        if os.path.exists("/dev/kfd"):
            self.skipTest("there is a GPU here")
        result = self.probe(["--gpu", "auto"], [AGENTS])
        said = fade.without_runtime(result.stderr)
        self.assertEqual(len(said.splitlines()), 1)
        self.assertRegex(said, f"no AMD GPU found.*software GPU.*{fade.GPU}")

    def test_gpu_real_preloads_nothing(self):
        dump = self.bare([PROBE, "--gpu", "real", "-e"])
        self.assertEqual(dump.code, 0)
        self.assertNotIn("LD_PRELOAD", dump.stdout)

    def test_gpu_real_refuses_where_there_is_none(self):
        if os.path.exists("/dev/kfd"):
            self.skipTest("there is a GPU here")
        self.assert_mistake(["--gpu", "real"], "--gpu real: no AMD GPU found")
        self.assert_mistake(["--gpu", "real"], "--gpu real: LD_PRELOAD contains the software GPU",
                            env={"LD_PRELOAD": os.path.join(fade.LIB, "libfadegpu.so")})

    def test_wrong_gpus_are_one_line(self):
        self.assert_mistake(["--gpu", "reel"], "--gpu: 'reel' .*'real'")
        self.assert_mistake(["--gpu", "gfx"], "--gpu: 'gfx'")
        self.assert_mistake(["--gpu", "gfx90a,voodoo"], "--gpu: 'voodoo'")
        self.assert_mistake(["--gpu", "gfx90a,"], "--gpu: ''")
        self.assert_mistake(["--gpu", ""], "--gpu: ''")

    def test_gpus_that_cannot_be_emulated_are_refused_with_those_that_can(self):
        self.assert_mistake(["--gpu", "gfx999"], r"--gpu: 'gfx999' is not a GPU that can be emulated \(gfx908, gfx90a, gfx942, gfx950, .*gfx1201, or a list such as gfx90a,gfx90a\)")
        if not os.path.exists("/dev/kfd"):
            self.assert_mistake([], "FADE_GPU: 'gfx999' .*gfx1030", env={"FADE_GPU": "gfx999"})

    # ---- --record

    def test_a_recording_without_a_place_is_refused(self):
        self.assert_mistake(["--record", "/no/such/place/x"], "--record: cannot write /no/such/place/x: No")
        self.assert_mistake(["--record", self.dir], "--record: cannot write .*: Is a directory")
        self.assert_mistake(["--record", "-"], "--record: this cannot be written to stdout")
        self.assert_mistake([], "--record: cannot write /no/such/x", env={"FADE_RECORD": "/no/such/x"})

    def test_a_recording_that_may_not_be_written_is_refused(self):
        if os.getuid() == 0:  # to whom permissions do not apply: a file system that is read-only
            self.assert_mistake(["--record", "/proc/self/x"], "--record: cannot write /proc/self/x")
            return
        os.chmod(self.dir, 0o500)
        self.addCleanup(os.chmod, self.dir, 0o700)
        result = self.bare([PROBE, "--record", self.path("x"), "--", "echo", "ran"])
        self.assertEqual((result.code, result.stdout), (2, ""))
        self.assertRegex(result.stderr, "--record: cannot write .*: Permission denied")

    def test_a_refused_run_leaves_no_recording_and_takes_none_away(self):
        old, new = self.path("old"), self.path("new")
        with open(old, "w") as file:
            file.write("a recording")
        for path in (old, new):
            self.assert_mistake(["--record", path, "-a", "MemoryAnalysis:foo=1"], "foo")
        self.assertFalse(os.path.exists(new))
        with open(old) as file:
            self.assertEqual(file.read(), "a recording")

    # ---- -c

    def test_a_cache_that_is_not_there_is_one_line(self):
        self.assert_mistake(["-c", "/no/such/place"], "--cache-location: no such directory")

    # ---- the command line itself

    def test_unknown_options_are_one_line_with_the_nearest(self):
        self.assert_mistake(["--kernel", "x"], "--kernel.*'--kernels'")
        self.assert_mistake(["--analizers", "Heatmap"], "--analizers.*'--analyzers'")
        self.assert_mistake(["-q"], "-q")
        self.assert_mistake(["-k"], "kernels")

    def test_options_and_variables_of_omniprobe_are_honoured_or_named(self):
        self.assert_mistake(["--filter-x", "0:2"], "--filter-x is an option of omniprobe: use --workgroups x=A-B")
        self.assert_mistake(["--instrumentation-scope", "a.hip:3"], "--instrumentation-scope is an option of omniprobe: use fadeprobe cc")
        self.assert_mistake(["-i", "-a", "BasicBlockAnalysis"], "--analyzers: 'BasicBlockAnalysis' is an analyzer of omniprobe: FADE's is BlockCounts")
        result = self.probe(["-i", "--no-env-dump", "--no-verbose"], [MANY, 3])
        self.assert_fine(result, "3 dispatches are right\n")
        self.assertEqual(result.summary()["instrumented"], 3)
        result = self.probe([], [MANY, 3], env={"LOGDUR_INSTRUMENTED": "True", "LOGDUR_DISPATCHES": "1"})
        self.assert_fine(result, "3 dispatches are right\n")
        self.assertEqual(result.summary()["instrumented"], 1)
        result = self.probe([], [MANY, 3], env={"LOGDUR_INSTRUMENTED": "1", "LOGDUR_KERNEL_CACHE": "/no/such"})
        self.assertIn("kernel cache: /no/such: No such file or directory\n", result.stderr)
        result = self.probe([], [MANY, 3], env={"LOGDUR_HANDLERS": "libLogMessages64.so"})
        self.assertEqual([x for x in result.said if "FADE_HANDLERS=" in x], result.said)
        self.assertEqual(len(result.said), 1)

    def test_usage_says_where_the_application_stands(self):
        for command, usage in (("trace", "fadeprobe trace [options] -- application [arguments]"), ("cc", "fadeprobe cc [options] -- compiler arguments"),
                               ("diff", "fadeprobe diff [options] [FILE...] [-- application A [arguments] -- application B [arguments]]"),
                               ("replay", "fadeprobe replay [options] DIR"), ("captures", "fadeprobe captures [options] DIR..."), ("mcp", "fadeprobe mcp [options]")):
            text = self.bare([PROBE, command, "--help"]).stdout
            self.assertIn(f"usage: {usage}\n", text)
            self.assertNotIn("{", text)
            self.assertNotIn("(0x)", text)
        self.assertNotIn("{", self.bare([PROBE, "--help"]).stdout)

    def test_flags_for_a_handler_find_its_header(self):
        flags = self.bare([PROBE, "flags", "--handler"]).stdout.split()
        self.assertLessEqual({"-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden"}, set(flags))
        self.assertTrue([x for x in flags if x.startswith("-I") and os.path.exists(os.path.join(x[2:], "fade", "handler.h"))], flags)

    def test_help_of_control_says_where_what_was_recorded_is(self):
        text = " ".join(self.bare([PROBE, "control", "--help"]).stdout.split())
        for part in ("usage: fadeprobe control", "start|stop|flush|status", "PID",
                     "under fadeprobe trace -o OUTPUT, to OUTPUT.PID.events"):
            self.assertIn(part, text)

    def test_a_forgotten_double_dash_is_named(self):
        compiler = self.path("hipcc")
        os.symlink(PROBE, compiler)  # any program does
        for words, meant in (([MANY], f"fadeprobe -- {MANY}"), (["-i", MANY, "7"], f"fadeprobe -i -- {MANY} 7"),
                             (["cc", compiler, "-O2", "a.hip", "-o", "a"], f"fadeprobe cc -- {compiler} -O2 a.hip ...")):
            result = self.bare([PROBE, *words])
            self.assertEqual((result.code, result.stdout), (2, ""))
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(f"(did you mean '{meant}'?)", result.stderr)

    def test_the_folder_of_fade_may_have_blanks_and_colons(self):
        moved, own = self.path("my fade: new"), self.path("runtime")
        os.makedirs(os.path.join(moved, "bin"))
        os.makedirs(own)
        shutil.copy(PROBE, os.path.join(moved, "bin"))
        os.symlink(os.path.realpath(fade.LIB), os.path.join(moved, "lib"))
        probe = os.path.join(moved, "bin/fadeprobe")
        for _ in range(2):  # the link is made, and used again
            result = self.bare([probe, "-i", "-a", "MemoryAnalysis", "--", fade.example("vadd")], env={"XDG_RUNTIME_DIR": own})
            self.assertEqual((result.code, result.stdout), (0, "4096 sums are right\n"), result.stderr)
            self.assertIn("1 instrumented", result.stderr)
            self.assertEqual(len(os.listdir(os.path.join(own, f"fade-{os.getuid()}"))), 1)

    def test_a_system_without_proc_is_named_as_the_cause(self):
        hidden = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if self.bare([*hidden, "true"]).code != 0:
            self.skipTest("/proc cannot be hidden here")
        for words in (["--", "true"], ["doctor"], ["cc", "--", "clang"]):
            result = self.bare([*hidden, PROBE, *words])
            self.assertIn("/proc is not mounted", result.stderr)
            self.assertNotEqual(result.code, 0)

    def test_an_application_is_needed(self):
        result = self.bare([PROBE, "-i"])
        self.assertEqual(result.code, 2)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertIn("no application", result.stderr)

    def test_an_application_that_is_not_there_ends_as_in_a_shell(self):
        result = self.bare([PROBE, "--gpu", "gfx90a", "--", "/no/such/program"])
        self.assertEqual(result.code, 127)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        result = self.bare([PROBE, "--gpu", "gfx90a", "--", "/etc"])
        self.assertEqual(result.code, 126)

    def test_the_applications_arguments_are_its_own(self):
        result = self.bare([PROBE, "--gpu", "gfx90a", "--", "printf", "%s|", "-i", "--help", "--",
                            "a b", ""])
        self.assertEqual((result.code, result.stdout), (0, "-i|--help|--|a b||"))


if __name__ == "__main__":
    fade.main()
