#!/usr/bin/env python3
"""Gathers what check.sh needs beyond CUDA, LibTorch and a compiler into one archive.

    bundle.py [--out DIR]

Run it where the project builds: Debian 12 with the packages of `./run setup`, and pip for CMake and
Ninja. The archive holds headers, static libraries, CMake packages that name them, CMake and Ninja.
It fits any x86-64 Linux whose glibc is 2.36 or newer. Ends with 1 if it is above 60 MB.
"""
import argparse
import dataclasses
import gzip
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST = 60 * 10**6
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
INCLUDE = pathlib.Path("/usr/include")
# The wheels hold programs that are linked with nothing but the C library.
WHEELS = ["cmake==4.4.5", "ninja==1.13.2"]


@dataclasses.dataclass
class Target:
    name: str
    include: str = "include"      # below the root of the archive
    archive: str = ""             # a static library, by its Debian name
    links: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Package:
    name: str      # as find_package() knows it
    debian: str    # whose version it has
    headers: list  # (from, to below the archive's root)
    targets: list


PACKAGES = [
    Package("ZLIB", "zlib1g-dev", [("zlib.h", "include"), ("x86_64-linux-gnu/zconf.h", "include"),
                                   ("zconf.h", "include")],
            [Target("ZLIB::ZLIB", archive="libz.a")]),
    Package("HDF5", "libhdf5-dev", [("hdf5/serial", "include/hdf5")],
            [Target("HDF5::aec", archive="libaec.a"),
             Target("HDF5::sz", archive="libsz.a", links=["HDF5::aec"]),
             Target("HDF5::HDF5", "include/hdf5", "libhdf5_serial.a",
                    ["HDF5::sz", "ZLIB::ZLIB", "Threads::Threads", "dl", "m"])]),
    Package("ICU", "libicu-dev", [("unicode", "include/unicode")],
            [Target("ICU::data", archive="libicudata.a"),
             Target("ICU::uc", archive="libicuuc.a", links=["ICU::data", "dl"])]),
    Package("OpenSSL", "libssl-dev", [("openssl", "include/openssl"),
                                      ("x86_64-linux-gnu/openssl", "include/openssl")],
            [Target("OpenSSL::Crypto", archive="libcrypto.a", links=["Threads::Threads", "dl"])]),
    Package("PNG", "libpng-dev", [("libpng16", "include/libpng16")],
            [Target("PNG::PNG", "include/libpng16", "libpng16.a", ["ZLIB::ZLIB", "m"])]),
    Package("CLI11", "libcli11-dev", [("CLI", "include/CLI")], [Target("CLI11::CLI11")]),
    Package("nlohmann_json", "nlohmann-json3-dev", [("nlohmann", "include/nlohmann")],
            [Target("nlohmann_json::nlohmann_json")]),
    Package("GTest", "libgtest-dev", [("gtest", "include/gtest")],
            [Target("GTest::gtest", archive="libgtest.a", links=["Threads::Threads"]),
             Target("GTest::gtest_main", archive="libgtest_main.a", links=["GTest::gtest"])]),
    # Of Boost only the headers that the server reads.
    Package("Boost", "libboost1.81-dev", [], [Target("Boost::headers")]),
]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def version_of(debian):
    version = output_of("dpkg-query", "-W", "-f", "${Version}", debian)
    return re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version).group(1)


def cmake_target(target):
    kind = "STATIC" if target.archive else "INTERFACE"
    lines = [f"  add_library({target.name} {kind} IMPORTED GLOBAL)",
             f"  set_target_properties({target.name} PROPERTIES",
             f"    INTERFACE_INCLUDE_DIRECTORIES \"${{carry}}/{target.include}\""]
    if target.archive:
        lines.append(f"    IMPORTED_LOCATION \"${{carry}}/lib/{target.archive}\"")
    if target.links:
        lines.append(f"    INTERFACE_LINK_LIBRARIES \"{';'.join(target.links)}\"")
    return "\n".join(lines) + ")\n"


