"""The page in a headless browser: it loads without complaint, its numbers are those of the JSON lines, and it can be used."""
import csv
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

import log_lines
from browser import Browser

PROBE = os.environ["REPORT_PROBE"]
WHOLE = os.environ.get("REPORT_WHOLE", "1") == "1"  # as many dispatches as the page must bear
SOURCE = "int a;\nout[i * n] = in[i];\nif (odd) ++b;\nx = in[i];\ny = tile[i][0]; // <b>&amp;</b>\n"


def digits(text):
    """The number in a text, without the blanks between thousands."""
    return int(re.sub(r"\D", "", text))


browser = None  # one for all classes that run


def tearDownModule():
    if browser:
        browser.close()


class Page(unittest.TestCase):
    """One page for all tests of a class."""
    first = "summary"  # the part that is shown first
    size = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        cls.source, log, cls.html = root / "kernel.hip", root / "run.jsonl", root / "out.html"
        cls.source.write_text(SOURCE)
        log_lines.write(log, cls.lines())
        subprocess.run([PROBE, "report", log, "-o", cls.html, "--title", "a <i>title</i>"], check=True, timeout=120, cwd=root)
        global browser
        browser = browser or Browser()
        cls.browser = browser
        cls.browser.look_like(**cls.size)

    @classmethod
    def tearDownClass(cls):
        cls.browser.open("about:blank")
        cls.folder.cleanup()

    @classmethod
    def lines(cls):
        return log_lines.small(str(cls.source))

    def cost(self, script):
        """What it takes to do that and to lay out the page again, in the time that this browser needs at the same moment to add up
        2e7 numbers: how fast the machine is, and what else it does, does not matter."""
        timed = "const t = performance.now(); {}; document.body.offsetHeight; return performance.now() - t".format
        adding = "let sum = 0; for (let i = 0; i < 2e7; i++) sum += i % 7; window.sum = sum"
        turns = [(self.browser.run(timed(script)), self.browser.run(timed(adding))) for _ in range(3)]
        return min(x for x, _ in turns) / max(1, min(y for _, y in turns))

    def setUp(self):
        self.browser.open("about:blank")
        self.show(self.first)
        self.assertEqual(self.browser.run("return document.documentElement.dataset.ready"), "true")

    def tearDown(self):
        self.assertEqual(self.browser.errors(), [])

    def show(self, tab):
        self.browser.open(f"file://{self.html}#{tab}")
        self.browser.wait("const panel = document.getElementById('panel-' + arguments[0]);"
                          "return !!document.documentElement.dataset.ready && panel && !panel.hidden", tab)

    def rows(self, panel, column):
        return self.browser.texts(f"#panel-{panel} .row > :nth-child({column})")

    def view(self, panel):
        # A picture that was made anew is drawn with the next frame.
        self.browser.wait("return document.querySelector(arguments[0]).dataset.from !== undefined", f"#panel-{panel} canvas")
        return [float(x) for x in self.browser.run("const c = document.querySelector(arguments[0]).dataset; return [c.from, c.to]", f"#panel-{panel} canvas")]


