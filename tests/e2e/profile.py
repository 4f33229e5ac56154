"""fadeprobe profile: the graph of a program, and what decides how long it takes."""
import collections
import json
import os
import unittest

import fade
from fade import PROBE, program


class Tests(fade.Test):
    def graph(self, app):
        """Lines of dag.json by their type, after what holds for every graph was checked."""
        result = self.bare([PROBE, "profile", "-o", self.path("out"), "--", *app])
        self.assertEqual((result.code, result.said), (0, []), result.stdout)
        self.assertIn("critical path: ", result.stdout)
        self.assertEqual(os.listdir(self.path("out")), ["dag.json"])
        lines = collections.defaultdict(list)
        with open(self.path("out/dag.json")) as file:
            for line in map(json.loads, file):
                lines[line["type"]].append(line)
        head, = lines["dag"]
        nodes, edges = lines["node"], lines["edge"]
        self.assertEqual((head["version"], head["nodes"], head["edges"]), (1, len(nodes), len(edges)))
        self.assertEqual([x["id"] for x in nodes], list(range(len(nodes))))
        into = collections.defaultdict(list)
        for edge in edges:
            self.assertLess(edge["from"], edge["to"])
            into[edge["to"]].append(edge["from"])
        # Work, delays and edges give the ends that were measured.
        ends = []
        for node in nodes:
            begin = max((ends[x] for x in into[node["id"]]), default=head["begin_ns"])
            ends.append(begin + node["work_ns"] + node["delay_ns"])
            self.assertEqual(ends[-1], node["end_ns"], node)
        self.assertEqual(max(ends) - head["begin_ns"], head["span_ns"])
        # The critical path is one, without slack, and as long as the whole.
        path = [x for x in nodes if x.get("critical")]
        self.assertEqual(len(path), head["critical_nodes"])
        self.assertEqual({x["slack_ns"] for x in path}, {0})
        for before, after in zip(path, path[1:]):
            self.assertIn(before["id"], into[after["id"]])
        self.assertEqual(sum(x["work_ns"] + x["delay_ns"] for x in path), head["span_ns"])
        self.assertEqual(sum(head["critical_ns"].values()), head["span_ns"])
        for work in lines["work"]:
            gain = work.get("gain_ns", {"10": 0, "50": 0, "100": 0})
            self.assertLessEqual(gain["10"], gain["50"])
            self.assertLessEqual(gain["50"], gain["100"])
            self.assertLessEqual(gain["100"], work["total_ns"])
        return lines

    def test_the_graph_of_a_training_loop(self):
        lines = self.graph([program("training"), 3])
        nodes = {x["id"]: x for x in lines["node"]}
        kinds = collections.Counter(x["kind"] for x in nodes.values())
        self.assertGreater(kinds["kernel"], 10)
        self.assertGreater(kinds["copy"], 2)
        edges = {(nodes[x["from"]]["kind"], nodes[x["to"]]["kind"], x["kind"]) for x in lines["edge"]}
        self.assertIn(("call", "kernel", "launch"), edges)
        # Copies to the host wait for the kernels before them in their stream, and the calls for the copies.
        self.assertIn(("copy", "call", "sync"), edges)
        self.assertTrue(edges & {("kernel", "kernel", "stream"), ("kernel", "copy", "stream"), ("fill", "kernel", "stream")}, edges)

    def test_kernels_of_many_streams_and_threads(self):
        lines = self.graph([program("dl_calls"), "launches", fade.code_object("scale1"), 3, 50, 2])
        nodes = lines["node"]
        self.assertEqual(sum(x["kind"] == "kernel" for x in nodes), 150)
        launched = {x["to"] for x in lines["edge"] if x["kind"] == "launch"}
        self.assertEqual({x["id"] for x in nodes if x["kind"] == "kernel"} - launched, set())
        self.assertEqual(len({x["thread"] for x in nodes if "thread" in x}), 4)

    def test_mistakes(self):
        for words, line in (([], "profile: give -- and an application, or --events FILE"), (["--events", self.path("x")], "x: No such file or directory")):
            result = self.bare([PROBE, "profile", "-o", self.path("out"), *words])
            self.assertNotEqual(result.code, 0)
            self.assertIn(line, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)


if __name__ == "__main__":
    fade.main()
