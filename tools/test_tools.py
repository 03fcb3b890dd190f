#!/usr/bin/env python3
"""Proves that each house rule can fail, and that what is right passes."""

import contextlib
import io
import os
import pathlib
import subprocess
import tempfile
import unittest

import check_layers
import check_text
import repo_files


def run(check, path, text):
    """The findings of `check` in a repository that holds this one file."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return check.findings(pathlib.Path(folder))


class Layers(unittest.TestCase):
    def complaint(self, path, include):
        found = run(check_layers, path, f"// A line before.\n#include {include}\n")
        self.assertLessEqual(len(found), 1)
        for finding in found:
            self.assertEqual(finding[:2], (path, 2))
        return found[0][2] if found else None

    def test_what_stands_above_may_be_included(self):
        for path, include in [
                ("base/a.cc", '"base/error.h"'), ("schedule/a.cc", '"models/region.h"'),
                ("planner/a.cc", '"schedule/schedule.h"'), ("report/a.cc", '"sim/prediction.h"'),
                ("scenarios/a.cc", '"planner/plan.h"'), ("cli/a.cc", '"report/summary.h"'),
                ("sim/predict.cc", '"sim/detail/flow_net.h"'),
                ("tests/sim/a_test.cc", '"sim/detail/flow_net.h"'),
                ("tests/a_test.cc", '"tests/support/element_oracle.h"'),
                ("base/a.cc", "<vector>"), ("base/a.cc", "<unistd.h>"), ("base/a.cc", "<fmt/format.h>")]:
            self.assertIsNone(self.complaint(path, include), (path, include))

    def test_an_upward_include_is_found(self):
        for path, include in [
                ("base/a.cc", '"models/region.h"'), ("topology/a.cc", '"models/region.h"'),
                ("models/a.cc", '"schedule/schedule.h"'), ("schedule/a.cc", '"planner/plan.h"'),
                ("planner/a.cc", '"executor/execute.h"'), ("sim/a.cc", '"planner/plan.h"'),
                ("executor/a.cc", '"sim/predict.h"'), ("report/a.cc", '"sim/predict.h"'),
                ("report/a.cc", '"planner/plan.h"'), ("scenarios/a.cc", '"report/summary.h"')]:
            module, owner = path.split("/")[0], include[1:].split("/")[0]
            self.assertIn(f"{module} may not include {owner}", str(self.complaint(path, include)))

    def test_detail_folders_are_private(self):
        self.assertEqual(self.complaint("cli/a.cc", '"sim/detail/flow_net.h"'),
                         '"sim/detail/flow_net.h" is private to sim; include a header of sim/ itself')

    def test_relative_and_test_includes_are_found(self):
        self.assertIn("names no module", self.complaint("base/a.cc", '"error.h"'))
        self.assertIn("is for tests", self.complaint("base/a.cc", '"tests/support/x.h"'))

    def test_foreign_headers_have_one_place(self):
        for header, right, wrong in [
                ("yaml-cpp/yaml.h", "base/yaml.cc", "base/units.cc"),
                ("simgrid/s4u.hpp", "sim/detail/a.cc", "sim/predict.cc"),
                ("xbt/log.h", "sim/detail/a.cc", "cli/main.cc"),
                ("graphviz/cgraph.h", "report/drawing.cc", "report/json.cc"),
                ("nlohmann/json.hpp", "models/import/hf_config.cc", "models/region.cc"),
                ("nlohmann/json.hpp", "schedule/schedule_json_read.cc", "schedule/schedule.cc"),
                ("nlohmann/json.hpp", "report/json.cc", "report/drawing.cc"),
                ("CLI/CLI.hpp", "cli/main.cc", "scenarios/a.cc"),
                ("Eigen/Sparse", "sim/traffic.cc", "schedule/a.cc"),
                ("catch2/catch.hpp", "tests/main.cc", "base/a.cc")]:
            for include in (f"<{header}>", f'"{header}"'):
                self.assertIsNone(self.complaint(right, include), (right, include))
                self.assertIn("belongs in", str(self.complaint(wrong, include)), (wrong, include))
            self.assertIsNone(self.complaint("tests/a_test.cc", f"<{header}>"))

    def test_an_unknown_foreign_library_is_found(self):
        self.assertIn("give it a place", self.complaint("base/a.cc", "<boost/any.hpp>"))

    def test_a_header_without_pragma_once_is_found(self):
        self.assertEqual(run(check_layers, "base/a.h", "int a();\n"),
                         [("base/a.h", 1, "no include guard; begin with #pragma once")])
        self.assertEqual(run(check_layers, "base/a.h", "// A.\n#pragma once\n"), [])

    def test_the_table_itself_has_no_upward_edge(self):
        order = list(check_layers.LAYERS)
        for module, (modules, _) in check_layers.LAYERS.items():
            for other in modules:
                self.assertLess(order.index(other), order.index(module))


class Text(unittest.TestCase):
    def messages(self, path, text):
        return [message for _, _, message in run(check_text, path, text)]

    def test_each_rule_finds_its_fault_and_line(self):
        for text in ["see ../share" "d/x", "cd /ho" "me/me/src", "'/wo" "rk/main'", "# TO" "DO: later",
                     "FIXM" "E", "(/ro" "ot/.cache)"]:
            found = run(check_text, "docs/a.md", "fine\n" + text + "\n")
            self.assertEqual([f[:2] for f in found], [("docs/a.md", 2)], text)

    def test_what_is_right_passes(self):
        for text in ["planner/work/a.cc", "https://example.org/home/index.html", "workshop", "mastodon",
                     "a/../share" "d_state", "$HOME/src", "a network/home/lab setup"]:
            self.assertEqual(self.messages("docs/a.md", text), [], text)

    def test_tabs_and_long_lines_matter_in_cpp_only(self):
        self.assertEqual(self.messages("base/a.cc", "\tint a;\n"), ["a tab; use spaces"])
        self.assertEqual(self.messages("base/a.cc", "x" * 110), [])
        self.assertEqual(self.messages("base/a.h", "x" * 111),
                         ["111 columns; break the line at 110 or before"])
        self.assertEqual(self.messages("Makefile", "\t" + "x" * 200), [])

    def test_columns_are_letters_not_bytes(self):
        self.assertEqual(self.messages("base/a.cc", "\u00b5" * 110), [])

    def test_binary_files_are_left_alone(self):
        self.assertEqual(self.messages("a.bin", b"TO" b"DO\0"), [])
        self.assertEqual(self.messages("a.bin", b"TO" b"DO\xff"), [])


class Packages(unittest.TestCase):
    def apt_calls(self, installed, *arguments, apt="true"):
        """What install_packages.sh asks of apt-get when `installed` (a shell test on $name) holds."""
        with tempfile.TemporaryDirectory() as folder:
            bin_folder = pathlib.Path(folder)
            for program, body in [
                    ("dpkg-query", f'for name; do :; done; {installed} && printf installed || exit 1'),
                    ("apt-get", f'echo "$DEBIAN_FRONTEND $*" >> {folder}/calls; {apt}'),
                    ("sudo", '"$@"')]:
                file = bin_folder / program
                file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
                file.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            subprocess.run([repo_files.ROOT / "tools/install_packages.sh", *arguments], env=environment,
                           check=True, capture_output=True)
            calls = bin_folder / "calls"
            return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []

    def test_apt_is_left_alone_when_all_is_there(self):
        self.assertEqual(self.apt_calls("true"), [])

    def test_only_what_is_missing_is_installed(self):
        self.assertEqual(
            self.apt_calls('[ "$name" != catch2 ] && [ "$name" != libfmt-dev ]'),
            ["noninteractive update -qq",
             "noninteractive install -y -qq --no-install-recommends catch2 libfmt-dev"])


    def test_a_browser_is_for_tests_and_may_be_none(self):
        no_browser = '[ "$name" != chromium ] && [ "$name" != chromium-headless-shell ]'
        self.assertEqual(self.apt_calls(no_browser), [])
        self.assertEqual(self.apt_calls("[ $name != chromium-headless-shell ]", "--for-tests"), [])
        self.assertEqual(
            self.apt_calls(no_browser, "--for-tests", apt="[ $1 != install ]"),
            ["noninteractive update -qq",
             "noninteractive install -y -qq --no-install-recommends chromium-headless-shell"])


class InstructionCount(unittest.TestCase):
    def outcome(self, factor, build=None):
        """Exit status and output with a valgrind that counts so many times what is kept."""
        tools = pathlib.Path(__file__).resolve().parent
        kept = (tools.parent / "tests/instruction_counts.txt").read_text(encoding="utf-8")
        build = build or next(line[7:] for line in kept.splitlines() if line.startswith("built: "))
        counts = {" ".join(line.split()[:2]): int(line.split()[2])
                  for line in kept.splitlines() if line.startswith("scenarios/")}
        with tempfile.TemporaryDirectory() as folder:
            cases = "".join(f"*'{run}') echo '==7== Collected : {int(count * factor)}' ;;\n"
                            for run, count in counts.items())
            for name, script in [("valgrind", f'case "$*" in\n{cases}esac\n'),
                                 ("count_run", f"echo '{build}'\n")]:
                file = pathlib.Path(folder) / name
                file.write_text("#!/bin/sh\n" + script, encoding="utf-8")
                file.chmod(0o755)
            done = subprocess.run(
                [tools / "instruction_count.sh", pathlib.Path(folder) / "count_run"],
                env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
                capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_what_is_kept_passes(self):
        code, output = self.outcome(1)
        self.assertEqual((code, output.count("+0.0 %")), (0, 3), output)

    def test_six_percent_more_fails(self):
        code, output = self.outcome(1.06)
        self.assertEqual((code, output.count("more than 5 % above")), (1, 3), output)

    def test_six_percent_less_asks_for_the_file(self):
        code, output = self.outcome(0.94)
        self.assertEqual((code, output.count("make instruction_counts")), (0, 3), output)

    def test_another_compiler_is_not_compared(self):
        code, output = self.outcome(1, build="Clang 14 x86_64 -O3 -DNDEBUG")
        self.assertEqual(code, 77)
        self.assertIn("this is 'Clang 14 x86_64 -O3 -DNDEBUG'", output)


class Files(unittest.TestCase):
    def test_build_folders_are_not_source(self):
        self.assertEqual(run(check_text, "build/a.cc", "\t"), [])
        self.assertEqual(run(check_text, "build-asan/a.cc", "\t"), [])
        self.assertEqual(len(run(check_text, "builder/a.cc", "\t")), 1)

    def test_in_a_checkout_new_files_count_and_ignored_ones_do_not(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            try:
                subprocess.run(["git", "init", "-q", folder], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                self.skipTest("no git here")
            for name, content in [(".gitignore", "out.txt\n"), ("out.txt", ""), ("new.txt", "")]:
                (root / name).write_text(content, encoding="utf-8")
            self.assertEqual(repo_files.files(root), [".gitignore", "new.txt"])

    def test_a_finding_is_printed_and_fails(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(repo_files.report("check", [("a.cc", 3, "a tab; use spaces")]), 1)
            self.assertEqual(repo_files.report("check", []), 0)
        self.assertEqual(output.getvalue(), "a.cc:3: a tab; use spaces\ncheck: 1 finding(s)\n")


if __name__ == "__main__":
    unittest.main()
