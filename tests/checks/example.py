#!/usr/bin/env python3
"""An example of docs/recipes: one finding of its check, with the lines and the advice that the recipe shows; none in the fixed version."""
import json
import subprocess
import sys

FADEPROBE, GPU, CHECK, SOURCE, BROKEN, FIXED = sys.argv[1:]
# Of each side, what its line has; of the advice, how it begins or ends.
WANTED = {"wait": ("global_load_dwordx4", "global_load_dwordx4", "the compiler does not know that the load of line"),
          "race": ("tile[i] = in", "neighbor", "does not order memory for the compiler")}


def findings(program):
    run = subprocess.run([FADEPROBE, "check", "--gpu", GPU, "--checks", "memory,init,race,sync,wait", "--json", "-", "--", program],
                         capture_output=True, text=True, timeout=100)
    result, *lines = run.stdout.splitlines()
    value, expected = result.split(", expected ")
    assert run.returncode == 0 and value == expected, (run.returncode, run.stdout, run.stderr)
    return [json.loads(line) for line in lines]


found = findings(BROKEN)
assert [one["check"] for one in found] == [CHECK], found
here, there, advice = WANTED[CHECK]
for side, text in ((found[0], here), (found[0]["other"], there)):
    assert side["file"].endswith(SOURCE.rsplit("/", 1)[1]) and text in side["source"], side
assert advice in found[0]["advice"], found[0]["advice"]
assert findings(FIXED) == []
