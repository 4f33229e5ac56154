#!/usr/bin/env python3
"""Runs a HIP program on the software GPU and compares what another process can see of it.

Ends with 0 if all expectations hold; otherwise says what differs and shows the output."""
import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preload", required=True, help="libfadegpu.so")
    parser.add_argument("--exit", type=int, default=None, help="exit status; 0 if no signal is expected")
    parser.add_argument("--signal", default=None, help="name of the signal that ends the program, like ABRT")
    parser.add_argument("--stdout-is", metavar="FILE", help="exact standard output")
    parser.add_argument("--stdout-lines", metavar="FILE", help="lines of standard output, in any order")
    parser.add_argument("--stderr", action="append", default=[], metavar="REGEX",
                        help="a line of standard error that must be there exactly once")
    parser.add_argument("--lines", type=int, help="how many lines standard error must have")
    parser.add_argument("--no-stderr", action="store_true", help="standard error must be empty")
    parser.add_argument("--same-address", nargs=2, metavar="REGEX",
                        help="two regexes with one group each, a number that must be the same in both")
    parser.add_argument("--interrupt-at", metavar="TEXT", help="send SIGINT when standard output shows this line")
    parser.add_argument("--within", type=float, default=60, help="seconds that it may take")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def interrupt_when_ready(process, text, lines):
    for line in process.stdout:
        lines.append(line)
        if line.strip() == text:
            time.sleep(0.2)  # let the kernel get going
            process.send_signal(signal.SIGINT)


def run(o):
    environment = dict(os.environ, LD_PRELOAD=o.preload)
    process = subprocess.Popen(o.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not o.interrupt_at:
        out, err = process.communicate(timeout=o.within)
        return process.returncode, out, err
    lines = []
    reader = threading.Thread(target=interrupt_when_ready, args=(process, o.interrupt_at, lines))
    reader.start()
    process.wait(timeout=o.within)
    reader.join()
    return process.returncode, "".join(lines), process.stderr.read()


def differences(o, status, out, err):
    wanted = -getattr(signal, "SIG" + o.signal) if o.signal else o.exit or 0
    if status != wanted:
        yield f"ended with {status}, not {wanted} (negative: by that signal)"
    if o.stdout_is:
        want = open(o.stdout_is).read()
        if out != want:
            yield f"standard output is not {o.stdout_is}"
    if o.stdout_lines:
        want = open(o.stdout_lines).read()
        if sorted(out.splitlines()) != sorted(want.splitlines()):
            yield f"lines of standard output are not those of {o.stdout_lines}"
    for regex in o.stderr:
        found = [line for line in err.splitlines() if re.search(regex, line)]
        if len(found) != 1:
            yield f"{len(found)} lines of standard error match '{regex}'"
    if o.lines is not None and len(err.splitlines()) != o.lines:
        yield f"standard error has {len(err.splitlines())} lines, not {o.lines}"
    if o.no_stderr and err:
        yield "standard error is not empty"
    if o.same_address:
        numbers = [re.search(r, out + err, re.M) for r in o.same_address]
        if not all(numbers) or len({int(n.group(1), 0) for n in numbers}) != 1:
            yield f"'{o.same_address[0]}' and '{o.same_address[1]}' do not give one number"


def main():
    o = options()
    try:
        status, out, err = run(o)
    except subprocess.TimeoutExpired as late:
        print(f"did not end within {late.timeout} s", file=sys.stderr)
        return 1
    wrong = list(differences(o, status, out, err))
    for text in wrong:
        print(text, file=sys.stderr)
    if wrong:
        print(f"--- standard output\n{out}--- standard error\n{err}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
