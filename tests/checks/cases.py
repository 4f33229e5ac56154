#!/usr/bin/env python3
"""Runs the cases of a program under `fadeprobe check` and compares the findings with what its source expects.

A line that ends with "// finds: CHECK" must have a finding of that check, on this line or, of a race, as its other side; one with
"// may: CHECK" has one on some GPUs; findings of the same cause may be details of another one; "// finds: CHECK on gfx9" only on GPUs whose name begins so; one that says "optimized" need not have one at -O0, where atomics return values that nobody uses,
and stores are waited for whether or not the source has a fence; one that says "unless O1" need not have one at that level. Behind "says:" is what the message or the advice must have. No other line may have one. A leak is at the line that allocates. A clean program has no finding
at all. Either way the program ends as it would have.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def expected(source, word, level, gpu):
    found = {}
    for number, line in enumerate(pathlib.Path(source).read_text().splitlines(), 1):
        match = re.search(rf"//.*\b{word}: (\w+)(?: on (\w+))?", line)
        if match and not gpu.startswith(match.group(2) or ""):
            continue
        may_miss = (level == "O0" and "optimized" in line) or f"unless {level}" in line
        if match and not (word == "finds" and may_miss):
            found[number] = match.group(1)
        elif word == "may" and may_miss:
            found[number] = re.search(r"finds: (\w+)", line).group(1)
    return found


def sides_of(finding):
    if finding["check"] == "leak":
        return [finding["allocation"]]
    return [finding] + ([finding["other"]] if finding["check"] in ("race", "wait", "hazard", "wave") or "api" in finding.get("other", {}) else [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fadeprobe", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--checks", default="")
    parser.add_argument("--level", default="O2")
    parser.add_argument("program")
    parser.add_argument("kind", choices=["broken", "clean"])
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "findings.jsonl"
        checks = ["--checks", arguments.checks] if arguments.checks else []
        run = subprocess.run([arguments.fadeprobe, "check", "--gpu", arguments.gpu, "--json", lines, *checks, "--", arguments.program, arguments.kind],
                             capture_output=True, text=True, timeout=100)
        findings = [one for line in lines.read_text().splitlines() for finding in [json.loads(line)] for one in (finding, *finding.get("details", []))]
    problems = []
    if run.returncode != 5 or run.stdout != "done\n":
        problems.append(f"the program ended with {run.returncode} after {run.stdout!r}")
    wanted = expected(arguments.source, "finds", arguments.level, arguments.gpu) if arguments.kind == "broken" else {}
    also = expected(arguments.source, "may", arguments.level, arguments.gpu) if arguments.kind == "broken" else {}
    seen = set()
    pairs = set()
    text = pathlib.Path(arguments.source).read_text().splitlines()
    for finding in findings:
        says = re.search(r"says: (.*)", text[finding["line"] - 1]) if finding.get("line", 0) in range(1, len(text) + 1) else None
        if says and says.group(1) not in finding["message"] + "; " + finding["advice"]:
            problems.append(f"line {finding['line']}: {finding['message']}; {finding['advice']}")
        pair = frozenset((side["file"], side["line"], side.get("column"), side.get("access"), side.get("register"), *(frame["line"] for frame in side.get("stack", [])))
                         for side in sides_of(finding))
        what = (finding["check"], finding["problem"], finding.get("kernel"), finding.get("register"), finding.get("allocation", {}).get("distance", 0) < 0, pair)
        if what in pairs and finding["check"] not in ("wait", "hazard"):
            problems.append(f"twice: {finding['check']} at {finding['file']}:{finding['line']}: {finding['message']} ({finding.get('kernel')})")
        pairs.add(what)
        for side in sides_of(finding):
            if not side["file"].endswith(pathlib.Path(arguments.source).name) or finding["check"] not in (wanted.get(side["line"]), also.get(side["line"])):
                problems.append(f"not expected: {finding['check']} at {side['file']}:{side['line']}: {finding['message']} ({finding.get('kernel')})")
            seen.add((side["line"], finding["check"]))
    problems += [f"line {line}: no finding of {check}" for line, check in wanted.items() if (line, check) not in seen]
    if problems:
        print("\n".join(problems), "\n---", run.stderr, sep="\n")
    sys.exit(1 if problems else 0)


main()
