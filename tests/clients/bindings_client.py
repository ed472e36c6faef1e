# SPDX-License-Identifier: Apache-2.0
"""Uses cuda.bindings: devices, a context, a stream, events, copies in both directions."""
import array

from cuda.bindings import driver


def call(function, *arguments):
    code, *values = function(*arguments)
    assert code == driver.CUresult.CUDA_SUCCESS, (function.__name__, code)
    return values[0] if len(values) == 1 else values


call(driver.cuInit, 0)
assert call(driver.cuDeviceGetCount) == 2
device = call(driver.cuDeviceGet, 1)
assert call(driver.cuDeviceGetName, 64, device).split(b"\0")[0] == b"NVIDIA H200"
context = call(driver.cuDevicePrimaryCtxRetain, device)
call(driver.cuCtxSetCurrent, context)
stream = call(driver.cuStreamCreate, driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
begin, end = call(driver.cuEventCreate, 0), call(driver.cuEventCreate, 0)
there, back = array.array("i", range(1000)), array.array("i", [0] * 1000)
size = len(there) * there.itemsize
memory = call(driver.cuMemAlloc, size)
call(driver.cuEventRecord, begin, stream)
call(driver.cuMemcpyHtoDAsync, memory, there.buffer_info()[0], size, stream)
call(driver.cuMemcpyDtoHAsync, back.buffer_info()[0], memory, size, stream)
call(driver.cuEventRecord, end, stream)
call(driver.cuStreamSynchronize, stream)
assert there == back
assert call(driver.cuEventElapsedTime, begin, end) > 0
assert driver.cuEventElapsedTime(begin, None)[0] == driver.CUresult.CUDA_ERROR_INVALID_HANDLE
call(driver.cuMemFree, memory)
for event in (begin, end):
    call(driver.cuEventDestroy, event)
call(driver.cuStreamDestroy, stream)
call(driver.cuDevicePrimaryCtxRelease, device)
print("all is as it should be")
