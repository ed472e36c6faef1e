# SPDX-License-Identifier: Apache-2.0
"""Uses cuda.core to compile a kernel in three ways, and runs each: NVRTC to a cubin; NVRTC to PTX, which nvJitLink
links; NVRTC to LTO IR, which nvJitLink links."""

import numpy
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Linker, LinkerOptions, Program, ProgramOptions, launch

import nvidia_libraries

nvidia_libraries.need("nvrtc", "nvJitLink")

# The names differ, so that no two cubins are equal.
SOURCE = """
extern "C" __global__ void saxpy_%s(float a, const float *x, float *y, size_t n) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


def cubin():
    return Program(SOURCE % "cubin", "c++", ProgramOptions(arch="sm_90")).compile("cubin")


def linked(code, **options):
    options_of_code = ProgramOptions(arch="sm_90", relocatable_device_code=True, **options)
    made = Program(SOURCE % code, "c++", options_of_code).compile(code)
    return Linker(made, options=LinkerOptions(arch="sm_90", **options)).link("cubin")


device = Device(0)
device.set_current()
stream = device.create_stream()
size = 1000
there = [LegacyPinnedMemoryResource().allocate(4 * size) for _ in range(2)]
x, y = (numpy.from_dlpack(buffer).view(numpy.float32) for buffer in there)
x[:] = numpy.arange(size)
for name, code in (("cubin", cubin()), ("ptx", linked("ptx")),
                   ("ltoir", linked("ltoir", link_time_optimization=True))):
    y[:] = 1
    launch(stream, LaunchConfig(grid=8, block=128), code.get_kernel(f"saxpy_{name}"), numpy.float32(2),
           *there, numpy.uint64(size))
    stream.sync()
    assert (y == 1 + 2 * x).all()
print("all is as it should be")
