#!/usr/bin/env python3
"""Runs kernels that never end, and their twins that do, under `fadeprobe check --checks hang`.

A line of the source that ends with "// waits: WORDS" must have an entry in a hang of some case, with these words; a hang ends the program with
status 124, and what it printed before is not lost. A clean twin has no finding and ends by itself. With --timeout also what moves is ended.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

fadeprobe, gpu, program, source = sys.argv[1:]
problems = []


def check(kind, case, *options, patience="1"):
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "findings.jsonl"
        run = subprocess.run(["env", f"FADE_CHECK_PATIENCE={patience}", fadeprobe, "check", "--gpu", gpu, "--json", lines, "--checks", "hang", *options, "--", program, kind, case],
                             capture_output=True, text=True, timeout=100)
        return run, [one for line in lines.read_text().splitlines() for finding in [json.loads(line)] for one in (finding, *finding.get("details", []))]


text = pathlib.Path(source).read_text().splitlines()
wanted = {number: match.group(1) for number, line in enumerate(text, 1) if (match := re.search(r"// waits: (.*)", line))}
hung = {}
for case in ("lock_in_wave", "locks_in_wave", "flag_never_set", "lock_kept", "two_locks", "flag_behind_barrier", "endless"):
    run, found = hung[case] = check("broken", case)
    if run.returncode != 124 or run.stdout != "begun\n" or "no wave made progress for" not in run.stderr:
        problems.append(f"{case}: ended with {run.returncode} after {run.stdout!r}: {run.stderr}")
    for one in found:
        words = wanted.pop(one["line"], None)
        if words is None or one["check"] != "hang" or words not in one["message"]:
            problems.append(f"{case}: line {one['line']}: {one['message']}")
    run, found = check("clean", case)
    if run.returncode != 5 or found:
        problems.append(f"clean {case}: ended with {run.returncode}: {run.stderr}")
problems += [f"line {line}: nobody waits there" for line in wanted]

# What goes on is no hang, however long: registers change.
run, found = check("clean", "long_work", patience="0.05")
if run.returncode != 5 or found:
    problems.append(f"long_work: ended with {run.returncode}: {run.stderr}")
# Unless it takes longer than it may.
run, found = check("clean", "long_work", "--timeout", "0.01")
if run.returncode != 124 or "not ended after" not in run.stderr:
    problems.append(f"long_work --timeout: ended with {run.returncode}: {run.stderr}")
# What a wave itself changes meanwhile is not what it waits for.
run, found = check("broken", "counted_tries", "--timeout", "1")
line = next(number for number, one in enumerate(text, 1) if one.endswith("// polls"))
if run.returncode != 124 or [one["line"] for one in found] != [line] or "polls byte 0 of allocation" not in found[0]["message"]:
    problems.append(f"counted_tries: ended with {run.returncode}: {found} {run.stderr}")
# Who waits for whom: in a circle, or for somebody who is gone.
run, found = hung["two_locks"]
chain = next(one["chain"] for one in found if "chain" in one)
if [link["waves"] for link in chain["links"]] != [2] or chain["back_to"] != 0 or not re.search(r"\n  picture +\[(\S+:\d+), 2 waves\] --several places--> \[\1\]: a cycle\n", run.stderr):
    problems.append(f"two_locks: {chain} {run.stderr}")
run, found = hung["flag_behind_barrier"]
if not re.search(r"\n  picture +\[(\S+:\d+), \d+ waves?\] --byte 0 of LDS--> \[\S+:\d+, \d+ waves?\] --barrier--> \[\1\]: a cycle\n", run.stderr):
    problems.append(f"flag_behind_barrier: {run.stderr}")
run, found = hung["lock_kept"]
if not re.search(r"\n  picture +\[\S+:\d+, \d+ waves?\] --byte \d+ of allocation \d+--> \(written by a wave that has ended\)\n", run.stderr):
    problems.append(f"lock_kept: {run.stderr}")
# Many waves at one line are one entry.
run, found = hung["endless"]
if len(found) != 1 or found[0]["count"] != (12 if gpu.startswith("gfx9") else 24):
    problems.append(f"endless: {found}")

if problems:
    print("\n".join(problems))
sys.exit(1 if problems else 0)
