"""Compares the datasets of a file, read by h5py, with expected bytes.

usage: compare_h5py.py FILE.h5 LIST.tsv   (path, dtype, shape, file of bytes)
Also checks what a user of h5py relies on: attributes, dimension labels, shapes.
"""
import sys

import h5py
import numpy as np

failures = 0


def check(condition, text):
    global failures
    if not condition:
        failures += 1
        print(text)


with h5py.File(sys.argv[1], "r") as file:
    check(file.attrs["schema"] == b"attnscope/1", "schema attribute")
    for line in open(sys.argv[2], encoding="utf-8"):
        path, dtype, shape, expected = line.rstrip("\n").split("\t")
        dataset = file[path]
        check(dataset.dtype == np.dtype(dtype), f"{path}: {dataset.dtype}, expected {dtype}")
        shape = tuple(int(n) for n in shape.split(","))
        check(dataset.shape == shape, f"{path}: shape {dataset.shape}, expected {shape}")
        values = np.ascontiguousarray(dataset[()])
        check(values.tobytes() == open(expected, "rb").read(), f"{path}: other values")
        labels = [dim.label for dim in dataset.dims]
        check(" ".join(labels) == dataset.attrs["dims"].decode(), f"{path}: labels {labels}")
        check(len(dataset.attrs["sha256"]) == 64, f"{path}: sha256")
sys.exit(1 if failures else 0)
