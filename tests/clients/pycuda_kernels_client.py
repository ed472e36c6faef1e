# SPDX-License-Identifier: Apache-2.0
"""Compiles a kernel with pycuda, which calls nvcc, and runs it."""
import shutil
import sys

import numpy

if shutil.which("nvcc") is None:
    print("nvcc is not installed")
    sys.exit(77)
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

module = SourceModule("""
__global__ void multiply(float *to, const float *a, const float *b) {
  to[threadIdx.x] = a[threadIdx.x] * b[threadIdx.x];
}
""", cache_dir=False)
a = numpy.arange(400, dtype=numpy.float32)
to = numpy.zeros_like(a)
module.get_function("multiply")(cuda.Out(to), cuda.In(a), cuda.In(a), block=(400, 1, 1), grid=(1, 1))
assert (to == a * a).all()
print("all is as it should be")
