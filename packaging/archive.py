"""Pack a folder into FILE.tar.gz or FILE.zip: `archive.py FOLDER FILE`. Equal contents give equal bytes."""

import gzip
import io
import sys
import tarfile
import zipfile
from pathlib import Path


def mode(path: Path) -> int:
    """Rights of a file: those of a program, or those of a text."""
    return 0o755 if path.is_dir() or path.stem == "lapwing" and path.suffix in ("", ".exe") else 0o644


def write_tar(folder: Path, paths: list[Path], archive: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in paths:
            entry = tar.gettarinfo(path, arcname=path.relative_to(folder.parent).as_posix())
            entry.mode, entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = mode(path), 0, 0, 0, "", ""
            with path.open("rb") if path.is_file() else io.BytesIO() as file:
                tar.addfile(entry, file)
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(packed.getvalue())


def write_zip(folder: Path, paths: list[Path], archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in filter(Path.is_file, paths):
            entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix())
            entry.external_attr = (0o100000 | mode(path)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, path.read_bytes())


def pack(folder: Path, archive: Path) -> None:
    paths = [folder, *sorted(folder.rglob("*"))]
    (write_zip if archive.suffix == ".zip" else write_tar)(folder, paths, archive)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
