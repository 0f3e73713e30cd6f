"""Put a built site among its other versions: `publish_site.py SITE VERSION FOLDER`.

FOLDER is what the web server shows. The site goes to FOLDER/VERSION, where VERSION is `dev` or a number such as 1.2.0; the site of the
newest number also goes to FOLDER/stable. `switcher.json` lists all versions for the menu of the theme, and `index.html` leads to
`stable`, or to `dev` before the first release.
"""

import json
import re
import shutil
import sys
from pathlib import Path

ADDRESS = "https://lapwing-learn.github.io/lapwing"
PAGE = """<!doctype html>
<meta charset="utf-8">
<title>lapwing</title>
<meta http-equiv="refresh" content="0; url={place}/">
<link rel="canonical" href="{address}/{place}/">
<a href="{place}/">Documentation of lapwing</a>
"""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def put(site: Path, place: Path) -> None:
    if place.exists():
        shutil.rmtree(place)
    shutil.copytree(site, place)


def publish(site: Path, version: str, folder: Path) -> None:
    if version != "dev" and not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit(f"{version} is neither dev nor a version such as 1.2.0")
    if not (site / "index.html").exists():
        raise SystemExit(f"{site} holds no index.html")
    folder.mkdir(parents=True, exist_ok=True)
    put(site, folder / version)
    released = [path.name for path in folder.iterdir() if path.is_dir() and re.fullmatch(r"\d+\.\d+\.\d+", path.name)]
    released.sort(key=numbers, reverse=True)
    if released and version == released[0]:
        put(site, folder / "stable")
    entries = [{"name": "dev", "version": "dev", "url": f"{ADDRESS}/dev/"}] if (folder / "dev").exists() else []
    for index, number in enumerate(released):
        newest = index == 0
        entry = {"name": f"{number} (stable)" if newest else number, "version": number, "url": f"{ADDRESS}/{'stable' if newest else number}/"}
        entries.append({**entry, "preferred": True} if newest else entry)
    (folder / "switcher.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    page = PAGE.format(place="stable" if released else "dev", address=ADDRESS)
    (folder / "index.html").write_text(page, encoding="utf-8")
    # Folders whose names begin with _ are shown too.
    (folder / ".nojekyll").touch()


if __name__ == "__main__":
    publish(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
