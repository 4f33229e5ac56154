#!/usr/bin/env python3
"""Findings do not depend on how many workers the software GPU has, nor on which of them comes first: all that is said of them is the same each time."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FADEPROBE, GPU, PROGRAM, *KINDS = sys.argv[1:]
CHECKS = "memory,init,race,sync,hang,nan"


def without_addresses(finding):
    """All but what the system chooses."""
    finding.pop("process")
    if "copy" in PROGRAM:  # in several streams, they are counted as they begin
        finding.pop("dispatch", None)
    if finding.get("space") == "global":
        finding.pop("address", None)
    finding.get("allocation", {}).pop("address", None)
    finding["details"] = [without_addresses(detail) for detail in finding.get("details", [])]
    return finding


def findings(workers, kind):
    with tempfile.TemporaryDirectory() as folder:
        lines = pathlib.Path(folder) / "findings.jsonl"
        subprocess.run([FADEPROBE, "check", "--gpu", GPU, "--checks", CHECKS, "--json", lines, "--", PROGRAM, kind], capture_output=True, timeout=100,
                       env={**os.environ, "FADE_GPU_WORKERS": str(workers)})
        return [without_addresses(json.loads(line)) for line in lines.read_text().splitlines()]


failed = 0
for kind in KINDS or ("clean", "broken"):
    wanted = [] if kind == "clean" else findings(1, kind)
    if kind == "broken" and not wanted:
        print("nothing was found at all")
        failed = 1
    for workers in (2, 16, 4, 16, 1):
        now = findings(workers, kind)
        if now != wanted:
            print(f"{kind}, {workers} workers: {len(now)} findings", *(f for f in now if f not in wanted), "instead of", *(f for f in wanted if f not in now), sep="\n  ")
            failed = 1
sys.exit(failed)