class Small(Page):
    def test_every_tab_opens_without_a_word_on_the_console(self):
        for tab in ("summary", "kernel", "findings", "source", "lanes", "memory", "blocks", "timeline"):
            self.show(tab)
            self.assertGreater(len(self.browser.text(f"#panel-{tab}")), 40, tab)
            self.assertNotRegex(self.browser.text(f"#panel-{tab}"), r"\bnull\b|undefined|NaN", tab)
            self.assertEqual(self.browser.errors(), [], tab)

    def test_nothing_is_fetched_from_anywhere(self):
        self.assertEqual(self.browser.run("return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length"), 0)
        text = self.html.read_text()
        self.assertNotRegex(text, r"(src|href)=\"?https?:")

    def test_names_that_look_like_markup_stay_text(self):
        self.assertIsNone(self.browser.run("return window.broken || null"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('script').length"), 2)
        self.assertEqual(self.browser.text("#title"), "a <i>title</i>")
        self.assertEqual(self.browser.run("return data.kernels.map(k => k.name)").count(log_lines.HOSTILE), 1)
        self.show("source")
        self.assertIn("<b>&amp;</b>", self.browser.text("#panel-source tbody"))

    def test_the_summary_adds_up_the_lines(self):
        value = lambda name: self.browser.text(f"[data-is={name}]")
        self.assertEqual(digits(value("dispatches")), 4)
        self.assertEqual(value("busy"), "22.0\u202fµs")  # 5000 + 7000 + 9000 + 1001 ns
        self.assertEqual(digits(value("wasted")), 2 * 3000 + 50)
        self.assertEqual(digits(value("conflicts")), 700)
        self.assertEqual(digits(value("records")), 10 + 20 + 30)
        needed, used = 2 * 400 + 200, 2 * 3400 + 250
        self.assertEqual(value("efficiency"), f"{100 * needed / used:.0f}\u202f%")
        self.assertIn("it has no instrumented twin", self.browser.text(".problems"))
        self.assertIn("are those of 6 of 24 workgroups (one in 4).", self.browser.text(".problems"))
        self.assertIn("Compile with <fadeprobe cc>.", self.browser.text(".problems"))

    def test_findings_come_by_waste_with_the_numbers_of_the_lines_and_advice(self):
        self.show("findings")
        self.assertEqual([digits(text) for text in self.rows("findings", 3)], [6000, 700, 50, 0])
        self.assertEqual(self.rows("findings", 1), ["kernel.hip:2:5", "kernel.hip:5:7", "kernel.hip:4:3", "kernel.hip:2:9"])
        self.assertEqual([digits(text) for text in self.rows("findings", 6)], [200, 100, 100, 200])
        advice = self.browser.texts("#panel-findings .below")
        self.assertEqual(advice[0], "Neighboring lanes are 512 bytes apart; swap the indices.")
        self.assertTrue(all(text.endswith(".") for text in advice))

    def test_a_click_on_a_head_sorts_and_another_turns_it_around(self):
        self.show("findings")
        self.browser.click("#panel-findings .head span:nth-child(6) button")
        self.assertEqual([digits(text) for text in self.rows("findings", 6)], [200, 200, 100, 100])
        self.browser.click("#panel-findings .head span:nth-child(6) button")
        self.assertEqual([digits(text) for text in self.rows("findings", 6)], [100, 100, 200, 200])
        self.assertEqual(self.browser.run("return document.querySelector('#panel-findings .head span:nth-child(6)').getAttribute('aria-sort')"), "ascending")

    def test_the_filter_keeps_rows_that_have_all_words(self):
        self.show("findings")
        self.browser.type("#panel-findings input", "naive LOAD")
        self.assertEqual(self.rows("findings", 1), ["kernel.hip:2:9"])
        self.assertEqual(self.browser.text("#panel-findings .count"), "1 of 4")
        self.browser.clear("#panel-findings input")
        self.assertEqual(len(self.rows("findings", 1)), 4)

    def test_enter_on_a_finding_opens_its_line_of_source(self):
        self.show("findings")
        self.browser.run("document.querySelector('#panel-findings .body').focus()")
        self.browser.press("ArrowDown", "Enter")  # the second row: line 5
        self.assertFalse(self.browser.run("return document.getElementById('panel-source').hidden"))
        self.assertEqual(self.browser.run("return document.activeElement.dataset.line"), "5")
        self.assertEqual(self.browser.run("return document.activeElement.getAttribute('aria-expanded')"), "true")
        self.assertIn("Pad each row by one element.", self.browser.text(".behind"))

    def test_the_source_has_executions_efficiency_and_conflicts_beside_its_lines(self):
        self.show("source")
        cells = lambda line: self.browser.texts(f"#panel-source tr[data-line='{line}'] td")
        self.assertEqual(cells(2)[1:], ["40", "100\u202f%", f"{100 * 800 / 6800:.0f}\u202f%", "", "out[i * n] = in[i];"])
        self.assertEqual(cells(3)[1:], ["30", "25\u202f%", "", "", "if (odd) ++b;"])
        self.assertEqual(cells(5)[1:5], ["100", "", "", "700"])
        self.assertEqual(cells(1)[1:], ["", "", "", "", "int a;"])

    def test_arrow_keys_walk_the_lines_and_tabs(self):
        self.show("source")
        self.browser.run("document.querySelector('#panel-source tr.can').focus()")
        self.browser.press("ArrowDown", "Enter")
        self.assertEqual(self.browser.run("return document.activeElement.dataset.line"), "4")
        self.assertEqual(len(self.browser.texts(".behind")), 1)
        self.browser.press("Enter")
        self.assertEqual(len(self.browser.texts(".behind")), 0)
        self.browser.run("document.getElementById('tab-source').focus()")
        self.browser.press("ArrowRight")
        self.assertEqual(self.browser.run("return [document.activeElement.id, location.hash]"), ["tab-lanes", "#lanes"])
        self.browser.press("End")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "tab-timeline")
        self.browser.press("ArrowRight")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "tab-summary")

    def test_the_focus_can_be_seen(self):
        self.show("findings")
        self.browser.run("document.getElementById('tab-findings').focus()")
        self.browser.press("Tab")
        style = self.browser.run("const s = getComputedStyle(document.activeElement); return [s.outlineStyle, s.outlineWidth]")
        self.assertEqual(style, ["solid", "2px"])

    def test_lanes_are_drawn_in_the_lines_and_banks_they_touch(self):
        self.show("lanes")
        lanes = lambda: self.browser.run("return [...document.querySelectorAll('#panel-lanes rect[data-lanes]')].map(r => [r.dataset.lanes, r.getAttribute('x'), r.getAttribute('y'), r.classList[0]])")
        drawn = lanes()
        self.assertEqual([one[0] for one in drawn], [str(i) for i in range(64)])
        self.assertEqual(len({one[2] for one in drawn}), 64)  # each in a line of its own
        self.assertEqual(len({one[1] for one in drawn}), 1)
        self.assertIn("64 lanes touch 64 cache lines of 128 bytes; 2 would hold all their bytes", self.browser.text("#panel-lanes"))
        self.browser.run("lanesView.select.value = 1; lanesView.select.dispatchEvent(new Event('change'))")
        drawn = lanes()
        self.assertEqual(len(drawn), 32)
        self.assertEqual({one[3] for one in drawn}, {"clash"})  # 32 dwords of one bank
        self.assertIn("31 extra cycles", self.browser.text("#panel-lanes"))

    def test_addresses_are_exact_beyond_53_bits(self):
        self.show("lanes")
        self.browser.run("document.querySelector('#panel-lanes svg').focus()")
        self.browser.press("ArrowRight", "ArrowRight")
        self.assertIn("Lane 1: 4 bytes at 0xffff800000000204", self.browser.text("#panel-lanes [role=status]"))

    def test_memory_counts_are_those_of_the_pages(self):
        self.show("memory")
        self.assertEqual([digits(self.rows("memory", column)[0]) for column in (3, 4, 5)], [12, 1, 2])
        cells = self.browser.run("return data.heat.cells")
        self.assertEqual([cells[4::7], cells[5::7], cells[6::7]], [[5, 7], [1, 0], [0, 2]])
        self.assertEqual(cells[1::7], [0, 1])  # the second page is the second row

    def test_blocks_stand_on_the_ways_that_lanes_took(self):
        self.show("blocks")
        labels = self.browser.run("return [...document.querySelectorAll('#panel-blocks .node')].map(n => n.getAttribute('aria-label'))")
        self.assertEqual(labels, ["lines 1–2: 40 executions, 100\u202f% of lanes", "line 3: 30 executions, 25\u202f% of lanes", "line 4: 0 executions, 0\u202f% of lanes"])
        self.assertEqual(self.browser.texts("#panel-blocks path title"), ["2\u202f560 lanes in 40 executions", "480 lanes in 30 executions", "9 lanes in 3 executions"])
        self.assertEqual(self.browser.run("return document.querySelectorAll('#panel-blocks .way.back').length"), 1)
        self.browser.run("document.querySelectorAll('#panel-blocks .node')[1].focus()")
        self.browser.press("Enter")
        self.assertIn("30 executions with fewer lanes than the wave has", self.browser.text("#panel-blocks .detail"))

    def test_the_timeline_zooms_with_keys_buttons_and_wheel(self):
        self.show("timeline")
        everything = self.view("timeline")
        self.assertEqual(everything, [0, 21001])
        self.browser.run("document.querySelector('#panel-timeline canvas').focus()")
        self.browser.press("+")
        self.assertEqual(self.view("timeline"), [21001 / 4, 21001 * 3 / 4])
        self.browser.press("ArrowRight")
        self.assertGreater(self.view("timeline")[0], 21001 / 4)
        self.browser.press("0")
        self.assertEqual(self.view("timeline"), everything)
        self.browser.click("#panel-timeline .zoom button")
        self.assertLess(self.view("timeline")[1] - self.view("timeline")[0], 21001)
        self.browser.press("0")
        self.browser.click("#panel-timeline .zoom button:nth-child(3)")
        self.browser.wheel("#panel-timeline canvas", -240)
        left, right = self.view("timeline")
        self.assertLess(right - left, 21001)

    def test_the_memory_picture_zooms_and_goes_by_allocation(self):
        self.show("memory")
        everything = self.view("memory")
        self.browser.run("document.querySelector('#panel-memory canvas').focus()")
        self.browser.press("+", "+")
        left, right = self.view("memory")
        self.assertAlmostEqual((right - left) / (everything[1] - everything[0]), 1 / 4)
        self.browser.run("const s = document.querySelector('#panel-memory select'); s.value = 0; s.dispatchEvent(new Event('change'))")
        self.assertEqual(self.view("memory"), everything)

    def test_times_survive_though_the_clock_is_beyond_53_bits(self):
        self.show("timeline")
        self.assertEqual(self.browser.run("return [data.first_start_ns, data.dispatches.start, data.dispatches.duration]"),
                         [str(log_lines.BASE + 17), [0, 6000, 2000, 20000], [5000, 7000, 9000, 1001]])
        self.assertEqual(self.rows("timeline", 5), ["5.00\u202fµs", "7.00\u202fµs", "9.00\u202fµs", "1.00\u202fµs"])

    def test_the_switch_turns_light_into_dark(self):
        paper = lambda: self.browser.run("return getComputedStyle(document.body).backgroundColor")
        light = paper()
        self.browser.click("#theme")
        self.assertNotEqual(paper(), light)
        self.browser.click("#theme")
        self.assertEqual(paper(), light)


