"""fadeprobe profile: the graph of a program, and what decides how long it takes."""
import collections
import json
import os
import re
import shutil
import unittest

import fade
from fade import GPU, LANES, PROBE, program

FILES = ["analysis.json", "dag.json", "profile.json", "report.html", "roofline.json"]


class Tests(fade.Test):
    def graph(self, app):
        """What is in dag.json by its type, after what holds for every graph was checked."""
        result = self.bare([PROBE, "profile", "--no-counts", "-o", self.path("out"), "--", *app])
        self.assertEqual((result.code, result.said), (0, []), result.stdout)
        self.assertIn("critical path: ", result.stdout)
        self.assertEqual(os.listdir(self.path("out")), ["dag.json"])
        with open(self.path("out/dag.json")) as file:
            head = json.load(file)
        nodes, edges = head["nodes"], head["edges"]
        lines = {"dag": [head], "node": nodes, "edge": edges, "work": head["work"]}
        self.assertEqual(head["times"], "software")  # nothing was counted: there is no model of these kernels
        self.assertIn("(software GPU: times on the GPU are those of the emulation on this machine, not of a card)", result.stdout)
        self.assertEqual((head["type"], head["version"], head["node_count"], head["edge_count"]), ("dag", 2, len(nodes), len(edges)))
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
        self.assertEqual(head["guessed_edges"], sum(x.get("guess", False) for x in edges))
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
        threads = {x["id"]: x["thread"] for x in nodes if "thread" in x}
        self.assertEqual(len(set(threads.values())), 4)
        # The main thread has started the others, and makes no call after them: a guess.
        self.assertEqual(self.between_threads(lines), 3 * [(True, False)])
        self.assertEqual({x.get("guess", False) for x in lines["edge"] if x["kind"] == "thread" and threads[x["from"]] != threads[x["to"]]}, {True})
        self.assertEqual({x.get("guess", False) for x in lines["edge"] if x["kind"] in ("launch", "stream", "queue") or (x["kind"] == "thread" and threads[x["from"]] == threads[x["to"]])}, {False})
        self.assertLess({nodes[0]["pid"]}, {x["thread"] for x in nodes if x.get("critical") and "thread" in x})

    def between_threads(self, lines):
        """Edges between threads: whether they come from the main thread, and whether they lead to it."""
        threads = {x["id"]: x["thread"] for x in lines["node"] if "thread" in x}
        main = lines["node"][0]["pid"]
        return sorted((threads[x["from"]] == main, threads[x["to"]] == main) for x in lines["edge"] if x["kind"] == "thread" and threads[x["from"]] != threads[x["to"]])

    def profile(self, app, *options):
        """The kernels of profile.json, roofline.json and analysis.json by kernel, after they were compared."""
        result = self.bare([PROBE, "profile", "-o", self.path("out"), *options, "--", *app])
        self.assertEqual(result.code, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(self.path("out"))), FILES)
        kernels = {}
        for name in ("profile", "roofline", "analysis"):
            with open(self.path(f"out/{name}.json")) as file:
                head = json.load(file)
            self.assertEqual((head["type"], head["version"]), (name, 2))
            self.assertEqual(head["times"], "modeled")
            for line in head["kernels"]:
                kernels.setdefault(line["kernel"].split("(")[0], {})[name] = line
        for kernel in kernels.values():
            whole = kernel["profile"]
            same = {key: whole[key] for key in ("kernel", "module", "symbol", "target", "counted", "traced")}
            self.assertEqual(kernel["roofline"], {**same, **whole["roofline"]})
            self.assertEqual(kernel["analysis"], {**same, "time": whole["roofline"]["time"], **whole["classification"]})
            self.check_instructions(whole)
        self.head, self.text = head, result.stdout
        return kernels

    def check_instructions(self, kernel):
        """Shares add up, and what is waited for is a load or store of the same kernel."""
        rows = {x["address"]: x for x in kernel["instructions"]}
        if not kernel["counted"]:
            return self.assertEqual(rows, {})
        self.assertAlmostEqual(sum(x["time_share"] for x in rows.values()), 1)
        self.assertAlmostEqual(sum(x["time_share"] for x in kernel["lines"]), 1)
        self.assertEqual(sum(x["executions"] for x in rows.values()), sum(x["executions"] for x in kernel["lines"]))
        self.assertEqual(sum(x["executions"] for x in rows.values()), kernel["metrics"]["instructions"])
        for row in rows.values():
            if "waits_for" in row:
                self.assertIn(rows[row["waits_for"]]["unit"], ("vmem", "lds", "smem"))
                self.assertEqual(row["unit"], "wait")

    def check_classes(self, gpu):
        kernels = self.profile([program("classes")], "--gpu", gpu, "--exact")
        words = {"bandwidth": "memory_bandwidth", "occupied": "under_occupied", "compute": "compute_throughput", "launch": "launch_overhead"}
        known = {name: x["analysis"] for name, x in kernels.items() if name.split("_")[0] in {*words, "latency", "divergence", "lds"}}
        self.assertGreaterEqual(len(known), 20)
        for name, verdict in known.items():
            word = name.split("_")[0]
            self.assertEqual((name, verdict["class"]), (name, words.get(word, word)), verdict)
            self.assertNotEqual(verdict["next"]["class"], verdict["class"])
            self.assertTrue(0 <= verdict["next"]["nearness"] <= 1, verdict)
            self.assertTrue(verdict["try_first"], verdict)
        # 4 bytes of each line of 128.
        self.assertIn("are never used", known["bandwidth_lists"]["reason"])
        # Of each 32 lanes that LDS serves at a time 28 want the same bin, and one of the others may be in its bank.
        turns = kernels["lds_skewed"]["profile"]["metrics"]
        sets = turns["workgroups"] * 256 // 32 * 12
        self.assertTrue(27 * sets <= turns["lds_conflicts"] <= 28 * sets, turns)
        self.assertIn("several copies", known["lds_skewed"]["try_first"])
        self.every = kernels
        return {name: x["profile"] for name, x in kernels.items()}

    def check_sample(self):
        """Of the last run, whose kernels were all recorded, a sample: what is said of the kernels is the same."""
        self.assertNotIn("Sampled: ", self.text)
        shutil.rmtree(self.path("out"))
        sample = self.profile([program("classes")], "--gpu", GPU)
        self.assertRegex(self.text, r"Sampled: \d+ of \d+ workgroups were recorded, in \d+ of \d+ dispatches; --exact records all; numbers are scaled to all, sums to within \d+ % \(one standard error")
        self.assertEqual(set(sample), set(self.every))
        for name, one in self.every.items():
            if not one["profile"]["counted"]:
                continue
            with self.subTest(name):
                # Their workgroups are alike.
                self.assertEqual(sample[name]["profile"]["metrics"]["workgroups"], one["profile"]["metrics"]["workgroups"])
                self.assertAlmostEqual(sample[name]["profile"]["metrics"]["instructions"] / one["profile"]["metrics"]["instructions"], 1, delta=0.02)
                self.assertEqual(sample[name]["analysis"]["class"], one["analysis"]["class"])

    def check_counts(self, kernels, lanes):
        """Operations and bytes of kernels, worked out by hand from classes.hip."""
        def n(name):
            return kernels[name]["metrics"]["workgroups"] * 256

        def flops(name):
            return {key: value for key, value in kernels[name]["roofline"]["flops"].items() if value}

        def moved(name):
            return kernels[name]["roofline"]["bytes"]

        self.assertEqual(flops("bandwidth_copy"), {})
        self.assertEqual((moved("bandwidth_copy")["accessed"], moved("bandwidth_copy")["dram"]), (32 * n("bandwidth_copy"),) * 2)
        # A load of many lines is there when the last has come from memory, though L2 has the other half of each by then.
        self.assertGreater(max(x.get("wait_cycles", 0) for x in kernels["bandwidth_copy"]["instructions"]), 600)
        self.assertEqual(flops("bandwidth_triad"), {"all": 2 * n("bandwidth_triad"), "f32": 2 * n("bandwidth_triad")})
        self.assertEqual((moved("bandwidth_triad")["accessed"], moved("bandwidth_triad")["dram"]), (12 * n("bandwidth_triad"),) * 2)
        self.assertEqual(flops("bandwidth_sum")["f32"], 7 * n("bandwidth_sum"))
        self.assertEqual(moved("bandwidth_sum")["dram"], 32 * n("bandwidth_sum"))
        self.assertEqual(moved("latency_chase")["accessed"], (30 + 1) * 4 * n("latency_chase"))
        for name, each in (("occupied_one_group", 300 * 6 * 2), ("divergence_half", 80 * 8 * 2 / 4), ("divergence_triangle", 3 * 15.5 * 8 * 2),
                           ("compute_f32", 80 * 8 * 2), ("compute_roots", 40 * 4), ("lds_conflicts", 12)):
            self.assertEqual(flops(name), {"all": each * n(name), "f32": each * n(name)}, name)
        self.assertEqual(flops("compute_f64"), {"all": 30 * 6 * 2 * n("compute_f64"), "f64": 30 * 6 * 2 * n("compute_f64")})
        self.assertEqual(moved("lds_conflicts")["lds"], 12 * 8 * n("lds_conflicts"))
        self.assertEqual(moved("lds_wide")["lds"], (16 * 6 + 1) * 16 * n("lds_wide"))
        if lanes == 64:
            matrix = n("compute_matrix") // 64 * 20 * 2 * 32 * 32 * 2
            self.assertEqual(flops("compute_matrix"), {"all": matrix, "f32": matrix, "matrix": matrix})

    def test_kernels_are_in_the_class_they_were_made_for_and_a_sample_is_counted_unless_all_are_wanted(self):
        kernels = self.check_classes(GPU)
        self.check_counts(kernels, LANES)
        self.assertIn("times are modeled for AMD", self.text)
        # The page says what is on the critical path.
        with open(self.path("out/report.html")) as page:
            self.assertRegex(page.read(), r'"critical_path":\{"begin_ns":"\d+","critical_ns":\{[^}]*"kernel":\d+\},"guesses":\d+,"modeled":true,"overlap_possible_ns":\d+,"path":\[\[\d+,\d+,\d+\][^}]*\],"span_ns":\d+,"steps":\d+,"times":"times of kernels, copies and HIP calls are those of a model[^"]*","work":\[\{')
        # What the graph says of kernels is there, too.
        self.assertGreater(kernels["compute_f32"]["criticality"]["total_ns"], 0)
        # The loads of a chase are what it waits for, nearly all of the time.
        chase = kernels["latency_chase"]
        waits = [x for x in chase["instructions"] if x.get("wait_share", 0) > 0.5]
        self.assertEqual(len(waits), 1, chase["instructions"])
        loads = [x["address"] for x in chase["instructions"] if x["text"].startswith("global_load")]
        self.assertIn(waits[0]["waits_for"], loads)
        self.check_sample()

    @unittest.skipIf(fade.SUFFIX, "there each GPU has a run of its own")
    def test_kernels_are_in_the_class_they_were_made_for_on_rdna(self):
        self.check_counts(self.check_classes("gfx1030"), 32)

    def roofs(self, *options, said=(), env=None, name="counted_twins"):
        """Of kernels of the program whose twins count: what is in roofline.json, and the output."""
        result = self.bare([PROBE, "profile", "-o", self.path("out"), *options, "--", program(name)], env)
        self.assertEqual(result.code, 0, result.stderr)
        written = {"counted_twins": "8\n", "roofs": ""}[name]
        self.assertTrue(result.stdout.startswith(written + "critical path: "), result.stdout)  # what the program writes, once
        self.assertEqual(len(result.said), len(said), result.stderr)
        for line, wanted in zip(result.said, said):
            self.assertIn(wanted, line)
        self.assertEqual(sorted(os.listdir(self.path("out"))), FILES)
        with open(self.path("out/roofline.json")) as file:
            head = json.load(file)
        return head, {x["kernel"].split("(")[0]: x for x in head["kernels"] if not x["kernel"].startswith("__amd")}

    def both_ways(self, gpu, name):
        """The same numbers, whoever counts them."""
        _, watched = self.roofs("--gpu", gpu, "--observe", "gpu", said=["observed on the software GPU"], name=name)
        head, counted = self.roofs("--gpu", gpu, "--observe", "pass", said=["second time"], name=name)
        self.assertEqual(head["times"], "modeled")
        self.assertEqual(set(counted), set(watched))
        for name, kernel in counted.items():
            self.assertEqual((kernel["counted_by"], kernel["exact"], kernel["doubt"], kernel["levels"]), ("blocks", True, "", "model"), name)
            self.assertEqual(watched[name]["counted_by"], "software GPU")
            for field in ("flops", "bytes", "intensity"):
                self.assertEqual((name, kernel[field]), (name, watched[name][field]))
        return counted

    def check_both_ways(self, gpu):
        counted = self.both_ways(gpu, "counted_twins")
        self.assertEqual(set(counted), {"loop", "branches", "types"})
        self.assertGreater(counted["types"]["flops"]["f64"], 0)

    def by_hand(self, gpu):
        """Of the kernels of roofs.hip: operations by type, and bytes by level where they are not those that lanes access."""
        n, groups = 1024, 4
        lanes = 64 if gpu.startswith("gfx9") else 32
        waves = n // lanes
        has_scalar_floats = gpu.startswith(("gfx115", "gfx12"))
        line = 64 if gpu in ("gfx908", "gfx90a") else 128  # of L1
        far = 64 if gpu == "gfx908" else 128  # of L2; what is written goes to memory in sectors of 32

        def lines(of_bytes):
            return -(-of_bytes // line) * line

        def fetched_from(of_bytes):
            return -(-of_bytes // far) * far

        # Per wave. A product of MxK and KxN is 2*M*N*K, for each of the blocks.
        matrix = {"gfx90a": {"f32": 5 * 2 * 32 * 32 * 2, "f16": 2 * 16 * 16 * 16 + 2 * 4 * 4 * 4 * 16, "bf16": 2 * 32 * 32 * 8,
                             "f64": 2 * 16 * 16 * 4 + 2 * 4 * 4 * 4 * 4, "matrix_integer": 2 * 16 * 16 * 16},
                  "gfx1100": {"f16": 3 * 2 * 16 * 16 * 16, "bf16": 2 * 16 * 16 * 16}}
        matrix["gfx908"] = {**matrix["gfx90a"], "f64": 0, "bf16": 2 * 32 * 32 * 4}
        matrix["gfx942"] = matrix["gfx950"] = {**matrix["gfx90a"], "matrix_integer": 2 * 16 * 16 * 32, "f8": 2 * 16 * 16 * 32}
        matrix["gfx1150"] = matrix["gfx1151"] = matrix["gfx1100"]
        matrix["gfx1200"] = matrix["gfx1201"] = {**matrix["gfx1100"], "f8": 2 * 16 * 16 * 16}
        of_matrix = {key: waves * value for key, value in matrix.get(gpu, {}).items()}
        if of_matrix:
            of_matrix["matrix"] = sum(value for key, value in of_matrix.items() if key != "matrix_integer")
        # Lanes of a wave are 68 bytes apart, modulo 4096. Each workgroup has an L1 of its own, and comes to all lines.
        gathered = sum(len({i * 17 % n * 4 // line for i in range(w * lanes, (w + 1) * lanes)}) for w in range(waves)) * line
        # A wave has lanes / 16 rows of 16: as many lines to read, and 16 to write; 4 and 16 for a wave of 64.
        turned = 4096 // lanes * (lanes // 16 + 16) * line
        # Rows of 16 are half a line of 128 bytes, and the other half of a's is still there for the next tile.
        tiles = 256 * line * (4 + 4 + 1)
        fetched = tiles - (256 * line * 2 if line == 128 else 0)
        table = groups * lines(40 * 4)
        return {
            "f64_chain": ({"f64": 50 * 2 * n}, {"accessed": 16 * n}),
            "f32_packed": ({"f32": (9 * 2 + 1) * 2 * n, "packed": (9 * 2 + 1) * 2 * n if lanes == 64 and gpu != "gfx908" else 0}, {"accessed": 16 * n}),
            "f16_packed": ({"f16": (9 * 2 + 1) * 2 * n, "packed": (9 * 2 + 1) * 2 * n}, {"accessed": 8 * n}),
            "dot": ({"f16": 4 * n, "packed": 4 * n}, {"accessed": 8 * n}),
            "matrix": (of_matrix, {"accessed": 8 * n}),
            "divergent": ({"f32": sum(range(16)) * n // 16 * 2}, {"accessed": 4 * n}),
            "partial": ({"f32": 1000}, {"accessed": 8000, "l1": 2 * lines(4000), "l2": 2 * lines(4000), "dram": fetched_from(4000) + 4000}),
            "calls": ({"f32": (3 + 3 + 1) * n}, {"accessed": 4 * n}),
            "scratch": ({"f32": (8 + 32) * n}, {"accessed": 4 * n, "l2": 4 * n + groups * line, "dram": 4 * n + far}),
            "gather": ({"f32": n}, {"accessed": 12 * n, "l1": 8 * n + gathered, "l2": 8 * n + groups * 4 * n, "dram": 12 * n}),
            "transpose": ({}, {"accessed": 8 * 4096, "l1": turned, "l2": turned, "dram": 8 * 4096}),
            "tiled": ({"f32": 2 * 64 ** 3}, {"accessed": (4 + 4 + 1) * 4 * 4096, "lds": 4 * (2 + 2 * 16) * 4 * 4096, "l1": tiles, "l2": fetched, "dram": 3 * 4 * 4096}),
            "reduction": ({"f32": groups * 255}, {"accessed": 4 * n + 16, "lds": groups * 4 * (256 + 3 * 255 + 1), "l1": 4 * n + groups * line, "l2": 4 * n + groups * line, "dram": 4 * n + 32}),
            "wide": ({"f32": 4 * n}, {"accessed": 48 * n, "l1": (2 * 32 + 16) * n, "l2": 48 * n, "dram": 48 * n}),
            # The scalar unit loads once for a wave, and not through L1.
            "scalar": ({"f32": 40 * (waves if has_scalar_floats else n)}, {"accessed": 4 * n, "l1": 4 * n, "l2": 4 * n + table, "dram": 4 * n + fetched_from(40 * 4)}),
            "atomics": ({}, {"accessed": 16 * n, "dram": 2 * (512 + 2048 + 4096)}),
            "one_counter": ({}, {"accessed": 4 * waves, "l1": waves * line, "l2": waves * line, "dram": far + 32}),
            # 996 of five points: a product and four multiply-adds. 1000 are read, 3984 bytes written to 125 sectors.
            "stencil": ({"f32": 996 * 9}, {"accessed": 996 * 24, "dram": fetched_from(4000) + 4000}),
        }

    def check_by_hand(self, gpu):
        counted = self.both_ways(gpu, "roofs")
        by_hand = self.by_hand(gpu)
        self.assertEqual(set(counted), set(by_hand))
        for name, (flops, moved) in by_hand.items():
            found = {key: value for key, value in counted[name]["flops"].items() if value and key != "all"}
            if name in ("wide", "tiled"):
                found.pop("packed", None)  # if the compiler likes
            self.assertEqual((name, found), (name, {key: value for key, value in flops.items() if value}))
            # Unless it says otherwise, lanes are neighbors and everything comes from memory.
            wanted = {"lds": 0, **{level: moved["accessed"] for level in ("l1", "l2", "dram")}, **moved}
            if name == "stencil":  # what L1 has depends on how its loads are put together
                wanted = {"accessed": wanted["accessed"], "lds": 0, "dram": wanted["dram"]}
            self.assertEqual((name, {key: counted[name]["bytes"][key] for key in wanted}), (name, wanted))
        if gpu == "gfx90a":  # an MI210 has 104 units at 1.7 GHz; each makes 64 multiply-adds per clock, packed ones 128
            plain = 104 * 64 * 2 * 1.7e9
            for name, share in (("f32_packed", 1), ("calls", 0), ("divergent", 0)):
                roof = counted[name]["roof"]
                self.assertEqual((name, roof["type"], roof["unit"], roof["packed_share"]), (name, "f32", "vector", share))
                self.assertAlmostEqual(roof["flops_per_s"] / plain, 1 + share, msg=name)
                self.assertLessEqual(counted[name]["attainable_flops_per_s"], roof["flops_per_s"])
        self.assertGreaterEqual(counted["scalar"]["bytes"]["scalar"], 1024 // (64 if gpu.startswith("gfx9") else 32) * 40 * 4)

    def test_rooflines_are_those_worked_out_by_hand(self):
        self.check_by_hand(GPU)

    @unittest.skipIf(fade.SUFFIX, "there each GPU has a run of its own")
    def test_rooflines_are_those_worked_out_by_hand_on_rdna(self):
        self.check_by_hand("gfx1030")

    def test_kernels_that_count_their_blocks_give_the_numbers_of_those_that_are_watched(self):
        self.check_both_ways(GPU)

    @unittest.skipIf(fade.SUFFIX, "there each GPU has a run of its own")
    def test_kernels_that_count_their_blocks_give_the_numbers_of_those_that_are_watched_on_rdna(self):
        self.check_both_ways("gfx1030")

    def test_on_a_card_times_are_measured_and_kernels_count_in_a_second_run(self):
        # The software GPU by another name: nobody knows that it is one.
        os.symlink(os.path.join(fade.LIB, "libfadegpu.so"), self.path("libcard.so"))
        # What peaks has kept was damaged: nobody has named it, so it does not matter.
        os.makedirs(self.path("cache/fade"))
        with open(self.path("cache/fade/peaks.json"), "w") as file:
            file.write('{"type":"pea')
        head, kernels = self.roofs(said=["peaks.json: line 1: it is not JSON, or was cut off; using the rates of FADE's table", "second time"],
                                   env={"LD_PRELOAD": self.path("libcard.so"), "FADE_GPU": GPU, "XDG_CACHE_HOME": self.path("cache")})
        self.assertEqual(head["times"], "measured")
        self.assertEqual({(x["time"]["is"], x["counted_by"]) for x in kernels.values()}, {("measured", "blocks")})
        with open(self.path("out/dag.json")) as file:
            nodes = [x for x in json.load(file)["nodes"] if x["name"].startswith("loop(")]
        self.assertEqual(len(nodes), 2)
        self.assertEqual(kernels["loop"]["time"]["dispatch_ns"], sum(x["end_ns"] - x["start_ns"] for x in nodes) / 2)
        self.assertEqual(kernels["loop"]["flops"]["f32"], 256 * 2 * (10 + 5))

    @unittest.skipIf(fade.SUFFIX, "there each GPU has a run of its own")
    def test_kernels_of_the_same_name_on_two_gpus_are_told_apart(self):
        result = self.bare([PROBE, "profile", "--gpu", "gfx90a,gfx1030", "-o", self.path("out"), "--", program("agents")])
        self.assertEqual(result.code, 0, result.stderr)
        with open(self.path("out/profile.json")) as file:
            kernels = {x["target"]: x for x in json.load(file)["kernels"] if x["kernel"].startswith("number(")}
        # 64 work-items are a wave of the one, and two of the other.
        self.assertEqual({target: (x["counted"], x["metrics"]["dispatches"], x["metrics"]["waves"], x["metrics"]["wave_size"]) for target, x in kernels.items()},
                         {"gfx90a": (True, 5, 5, 64), "gfx1030": (True, 5, 10, 32)})
        self.assertNotEqual(kernels["gfx90a"]["instructions"], kernels["gfx1030"]["instructions"])
        with open(self.path("out/dag.json")) as file:
            nodes = [x for x in json.load(file)["nodes"] if x["name"].startswith("number(")]
        for kernel in kernels.values():  # in the graph, too
            took = [x["end_ns"] - x["start_ns"] for x in nodes if x["module"] == kernel["module"]]
            self.assertEqual((len(took), sum(took)), (5, kernel["criticality"]["total_ns"]))
        self.assertRegex(result.stdout, r"\nnumber\(int\*, int\) gfx1030 +5 ")

    def test_thresholds_are_told_with_the_verdicts(self):
        self.profile([program("counted")], "-k", "branches")
        self.assertEqual([x["name"] for x in self.head["thresholds"]], ["launch_share", "units_share", "waves_share", "lane_share", "wait_share"])

    def test_the_example_reads_a_profile(self):
        self.profile([program("counted")])
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/profile/slowest_lines.py")
        result = self.bare(["python3", script, self.path("out/profile.json")])
        self.assertEqual((result.code, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r" +[0-9.]+% +[0-9.]+%  counted.hip:\d+ +loop +launch_overhead\n")
        self.assertIn("times are modeled", result.stdout)

    def test_every_field_is_documented_and_every_documented_field_is_there(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/formats/profile.md")) as file:
            text = file.read()
        part = text[text.index("## Profile of a program"):text.index("### Peaks")]
        documented = {word for name in re.findall(r"`([^`]+)`", part) for word in re.findall(r'^"(\w+)":|^([\w ]+)$|^(\w+)\.(\w+)$', name) for word in word if word}
        fields, values = set(), set()

        def look(at):
            if isinstance(at, dict):
                fields.update(at)
            elif not isinstance(at, list):
                values.add(at)
            for each in at.values() if isinstance(at, dict) else at if isinstance(at, list) else ():
                look(each)
        for app in ("classes", "counted"):
            self.profile([program(app)])
            for name in ("profile", "roofline", "analysis"):
                with open(self.path(f"out/{name}.json")) as file:
                    look(json.load(file))
        self.assertEqual(fields - documented, set())
        # What else there is are values that fields can have, and names of files.
        others = {"kernel", "profile", "roofline", "analysis", "json", "dag", "table", "measured", "modeled", "unknown", "cycles", "blocks", "workgroup", "waves", "vgprs", "sgprs", "lds", "grid", "compute", "read", "write", "atomic",
                  "barrier", "matrix", "other", "f8", "of another card", "fadeprobe profile", "fadeprobe peaks"}
        self.assertEqual(documented - fields - values - others, set())

    def test_only_chosen_kernels_are_counted(self):
        kernels = self.profile([program("counted")], "-k", "branches")
        counted = {"branches": True, "loop": False, "types": False, "__amd_rocclr_fillBufferAligned": False}
        if fade.HIP > 5:  # brings four bytes to the host by a kernel
            counted["__amd_rocclr_copyBuffer"] = False
        self.assertEqual({name: x["analysis"]["counted"] for name, x in kernels.items()}, counted)
        self.assertEqual(kernels["loop"]["analysis"]["class"], "unknown")
    def kernels(self, way):
        """Edges between kernels of the program, without those that only the queue makes, and calls that waited."""
        lines = self.graph([program("ordered"), way])
        nodes = {x["id"]: x for x in lines["node"]}

        def name(node):
            return nodes[node]["name"].replace("(anonymous namespace)::", "").replace("(int*)", "")
        wanted = {"root", "left", "right", "join", "callback", "__amd_rocclr_streamOpsWait", "__amd_rocclr_streamOpsWrite"}
        edges = [(name(x["from"]), name(x["to"]), x["kind"]) for x in lines["edge"] if x["kind"] not in ("queue", "launch", "thread")]
        return sorted(x for x in edges if {x[0], x[1]} <= wanted), {x[1] for x in edges if x[0] in wanted and x[2] == "sync"}, lines

    def test_events_between_streams(self):
        edges, calls, _ = self.kernels("events")
        self.assertEqual(edges, [("left", "join", "event"), ("right", "join", "stream"), ("root", "left", "event"), ("root", "right", "stream")])
        self.assertEqual(calls, {"hipEventQuery"})  # which was asked until the answer was yes

    def test_parts_of_a_graph_wait_as_they_were_captured(self):
        edges, calls, _ = self.kernels("graph")
        once = [("left", "join", "graph"), ("right", "join", "graph"), ("root", "left", "graph"), ("root", "right", "graph")]
        self.assertEqual(edges, sorted(2 * once + [("join", "root", "stream")]))
        self.assertEqual(calls, {"hipStreamSynchronize"})

    def test_streams_of_threads(self):
        edges, calls, lines = self.kernels("threads")
        self.assertEqual(edges, [("left", "join", "stream"), ("right", "join", "stream")])
        self.assertEqual(calls, {"hipStreamSynchronize", "hipStreamQuery"})

    def test_values_that_streams_wait_for(self):
        edges, _, lines = self.kernels("values")
        wait, write = "__amd_rocclr_streamOpsWait", "__amd_rocclr_streamOpsWrite"
        self.assertLessEqual({(wait, "left", "stream"), ("root", write, "stream")}, set(edges))
        # The value is there before the kernel that writes it has ended: then root is what was waited for.
        self.assertTrue({(write, wait, "event"), ("root", wait, "event")} & set(edges), edges)

    def test_a_callback_is_work_of_the_program_that_its_stream_waits_for(self):
        edges, _, lines = self.kernels("callback")
        self.assertLessEqual({("root", "callback", "stream"), ("callback", "left", "stream")}, set(edges))
        callback, = [x for x in lines["node"] if x["name"] == "callback"]
        self.assertGreaterEqual(callback["work_ns"], 299_000_000)  # it sleeps
        self.assertTrue(callback["critical"])
        head, = lines["dag"]
        self.assertLess(head["overlap_possible_ns"] + 299_000_000, head["span_ns"])
        # When it ended is not recorded, but that left waited for it.
        self.assertEqual({x["kind"] for x in lines["edge"] if x.get("guess") and x["from"] == callback["id"]}, {"stream"})
        self.assertGreaterEqual(head["critical_guesses"], 1)

    def test_a_kernel_that_the_program_waits_for_is_on_the_critical_path_whatever_call_waits(self):
        for way in ("hipMemcpy", "hipMemcpyWithStream", "pageable", "hipMemset", "hipFree", "hipDeviceSynchronize", "hipStreamSynchronize", "hipStreamDestroy",
                    "hipEventSynchronize", "hipStreamWaitEvent", "null stream"):
            with self.subTest(way):
                shutil.rmtree(self.path("out"), ignore_errors=True)
                lines = self.graph([program("ordered"), way])
                kernel, = [x for x in lines["node"] if "slow(" in x["name"]]
                # By hand: launch, kernel, and the call that waits; of what it takes, only the rest is its own.
                self.assertTrue(kernel.get("critical"), [x for x in lines["node"] if x.get("critical")])
                work, = [x for x in lines["work"] if x["name"] == kernel["name"]]
                self.assertEqual(work["critical_ns"], kernel["end_ns"] - kernel["start_ns"])
                self.assertEqual(work["gain_ns"]["50"], (work["critical_ns"] + 1) // 2)
                waited = [x for x in lines["node"] if x["kind"] == "call" and x["start_ns"] < kernel["end_ns"] - 5_000_000 and x["end_ns"] > kernel["end_ns"]]
                self.assertTrue(waited)
                for call in waited:
                    self.assertLess(call["work_ns"], kernel["end_ns"] - max(call["start_ns"], kernel["start_ns"]), call)

    def modeled_graph(self, app):
        shutil.rmtree(self.path("out"), ignore_errors=True)
        result = self.bare([PROBE, "profile", "--gpu", "gfx90a", "-o", self.path("out"), "--", *app])
        self.assertEqual(result.code, 0, result.stderr)
        with open(self.path("out/dag.json")) as file:
            head = json.load(file)
        self.assertEqual(head["times"], "modeled")
        return head

    def test_what_only_waits_for_the_emulated_gpu_is_no_work_of_the_host_and_two_runs_agree(self):
        for way in ("hipMemcpy", "pageable", "hipMemset", "hipFree", "hipDeviceSynchronize", "hipStreamSynchronize", "hipEventSynchronize", "null stream"):
            with self.subTest(way):
                seen = []
                for _ in range(2 if way == "hipMemcpy" else 1):
                    head = self.modeled_graph([program("ordered"), way])
                    kernel, = [x for x in head["nodes"] if "slow(" in x["name"]]
                    # By hand: launch, kernel, the call that waits. The path has the whole kernel, and no call has more than calls take.
                    self.assertTrue(kernel.get("critical"), [x for x in head["nodes"] if x.get("critical")])
                    work, = [x for x in head["work"] if x["name"] == kernel["name"]]
                    self.assertEqual(work["critical_ns"], kernel["work_ns"])
                    self.assertAlmostEqual(work["gain_ns"]["50"], kernel["work_ns"] / 2, delta=1)
                    self.assertLessEqual({x["work_ns"] for x in head["nodes"] if x["kind"] == "call"}, {100, 2000})
                    nodes = {x["id"]: x for x in head["nodes"]}
                    waiting = [nodes[x["to"]] for x in head["edges"] if x["from"] == kernel["id"] and x["kind"] == "sync"]
                    for call in waiting:
                        self.assertEqual(call["end_ns"], max(nodes[x["from"]]["end_ns"] for x in head["edges"] if x["to"] == call["id"]) + 2000)
                    seen.append([(x["kind"], x["name"], x["work_ns"]) for x in head["nodes"] if x["kind"] not in ("host",)])
                self.assertEqual(sorted(seen[0]), sorted(seen[-1]))

    def test_what_the_program_itself_does_is_on_the_modeled_path(self):
        head = self.modeled_graph([program("ordered"), "callback"])
        callback, = [x for x in head["nodes"] if x["name"] == "callback"]
        self.assertGreaterEqual(callback["work_ns"], 299_000_000)  # it sleeps
        self.assertTrue(callback["critical"])

    def test_the_longer_of_two_dispatches_of_a_kernel_is_on_the_modeled_path(self):
        head = self.modeled_graph([program("ordered"), "two lengths"])
        long, short = sorted((x for x in head["nodes"] if "slow(" in x["name"]), key=lambda x: -x["work_ns"])
        # Both begin, as kernels do; besides, the one does thousands of times as much.
        self.assertGreater(long["work_ns"], 20 * short["work_ns"])
        self.assertTrue(long["critical"])
        self.assertFalse(short.get("critical"))
        work, = [x for x in head["work"] if "slow(" in x["name"]]
        self.assertEqual(work["critical_ns"], long["work_ns"])

    def test_kernel_times_are_the_models_and_two_runs_agree(self):
        found = []
        for run in ("first", "second"):
            result = self.bare([PROBE, "profile", "-o", self.path(run), "--timeline", self.path(run + ".json"), "--", program("counted")])
            self.assertEqual(result.code, 0, result.stderr)
            self.assertIn("(times of kernels, copies and HIP calls are those of a model of the card; the program itself took as long on this machine)", result.stdout)
            with open(self.path(run + "/dag.json")) as file:
                head = json.load(file)
            self.assertEqual(head["times"], "modeled")
            with open(self.path(run + "/profile.json")) as file:
                kernels = {x["kernel"]: x for x in json.load(file)["kernels"] if x["counted"]}
            nodes = [x for x in head["nodes"] if x["kind"] == "kernel"]
            # In the graph and in the table, and when one ends is what follows from those before it.
            for name, kernel in kernels.items():
                times = [x["work_ns"] for x in nodes if x["name"] == name]
                self.assertAlmostEqual(sum(times), kernel["roofline"]["time"]["dispatch_ns"] * len(times), delta=len(times))
                self.assertEqual(sum(times), kernel["criticality"]["total_ns"])
            for node in nodes:
                self.assertEqual(node["end_ns"] - node["start_ns"], node["work_ns"])
                self.assertGreaterEqual(node["start_ns"], max((head["nodes"][x["from"]]["end_ns"] for x in head["edges"] if x["to"] == node["id"]), default=0))
            with open(self.path(run + ".json")) as file:
                timeline = json.load(file)
            self.assertIn("model", timeline["otherData"]["times"])
            drawn = sorted(round(x["dur"] * 1000) for x in timeline["traceEvents"] if x.get("cat") == "kernel")
            self.assertEqual(drawn, sorted(x["work_ns"] for x in nodes))
            found.append({(x["name"], x["work_ns"]) for x in nodes})
        self.assertEqual(*found)
        # The software GPU's own times are there for whoever asks.
        result = self.bare([PROBE, "profile", "--times", "device", "-o", self.path("device"), "--", program("counted")])
        self.assertIn("(software GPU: times on the GPU are those of the emulation", result.stdout)
        with open(self.path("device/dag.json")) as file:
            self.assertEqual(json.load(file)["times"], "software")
        result = self.bare([PROBE, "profile", "--times", "model", "--no-counts", "-o", self.path("out"), "--", program("counted")])
        self.assertEqual((result.code, result.said), (2, ["fadeprobe: --times model needs an application and its counts: remove --no-counts"]))

    def findings_of(self, app, *options):
        """Cause, kernel and line of each finding, and how many workgroups were recorded of how many."""
        result = self.bare([PROBE, *options, "-l", self.path("run.jsonl"), "--findings", self.path("found.jsonl"), "--", app])
        self.assertEqual(result.code, 0, result.stderr)
        with open(self.path("found.jsonl")) as file:
            found = [json.loads(line) for line in file]
        with open(self.path("run.jsonl")) as file:
            summary = next(x for x in map(json.loads, file) if x["type"] == "summary")
        return [(x["cause"], x["kernel"], x["places"][0]["line"] if x["places"] else 0) for x in found if "cause" in x], summary

    def test_findings_of_a_sample_have_the_order_of_those_of_all(self):
        sampled = 0
        for name in ("matmul", "transpose", "histogram", "uncoalesced"):
            with self.subTest(name):
                every, summary = self.findings_of(fade.example(name), "--exact")
                self.assertEqual(summary["workgroups"], summary["workgroups_recorded"])
                some, summary = self.findings_of(fade.example(name), "--sample", "auto:4")
                sampled += summary["workgroups_recorded"] < summary["workgroups"]
                self.assertEqual(some, every)
        self.assertGreaterEqual(sampled, 2)

    def thread_trace(self):
        """A folder as rocprofv3 --att leaves it: a load, a wait for it, and two waves. Returns its files."""
        code = [["; _Z5scalePfi", 0, 1, "scale(float*, int)", 1, 4096, 0, 0, 0, 0],
                ["global_load_dword v1, v[2:3], off", 0, 2, "/src/a.hip:7", 1, 4096, 10, 40, 0, 10],
                ["s_waitcnt vmcnt(0)", 0, 3, "/src/a.hip:7 -> /src/a.hip:30", 1, 4104, 10, 6000, 5900, 0],
                ["v_add_f32_e32 v1, v1, v1", 0, 4, "/src/a.hip:8", 1, 4108, 10, 50, 10, 0],
                ["s_endpgm", 0, 5, "", 1, 4112, 2, 2, 0, 0]]
        return {"code.json": {"code": code, "version": "3.0.0", "header": "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"},
                "filenames.json": {"gfxip": 9, "version": "3.0.0", "wave_filenames": {"0": {"0": {"0": {"0": ["se0_sm0_sl0_wv0.json", 0, 700]}}}}},
                "se0_sm0_sl0_wv0.json": {"name": "SE0", "duration": 700, "wave": {"cu": 1, "begin": 0, "end": 700, "instructions": [], "waitcnt": [[3, [[2, 0]]]]}},
                "occupancy.json": {"0": [[100, 1, 0, 0, 1, 1], [150, 1, 1, 0, 1, 1], [700, 1, 0, 0, 0, 1], [900, 1, 1, 0, 0, 1]],
                                   "dispatches": {"0": "0 / 0x0", "1": "_Z5scalePfi"}, "version": "3.0.0"}}

    def write_trace(self, folder, files):
        os.makedirs(self.path(folder))
        for name, contents in files.items():
            with open(self.path(f"{folder}/{name}"), "w") as file:
                file.write(contents if isinstance(contents, str) else json.dumps(contents))

    def imported(self, folder):
        result = self.bare([PROBE, "profile", "--thread-trace", self.path(folder), "-o", self.path("out")])
        kernels = []
        if result.code == 0:
            with open(self.path("out/profile.json")) as file:
                kernels = json.load(file)["kernels"]
        return result, kernels

    def test_a_thread_trace_is_shown_like_the_model(self):
        self.write_trace("trace/ui_output_agent_1_dispatch_1", self.thread_trace())
        result, (kernel,) = self.imported("trace")
        self.assertEqual(result.stderr, "")
        self.assertIn("waves waited 97 % of their time", result.stdout)
        self.assertEqual((kernel["kernel"], kernel["symbol"], kernel["traced"], kernel["counted"]), ("scale(float*, int)", "_Z5scalePfi", True, False))
        load, wait, add, _ = kernel["instructions"]
        self.assertEqual((wait["file"], wait["line"], wait["executions"]), ("/src/a.hip", 7, 10))
        self.assertEqual((wait["wait_cycles"], wait["waits_for"]), (590, load["address"]))
        self.assertAlmostEqual(wait["time_share"], 6000 / 6102)
        self.assertEqual([(x["line"], x["executions"]) for x in kernel["lines"]], [(7, 20), (8, 10), (0, 2)])
        self.assertEqual(kernel["metrics"]["waves_over_time"], {"unit": "cycles", "moments": [[100, 1], [150, 2], [700, 1], [900, 0]]})
        with open(self.path("out/report.html")) as page:
            self.assertIn('"traced":true', page.read())
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/profile/slowest_lines.py")
        # 10 cycles besides the load were idle: 6050 of 6102, 5910 of them waiting.
        self.assertIn("99.1%    96.9%  a.hip:7", self.bare(["python3", script, self.path("out/profile.json")]).stdout)

    def test_a_thread_trace_says_nothing_that_it_does_not_know(self):
        self.write_trace("trace", self.thread_trace())
        _, (kernel,) = self.imported("trace")
        self.assertIsNone(kernel["target"])
        roofline = kernel["roofline"]
        for field in ("counted_by", "levels", "flops", "bytes", "flops_per_s", "roof", "attainable_flops_per_s", "bound"):
            self.assertIsNone(roofline[field], field)
        self.assertEqual((set(roofline["intensity"].values()), roofline["time"]), ({None}, {"dispatch_ns": None, "all_ns": 0, "is": "unknown"}))
        for field in ("workgroups", "wave_size", "lane_share", "lds_turns", "wave_ns"):
            self.assertIsNone(kernel["metrics"][field], field)
        self.assertEqual({x["lanes"] for x in [*kernel["instructions"], *kernel["lines"]]}, {None})
        # What it knows: waves waited for memory, and the vector ALU was busy for 40 of 700 cycles of a SIMD.
        self.assertEqual((kernel["classification"]["class"], kernel["classification"]["limit"]), ("latency", "latency"))
        self.assertIn("97 % for memory", kernel["classification"]["reason"])
        self.assertEqual({key: value for key, value in kernel["metrics"]["utilization"].items() if value is not None},
                         {"vector ALU": 40 / 700, "matrix": 0, "scalar": (2 + 0) / 700})
        self.assertEqual(kernel["metrics"]["occupancy"]["waves_per_simd"], 1)

    def test_the_class_of_a_thread_trace_is_that_of_what_was_busy(self):
        trace = self.thread_trace()
        for number, (code, limit) in enumerate((("v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", "matrix"), ("v_fma_f32 v1, v1, v2, v3", "vector ALU"))):
            trace["code.json"]["code"][-2:-1] = [[code, 0, 4, "/src/a.hip:8", 1, 4108, 100, 500, 0, 0]]
            self.write_trace(f"busy{number}", trace)
            _, (kernel,) = self.imported(f"busy{number}")
            self.assertEqual((kernel["classification"]["class"], kernel["classification"]["limit"]), ("compute_throughput", limit))
        trace["code.json"]["code"][1][0] = "ds_read_b32 v1, v0"
        trace["code.json"]["code"][-2][-4:] = [1, 1, 0, 0]
        self.write_trace("lds", trace)
        _, (kernel,) = self.imported("lds")
        self.assertEqual(kernel["classification"]["class"], "lds")

    def test_the_table_of_a_thread_trace_is_enough(self):
        rows = self.thread_trace()["code.json"]["code"]
        os.mkdir(self.path("trace"))
        with open(self.path("trace/stats_ui_output_agent_1_dispatch_1.csv"), "w") as file:
            file.write('"CodeObj","Vaddr","Instruction","Hitcount","Latency","Stall","Idle","Source"\n')
            for text, _, _, source, code, address, hits, latency, stall, idle in rows:
                file.write(f'{code},{address},"{text}",{hits},{latency},{stall},{idle},"{source}"\n')
        for place in ("trace", "trace/stats_ui_output_agent_1_dispatch_1.csv"):
            result, (kernel,) = self.imported(place)
            self.assertEqual((result.code, result.stderr), (0, ""))
            self.assertEqual((kernel["kernel"], len(kernel["instructions"]), kernel["instructions"][1]["wait_cycles"]), ("scale(float*, int)", 4, 590))
            self.assertIsNone(kernel["metrics"]["utilization"]["vector ALU"])
        with open(self.path("trace/stats_ui_output_agent_1_dispatch_1.csv"), "w") as file:
            file.write("CodeObj,Vaddr,Instruction\n")
        self.assertIn("no column 'Source'", self.imported("trace")[0].stderr)

    def test_thread_traces_that_make_no_sense(self):
        good = self.thread_trace()
        row = good["code.json"]["code"][1]
        for number, (name, contents, wanted) in enumerate((
                ("code.json", "{", "is not JSON, or was cut off"), ("code.json", "[]", "it is not a JSON object"), ("code.json", {"code": []}, "it has no 'code'"),
                ("code.json", {"code": [row[:6]]}, "does not have ten columns"), ("code.json", {"code": [[*row[:6], -1, 0, 0, 0]]}, "'Hit' is not a whole number"),
                ("code.json", {"code": [[*row[:7], 1e308, 0, 0]]}, "a cycle count is too large"), ("code.json", {"code": [[*row[:6], 1 << 64, 0, 0, 0]]}, "'Hit' is not a whole number"),
                ("code.json", {"code": [[*row[:7], "x", 0, 0]]}, "a cycle count is not a number"))):
            self.write_trace(f"bad{number}", {**good, name: contents})
            result, _ = self.imported(f"bad{number}")
            self.assertEqual((result.code, len(result.stderr.splitlines())), (1, 1), result.stderr)
            self.assertIn(wanted, result.stderr)
        # Without waves or occupancy the rest is shown.
        for number, (name, contents, wanted) in enumerate((
                ("se0_sm0_sl0_wv0.json", "[1]", "it has no 'wave'"), ("se0_sm0_sl0_wv0.json", {"wave": {"waitcnt": [[3]]}}, "is not a pair"),
                ("occupancy.json", {"0": [[1]]}, "does not have six columns"), ("occupancy.json", "x", "is not JSON"))):
            self.write_trace(f"half{number}", {**good, name: contents})
            result, kernels = self.imported(f"half{number}")
            self.assertEqual((result.code, len(kernels), len(result.stderr.splitlines())), (0, 1, 1), result.stderr)
            self.assertIn(wanted, result.stderr)
        os.mkdir(self.path("empty"))
        for folder, wanted in (("none", "is not a folder"), ("empty", "has no code.json")):
            self.assertIn(wanted, self.imported(folder)[0].stderr)

    def test_peaks_of_a_software_gpu_are_those_of_the_table(self):
        result = self.bare([PROBE, "peaks", "--gpu", "gfx90a", "-o", self.path("peaks")])
        self.assertEqual((result.code, len(result.stderr.splitlines())), (0, 1))
        self.assertIn("nothing was measured", result.stderr)
        self.assertRegex(result.stdout, r"gfx90a: AMD Instinct MI210\n +table *\n  memory +1.64 TB/s")
        self.assertFalse(os.path.exists(self.path("peaks")))

    @unittest.skipIf(fade.SUFFIX, "it needs nothing of HIP")
    def test_peaks_that_end_early_leave_what_was_kept(self):
        os.symlink(os.path.join(fade.LIB, "libfadegpu.so"), self.path("libcard.so"))  # nobody knows that it is no card
        card = {"LD_PRELOAD": self.path("libcard.so"), "FADE_GPU": GPU}
        with open(self.path("peaks"), "w") as file:
            file.write("kept\n")
        process = fade.subprocess.Popen([PROBE, "peaks", "-o", self.path("peaks")], env=fade.clean_environment(card), stdout=fade.subprocess.PIPE, stderr=fade.subprocess.PIPE, text=True)
        self.assertIn("measuring", process.stderr.readline())
        process.send_signal(fade.signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        self.assertEqual((process.returncode, said), (-fade.signal.SIGINT, "fadeprobe: peaks: interrupted; nothing was saved\n"))
        with open(self.path("peaks")) as file:
            self.assertEqual(file.read(), "kept\n")
        self.assertEqual(sorted(os.listdir(self.dir)), ["libcard.so", "peaks"])
        # What cannot be written is said before anything is measured.
        for path, why in ((self.path("peaks/x"), "Not a directory"), (self.dir, "it is a folder")):
            result = self.bare([PROBE, "peaks", "-o", path], card)
            self.assertEqual((result.code, result.stdout, len(result.stderr.splitlines())), (1, "", 1), result.stderr)
            self.assertIn(why, result.stderr)

    @unittest.skipIf(fade.SUFFIX, "it needs nothing of HIP")
    def test_the_kernels_of_peaks_run(self):
        result = self.software_gpu([os.path.join(fade.LIB, "fade/fade-doctor-probe"), "try-peaks"], {"FADE_GPU": GPU, "FADE_GPU_STATS": self.path("stats")})
        self.assertEqual(result.code, 0, result.stdout + result.stderr)
        names = [line.split()[2] for line in result.stdout.splitlines() if line.startswith(f"peak {GPU} ")]
        self.assertEqual(names, ["card", "f32", "f16", "f64", "lds", "memory", "l2", "l1", "launch_ns"])
        self.assertIn(f"verdict passed {GPU}", result.stdout)
        # Each does what its rate counts, four times: the compiler leaves out what nobody could see.
        with open(self.path("stats")) as file:
            ran = {x["kernel"]: x for x in map(json.loads, file)}
        for kernel in ("peak_f32", "peak_f16", "peak_f64"):
            self.assertGreaterEqual(ran[kernel]["classes"]["valu"]["wave_instructions"], 4 * 8 * ran[kernel]["waves"], kernel)
        for kernel, way in (("peak_lds", "lds_bytes_read"), ("peak_read", "global_bytes_read")):
            self.assertEqual(ran[kernel][way], 4 * 4 * 16 * ran[kernel]["grid"][0], kernel)

    def test_measured_peaks_take_the_place_of_the_table(self):
        line = {"type": "peaks", "version": 1, "target": GPU, "card": "mine", "bytes": {"memory": 5e11}, "flops": {"f32": 1e13}, "launch_ns": 5000}
        with open(self.path("peaks"), "w") as file:
            file.write(json.dumps(line) + "\n")
        kernels = self.profile([program("counted")], "--peaks", self.path("peaks"))
        gpu, = self.head["gpus"]
        self.assertEqual((gpu["card"], gpu["rates"], gpu["launch_ns"], gpu["ceilings"]["bytes"]["dram"]), ("mine", "measured", 5000, 5e11))
        self.assertAlmostEqual(gpu["ceilings"]["vector_flops"]["f32"], 1e13, delta=1e6)
        self.assertGreater(kernels["loop"]["roofline"]["time"]["dispatch_ns"], 5000)
        for text, wanted in (("{", "line 1: it is not JSON"), ("[]", "it is not a JSON object"), ('{"type":"x"}', "it is not a line of peaks"), ('{"type":"peaks","version":2}', "version"), ('{"type":"peaks","version":1}', "names no 'target'"), ("\n", "has no lines of peaks")):
            with open(self.path("peaks"), "w") as file:
                file.write(text)
            result = self.bare([PROBE, "profile", "--peaks", self.path("peaks"), "-o", self.path("out"), "--", program("counted")])
            self.assertEqual((result.code, result.stdout, len(result.said)), (2, "", 1), result.stderr)
            self.assertIn(wanted, result.stderr)

    def test_what_was_counted_is_kept_when_the_application_aborts(self):
        result = self.bare([PROBE, "profile", "-o", self.path("out"), "--", program("endings"), "abort"])
        self.assertEqual(result.code, -6, result.stderr)
        self.assertEqual(sorted(os.listdir(self.path("out"))), FILES)
        with open(self.path("out/profile.json")) as file:
            kernels = json.load(file)["kernels"]
        self.assertIn(True, [x["counted"] for x in kernels])

    def test_mistakes(self):
        for words, line in (([], "profile: expected an application after --, or --events FILE, --thread-trace DIR or the folder of a run"), (["--events", self.path("x")], "x: No such file or directory")):
            result = self.bare([PROBE, "profile", "-o", self.path("out"), *words])
            self.assertNotEqual(result.code, 0)
            self.assertIn(line, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)


if __name__ == "__main__":
    fade.main()
