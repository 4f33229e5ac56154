"""How a process ends: what was collected is reported, and the way of ending stays its own."""
import os
import signal
import sys
import unittest

import fade
from fade import program

ENDINGS = program("endings")
GLIBC = tuple(int(x) for x in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))
INTERRUPTED = "fade: interrupted: the report is being written; Ctrl-C once more ends without it"


class Tests(fade.Test):
    def ends(self, how, code, reported=3, stdout="launched\n", options=("-i", "-a", "MemoryAnalysis"),
             said=(), arguments=(), env=None):
        result = self.probe(options, [ENDINGS, how, *arguments], env=env, timeout=60)
        self.assertEqual(result.code, code, result.stderr)
        self.assertEqual(result.stdout, stdout)
        if said is not None:
            self.assertEqual([x for x in result.said if x.startswith("fade:")], list(said))
        touches = result.dispatches("touch(")
        self.assertEqual([x["instrumented"] for x in touches[:reported]], [True] * reported)
        # 1024 work-items: an announcement, a load and a store of each wave
        self.assertEqual([x["records"] for x in touches[:reported]], [3 * fade.waves(1024)] * reported)
        self.assertEqual(len(result.objects("summary")), 1)
        return result

    def test_return_from_main(self):
        self.ends("return", 5)

    def test_exit(self):
        self.ends("exit", 6)

    def test_quick_exit(self):
        self.ends("quick_exit", 8)

    def test_exit_from_another_thread(self):
        self.ends("thread-exit", 9)

    def test_exit_while_other_threads_launch(self):
        for _ in range(3):
            result = self.probe(["-i"], [ENDINGS, "amid"], timeout=60)
            self.assertEqual(result.code, 12, result.stderr)
            self.assertGreaterEqual(result.summary()["instrumented"], 60)

    def test_abort(self):
        self.ends("abort", -signal.SIGABRT)

    def test_sigterm(self):
        self.ends("term", -signal.SIGTERM)

    def test_sigint(self):
        self.ends("int", -signal.SIGINT, said=[INTERRUPTED])

    def test_sigpipe(self):
        self.ends("pipe", -signal.SIGPIPE)

    def test_segmentation_fault(self):
        self.ends("segv", -signal.SIGSEGV)

    def test_an_exception_that_nobody_catches(self):
        self.ends("throw", -signal.SIGABRT)

    def test_a_kernel_that_faults(self):
        # ROCr 5 and 6 end the process; HIP 7 returns an error, and the program ends by itself.
        # The kernel does not end: how long FADE waits for it is the time that this takes.
        result = self.ends("fault", 1 if fade.HIP > 6 else -signal.SIGABRT, env={"FADE_PATIENCE": "1"}, said=None)
        said = "\n".join(result.said)
        self.assertRegex(said, r"fade: memory fault at 0x[0-9a-f]+")
        self.assertRegex(said, r"fade: in flight: dispatch \d+: touch\(int\*\), grid 64x1x1 workgroup 64x1x1")
        self.assertRegex(said, r"fade:   wave 0 of workgroup 0,0,0 touched that page: load of 4 bytes at endings.hip:\d+:\d+ in touch")

    def test_a_handler_of_the_application_stays_in_charge(self):
        result = self.probe(["-i"], [ENDINGS, "own-handler"])
        self.assertEqual((result.code, result.stdout), (7, "launched\nown handler\n"))

    def test__exit_and_sigkill_end_at_once(self):
        for how, code in (("_exit", 10), ("kill", -signal.SIGKILL)):
            result = self.probe(["-i"], [ENDINGS, how])
            self.assertEqual((result.code, result.stdout), (code, "launched\n"))

    def test_signals_from_outside(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start(["-i", "-a", "MemoryAnalysis"], [ENDINGS, "sleep"])
            self.assertEqual(process.stdout.readline(), "launched\n")
            process.send_signal(number)
            result = self.finish(process, timeout=30)
            self.assertEqual(result.code, -number)
            self.assertEqual(result.summary()["instrumented"], 3)

    def test_a_signal_to_the_group_reaches_the_application_once(self):
        """As `timeout` and batch systems send it. An mpirun that gets it twice leaves its ranks behind."""
        script = ("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\nprint('ready', flush=True)\n"
                  "count = 1 if signal.sigwaitinfo([signal.SIGTERM]) else 0\n"
                  "while signal.sigtimedwait([signal.SIGTERM], 0.3): count += 1\nprint(count)\n")
        for sent in ("process", *["group"] * 5, "process, then group"):  # two that come at once count as one
            process = self.start(["trace", "-o", self.path("run/")], [sys.executable, "-c", script], json_log=False, start_new_session=True)
            self.assertEqual(process.stdout.readline(), "ready\n")
            if "process" in sent:
                process.send_signal(signal.SIGTERM)
            if "group" in sent:
                os.killpg(process.pid, signal.SIGTERM)
            result = self.finish(process, timeout=30)
            self.assertEqual((result.code, result.stdout), (0, "1\n"), sent)

    def test_sigint_in_the_middle_of_launches(self):
        for _ in range(3):
            process = self.start(["-i", "-a", "MemoryAnalysis"], [ENDINGS, "launching"])
            self.assertEqual(process.stdout.readline(), "launched\n")
            self.assertEqual(process.stdout.readline(), "launching\n")
            process.send_signal(signal.SIGINT)
            result = self.finish(process, timeout=40)
            self.assertEqual(result.code, -signal.SIGINT)
            self.assertGreaterEqual(result.summary()["instrumented"], 60)

    def test_sigint_while_a_kernel_does_not_end(self):
        process = self.start(["-i", "-a", "MemoryAnalysis"], [ENDINGS, "endless"], env=fade.SOON)
        self.assertEqual(process.stdout.readline(), "launched\n")
        self.assertEqual(process.stdout.readline(), "endless\n")
        process.send_signal(signal.SIGINT)
        result = self.finish(process, timeout=30)
        self.assertEqual(result.code, -signal.SIGINT)
        self.assertEqual(result.summary()["incomplete"], 1)
        self.assertEqual(len(result.dispatches("touch(")), 3)

    def test_an_interrupt_is_answered_at_once_and_a_second_one_ends(self):
        process = self.start(["-i", "-a", "MemoryAnalysis"], [ENDINGS, "endless"], env={"FADE_PATIENCE": "1"})
        self.assertEqual(process.stdout.readline(), "launched\n")
        self.assertEqual(process.stdout.readline(), "endless\n")
        process.send_signal(signal.SIGINT)
        # The report takes at least three seconds: that long a kernel may make no progress.
        line = process.stderr.readline().rstrip("\n")
        while "no AMD GPU found" in line:
            line = process.stderr.readline().rstrip("\n")
        self.assertEqual(line, INTERRUPTED)
        process.send_signal(signal.SIGINT)
        result = self.finish(process, timeout=30)
        self.assertEqual(result.code, -signal.SIGINT)
        self.assertEqual(result.objects("summary"), [])  # there was no time for it
        self.assertEqual(result.stderr, "")

    @unittest.skipIf(fade.HIP > 5, "HIP itself waits for the kernel")
    def test_return_while_a_kernel_does_not_end(self):
        result = self.probe(["-i"], [ENDINGS, "endless", "return"], env=fade.SOON, timeout=60)
        self.assertEqual(result.code, 13)
        self.assertEqual(result.summary()["incomplete"], 1)

    def test_fork_after_the_gpu_was_used(self):
        # HIP 5.2 itself aborts in the exit handlers of a child.
        alone = self.software_gpu([ENDINGS, "fork"])
        result = self.ends("fork", 0, 5, alone.stdout)
        self.assertEqual(len(result.dispatches("touch(")), 5)

    # The lock of exit() is then held by a thread that the child does not have.
    @unittest.skipIf(GLIBC >= (2, 41), "no child that is born while its parent ends can call exit()")
    def test_a_child_that_is_born_while_its_parent_reports_can_end(self):
        result = self.probe(["-i", "-a", fade.handler("SLOW_REPORT")], [ENDINGS, "fork-while-reporting"], timeout=40)
        self.assert_fine(result, "launched\nchild 3\n")
        self.assertEqual(result.summary()["instrumented"], 3)

    def test_fork_before_the_gpu_is_used(self):
        result = self.probe(["-i"], [ENDINGS, "fork-first"])
        self.assert_fine(result, "child 3\n")
        self.assertEqual(sorted(x["instrumented"] for x in result.objects("summary")), [2, 4])

    def test_a_child_that_runs_another_program_reports_for_itself(self):
        result = self.probe(["-i"], [ENDINGS, "exec"])
        self.assert_fine(result)
        self.assertEqual(sorted(result.stdout.splitlines()), ["child 5", "launched", "launched"])
        self.assertEqual([x["instrumented"] for x in result.objects("summary")], [3, 3])

    def test_descriptors_that_the_application_took_away_are_not_written_to(self):
        mine = self.path("mine")
        trace = self.path("trace")
        result = self.ends("close", 4, options=("-i", "--record", trace), arguments=(mine,))
        with open(mine) as file:
            self.assertEqual(fade.without_runtime(file.read()), "mine\n")
        again = self.bare([fade.PROBE, "analyze", trace, "-t", "json", "-l", self.path("log2")])
        self.assertEqual((again.code, again.said), (0, []))

    def test_the_report_finds_stderr_that_the_application_has_closed(self):
        result = self.probe([], [ENDINGS, "close-stderr", self.path("mine")], json_log=False)
        self.assertEqual(result.code, 4)
        self.assertRegex(result.stderr, r"\d+ dispatches, 0 instrumented")
        with open(self.path("mine")) as file:
            self.assertEqual(fade.without_runtime(file.read()), "")

    # ---- who starts fadeprobe may ignore SIGCHLD, as daemons do, which is inherited

    def test_ends_of_children_are_seen_though_sigchld_is_ignored(self):
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for command in ([fade.PROBE, "trace", "--api-log", self.path("x.jsonl")], [fade.PROBE, "--report", self.path("x.html")]):
            with self.subTest(command[1]):
                result = self.bare([*command, "--", "sh", "-c", "exit 5"], preexec_fn=ignore)
                self.assertEqual(result.code, 5, result.stderr)
        result = self.bare([fade.PROBE, "doctor", "--timeout", "30", "--", "sh", "-c", "exit 6"], preexec_fn=ignore)
        self.assertNotIn("timed out", result.stdout + result.stderr)

    def test_the_application_gets_the_disposition_of_sigchld_that_fadeprobe_got(self):
        app = [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGCHLD).name)"]
        for given in (signal.SIG_IGN, signal.SIG_DFL):
            for command in ([fade.PROBE], [fade.PROBE, "trace", "--api-log", self.path("x.jsonl")]):
                result = self.bare([*command, "--", *app], preexec_fn=lambda: signal.signal(signal.SIGCHLD, given))
                self.assertEqual((result.code, result.stdout), (0, given.name + "\n"), result.stderr)


if __name__ == "__main__":
    fade.main()