def write_cmake_package(package, version, packages):
    folder = packages / package.name
    folder.mkdir()
    first = package.targets[0].name
    text = (f"get_filename_component(carry \"${{CMAKE_CURRENT_LIST_DIR}}/../../..\" ABSOLUTE)\n"
            f"if(NOT TARGET {first})\n" + "".join(map(cmake_target, package.targets)) + "endif()\n")
    (folder / f"{package.name}Config.cmake").write_text(text)
    (folder / f"{package.name}ConfigVersion.cmake").write_text(
        f"set(PACKAGE_VERSION {version})\n"
        "if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n"
        "  set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n")


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        shutil.copy(source, target)


def gather_headers(package, folder):
    for name, to in package.headers:
        source = INCLUDE / name
        copy(source, folder / to if source.is_dir() else folder / to / source.name)


def gather_boost(folder):
    """The headers that the compiler reads for src/serve."""
    sources = sorted((ROOT / "src/serve").glob("*.cpp"))
    rules = output_of("g++", "-std=c++20", "-M", "-DBOOST_ASIO_SEPARATE_COMPILATION",
                      "-DBOOST_ASIO_DISABLE_THREADS", "-DBOOST_ASIO_NO_DEPRECATED",
                      f"-I{ROOT / 'include'}", f"-I{ROOT / 'src/serve'}", *map(str, sources))
    for name in sorted(set(re.findall(r"/usr/include/(boost/\S+)", rules))):
        copy(INCLUDE / name, folder / "include" / name)


def gather_archives(package, folder):
    for target in package.targets:
        if not target.archive:
            continue
        source = LIBRARIES / target.archive
        if not source.exists():
            sys.exit(f"{source} is missing: install {package.debian} ({target.name})")
        copied = folder / "lib" / target.archive
        copy(source.resolve(), copied)
        subprocess.run(["strip", "--strip-debug", str(copied)], check=True)


def gather_tools(folder, scratch):
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download",
                    "--no-deps", "--only-binary=:all:", "--platform", "manylinux2014_x86_64", "-d",
                    str(scratch), *WHEELS], check=True)
    wanted = re.compile(r"cmake/data/(bin/cmake|share/cmake-[\d.]+/(?:Modules|Templates)/.*)"
                        r"|ninja-[\d.]+\.data/scripts/(ninja)")
    for wheel in sorted(scratch.glob("*.whl")):
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                found = wanted.fullmatch(name)
                if not found or name.endswith("/"):
                    continue
                path = folder / (found.group(1) or "bin/ninja")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(files.read(name))
                if path.parent.name == "bin":
                    path.chmod(0o755)


def fill(folder, scratch):
    """Returns the lines of the list of contents."""
    (folder / "lib/cmake").mkdir(parents=True)
    lines = []
    for package in PACKAGES:
        version = version_of(package.debian)
        gather_headers(package, folder)
        gather_archives(package, folder)
        write_cmake_package(package, version, folder / "lib/cmake")
        lines.append(f"{package.name} {version} ({package.debian})")
    gather_boost(folder)
    gather_tools(folder, scratch)
    return lines + WHEELS


def write_archive(folder, path):
    """The same files give the same archive."""
    def plain(entry):
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with gzip.GzipFile(path, "wb", 9, mtime=0) as packed, tarfile.open(
            fileobj=packed, mode="w") as archive:
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.add(file, str(file.relative_to(folder)), filter=plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(ROOT / "build/gpu/carry"))
    out = pathlib.Path(parser.parse_args().out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder, wheels = pathlib.Path(scratch, "carry"), pathlib.Path(scratch, "wheels")
        folder.mkdir()
        wheels.mkdir()
        lines = fill(folder, wheels)
        (folder / "contents.txt").write_text("\n".join(lines) + "\n")
        write_archive(folder, out / "carry.tar.gz")
    archive = out / "carry.tar.gz"
    size = archive.stat().st_size
    print("\n".join(lines))
    print(f"{archive}: {size / 1e6:.1f} MB, SHA-256 {hashlib.sha256(archive.read_bytes()).hexdigest()}")
    if size > LARGEST:
        sys.exit(f"above {LARGEST / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
