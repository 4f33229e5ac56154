"""scripts/lint-lists names the place that lacks a command, an option, an analyzer or a GPU, or has one too many.

usage: lint_lists_test.py FADEPROBE
"""
import importlib.machinery
import importlib.util
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("lint_lists", str(ROOT / "scripts/lint-lists"))
lint_lists = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint_lists", loader))
loader.exec_module(lint_lists)
PROGRAM = lint_lists.Program(sys.argv.pop(1))
BASH, ZSH, MAN = "cli/completions/fadeprobe.bash", "cli/completions/_fadeprobe", "docs/fadeprobe.1.in"


class LintLists(unittest.TestCase):
    def lint(self, name, before, after, count=1):
        """What it says of a tree in which one text of a file was replaced by another."""
        with tempfile.TemporaryDirectory() as folder:
            for file in (BASH, ZSH, MAN, "README.md", "docs/software-gpu.md"):
                pathlib.Path(folder, file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, pathlib.Path(folder, file))
            changed = pathlib.Path(folder, name)
            text = changed.read_text()
            self.assertIn(before, text)
            changed.write_text(text.replace(before, after, count))
            return lint_lists.Lists(folder, PROGRAM).check()

    def test_the_lists_are_complete(self):
        self.assertEqual(lint_lists.Lists(ROOT, PROGRAM).check(), [])

    def test_a_command_that_bash_does_not_know(self):
        wrong = self.lint(BASH, " | sql | ", " | ") # then it completes the options of fadeprobe itself
        self.assertEqual(wrong[0], f"{BASH}: lacks command sql in the line with all of them, or its options")
        self.assertEqual(self.lint(BASH, "control log sql check", "control log check"), [f"{BASH}: lacks command sql"])

    def test_a_command_that_zsh_does_not_know(self):
        self.assertEqual(self.lint(ZSH, "  peaks) ", "  peak) "), [f"{ZSH}: lacks command peaks"])
        self.assertEqual(self.lint(ZSH, r'sql\:"', r'seql\:"'), [f"{ZSH}: lacks command sql", f"{ZSH}: command seql does not exist"])

    def test_a_command_that_the_manual_page_does_not_describe(self):
        self.assertEqual(self.lint(MAN, '.SS "peaks', '.SS "peak'), [f"{MAN}, COMMANDS: lacks command peaks", f"{MAN}, COMMANDS: command peak does not exist"])
        self.assertEqual(self.lint(MAN, ".B fadeprobe mcp\n", ".B fadeprobe\n"), [f"{MAN}, SYNOPSIS: lacks command mcp"])

    def test_a_command_that_the_readme_does_not_list(self):
        self.assertEqual(self.lint("README.md", "| `sql` |", "| `seql` |"), ["README.md, Commands: lacks command sql", "README.md, Commands: command seql does not exist"])

    def test_an_option_that_is_missing_in_one_command_only(self):
        self.assertEqual(self.lint(BASH, 'captures) words="--json', 'captures) words="'), [f"{BASH}: lacks option of 'captures' --json"])
        self.assertEqual(self.lint(ZSH, "captures) _arguments '--json[JSON lines]'", "captures) _arguments"), [f"{ZSH}: lacks option of 'captures' --json"])
        self.assertEqual(self.lint(MAN, "\\-\\-libraries", "\\-\\-library")[0], f"{MAN}, trace: lacks option --libraries")

    def test_an_option_that_does_not_exist(self):
        self.assertEqual(self.lint(BASH, 'captures) words="--json', 'captures) words="--json --xml'), [f"{BASH}: option of 'captures' --xml does not exist"])
        self.assertEqual(self.lint(ZSH, "captures) _arguments '--json[", "captures) _arguments '--xml[XML]' '--json["), [f"{ZSH}: option of 'captures' --xml does not exist"])
        self.assertEqual(self.lint(MAN, '.SS "peaks"\n', '.SS "peaks"\n\\fB\\-\\-xml\\fR\n'), [f"{MAN}, COMMANDS: option --xml does not exist"])

    def test_values_of_options(self):
        for file in (BASH, ZSH):
            self.assertEqual(self.lint(file, "table csv json markdown", "table csv markdown yaml"), [f"{file}: lacks value of 'sql --format' json", f"{file}: value of 'sql --format' yaml does not exist"])

    def test_analyzers(self):
        for file in (BASH, ZSH, MAN):
            self.assertEqual([line.rpartition(": ")[2] for line in self.lint(file, "Placement", "Place")][0], "lacks analyzer Placement", file)

    def test_gpus(self):
        for file in (BASH, ZSH):
            self.assertEqual(self.lint(file, " gfx1152 ", " "), [f"{file}: lacks GPU gfx1152"])
        self.assertEqual(self.lint("docs/software-gpu.md", "| `gfx1152` |", "| `gfx1159` |"),
                         ["docs/software-gpu.md, table of GPUs: lacks GPU gfx1152", "docs/software-gpu.md, table of GPUs: GPU gfx1159 does not exist"])


unittest.main()