class Software(Page):
    """A run on the software GPU that was killed, with arguments, a handler's table and places of waves."""
    @classmethod
    def lines(cls):
        return log_lines.software(str(cls.source))

    def place(self):
        return self.browser.run("return decodeURIComponent(location.hash)")

    def test_what_ran_where_is_on_the_first_page(self):
        text = self.browser.text(".run")
        for part in ("gfx90a, FADE's software GPU", "FADE 9.8.7, ROCr 1.14, HIP 5.2.21153", "2026-11-16 15:20:00 UTC", "./app 'a b'", "--kernels naive"):
            self.assertIn(part, text)

    def test_no_time_is_shown_where_it_would_be_this_machines(self):
        for tab in ("summary", "kernel", "findings", "source", "blocks", "timeline"):
            self.show(tab)
            modeled = r"\S+\s?(ns|µs|ms) → \S+\s?(ns|µs|ms) by the model"
            self.assertNotRegex(re.sub(modeled, "", self.browser.text(f"#panel-{tab}")), r"\d\s?(ns|µs|ms)\b", tab)
        self.assertEqual(self.rows("timeline", 4), ["–", "–", "–", "4\u202f000"])  # what kernels of twins would execute is not known
        self.assertEqual(digits(self.browser.text("[data-is=busy]")), 4000)
        self.assertNotIn("77", self.browser.text("#panel-blocks"))  # clocks are times, too

    def test_instructions_that_are_not_known_are_not_0(self):
        self.show("summary")
        self.assertEqual(sorted(set(self.rows("summary", 3))), ["4\u202f000", "–"])

    def test_what_the_shade_behind_lines_means_is_said_before_them(self):
        self.show("source")
        self.assertIn("Shading of a line", self.browser.text("#panel-source .keys"))
        self.assertTrue(self.browser.run("return document.querySelector('#panel-source .keys').getBoundingClientRect().bottom <= "
                                         "document.querySelector('#panel-source .source').getBoundingClientRect().top"))

    def test_what_killed_the_run_stands_first_and_leads_to_its_line(self):
        self.assertEqual(self.browser.run("return document.querySelector('#panel-summary > div').firstElementChild.className"), "death card")
        text = self.browser.text(".death")
        for part in ("Memory fault at 0xffff800000001000, page not present", "at kernel.hip:2", "out[i * n] = in[i];",
                     "12 bytes beyond the end of allocation 5 of 4096 bytes, made by main (app.cpp:41)", "dispatch 1 of " + log_lines.NAIVE):
            self.assertIn(part, text)
        self.browser.click(".death button")
        self.assertEqual(self.browser.run("return document.activeElement.dataset.line"), "2")

    def test_efficiency_says_that_not_all_was_seen(self):
        self.assertIn("3 executions of accesses and blocks were dropped", self.browser.text(".problems"))
        self.assertIn("1 dispatch had not ended", self.browser.text(".problems"))
        self.assertIn("counts are not complete", self.browser.text(".run"))
        self.assertIn("incomplete", self.browser.run("return document.querySelector('[data-is=efficiency]').parentNode.textContent"))

    def test_a_kernel_has_a_page_and_the_page_an_address(self):
        self.browser.click("#panel-summary .row")  # the one with most instructions
        self.assertEqual(self.place(), "#kernel=" + self.browser.run("return kernelKeys[kernelOrder[0]]"))
        self.browser.open(f"file://{self.html}#kernel=tiled&line=5")
        self.browser.run("goToPlace()")
        self.assertIn("tiled(float*)", self.browser.text("#panel-kernel h2"))
        self.assertEqual(self.browser.run("return document.activeElement.dataset.line"), "5")
        self.assertIn("Pad each row by one element.", self.browser.text("#panel-kernel .behind"))
        self.assertEqual(self.place(), "#kernel=tiled&line=5")
        # The name as the terminal has it leads there, too.
        self.assertEqual(self.browser.run("return [kernelOf('tiled(float*)'), kernelOf('tiled')].map((at) => data.kernels[at].name).concat(kernelOf('nobody'))"), ["tiled(float*)", "tiled(float*)", -1])
        self.browser.run("document.activeElement.blur()")
        self.browser.press("]")
        self.assertNotIn("tiled(float*)", self.browser.text("#panel-kernel h2"))

    def test_the_page_of_a_kernel_has_only_its_own(self):
        self.browser.open("about:blank")
        self.browser.open(f"file://{self.html}#kernel=naive%3Cfloat%3E")
        own = lambda name: self.browser.run("return [...document.querySelectorAll('#panel-kernel .part')].find((p) => p.firstChild.textContent === arguments[0]).textContent", name)
        self.assertIn("6\u202f000 wasted cache lines", own("Findings"))
        self.assertNotIn("bank conflicts", own("Findings"))
        found = self.browser.texts("#panel-kernel .part > .card > .finding")  # as on the first page, of this kernel
        self.assertEqual(len(found), self.browser.run("return data.findings.filter((f) => data.kernels[f.kernel].name.includes('naive')).length"))
        self.assertRegex(found[0], r"^too few workgroups.*up to \d+\u202f% to gain.*cycles of L1.*together with scattered access")
        self.assertRegex(found[1], r"^scattered access · \S+:2:5 store.*cycles of L1.*Together with too few workgroups")
        self.assertRegex(own("Findings"), r"Busy cycles of its units, by the model: L1 \d+")
        self.assertIn("out", own("Arguments"))
        self.assertIn("0xffff800000000004 → #1, 8 KiB of agent 1", own("Arguments"))
        self.assertIn("41 ×1", own("Arguments"))
        self.assertIn("20 waves on 8 compute units, 1 to 4 on each", own("Where waves ran"))
        self.assertEqual(self.browser.texts("#panel-kernel .units th"), ["engine 0", "engine 2"])
        self.assertIn("40", own("Blocks"))
        missing = self.browser.text("#panel-kernel .missing")
        self.assertIn("fadeprobe report RUN.jsonl --code APPLICATION", missing)
        self.assertIn("--observe gpu", missing)

    def test_tables_can_be_taken_along(self):
        self.show("findings")
        saved = lambda button: self.browser.run("let got; const real = saveFile; saveFile = (name, kind, text) => { got = [name, text]; }; document.querySelectorAll('#panel-findings .exports button')[arguments[0]].click(); saveFile = real; return got", button)
        name, text = saved(0)
        self.assertEqual(name, "findings.csv")
        rows = list(csv.reader(text.splitlines()))
        self.assertEqual(rows[0][:3], ["Place", "Kernel", "Waste"])
        self.assertEqual([row[2] for row in rows[1:]], ["6000", "700", "50", "0"])
        name, text = saved(1)
        self.assertEqual(name, "findings.md")
        self.assertTrue(text.startswith("| Place | Kernel | Waste |"))
        self.assertEqual(len(text.splitlines()), 2 + 4)
        self.assertEqual(self.browser.run("return markdownOf(['a'], [['b|c']]).split('\\n')[2]"), "| b\\|c |")

    def test_one_field_finds_kernels_places_and_source(self):
        self.browser.press("/")
        self.assertEqual(self.browser.run("return document.activeElement.type"), "search")
        self.browser.press(*"tile[i]")
        self.assertIn("kernel.hip:5", self.browser.text("#found"))
        self.browser.press("Enter")
        self.assertEqual(self.browser.run("return document.activeElement.dataset.line"), "5")
        self.browser.run("document.activeElement.blur()")
        self.browser.press("/")
        self.browser.run("document.querySelector('.search input').value = ''")
        self.browser.press(*"naive")
        time.sleep(0.3)
        self.browser.press("Enter")  # the list does not close by itself after the field was left and entered again
        self.browser.wait("const h2 = document.querySelector('#panel-kernel h2'); return h2 && h2.textContent.includes('naive')")

    def test_a_handlers_table_and_lines_are_there(self):
        self.show("handlers")
        self.assertEqual(self.browser.text("#panel-handlers h2"), "My <b>table</b>")
        self.assertEqual(self.rows("handlers", 1)[:2], ["a|b", "c,d"])
        self.assertIn("a line of a handler", self.browser.text("#panel-handlers"))
        self.browser.click("#panel-handlers .head span:nth-child(2) button")
        self.browser.click("#panel-handlers .head span:nth-child(2) button")
        self.assertEqual(self.rows("handlers", 2)[:2], ["7", "12"])  # by number


