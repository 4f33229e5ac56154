"""What is seen on a terminal while a program runs long."""
import fcntl
import os
import pty
import re
import signal
import struct
import termios

import fade
from fade import PROBE, program

ROWS, COLUMNS = 12, 80


class Screen:
    """A terminal, as far as FADE and plain programs need one. What it does not know is an error."""

    def __init__(self):
        self.lines = [""] * ROWS
        self.row = self.column = 0
        self.bottom = ROWS - 1  # of the part that scrolls
        self.kept = (0, 0)

    def feed(self, text):
        for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b.|[\r\n]|[^\x1b\r\n]+", text):
            if token == "\r":
                self.column = 0
            elif token in ("\n", "\x1bD"):
                if self.row == self.bottom:
                    self.lines[:self.bottom + 1] = self.lines[1:self.bottom + 1] + [""]
                else:
                    self.row = min(self.row + 1, ROWS - 1)
            elif token == "\x1b7":
                self.kept = (self.row, self.column)
            elif token == "\x1b8":
                self.row, self.column = self.kept
            elif token.startswith("\x1b["):
                self.control(token[2:-1], token[-1])
            else:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[:self.column] + token + line[self.column + len(token):]
                self.column += len(token)

    def control(self, numbers, letter):
        values = [int(x) for x in numbers.split(";") if x]
        if letter == "r":
            self.bottom = values[1] - 1 if values else ROWS - 1
            self.row = self.column = 0
        elif letter == "H":
            self.row, self.column = values[0] - 1, values[1] - 1
        elif letter == "A":
            self.row -= values[0]
        elif letter == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif letter != "m":
            raise AssertionError(f"unknown: ESC [ {numbers} {letter}")


