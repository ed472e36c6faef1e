# SPDX-License-Identifier: Apache-2.0
"""Adds two vectors with the registered kernel of a cubin, through one package.

Usage: registered_client.py cuda_core|numba_cuda|pycuda CUBIN
"""
import sys

import numpy

PACKAGE, CUBIN = sys.argv[1:]
SIZE = 1000
a = numpy.arange(SIZE, dtype=numpy.float32)
b = 2 * a


def cuda_core():
    from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, ObjectCode, launch
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    buffers = [LegacyPinnedMemoryResource().allocate(4 * SIZE) for _ in range(3)]
    to, x, y = (numpy.from_dlpack(buffer).view(numpy.float32) for buffer in buffers)
    x[:], y[:] = a, b
    kernel = ObjectCode.from_cubin(CUBIN).get_kernel("add")
    launch(stream, LaunchConfig(grid=4, block=256), kernel, *buffers, numpy.uint64(SIZE))
    stream.sync()
    return to


def numba_cuda():
    """numba launches by cuda.core."""
    from cuda.core import LaunchConfig, ObjectCode, Stream, launch
    from numba import cuda
    to, x, y = cuda.device_array_like(a), cuda.to_device(a), cuda.to_device(b)
    with open(CUBIN, "rb") as file:
        code = ObjectCode.from_cubin(file.read())
    add = cuda.current_context().create_module_image(code).object_code.get_kernel("add")
    pointers = [numpy.uint64(array.__cuda_array_interface__["data"][0]) for array in (to, x, y)]
    stream = cuda.stream()
    launch(Stream.from_handle(int(stream.handle)), LaunchConfig(grid=4, block=256), add, *pointers, numpy.uint64(SIZE))
    stream.synchronize()
    return to.copy_to_host()


def pycuda():
    import pycuda.autoinit  # noqa: F401
    import pycuda.driver as cuda
    to = numpy.zeros_like(a)
    add = cuda.module_from_file(CUBIN).get_function("add")
    add(cuda.Out(to), cuda.In(a), cuda.In(b), numpy.uint64(SIZE), block=(256, 1, 1), grid=(4, 1))
    return to


assert (globals()[PACKAGE]() == 3 * a).all()
print("all is as it should be")