class Profiled(Page):
    """The part "Profile": a kernel whose numbers can be told in advance, one without operations, and one that was not counted."""

    @classmethod
    def lines(cls):
        def counted(kernel, flops, rows):
            code = [{"address": 4096 + 4 * i, "text": text, "unit": unit, "file": str(cls.source), "line": 2, "column": 1, "executions": 4096, "lanes": 262144, "lane_share": 1, "flops": flops} for i, (text, unit) in enumerate(rows)]
            return {"type": "hotspots", "version": 1, "kernel": kernel, "symbol": kernel, "target": "gfx90a", "dispatches": 1, "wave_size": 64, "waves": 4096, "executions": 4096 * len(rows), "lanes": 262144 * len(rows),
                    "mix": [], "flops": {"all": flops, "f32": flops}, "bytes": {"loaded": 1 << 20}, "lines": [], "instructions": code}
        load = [("global_load_dword v1, v[0:1], off", "vmem"), ("s_waitcnt vmcnt(0)", "wait"), ("v_add_f32_e32 v1, v1, v1", "valu")]
        moved = {"requests": 16384, "l1_hits": 0, "l2_hits": 0, "misses": 16384, "fetched": 1 << 26, "unused": 0, "written": 0, "unwanted": 0}
        out = [log_lines.dispatch(i + 1, name, 1000 * i, 500, grid=[262144, 1, 1], software=True, variant="observed") for i, name in enumerate(("adds<int>(int)", "copies", "other"))]
        for name, flops in (("adds<int>(int)", 1 << 24), ("copies", 0)):
            out += [counted(name, flops, load), {"type": "cache", "version": 1, "kernel": name, "target": "gfx90a", "accesses": [{"file": str(cls.source), "line": 2, "column": 1, "op": "load", "bytes": 4, **moved}]}]
        return [*out, {"type": "summary", "version": 1}]

    def test_kernels_are_under_the_roof_and_in_the_table(self):
        self.show("profile")
        self.assertEqual(self.browser.texts("#panel-profile circle title"), ["adds<int>\n0.250 operations per byte, " + self.rate() + "\n43.0\u202fµs, memory bandwidth"])
        self.assertIn("1 kernel without such operations or bytes is not in the picture.", self.browser.text("#panel-profile .roofline p"))
        for row, wanted in zip(self.browser.texts("#panel-profile .body [role=row]"), ("adds<int>memory bandwidth", "copiesmemory bandwidth", "othernot counted")):
            self.assertTrue(row.startswith(wanted), row)

    def rate(self):
        # 2^26 bytes at 1638 GB/s, and 2 µs to begin and to end.
        return f"{(1 << 24) / ((1 << 26) / 1638e9 + 2e-6) / 1e9:.3g}\u202fGFLOP/s"

    def test_a_kernel_shows_what_it_waits_for(self):
        self.show("profile")
        self.browser.click("#panel-profile circle")
        text = self.browser.text("#profiled")
        self.assertIn("memory bandwidth: memory takes longest: 67108864 bytes.", text)
        self.assertRegex(text, r"700 cycles: global_load_dword kernel.hip:2")
        self.browser.run("document.querySelectorAll('#panel-profile .levels button')[1].click()")
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#panel-profile .levels button')].map((b) => b.getAttribute('aria-pressed'))"), ["false", "true", "false", "false"])
        self.assertIn("per byte of L2", self.browser.text("#panel-profile svg"))

    def test_names_of_kernels_and_roofs_do_not_cover_each_other(self):
        self.show("profile")
        # Near the roofs and at the right edge, one upon the other, and beside each other.
        texts, covered = self.browser.run("""
          const before = data.profile.kernels, one = before.find((k) => k.counted && k.roofline.flops_per_s > 0), peak = one.roofline.roof.flops_per_s;
          data.profile.kernels = [[400, 0.95], [60, 0.9], [100, 0.4], [90, 0.36], [400, 0.5], [0.2, 0.01], [0.2, 0.01], [0.25, 0.012], [5, 0.1]].map(([intensity, share], i) => ({...one, kernel: `kernel_number_${i}`,
            roofline: {...one.roofline, intensity: {...one.roofline.intensity, dram: intensity}, flops_per_s: peak * share, roof: i % 2 ? one.roofline.roof : {type: "f64", unit: "matrix", flops_per_s: 0.6 * peak}}}));
          profileView.level = "dram";
          drawRoofs();
          const texts = [...document.querySelectorAll("#panel-profile svg")[0].querySelectorAll("text")].filter((t) => /kernel|FLOP/.test(t.textContent)).map((t) => [t.textContent, t.getBBox()]);
          const covered = texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([, q]) => p.x < q.x + q.width && q.x < p.x + p.width && p.y + 2 < q.y + q.height && q.y + 2 < p.y + p.height).map(([b]) => [a, b]));
          data.profile.kernels = before;
          drawRoofs();
          return [texts.map(([text]) => text), covered];""")
        self.assertEqual(covered, [])
        self.assertEqual([x.split("\u202f")[0].rsplit(" ", 1)[0] for x in texts if "FLOP" in x], ["matrix f64", "vector f32"])
        self.assertGreater(len(texts), 2 + 5)


