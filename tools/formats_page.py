#!/usr/bin/env python3
"""Writes the table of docs/formats.md: what `refit import` reads of each file of a folder, and what it
refuses or asks for.

  formats_page.py --refit build/bin/refit --cases FOLDER [--page docs/formats.md]

FOLDER has one folder per format; KINDS says which importer is for it. Rows of folders that are absent
stay as they are.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

# folder: the words of the command that reads its files
KINDS = {
    "nccl_topo_xml": ["import", "cluster"],
    "nvidia_smi_topo": ["import", "cluster"],
    "ib_fabric": ["import", "cluster"],
    "slurm": ["import", "cluster"],
}
BEGIN, END = "<!-- files of {} -->", "<!-- end of files of {} -->"


def short(text):
    text = re.sub(r"\s+", " ", text).strip().replace("|", "\\|")
    return text.rstrip(".")


def row(refit, words, path):
    done = subprocess.run([refit, *words, str(path)], capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    read = re.findall(r"^(?:# Read|read): (.*)$", said, re.M)
    notes = list(dict.fromkeys(re.findall(r"^(?:# Note|note|refit: note): (.*)$", said, re.M)))
    notes = list(dict.fromkeys(short(note) for note in notes))
    asked = re.findall(r"^  (--[\w-]+)(?: [\w=]+)?  ", said, re.M)
    if done.returncode == 0:
        verdict = "a cluster"
    elif asked:
        verdict = "asks for " + ", ".join(f"`{option}`" for option in asked)
    else:
        first = said.splitlines()[0] if said else ""
        verdict = "refused: " + short(first.removeprefix("refit: ").replace(f"{path}: ", "").replace(f"{path}:", "line "))
    return f"| `{path.name}` | {'; '.join(map(short, read)) or '-'} | {verdict} | {'; '.join(notes) or '-'} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--refit", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--page", default="docs/formats.md")
    options = parser.parse_args()
    page = Path(options.page)
    text = page.read_text(encoding="utf-8")
    for folder, words in KINDS.items():
        files = sorted(p for p in Path(options.cases, folder).glob("**/*") if p.is_file())
        begin, end = BEGIN.format(folder), END.format(folder)
        if not files or begin not in text:
            continue
        rows = ["| file | read | result | notes |", "| --- | --- | --- | --- |"]
        rows += [row(options.refit, words, path) for path in files]
        before, rest = text.split(begin, 1)
        text = before + begin + "\n" + "\n".join(rows) + "\n" + end + rest.split(end, 1)[1]
    page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
