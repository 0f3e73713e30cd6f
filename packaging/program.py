"""Build the program for a system, and pack it with manual pages and completions: `program.py [TARGET]`.

TARGET is the triple of Rust, by default that of this machine. The archive is `target/dist/lapwing-VERSION-TARGET.tar.gz` (`.zip` for
Windows) and holds one folder of that name; its path is printed. The table `package.metadata.binstall` of `lapwing-cli` states the same.
On Linux, compiler and linker are those of the Python package ziglang, called by cargo-zigbuild, so that the program runs with a C library
as old as the oldest that is supported: 2.17, the oldest with which Rust's standard library works.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from archive import pack

ROOT = Path(__file__).parent.parent
TEXTS = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"]


def read(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def build(command, *options):
    """Builds the program and returns the folder of all builds."""
    call = ["cargo", command, "--locked", "--package", "lapwing-cli", *options]
    subprocess.run(call, cwd=ROOT, check=True, stdout=sys.stderr)
    return Path(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"))


def main():
    host = re.search(r"^host: (.*)$", read("rustc", "--version", "--verbose"), re.MULTILINE)[1]
    triple = sys.argv[1] if len(sys.argv) > 1 else host
    version = re.split("[#@]", read("cargo", "pkgid", "--offline", "--package", "lapwing").strip())[-1]
    library = ".2.17" if triple.endswith("linux-gnu") else ""
    ending = ".exe" if "windows" in triple else ""
    command = "zigbuild" if "linux" in triple else "build"
    target = build(command, "--profile", "dist", "--target", triple + library)
    program = target / triple / "dist" / f"lapwing{ending}"
    # The program of this machine writes the pages, from the same sources.
    own = program if triple == host else build("build", "--release") / "release" / f"lapwing{'.exe' if os.name == 'nt' else ''}"
    name = f"lapwing-{version}-{triple}"
    parts = target / "dist/parts" / name
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    for file in [program, *(ROOT / text for text in TEXTS)]:
        shutil.copy(file, parts)
    for form, place in [("man", "man"), ("completions", "completions")]:
        subprocess.run([own, "reference", "--format", form, parts / place], check=True, stdout=sys.stderr)
    archive = target / "dist" / f"{name}.{'zip' if ending else 'tar.gz'}"
    pack(parts, archive)
    print(archive)


if __name__ == "__main__":
    main()
