#!/usr/bin/env python3
"""Runs the commands that the documentation shows and compares their output.

In a ```console block, a line "$ refit ..." is run in the repository's root; the lines below it, up to the
next "$" or the end of the block, are its exact output. A line "..." stands for any lines.

  check_examples.py --refit build/bin/refit README.md docs/*.md

With --update it writes what the commands print into the pages instead; read the diff.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def examples(text):
    """Yields (line number, command, expected lines)."""
    inside = False
    current = None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("```"):
            if current:
                yield current
            current = None
            inside = line.strip() == "```console"
            continue
        if not inside:
            continue
        if line.startswith("$ "):
            if current:
                yield current
            current = (number, line[2:], [])
        elif current:
            current[2].append(line)
    if current:
        yield current


def matches(expected, actual):
    parts = [re.escape("\n".join(part)) for part in split_at_dots(expected)]
    pattern = r"(?:.*\n)*?".join(part + r"\n" if part else "" for part in parts)
    return re.fullmatch(pattern, "\n".join(actual) + "\n") is not None


def split_at_dots(lines):
    parts = [[]]
    for line in lines:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def strip_blank_end(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def run(command, refit):
    path = f"{Path(refit).resolve().parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env={**os.environ, "PATH": path},
                          capture_output=True, text=True, check=False)
    return [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]


def update(name, refit):
    lines = Path(name).read_text(encoding="utf-8").splitlines()
    for number, command, expected in reversed(list(examples("\n".join(lines)))):
        if command.startswith("refit ") and "..." not in expected:
            lines[number:number + len(expected)] = strip_blank_end(run(command, refit))
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--refit", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.update:
        for name in options.files:
            update(name, options.refit)
    count = wrong = 0
    for name in options.files:
        for number, command, expected in examples(Path(name).read_text(encoding="utf-8")):
            if not command.startswith("refit "):
                continue
            count += 1
            actual = strip_blank_end(run(command, options.refit))
            expected = strip_blank_end([line.rstrip() for line in expected])
            if not matches(expected, actual):
                wrong += 1
                print(f"{name}:{number}: `{command}` prints something else than the page shows:")
                print("\n".join("  " + line for line in actual))
    print(f"{count} examples, {wrong} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
