# SPDX-License-Identifier: Apache-2.0
"""Runs kernels in Python by numba-cuda: elementwise, with shared memory, barriers and atomics, and with a function of
libdevice."""
import math

import numpy
from numba import cuda

import nvidia_libraries

nvidia_libraries.need("nvvm", "nvJitLink")


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def total(x, out):
    shared = cuda.shared.array(128, "float32")
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    shared[thread] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 64
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        cuda.atomic.add(out, 0, shared[0])


@cuda.jit
def sine(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sin(x[i])


x = numpy.arange(1000, dtype=numpy.float32)
out, sum_of_all = numpy.zeros_like(x), numpy.zeros(1, dtype=numpy.float32)
add[8, 128](x, 2 * x, out)
assert (out == 3 * x).all()
total[8, 128](x, sum_of_all)
assert sum_of_all[0] == x.sum()
sine[8, 128](x, out)
assert numpy.allclose(out, numpy.sin(x), atol=1e-5)
print("all is as it should be")