class Tests(fade.Test):
    def on_terminal(self, options, app, until, env=None, ending=signal.SIGTERM):
        """Runs it until the screen satisfies `until`, then ends it: that screen's lines, and the last one's."""
        then, screen = self.until(["--gpu", fade.GPU, *options, "--", *app], until, env, ending)
        return then, screen.lines

    def until(self, arguments, until, env=None, ending=signal.SIGTERM):
        child, terminal = pty.fork()
        if child == 0:
            command = [PROBE, *arguments]
            os.execve(PROBE, command, fade.clean_environment({"TERM": "xterm", **(env or {})}))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        screen, then = Screen(), None
        while True:
            try:
                text = os.read(terminal, 65536).decode()
            except OSError:  # nobody has it any more
                break
            screen.feed(text)
            if then is None and until(screen.lines):
                then = list(screen.lines)
                os.kill(child, ending)
        self.end = os.waitpid(child, 0)[1]
        os.close(terminal)
        self.assertIsNotNone(then, screen.lines)
        return then, screen

    def test_a_line_says_how_far_it_is_and_goes_away(self):
        line = re.compile(r"^fade: \d+ s, 4 dispatches, \d+ records, \d+/s, ring \d+ %$")
        then, last = self.on_terminal(["-i", "-a", "Heatmap", "-l", self.log], [program("endings"), "sleep"],
                                      lambda lines: line.match(lines[-1]))
        self.assertEqual(then[0], "launched")
        self.assertEqual(then[1:-1], [""] * (ROWS - 2))
        self.assertEqual(last, ["launched"] + [""] * (ROWS - 1))

    def test_what_is_printed_meanwhile_stays_whole(self):
        script = f"{program('endings')} return; for i in $(seq 30); do echo line $i; done; exec {program('endings')} sleep"
        expected = [f"line {i}" for i in range(22, 31)] + ["launched"]
        # On a busy machine the line is there before the kernel is launched.
        then, last = self.on_terminal(["-l", self.log], ["sh", "-c", script],
                                      lambda lines: lines[-1].startswith("fade: ")
                                      and [x for x in lines[:-1] if x][-2:] == expected[-2:])
        self.assertEqual([x for x in then[:-1] if x], expected)
        self.assertEqual([x for x in last if x], expected)

    def test_no_line_where_it_is_not_wanted(self):
        for options, env in ((["--no-progress"], {}), ([], {"FADE_PROGRESS": "off"}), ([], {"TERM": "dumb"})):
            app = ["sh", "-c", f"{program('endings')} sleep & sleep 4; echo end; kill $!; wait"]
            _, last = self.on_terminal(["-l", self.log, *options], app, lambda lines: "end" in lines, env)
            self.assertFalse([x for x in last if x.startswith("fade: ")], last)

    def test_ctrl_c_in_a_replay_leaves_the_terminal_as_it_was(self):
        captures = self.path("captures")
        result = self.probe(["capture", "-k", "^add", "-o", captures], [program("captured"), "add", "1000"], json_log=False)
        self.assertEqual(result.code, 0, result.stderr)
        line = re.compile(r"^replay: \d+ MiB read, \d+ runs?, \d+ s$")
        for on in ([], ["--on", "gpu", "--gpu", fade.GPU]):
            then, screen = self.until(["replay", captures, "--iterations", "1000000", *on], lambda lines: line.match(lines[-1]),
                                      ending=signal.SIGINT)
            self.assertEqual(then[:-1], [""] * (ROWS - 1))
            self.assertEqual((screen.lines, screen.bottom), ([""] * ROWS, ROWS - 1))

    def test_ctrl_c_in_peaks_and_in_a_second_run_says_what_there_is(self):
        # The software GPU by another name: a card, for all that FADE knows.
        os.symlink(os.path.join(fade.LIB, "libfadegpu.so"), self.path("libcard.so"))
        card = {"LD_PRELOAD": self.path("libcard.so"), "FADE_GPU": fade.GPU}
        _, screen = self.until(["peaks", "-o", self.path("peaks")], lambda lines: re.match(r"^measuring, 2 rates, \d+ s", lines[-1]),
                               {**card, "FADE_GPU_FAIL": "hang:1:peak_f64"}, signal.SIGINT)
        self.assertRegex("\n".join(screen.lines), r"vectors of f32 +\S+ TFLOP/s +\S+ .?FLOP/s\n")
        self.assertIn("interrupted; nothing was saved", " ".join(screen.lines))
        self.assertEqual((os.path.exists(self.path("peaks")), self.end), (False, signal.SIGINT))
        script = f"[ -e {self.path('again')} ] && exec sleep 100; touch {self.path('again')}; exec {program('endings')} return"
        _, screen = self.until(["profile", "-o", self.path("out"), "--", "sh", "-c", script], lambda lines: lines[-1].startswith("counting in a second run"), card, signal.SIGINT)
        self.assertIn("hipDeviceSynchronize", " ".join(screen.lines))
        self.assertEqual((os.listdir(self.path("out")), self.end), (["dag.json"], signal.SIGINT))

    def test_reports_fit_80_columns_and_are_plain_in_a_pipe(self):
        options = ["--gpu", fade.GPU, "--no-progress", "-i", "-a", "MemoryAnalysis", "Heatmap", "BlockCounts", "AccessPatterns", "BlockFlow"]
        child, terminal = pty.fork()
        if child == 0:
            os.execve(PROBE, [PROBE, *options, "--", program("shapes")], fade.clean_environment({"TERM": "xterm"}))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        seen = b""
        while True:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        os.close(terminal)
        self.assertIn(b"\x1b[1mMemoryAnalysis\x1b[0m", seen)
        lines = re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()).splitlines()
        self.assertGreater(len(lines), 20)
        self.assertEqual([x for x in lines if len(x) > COLUMNS], [])
        piped = self.bare([PROBE, *options, "--", program("shapes")])
        self.assertIn("MemoryAnalysis: ", piped.stderr)
        self.assertNotIn("\x1b", piped.stderr)


if __name__ == "__main__":
    fade.main()