class Long(Page):
    """20,000 findings, 10,000 dispatches, names of 10,000 characters."""
    COUNT = 10_000 if WHOLE else 2_000

    @classmethod
    def lines(cls):
        return log_lines.long(str(cls.source), cls.COUNT)

    def test_names_are_short_differ_and_are_whole_on_demand(self):
        self.assertGreater(len(log_lines.LONG), 10_000)
        names = self.browser.run("return shortNames")
        self.assertEqual(len(set(names)), 20)
        self.assertTrue(all(len(name) <= 56 and name.startswith("sort::kernel<policy<0, value<…>>, ") for name in names), names[0])
        self.show("kernel")
        self.browser.click("#panel-kernel h2 summary")
        self.assertIn("value<float, 329>", self.browser.text("#panel-kernel h2 details"))

    def test_every_tab_opens_soon_and_is_no_wider_than_the_window(self):
        for tab in ("summary", "kernel", "findings", "source", "memory", "blocks", "timeline"):
            self.show(tab)
            self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 1280, tab)
        self.show("summary")
        self.assertLess(self.browser.run("return document.querySelector('#panel-summary').scrollHeight"), 2600)
        self.assertLess(self.browser.run("return document.querySelectorAll('*').length"), 20000)

    def test_all_findings_and_dispatches_are_there(self):
        self.show("findings")
        self.assertEqual(digits(self.browser.text("#panel-findings .count")), 20_000)
        self.show("kernel")
        self.assertIn(f"{self.COUNT // 20} dispatches: median", self.browser.text("#panel-kernel .spread"))


