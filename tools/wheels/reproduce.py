"""Builds a wheel of the last commit once more, in another folder, and compares its bytes.

    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) pip wheel . --no-deps --no-build-isolation --wheel-dir wheelhouse
    python tools/wheels/reproduce.py wheelhouse/*.whl

Needs the same compiler, scikit-build-core and pybind11. Prints the wheel's contents, its hash and its parts list (SBOM).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build_again(folder: Path) -> Path:
    """The wheel of the last commit."""
    clone, house = folder / "clone", folder / "wheel"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    date = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    command = [sys.executable, "-m", "pip", "wheel", "-q", ".", "--no-deps", "--no-build-isolation"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": date}
    subprocess.run([*command, "--wheel-dir", str(house)], cwd=clone, check=True, env=environment)
    (wheel,) = house.glob("*.whl")
    return wheel


def differences(left: Path, right: Path) -> list[str]:
    """What differs between two wheels: files, or else the order and the times of the archive."""
    with zipfile.ZipFile(left) as one, zipfile.ZipFile(right) as other:
        names = sorted({*one.namelist(), *other.namelist()})
        return [
            name
            for name in names
            if name not in one.namelist()
            or name not in other.namelist()
            or one.read(name) != other.read(name)
        ] or ["the archive itself"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path)
    wheel: Path = parser.parse_args().wheel
    with tempfile.TemporaryDirectory() as folder:
        again = build_again(Path(folder))
        if again.read_bytes() != wheel.read_bytes():
            raise SystemExit(
                f"{wheel.name} differs when it is built again: {', '.join(differences(wheel, again))}"
            )
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if "/formats/" not in entry.filename and "/parsers/" not in entry.filename:
                print(f"{entry.file_size:9,}  {entry.filename}")
        (sbom,) = (name for name in archive.namelist() if "/sboms/" in name)
        for part in json.loads(archive.read(sbom))["components"]:
            print(f"contains {part['name']} {part['version']}, {part['licenses'][0]['license']['id']}")
    print(f"sha256 {hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel.name}, the same when built again")


if __name__ == "__main__":
    main()
