"""What analyzers of accesses report, so that runs can be compared: without what changes from run to run."""
import json
import os

import fade

BOTH = ("-a", "MemoryAnalysis", "AccessPatterns")
# What is first among several is what it was before only if they come in the same order.
ORDERED = {"FADE_GPU_WORKERS": "1"}


class Test(fade.Test):
    def gpus(self):
        return [{}] if "E2E_GPU" in os.environ else [{"FADE_GPU": x} for x in ("gfx90a", "gfx1030")]

    def results(self, app, *options, env):
        """Read at once: the next run writes to the same file."""
        result = self.probe(["-i", *options], [app], env={**ORDERED, **env})
        self.assertEqual(result.code, 0, result.stderr)
        self.assertEqual([x for x in result.said if "(--observe)" not in x], [])
        found = result.objects()
        result.objects = lambda kind=None: [x for x in found if kind in (None, x["type"])]
        return result

    def reports(self, result):
        """Of the analyzers, in one order; how many records there were is another matter. Where memory
        lies changes from run to run, but not within a page."""
        found = [json.loads(json.dumps(x)) for x in result.objects() if x["type"] in ("memory", "memory_total", "pattern")]
        for each in found:
            for access in each.get("global", ()):
                if "hottest" in access:
                    access["hottest"]["address"] %= 4096
            # Which wave comes first is another matter, too, also among those that are as bad.
            if each["type"] == "pattern":
                for key in ("addresses", "mask", "work_item", "workgroup", "dispatch_id"):
                    each.pop(key)
                for key in ("lines_needed", "lines_used", "conflicts"):
                    if each["which"] == "first":
                        each.pop(key, None)
        return sorted(found, key=lambda x: [str(x.get(k, "")) for k in (
            "type", "kernel", "dispatch_id", "line", "column", "op", "bytes", "space", "which")])

    def records(self, result):
        return sum(x["records"] for x in result.objects("dispatch"))

    def numbers(self, result):
        """Of each access that corners.hip has a line for: what MemoryAnalysis says, whoever saw it."""
        found = {}
        for each in result.objects("memory"):
            for space in ("global", "lds"):
                for access in each[space]:
                    if not access["file"].endswith("corners.hip"):
                        continue
                    what = {k: v for k, v in access.items() if k not in ("file", "column", "function", "via", "machine", "parts", "advice")}
                    if "hottest" in what:
                        what["hottest"]["address"] %= 4096
                    found.setdefault((each["kernel"], space, access["line"], access["op"], access["bytes"]), []).append(what)
        return {key: sorted(value, key=str) for key, value in found.items()}

    def allocations(self, result):
        """How often each was read and written: what the machine loads beside the application's memory is in none."""
        return sorted(str([each["kernel"], each["dispatch_id"], [[x[k] for k in ("number", "reads", "writes", "atomics")] for x in sorted(
            each["allocations"], key=lambda x: x["number"]) if "address" in x]]) for each in result.objects("heatmap"))

    def pages(self, result):
        """What Heatmap says, by allocation; pages in their order, not where they lie."""
        found = []
        for each in result.objects("heatmap") + result.objects("heatmap_total"):
            counts = [tuple(x[k] for k in ("reads", "writes", "atomics")) for x in each["pages"]]
            owners = [{k: v for k, v in x.items() if k not in ("address", "origin")} for x in each["allocations"]]
            found.append((each["type"], each["kernel"], each.get("dispatch_id"), sorted(counts),
                          sorted(owners, key=lambda x: x["number"])))
        return sorted(found, key=str)  # dispatches need not end in their order