class Phone(Page):
    size = {"width": 390, "height": 844}

    def test_no_tab_is_wider_than_a_phone(self):
        for tab in ("summary", "kernel", "findings", "source", "lanes", "memory", "blocks", "timeline"):
            self.show(tab)
            self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 390, tab)

    def test_large_numbers_are_not_cut_off(self):
        self.browser.run("Object.assign(data.heat.allocations[0], {reads: 5418849, writes: 278528, atomics: 99999})")
        self.show("memory")
        self.assertEqual(self.rows("memory", 2)[0], "5.4\u202fM")
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#panel-memory .row .number')].filter((cell) => cell.scrollWidth > cell.clientWidth).length"), 0)
        self.assertEqual(digits(self.browser.run("return document.querySelector('#panel-memory .row .number').title")), 5418849)

    def test_the_findings_keep_place_waste_and_advice(self):
        self.show("findings")
        self.assertEqual(self.rows("findings", 1)[0], "kernel.hip:2:5")
        self.assertEqual(digits(self.rows("findings", 2)[0]), 6000)
        self.assertTrue(self.browser.texts("#panel-findings .below")[0].startswith("Neighboring"))


class Errors(Page):
    """What a check has found, alone."""
    first = "errors"

    @classmethod
    def lines(cls):
        def finding(check, line, kernel):
            where = {"file": str(cls.source), "line": line, "column": 1, "function": kernel, "source": "", "stack": [], "instruction": "s_nop 0",
                     "address_in_code": 0, "workgroup": [0, 0, 0], "work_item": [0, 0, 0]}
            return {"type": "finding", "version": 1, "check": check, "problem": check, "message": f"{check} of byte 7", "count": 3, "process": 1,
                    "advice": "look at it", "page": f"docs/check.md#{check}", "kernel": kernel + "(int)", "symbol": kernel, "gpu": "gfx90a", "dispatch": 0, "space": "global", "address": 4096, "access": "load", "size": 4,
                    **where, **({"other": where} if check == "race" else {})}
        return [finding("race", 2, "first"), finding("memory", 3, "first"), finding("init", 4, "second"), finding("race", 5, "second")]

    def test_a_list_and_keys_lead_to_each_error(self):
        where = "return [...document.querySelectorAll('.error.card')].indexOf(document.activeElement)"
        self.assertEqual(self.browser.texts(".errors-index li"),
                         ["race kernel.hip:2:1 in first", "memory kernel.hip:3:1 in first", "init kernel.hip:4:1 in second", "race kernel.hip:5:1 in second"])
        self.browser.click(".errors-index li:nth-child(3) button")
        self.assertEqual(self.browser.run(where), 2)
        for key, at in (("]", 3), ("]", 3), ("[", 2)):
            self.browser.press(key)
            self.assertEqual(self.browser.run(where), at, key)

    def test_advice_leads_to_the_page_that_explains_the_check(self):
        self.assertEqual(self.browser.texts(".error .advice")[:2], ["look at it (docs/check.md#race)", "look at it (docs/check.md#memory)"])
        links = self.browser.run("return [...document.querySelectorAll('.error .advice a')].map((a) => a.href)")
        self.assertEqual(len(links), 4)
        self.assertRegex(links[0], r"^file:///.*/share/fade/docs/check\.md#race$")

    def test_the_search_leaves_what_it_finds_and_no_list_for_a_few(self):
        self.browser.press("/")
        self.browser.press(*"second")
        self.assertEqual(len(self.browser.texts(".error.card")), 2)
        self.assertEqual(self.browser.texts(".errors-index li"), [])

    def test_buttons_of_the_page_are_at_its_right_end(self):
        self.assertLess(self.browser.run("return document.getElementById('theme').getBoundingClientRect().left - document.getElementById('help').getBoundingClientRect().right"), 20)


