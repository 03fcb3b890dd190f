"""The files of the repository, for the house rule checks."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def files(root=ROOT):
    """Paths relative to `root`, sorted: tracked and new files as git sees them, or all files of an
    unpacked archive without the build folders."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True, check=False) if (root / ".git").exists() else None
    if listing is not None and listing.returncode == 0:
        names = set(listing.stdout.decode().split("\0")) - {""}
    else:
        names = set()
        for folder, folders, in_folder in os.walk(root):
            folders[:] = [f for f in folders if f not in (".git", "__pycache__")
                          and not (f == "build" or f.startswith("build-"))]
            names.update(os.path.relpath(os.path.join(folder, f), root) for f in in_folder)
    return sorted(name for name in names if (root / name).is_file())


def text(path):
    """The text of a file, or None if it is binary."""
    try:
        content = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in content else content


def report(name, findings):
    """Prints findings (path, line number, message) and returns the exit status."""
    for path, line, message in findings:
        print(f"{path}:{line}: {message}")
    if findings:
        print(f"{name}: {len(findings)} finding(s)")
    return 1 if findings else 0
