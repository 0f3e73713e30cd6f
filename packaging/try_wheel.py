"""Install a wheel or a source package in a new environment, and do a small job with it: `try_wheel.py FILE [--oldest | --newest]`.

The interpreter that runs this file is the one that is tested. `--oldest` installs the oldest versions of the requirements that the
file itself states, and needs an interpreter as old. Without it pip takes the newest.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

JOB = """
import sys
import numpy as np
import lapwing
from lapwing import AutoLabeler, HarmonicClassifier, load_model, save_model

# Two interleaved half circles with one label each.
angle = np.linspace(0, np.pi, 200)
X = np.r_[np.c_[np.cos(angle), np.sin(angle)], np.c_[1 - np.cos(angle), 0.5 - np.sin(angle)]].astype(np.float32)
truth = np.repeat(["upper", "lower"], 200)
y = np.full(400, None, dtype=object)
y[[0, 200]] = truth[[0, 200]]
clf = HarmonicClassifier().fit(X, y)
assert (clf.transduction_ == truth).all(), np.mean(clf.transduction_ == truth)
save_model(clf, "model.lapwing")
assert (load_model("model.lapwing").predict(X[::7]) == truth[::7]).all()
y[::40] = truth[::40]
auto = AutoLabeler(random_state=0).fit(X, y)
assert np.mean(auto.transduction_ == truth) > 0.95
lapwing.show_versions()
"""


def requirements(file: Path) -> list[str]:
    """The packages that a wheel or a source package needs, without those of its extras."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            text = archive.read(name).decode()
    else:
        with tarfile.open(file) as archive:
            (name,) = (name for name in archive.getnames() if name.count("/") == 1 and name.endswith("/PKG-INFO"))
            text = archive.extractfile(name).read().decode()
    lines = re.findall(r"^Requires-Dist: (.*)$", text, re.MULTILINE)
    return [line for line in lines if "extra ==" not in line]


def oldest(requirement: str) -> str:
    """`numpy>=1.24` as `numpy==1.24.*`."""
    name, version = re.fullmatch(r"([\w-]+) ?\(?>=([\d.]+)\)?", requirement).groups()
    return f"{name}=={version}.*"


def main() -> None:
    file = Path(sys.argv[1]).resolve()
    pins = [oldest(requirement) for requirement in requirements(file)] if "--oldest" in sys.argv[2:] else []
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", "numpy,scipy,scikit-learn"]
        subprocess.run([*pip, *pins, file], check=True)
        # In a folder without sources, so that the installed package is imported.
        subprocess.run([python, "-I", "-c", JOB], cwd=folder, check=True)


if __name__ == "__main__":
    main()