class Dark(Page):
    size = {"dark": True}

    def test_it_is_dark_where_the_system_is(self):
        red, green, blue = map(int, re.findall(r"\d+", self.browser.run("return getComputedStyle(document.body).backgroundColor"))[:3])
        self.assertLess(red + green + blue, 150)
        self.assertEqual(self.browser.text("#theme"), "Light")


class Many(Page):
    COUNT = 100_000 if WHOLE else 20_000

    @classmethod
    def lines(cls):
        return log_lines.many(cls.COUNT)

    def test_so_many_dispatches_stay_usable(self):
        self.show("timeline")
        self.assertEqual(digits(self.browser.text("#panel-timeline .count")), self.COUNT)
        rows = self.browser.run("return document.querySelectorAll('#panel-timeline .row').length")
        self.assertLess(rows, 60)  # only what is in view is in the document

    def test_sorting_filtering_and_scrolling_them_answers_at_once(self):
        self.show("timeline")
        sort = "document.querySelector('#panel-timeline .head span:nth-child(5) button').click()"
        self.assertLess(self.cost(sort), 42)  # clicked three times: down, up, down
        self.assertEqual(self.rows("timeline", 5)[0], "5.10\u202fµs")  # 100 + 4999 ns, the longest
        scroll = "const b = document.querySelector('#panel-timeline .body'); b.scrollTop = b.scrollHeight / 2; b.dispatchEvent(new Event('scroll'))"
        self.assertLess(self.cost(scroll), 5)
        search = "const i = document.querySelector('#panel-timeline input'); i.value = 'kernel_7('; i.dispatchEvent(new Event('input'))"
        self.assertLess(self.cost(search), 42)
        self.assertEqual(self.browser.text("#panel-timeline .count"), f"{self.COUNT // 50:,} of {self.COUNT:,}".replace(",", "\u202f"))
        self.assertLess(self.cost("timelineView.view.zoom(0.5)"), 7)

    def test_the_last_row_can_be_reached_with_a_key(self):
        self.show("timeline")
        self.browser.run("document.querySelector('#panel-timeline .body').focus()")
        self.browser.press("End")
        self.assertEqual(digits(self.browser.text("#panel-timeline .row.at > :first-child")), self.COUNT)

    def test_two_thousand_findings_are_all_there(self):
        self.show("findings")
        self.assertEqual(digits(self.browser.text("#panel-findings .count")), 2000)
        self.assertEqual(digits(self.rows("findings", 3)[0]), 40)


