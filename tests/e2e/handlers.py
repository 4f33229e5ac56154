"""Handlers that cannot be used, and handlers that fail: they are named, and nothing else suffers."""
import os

import fade
from fade import handler, program


class Tests(fade.Test):
    def with_handler(self, bad, said, more=("MemoryAnalysis",)):
        """The application, its exit code and the other analyzers are as if it were not there."""
        self.as_if_it_were_not_there(
            self.probe(["-i", "-a", handler(bad), *more], [program("many"), 3]), said)

    def as_if_it_were_not_there(self, result, said):
        self.assertEqual((result.code, result.stdout), (0, "3 dispatches are right\n"), result.stderr)
        self.assertEqual(len(result.said), 1, result.stderr)
        self.assertRegex(result.said[0], said)
        self.assertEqual(result.summary()["instrumented"], 3)
        memory = [x for x in result.objects("memory") if x["kernel"].startswith("step(")]
        self.assertEqual(len(memory), 3)

    def refused(self, path, said):
        """fadeprobe does not start the application; without fadeprobe it runs, and the others with it."""
        self.assert_mistake(["-i", "-a", path, "MemoryAnalysis"], "--analyzers: .*" + said)
        env = {"FADE_HANDLERS": path + ";MemoryAnalysis", "FADE_INSTRUMENTED": "true",
               "FADE_LOG_FORMAT": "json", "FADE_LOG_LOCATION": self.log,
               "HSA_TOOLS_LIB": os.path.join(fade.LIB, "libfade.so")}
        result = self.software_gpu([program("many"), 3], env)
        self.as_if_it_were_not_there(result, said)

    def test_a_newer_abi_is_refused(self):
        self.refused(handler("NEWER"), "libNEWER.so: it was built for handler ABI 2, but this FADE has 1: rebuild it")

    def test_an_older_abi_is_refused(self):
        self.refused(handler("OLDER"), "libOLDER.so: it was built for handler ABI 0, but this FADE has 1: rebuild it")

    def test_other_records_are_refused(self):
        self.refused(handler("RECORDS"), "it reads records of version 3, but this FADE writes 2: rebuild it")

    def test_a_short_interface_is_refused(self):
        self.refused(handler("SHORT"), "its interface has .* bytes instead of")

    def test_a_handler_built_with_the_first_headers_of_this_abi_runs(self):
        result = self.probe(["-i", "-a", handler("OLD")], [program("many"), 3])
        self.assert_fine(result)
        self.assertEqual([(x["dispatches"], x["records"]) for x in result.objects("old")],
                         [(3, result.summary()["records"])])

    def test_an_interface_with_holes_is_refused(self):
        self.refused(handler("HOLES"), "required callbacks are null")

    def test_a_library_that_is_no_handler_is_refused(self):
        self.refused(handler("NO_ENTRY"), "it is not a handler: it does not export fade_handler")

    def test_a_file_that_is_no_library_is_refused(self):
        path = self.path("libNothing.so")
        with open(path, "w") as file:
            file.write("nothing")
        self.refused(path, "libNothing.so: .*(too short|invalid ELF)")

    def test_a_reason_to_refuse_is_passed_on(self):
        self.refused(handler("REFUSE"), "libREFUSE.so: it is Sunday")

    def test_throwing_when_it_is_loaded(self):
        self.refused(handler("THROW_ENTRY"), "it threw an exception: no luck today when it was loaded")

    def test_throwing_when_it_is_created(self):
        self.refused(handler("THROW_CREATE"), "it threw an exception: no luck today when it was created")

    def test_crashing_when_it_is_created(self):
        self.refused(handler("CRASH_CREATE"), r"it crashed \(SIGSEGV\) when it was created")

    def test_aborting_when_it_is_created(self):
        self.refused(handler("ABORT_CREATE"), r"it crashed \(SIGABRT\) when it was created")

    def test_ending_the_process_when_it_is_created(self):
        self.assert_mistake(["-a", handler("EXIT_CREATE")],
                            "--analyzers: .*libEXIT_CREATE.so end the process when they are loaded")

    def test_the_check_does_not_let_it_write(self):
        # It writes a line, a file and to stdout and stderr when it is created.
        made = self.path("made")
        self.assert_mistake(["-a", handler("WRITE_CREATE") + ":" + made, "MemoryAnalysis:foo=1"], "'foo'")
        self.assertFalse(os.path.exists(made))
        result = self.probe(["-i", "-a", handler("WRITE_CREATE") + ":" + made, "-t", "json", "-l", self.log],
                            [program("many"), 3], json_log=False)
        self.assertEqual((result.code, result.stdout), (0, "created\n3 dispatches are right\n"), result.stderr)
        self.assertEqual(result.said, ["fade: created", "created"])
        self.assertEqual([x["text"] for x in result.objects("text")], ["created"])
        self.assertTrue(os.path.exists(made))

    def test_throwing_on_records(self):
        self.with_handler("THROW_RECORDS", "Bad: it threw .*no luck today in records; it is disabled")

    def test_a_handler_that_never_returns_does_not_keep_the_application(self):
        result = self.probe(["-i", "-a", handler("ENDLESS")], [program("many"), 3], env=fade.SOON, timeout=60)
        self.assertEqual((result.code, result.stdout), (0, "3 dispatches are right\n"))
        self.assertEqual(len(result.said), 1, result.stderr)
        self.assertIn("handler Bad does not return from processing records", result.said[0])
        self.assertGreaterEqual(result.summary()["dispatches"], 0)

    def test_a_handler_that_never_returns_from_the_end_of_a_dispatch_is_left_out(self):
        for count in (3, 1500):  # fewer and more than wait for the reporter
            with self.subTest(count):
                result = self.probe(["-i", "-a", handler("ENDLESS_END"), "MemoryAnalysis"],
                                    [program("many"), count], env=fade.SOON, timeout=90)
                self.assertEqual((result.code, result.stdout), (0, f"{count} dispatches are right\n"))
                self.assertEqual(len(result.said), 1, result.stderr)
                self.assertIn("handler Bad does not return from dispatch_end; the report continues without it",
                              result.said[0])
                self.assertEqual(result.summary()["instrumented"], count)
                memory = [x for x in result.objects("memory") if x["kernel"].startswith("step(")]
                self.assertEqual(len(memory), count)

    def test_throwing_at_the_end_of_a_dispatch(self):
        self.with_handler("THROW_END", "Bad: it threw .*no luck today in dispatch_end")

    def test_throwing_in_the_report(self):
        self.with_handler("THROW_REPORT", "Bad: it threw .*no luck today in report")

    def test_crashing_on_records(self):
        self.with_handler("CRASH_RECORDS", r"Bad: it crashed \(SIGSEGV\) in records; it is disabled")

    def test_crashing_inside_malloc_leaves_the_application_and_the_other_analyzers_alone(self):
        for bad, call in (("BREAK_HEAP", "records"), ("BREAK_HEAP_END", "dispatch_end")):
            for analyzers in ((handler(bad), "MemoryAnalysis"), ("MemoryAnalysis", handler(bad))):
                with self.subTest(analyzers):
                    result = self.probe(["-i", "-a", *analyzers], [program("many"), 3], timeout=60)
                    # what the C library says first has no newline in front of it
                    self.assertRegex(result.stderr, "corrupted")
                    self.assertIn(f"handler Bad: it crashed (SIGABRT) in {call}; it is disabled", result.stderr)
                    self.assertEqual((result.code, result.stdout), (0, "3 dispatches are right\n"), result.stderr)
                    memory = [x for x in result.objects("memory") if x["kernel"].startswith("step(")]
                    self.assertEqual(len(memory), 3)

    def test_crashing_inside_malloc_where_all_threads_share_a_heap_ends_the_process(self):
        for bad, call in (("BREAK_HEAP", "records"), ("BREAK_HEAP_END", "dispatch_end")):
            with self.subTest(bad):
                result = self.probe(["-i", "-a", handler(bad)], [program("many"), 3],
                                    env={"MALLOC_ARENA_MAX": "1"}, timeout=60)
                self.assertIn(result.code, (-6, 128 + 6), result.stderr)
                self.assertRegex(result.stderr, rf"handler Bad: it crashed \(SIGABRT\) in {call} while it allocated, "
                                 "in a part of the heap that the application uses, too .*: the process ends")

    def test_crashing_inside_malloc_where_some_threads_share_a_heap_hangs_nobody(self):
        for arenas, workers in ((3, 1), (5, 4)):  # of four some share with each other
            for bad in ("BREAK_HEAP", "BREAK_HEAP_END"):
                with self.subTest((arenas, bad)):
                    result = self.probe(["-i", "-a", handler(bad), "MemoryAnalysis", "--workers", str(workers)],
                                        [program("many"), 3], env={"MALLOC_ARENA_MAX": str(arenas)}, timeout=60)
                    if "the process ends" in result.stderr:
                        self.assertIn(result.code, (-6, 128 + 6), result.stderr)
                    else:
                        self.assertEqual((result.code, result.stdout), (0, "3 dispatches are right\n"), result.stderr)

    def test_crashing_in_the_report(self):
        self.with_handler("CRASH_REPORT", r"Bad: it crashed \(SIGSEGV\) in report")

    def test_analyze_refuses_what_it_cannot_use(self):
        trace = self.path("trace")
        self.probe(["-i", "--record", trace], [program("many"), 3])
        result = self.bare([fade.PROBE, "analyze", trace, "-a", handler("NEWER")])
        self.assertEqual((result.code, len(result.said)), (2, 1), result.stderr)
        result = self.bare([fade.PROBE, "analyze", trace, "-a", handler("CRASH_CREATE")])
        self.assertEqual((result.code, len(result.said)), (2, 1), result.stderr)
        self.assertIn("SIGSEGV", result.said[0])


if __name__ == "__main__":
    fade.main()
