"""scripts/lint-docs finds what is wrong in a small tree, and nothing in a good one."""
import pathlib
import subprocess
import tempfile
import unittest

LINT = pathlib.Path(__file__).resolve().parents[2] / "scripts/lint-docs"
GOOD = {"README.md": "[page](docs/page.md#a-part)\n", "docs/page.md": "# Page\n## A part\n", "src/a.cpp": "// docs/page.md#a-part\n"}


class LintDocs(unittest.TestCase):
    def lint(self, **changes):
        """The lines that it prints for the good tree with these files changed (name of the file: text)."""
        with tempfile.TemporaryDirectory() as folder:
            files = dict(GOOD)
            files.update(changes.pop("files", {}))
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            result = subprocess.run([LINT, "--root", folder], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1 if result.stdout else 0, result.stderr)
            return result.stdout.splitlines()

    def test_a_good_tree_passes(self):
        self.assertEqual(self.lint(), [])

    def test_a_link_to_a_file_that_does_not_exist(self):
        self.assertEqual(self.lint(files={"docs/page.md": "## A part\n[x](gone.md)\n"}), ["docs/page.md:2: gone.md leads to docs/gone.md, which does not exist"])

    def test_a_link_to_a_heading_that_does_not_exist(self):
        self.assertEqual(self.lint(files={"docs/page.md": "# Page\n"}), ["README.md:1: docs/page.md has no heading '#a-part'", "src/a.cpp:1: docs/page.md has no heading '#a-part'"])

    def test_links_in_code_are_not_links(self):
        self.assertEqual(self.lint(files={"docs/page.md": "## A part\n`[x](gone.md)`\n\n    [y](gone.md)\n```\n[z](gone.md)\n```\n"}), [])

    def test_headings_with_code_and_punctuation_have_the_anchors_of_code_hosts(self):
        self.assertEqual(self.lint(files={"docs/page.md": "## A part\n### `x --json`: what, and why\n[x](#x---json-what-and-why)\n"}), [])

    def test_a_source_that_mentions_a_page_that_does_not_exist(self):
        self.assertEqual(self.lint(files={"src/a.cpp": "\n// see docs/gone.md\n"}), ["src/a.cpp:2: docs/gone.md leads to docs/gone.md, which does not exist"])

    def test_a_page_that_the_readme_does_not_list(self):
        self.assertEqual(self.lint(files={"docs/more.md": "# More\n"}), ["README.md: its list of documentation lacks docs/more.md"])

    def test_a_page_of_evidence_that_its_index_does_not_list(self):
        self.assertEqual(self.lint(files={"docs/evidence/README.md": "# Evidence\n", "docs/evidence/x.md": "# X\n"}), ["docs/evidence/README.md: lacks docs/evidence/x.md"])

    def test_a_mode_of_the_pass_that_is_not_described(self):
        options = 'constexpr char known[] =\n    "accesses, "\n    "blocks";\n.Case("accesses", FADE_MODE_ACCESSES)\n.Case("blocks", FADE_MODE_BLOCKS)\n'
        table = {"docs/instrumentation.md": "\n| `accesses` | each |\n", "README.md": GOOD["README.md"] + "[x](docs/instrumentation.md)\n"}
        self.assertEqual(self.lint(files={"passes/Options.cpp": options, **table}), ["docs/instrumentation.md: its table of options lacks blocks"])
        unknown = options.replace('"blocks";', '"";')
        self.assertEqual(self.lint(files={"passes/Options.cpp": unknown, **table})[0], "passes/Options.cpp: `known` lacks blocks")

    def test_words_in_messages_that_readers_stumble_over(self):
        source = '// it was mended\ncomplain("the file was mended");\n'
        self.assertEqual(self.lint(files={"cli/a.cpp": source, "tests/a.cpp": source}), ["cli/a.cpp:2: 'mended': write 'fixed'"])

    def test_words_that_readers_stumble_over(self):
        self.assertEqual(self.lint(files={"docs/page.md": "## A part\nIt is 3 unless said.\n"}), ["docs/page.md:2: 'unless said': write 'default: …'"])


unittest.main()
