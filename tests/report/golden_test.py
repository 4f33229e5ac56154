"""What the report says of the examples, as it was when somebody looked at it and found it right. Numbers are those of the software GPU: exact, and the same on each machine.

  golden_test.py            compares
  golden_test.py --update   writes what comes out now
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROBE, EXAMPLES = os.environ["REPORT_PROBE"], pathlib.Path(os.environ["REPORT_EXAMPLES"])
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
NAMES = ("divergence", "histogram", "matmul", "transpose", "uncoalesced", "vadd")


def page_data(name, folder):
    """The data of the page of an example, whose kernels run as they are compiled."""
    html = pathlib.Path(folder) / "out.html"
    done = subprocess.run([PROBE, "--gpu", "gfx90a", "--observe", "gpu", "--report", html, "--", EXAMPLES / f"example_{name}"], capture_output=True, text=True, timeout=200)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    text = html.read_text()
    start = text.index('id="data">') + len('id="data">')
    return json.loads(text[start:text.index("</script>", start)])


def reduced(data):
    """What does not depend on where it runs: no addresses, times, paths and versions."""
    files = [pathlib.Path(file["path"]).name for file in data["files"]]
    place = lambda file, line: f"{files[file]}:{line}" if file >= 0 else "?"
    dispatches, kernels = data["dispatches"], []
    for index, kernel in enumerate(data["kernels"]):
        own = [i for i, k in enumerate(dispatches["kernel"]) if k == index]
        code = next((one for one in data["code"] if one["kernel"] == index), None)
        counts = next((one for one in data["counts"] if one["kernel"] == index), None)
        flow = next((one for one in data["flows"] if one["kernel"] == index), None)
        waves = next((one for one in data["placements"] if one["kernel"] == index), None)
        kernels.append({
            "name": kernel["name"], "target": kernel["target"],
            "dispatches": [{"grid": dispatches["grid"][i], "workgroup": dispatches["workgroup"][i], "executed": dispatches["executed"][i]} for i in own],
            "arguments": [argument["type"] for argument in kernel["arguments"]],
            "pointers": [argument["pointer"] for argument in kernel["arguments"]],
            "occupancy": code and code["facts"]["occupancy"], "vgprs": code and code["facts"]["vgprs_used"], "spills": code and code["facts"]["vgpr_spills"],
            "mix": counts and counts["mix"], "flops": counts and counts["flops"], "bytes": counts and counts["bytes"],
            "blocks": flow and sorted([b["executions"], b["lanes"]] for b in flow["blocks"]),
            "accesses": sorted([place(a["file"], a["line"]), a["op"], a["space"], a["bytes"], a["executions"], a["needed"], a["used"], a["conflicts"]]
                               for a in data["accesses"] if a["kernel"] == index),
            "waves": waves and sum(unit[4] for unit in waves["units"]),
        })
    findings = [{"cause": f["cause"], "kernel": data["kernels"][f["kernel"]]["name"], "places": [place(p["file"], p["line"]) + (" " + p["op"]).rstrip() for p in f["places"]], "unit": f["unit"],
                 "cycles": round(f["cycles"]), "bytes": f["bytes"], "gain": round(f["gain"], 3), "counts": f["counts"]} for f in data["findings"]]
    return {"findings": findings, "software": data["software"], "gpus": data["runs"][0]["gpus"], "deaths": data["deaths"], "skipped": data["skipped"], "kernels": kernels}


class Golden(unittest.TestCase):
    maxDiff = None


def add(name):
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            now = reduced(page_data(name, folder))
        path = GOLDEN / f"{name}.json"
        if "--update" in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(now, indent=1) + "\n")
        self.assertEqual(now, json.loads(path.read_text()))
    setattr(Golden, f"test_{name}", test)


for each in NAMES:
    add(each)

if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--update"])
