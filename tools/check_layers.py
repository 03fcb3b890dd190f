#!/usr/bin/env python3
"""Checks every #include against the layer table (docs/architecture.md): a module includes only what
stands above it, a detail/ folder is its module's own, a foreign library shows only in its one place,
and every header has #pragma once."""

import re
import sys

import repo_files

# module: (modules it may include, single headers of other modules it may include)
LAYERS = {
    "base": ([], []),
    "delta": (["base"], []),
    "topology": (["base"], []),
    "models": (["base"], []),
    "schedule": (["base", "topology", "models"], []),
    "sim": (["base", "delta", "topology", "models", "schedule"], []),
    "planner": (["base", "delta", "topology", "models", "schedule", "sim"], []),
    "executor": (["base", "delta", "topology", "models", "schedule"], []),
    # Values only: a report runs nothing.
    "report": (["base", "topology", "models", "schedule"],
               ["sim/certificate.h", "sim/fault.h", "sim/first_use.h", "sim/ensemble_times.h", "sim/memory_use.h", "sim/prediction.h", "sim/network_model.h", "sim/lower_bound.h", "sim/traffic.h", "sim/flow_list.h", "sim/link_paths.h", "validation/result.h", "sweep/row.h", "sweep/size_answer.h", "sweep/what_if.h",
                "executor/measurement.h", "executor/moves.h"]),
    "scenarios": (["base", "delta", "topology", "models", "schedule", "planner", "sim"], []),
    # Many scenarios that differ in a few fields.
    "sweep": (["base", "delta", "topology", "models", "schedule", "planner", "sim", "scenarios"], []),
    # Whether others would take a scenario as it is.
    "checks": (["base", "delta", "topology", "models", "schedule", "planner", "sim", "scenarios"], []),
    # Published numbers as scenarios.
    "validation": (["base", "delta", "topology", "models", "schedule", "planner", "sim", "scenarios"], []),
    "cli": (["base", "delta", "topology", "models", "schedule", "planner", "sim", "executor", "report",
             "scenarios", "sweep", "checks", "validation"], []),
}

# Folders that may include every module, its detail/ and every foreign library.
FREE = ["tests", "bench"]

# foreign header, by prefix: where it may stand (a file, a folder with a closing slash, or files whose
# names begin so, up to an underscore)
FOREIGN = {
    "yaml-cpp/": ["base/yaml.cc"],
    "curl/": ["executor/object_store/s3_store.cc"],
    "pugixml.hpp": ["topology/import/detail/nccl_xml.cc", "report/export/"],
    "simgrid/": ["sim/detail/"],
    "coin/": ["sim/detail/linear_program.cc"],
    "xbt/": ["sim/detail/"],
    "graphviz/": ["report/drawing.cc"],
    "cgraph.h": ["report/drawing.cc"],
    "xxhash.h": ["schedule/plan_hash.cc", "delta/hash.cc", "sweep/detail/text_hash.cc"],
    "zstd.h": ["delta/detail/zstd_bytes.cc"],
    "protozero/": ["report/export/chakra.cc"],
    "nlohmann/": ["models/import/", "scenarios/export/", "report/export/", "schedule/schedule_json.cc", "schedule/schedule_json_read.cc",
                  "schedule/detail/schedule_json_",
                  "report/html_json.cc", "report/json.cc", "report/json_number.h", "report/memory_json.cc", "report/memory_json.h",
                  "report/measurement_json.cc",
                  "report/measurement_json_read.cc", "report/plan_picture_json.cc", "report/validation_json.cc", "report/sensitivity_json.cc", "report/size_json.cc", "report/sweep_json.cc", "report/sweep_page.cc", "report/table_json.cc", "cli/"],
    "CLI/": ["cli/"],
    "csv.h": ["base/csv_table.cc"],
    "Eigen/": ["sim/", "validation/fit.cc", "validation/measured_fit.cc"],
    "cuda_runtime.h": ["executor/cuda/", "delta/cuda/"],
    "cuda_runtime_api.h": ["executor/cuda/"],
    "nccl.h": ["executor/cuda/"],
    "catch2/": [],
    "sanitizer/": [],
    "benchmark/": [],
}
EVERYWHERE = ["fmt/", "sys/", "linux/", "netinet/", "arpa/", "net/"]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def starts(path, prefixes):
    return any(path == p or (p[-1] in "/_" and path.startswith(p)) for p in prefixes)


def foreign_complaint(path, header):
    """What is wrong with a foreign header in this file, or None; "" if the header is not foreign."""
    for prefix, places in FOREIGN.items():
        if starts(header, [prefix]):
            if starts(path, places) or path.split("/")[0] in FREE:
                return None
            where = " or ".join(places) if places else " or ".join(FREE)
            return f"<{header}> belongs in {where}; use a type of ours here"
    return ""


def include_complaint(path, quote, header):
    """What is wrong with one include, or None."""
    foreign = foreign_complaint(path, header)
    if foreign != "":
        return foreign
    if quote == "<":
        if "/" in header and not starts(header, EVERYWHERE):
            return f"<{header}> is a foreign library; give it a place in tools/check_layers.py first"
        return None

    module, owner = path.split("/")[0], header.split("/")[0]
    if owner not in LAYERS and owner not in FREE:
        return f'"{header}" names no module; write the path from the root, as in "base/error.h"'
    if module in FREE:
        return None
    if owner in FREE:
        return f'"{header}" is for tests; move what is shared into a module'
    if owner != module:
        modules, headers = LAYERS[module]
        if owner not in modules and header not in headers:
            return f"{module} may not include {owner}; it may include {', '.join(modules + headers)}"
        if "/detail/" in header:
            return f'"{header}" is private to {owner}; include a header of {owner}/ itself'
    return None


def findings(root):
    found = []
    for path in repo_files.files(root):
        module = path.split("/")[0]
        if not path.endswith((".h", ".cc")) or module not in [*LAYERS, *FREE]:
            continue
        lines = (root / path).read_text(encoding="utf-8", errors="replace").split("\n")
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            message = include_complaint(path, *match.groups()) if match else None
            if message:
                found.append((path, number, message))
        if path.endswith(".h") and "#pragma once" not in [line.strip() for line in lines]:
            found.append((path, 1, "no include guard; begin with #pragma once"))
    return found


if __name__ == "__main__":
    sys.exit(repo_files.report("check_layers", findings(repo_files.ROOT)))
