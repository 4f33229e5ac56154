#!/usr/bin/env python3
"""Findings do not depend on how many workers the software GPU has, nor on which of them comes first: the same ones, in the same order, each time."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FADEPROBE, GPU, PROGRAM = sys.argv[1:4]


def findings(workers, kind):
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "findings.jsonl"
        subprocess.run([FADEPROBE, "check", "--gpu", GPU, "--json", lines, "--", PROGRAM, kind], capture_output=True, timeout=100,
                       env={**os.environ, "FADE_GPU_WORKERS": str(workers)})
        found = [json.loads(line) for line in lines.read_text().splitlines()]
    return [(f["check"], f["problem"], f.get("kernel"), f["line"], f["column"], f.get("access"), *(f["other"].get(key) for key in ("line", "column", "access") if "other" in f)) for f in found]


failed = 0
for kind in ("clean", "broken"):
    wanted = [] if kind == "clean" else findings(1, kind)
    if kind == "broken" and not wanted:
        print("nothing was found at all")
        failed = 1
    for workers in (2, 16, 4, 2) if kind == "broken" else (1, 2, 16, 2, 4, 2):
        now = findings(workers, kind)
        if now != wanted:
            print(f"{kind}, {workers} workers: {len(now)} findings", *(f for f in now if f not in wanted), "instead of", *(f for f in wanted if f not in now), sep="\n  ")
            failed = 1
sys.exit(failed)
