"""Statistics of dumped attention maps by numpy: seconds for all layers of a file of dump_maps.py.

    numpy_statistics.py MAPS.h5

Row entropy, maximum, mean distance and sums of squares, column sums, the 64 × 64 overview and the 8
largest keys of every row; the maps are in memory before the clock starts.
"""
import sys
import time

import h5py
import numpy

with h5py.File(sys.argv[1]) as f:
    maps = f["attention"][:]
n = maps.shape[-1]
distance = numpy.abs(numpy.arange(n)[:, None] - numpy.arange(n)[None, :]).astype(numpy.float32)
edges = numpy.arange(64) * n // 64
begin = time.perf_counter()
for layer in maps:
    with numpy.errstate(divide="ignore", invalid="ignore"):
        logs = numpy.where(layer > 0, numpy.log(layer), 0)
    (-layer * logs).sum(-1)
    layer.max(-1)
    (layer * distance).sum(-1)
    numpy.square(layer).sum(-1)
    layer.sum(-2)
    numpy.maximum.reduceat(numpy.maximum.reduceat(layer, edges, axis=-2), edges, axis=-1)
    top = numpy.argpartition(layer, n - 8, axis=-1)[..., n - 8:]
    numpy.sort(numpy.take_along_axis(layer, top, -1), -1)
print(time.perf_counter() - begin)
