#!/usr/bin/env python3
"""Writes the table of whole refits at 1 % changed into docs/delta.md: `make delta_plans`.

    delta_plans.py PROGRAM

PROGRAM is refit. Kimi K3 on 4,096 GPUs takes a few minutes.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/delta.md"
FIRST, LAST = "<!-- plans -->\n", "<!-- end of plans -->\n"
STRATEGIES = ["gather_broadcast", "reshard", "optimal", "delta_broadcast", "delta_reshard"]
SCENARIOS = [
    ("DeepSeek-V3, 256 + 256 H100, 8 engines", "scenarios/delta/deepseek_v3_h100.yaml"),
    ("Kimi K3, 2,048 + 2,048 H100, 64 engines", "scenarios/delta/kimi_k3.yaml"),
]


def three_digits(value, units):
    for size, unit in units:
        if value >= size:
            scaled = value / size
            return f"{scaled:.{max(0, 2 - len(str(int(scaled))) + 1)}f} {unit}"
    return f"{value:.3g}"


def seconds(value):
    return three_digits(value, [(1, "s"), (1e-3, "ms"), (1e-6, "us")])


def size(value):
    return three_digits(value, [(1e15, "PB"), (1e12, "TB"), (1e9, "GB")])


def rows(program, name, file):
    yield f"| {name} | predicted | wire | bound | network bytes | most time in |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    command = [program, "simulate", file, "--strategy", ",".join(STRATEGIES), "--json"]
    out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for row in json.loads(out)["strategies"]:
        account = sorted(row["seconds_by_constant"].items(), key=lambda part: -part[1])[:2]
        most = ", ".join(f"`{constant}` {seconds(spent)}" for constant, spent in account)
        yield (
            f"| `{row['strategy']}` | {seconds(row['predicted_s'])} | {seconds(row['certificate']['wire_s'])} "
            f"| {seconds(row['bound_s'])} | {size(row['network_bytes'])} | {most} |"
        )


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    tables = ["\n".join(rows(program, name, file)) + "\n" for name, file in SCENARIOS]
    text = PAGE.read_text()
    begin, end = text.index(FIRST) + len(FIRST), text.index(LAST)
    PAGE.write_text(text[:begin] + "\n".join(tables) + text[end:])


if __name__ == "__main__":
    main()
