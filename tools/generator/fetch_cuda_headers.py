#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Downloads the CUDA headers of tools/generator/toolkits.txt from PyPI, and verifies their pinned hashes.

Writes the headers to INTO/<version>/include and NVIDIA's licence to INTO/<version>/licence. Skips
versions that are present with the same pins.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

TOOLKITS = Path(__file__).resolve().parent / "toolkits.txt"

# Headers are the same for all platforms, so every machine downloads the wheels of one platform.
PLATFORMS = ["manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64"]
TRIES = 3
PIN = re.compile(r"([a-z0-9-]+==[0-9.]+) (sha256:[0-9a-f]{64})")


class Failure(Exception):
    """An error that ends the script; its message is printed."""


def read_toolkits():
    """Returns {version: [(name==version, sha256:...)]}, oldest toolkit first."""
    toolkits = {}
    for number, line in enumerate(TOOLKITS.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        version, _, rest = line.partition(" ")
        pins = PIN.findall(rest)
        if not pins or " ".join(" ".join(pin) for pin in pins) != rest:
            raise Failure(f"{TOOLKITS.name}:{number}: expected 'VERSION name==version sha256:... ...'")
        toolkits[version] = pins
    return toolkits


def download(pins, folder):
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        raise Failure(f"{sys.executable} has no pip; install it (Debian: apt install python3-pip)")
    requirements = folder / "requirements.txt"
    requirements.write_text("".join(f"{name} --hash={digest}\n" for name, digest in pins))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--require-hashes", "--only-binary=:all:", "--dest", str(folder), "-r", str(requirements)]
    command += [f"--platform={platform}" for platform in PLATFORMS]
    for attempt in range(1, TRIES + 1):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return sorted(folder.glob("*.whl"))
        if "DO NOT MATCH THE HASHES" in done.stderr:
            break  # not a temporary failure: must not be retried
        if attempt < TRIES:
            print(f"  pip failed, trying again ({attempt} of {TRIES - 1})", file=sys.stderr)
            time.sleep(2 * attempt)
    raise Failure(f"pip could not download {', '.join(name for name, _ in pins)}:\n{done.stderr.strip()}")


def unpack(wheel, folder):
    """Extracts only the headers and the licence of a wheel."""
    package = wheel.name.split("-")[0].replace("_", "-")
    headers = licences = 0
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = Path(name)
            if re.fullmatch(r"nvidia/\w+/include/\w+\.h", name):
                target = folder / "include" / path.name
                headers += 1
            elif ".dist-info/" in name and re.search("licen[cs]e", path.name, re.I):
                target = folder / "licence" / f"{package}-{path.name}"
                licences += 1
            else:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))
    if not headers or not licences:
        raise Failure(f"{wheel.name}: {headers} headers and {licences} licence files in it; "
                      "has the layout of the package changed?")


def fetch(version, pins, into):
    """Downloads a toolkit's headers unless they are present with the same pins. Returns whether it
    downloaded any."""
    target = into / version
    mark = "".join(f"{name} {digest}\n" for name, digest in pins)
    if (target / "pins").is_file() and (target / "pins").read_text() == mark:
        return False
    print(f"fetching the headers of CUDA {version}", flush=True)
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=f".{version}-") as work:
        wheels, fresh = Path(work) / "wheels", Path(work) / "fresh"
        wheels.mkdir()
        for wheel in download(pins, wheels):
            unpack(wheel, fresh)
        if not (fresh / "include/cuda.h").is_file():
            raise Failure(f"CUDA {version}: no cuda.h in {', '.join(name for name, _ in pins)}")
        (fresh / "pins").write_text(mark)
        if target.exists():
            shutil.rmtree(target)
        os.rename(fresh, target)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog="The headers are NVIDIA's, under NVIDIA's licence.")
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="toolkit releases, 13.0 for example")
    parser.add_argument("--all", action="store_true", help="every release of tools/generator/toolkits.txt")
    parser.add_argument("--list", action="store_true", help="only list the releases that can be fetched")
    parser.add_argument("--into", type=Path, metavar="DIR", help="the folder that gets a folder a release")
    given = parser.parse_args()
    try:
        toolkits = read_toolkits()
        if given.list:
            print("\n".join(toolkits))
            return 0
        if bool(given.versions) == given.all:
            parser.error("name the releases to fetch, or give --all")
        if not given.into:
            parser.error("say where to put the headers: --into DIR")
        unknown = [version for version in given.versions if version not in toolkits]
        if unknown:
            raise Failure(f"not in tools/generator/toolkits.txt: {', '.join(unknown)} (it has {', '.join(toolkits)})")
        wanted = list(toolkits) if given.all else given.versions
        fetched = [version for version in wanted if fetch(version, toolkits[version], given.into)]
    except (Failure, OSError) as failure:
        print(f"fetch_cuda_headers: {failure}", file=sys.stderr)
        return 1
    if fetched:
        print("These headers are NVIDIA's, under the NVIDIA CUDA Toolkit End User License Agreement;\n"
              f"its text is in {given.into}/<version>/licence. They are not part of cushim.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