class Host(Page):
    """A trace of the application's side alone, with ten thousand kernels."""
    COUNT = 10_000

    @classmethod
    def lines(cls):
        return log_lines.host(cls.COUNT)

    def test_only_what_is_known_has_a_tab(self):
        self.assertEqual(self.browser.texts("#tabs button"), ["Summary", "Operators", "Timeline"])
        self.assertEqual(digits(self.browser.text("[data-is=calls]")), self.COUNT + 2)
        self.assertIn("1 failed", self.browser.text(".tiles"))
        self.assertEqual(self.browser.texts(".chain h3"), ["Application", "HIP", "HSA", "On the GPU"])
        self.assertEqual(self.browser.text(".chain .name"), "train (40)")

    def test_the_timeline_has_threads_queues_copies_and_markers(self):
        self.show("timeline")
        labels = [x for x in self.browser.run("return timelineView.rows.map((row) => row.label)") if x]
        self.assertEqual(labels, ["thread 41", "free range", "thread 42", "GPU 0 queue 0", "GPU 0 queue 1", "GPU 0 copies"])
        bars = self.browser.run("return timelineView.rows.map((row) => row.source + row.bars.length)")
        half = self.COUNT // 2
        self.assertEqual(bars, [f"span{half + 2}", f"span{half}", "span1", f"span{half}", f"span{half}", f"operation{half}", f"operation{half}", "operation1"])
        counts = [digits(x) for x in self.browser.texts("#panel-timeline .count")]
        self.assertEqual(counts, [self.COUNT + 1, 2 * self.COUNT + 3])

    def test_a_kernel_leads_to_its_call_and_a_call_to_its_kernel(self):
        self.show("timeline")
        self.browser.run("choose('operation', 77, true)")
        facts = self.browser.text("#panel-timeline dl.facts")
        self.assertIn("kernel_1(float*)", facts)
        self.assertIn("hipLaunchKernel in thread 42, 400\u202fns before", facts)
        # In view are the call, the kernel and the arrow between them.
        left, right = self.view("timeline")
        self.assertTrue(left < 77_100 and right > 77_900 and right - left < 10_000, (left, right))
        span = self.browser.run("return host.operations.span[77]")
        self.assertTrue(self.browser.run("return isChosen('span', arguments[0])", span))
        self.browser.run("choose('span', arguments[0], true)", span)
        self.assertIn("on the GPUkernel_1 (400\u202fns)", self.browser.text("#panel-timeline dl.facts"))

    def test_arrows_are_drawn_where_they_are_few(self):
        self.show("timeline")
        drawn = "const c = {n: 0}, real = CanvasRenderingContext2D.prototype.bezierCurveTo; " \
                "CanvasRenderingContext2D.prototype.bezierCurveTo = function (...a) { ++c.n; real.apply(this, a); }; {}; " \
                "CanvasRenderingContext2D.prototype.bezierCurveTo = real; return c.n"
        self.assertEqual(self.browser.run(drawn.replace("{};", "timelineView.view.reset();")), 0)
        self.assertEqual(self.browser.run(drawn.replace("{};", "timelineView.view.set([100000, 110000]);")), 10)

    def test_operators_sort_and_filter(self):
        self.show("operators")
        rows = self.browser.texts("#panel-operators .row > :first-child")
        self.assertIn("aten::mul", rows)
        self.assertIn(log_lines.HOSTILE, rows)
        self.assertEqual(self.browser.run("return window.broken"), None)
        self.browser.type("#panel-operators input", "mul kernel_2")
        self.assertEqual({(a, b) for a, b in zip(self.rows("operators", 1), self.rows("operators", 2))}, {("aten::mul", "kernel_2")})
        self.assertEqual(sum(digits(x) for x in self.rows("operators", 4)), sum(1 for i in range(self.COUNT) if i % 3 and i % 4 == 2))
        self.browser.click("#panel-operators .head span:nth-child(3) button")
        self.assertEqual(self.rows("operators", 3), ["[[1]]", "[[2]]"])
        self.browser.clear("#panel-operators input")

    def test_ten_thousand_operations_answer_at_once(self):
        self.show("timeline")
        self.assertLess(self.cost("timelineView.view.zoom(0.5)"), 5)


class HostPhone(Page):
    size = {"width": 390, "height": 800, "dark": True}

    @classmethod
    def lines(cls):
        return log_lines.host(50)

    def test_nothing_is_wider_than_the_screen(self):
        for tab in ("summary", "operators", "timeline"):
            self.show(tab)
            self.assertEqual(self.browser.run("return document.documentElement.scrollWidth"), 390, tab)


if __name__ == "__main__":
    unittest.main()
