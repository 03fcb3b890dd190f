#!/usr/bin/env python3
"""Checks the house rules of text: nothing that only works on one person's machine, nothing left
undone, and C++ lines that fit."""

import re
import sys

import repo_files

# The bracketed letters keep a rule from finding itself.
ANYWHERE = [
    (re.compile(r"\.\./share[d]\b"), "'../share" "d' is not part of the repository; name a file that is"),
    (re.compile(r"(?<![\w.~${}/-])/(?:home|root|work|Users)/[\w.]"),
     "an absolute path of one machine; write it relative to the root of the repository"),
    (re.compile(r"\b(?:TO[D]O|FIXM[E]|XX[X])\b"),
     "work left undone; do it, refuse the input with a message, or open an issue"),
]
MOST_COLUMNS = 110  # the formatter aims at 100 and leaves what it can't break
CPP = (".h", ".cc")


def line_complaints(path, line):
    for pattern, message in ANYWHERE:
        if pattern.search(line):
            yield message
    if path.endswith(CPP):
        if "\t" in line:
            yield "a tab; use spaces"
        if len(line) > MOST_COLUMNS:
            yield f"{len(line)} columns; break the line at {MOST_COLUMNS} or before"


def findings(root):
    found = []
    for path in repo_files.files(root):
        text = repo_files.text(root / path)
        if text is None:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            found.extend((path, number, message) for message in line_complaints(path, line))
    return found


if __name__ == "__main__":
    sys.exit(repo_files.report("check_text", findings(repo_files.ROOT)))
