# SPDX-License-Identifier: Apache-2.0
"""Shares an event and a memory pool of cuda.core, and memory of cuda.bindings, between two Python processes."""
import ctypes
import multiprocessing

from cuda.bindings import driver
from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions, Event, EventOptions


def call(function, *arguments):
    code, *values = function(*arguments)
    assert code == driver.CUresult.CUDA_SUCCESS, (function.__name__, code)
    return values[0] if values else None


def bytes_of(memory):
    back = (ctypes.c_ubyte * 1000)()
    call(driver.cuMemcpyDtoH, ctypes.addressof(back), memory, 1000)
    return bytes(back)


def importer(descriptor, handle, buffer, answers):
    Device(0).set_current()
    event = Event.from_ipc_descriptor(descriptor)
    event.sync()
    memory_handle = driver.CUipcMemHandle()
    ctypes.memmove(memory_handle.getPtr(), handle, len(handle))
    memory = call(driver.cuIpcOpenMemHandle, memory_handle, 1)
    back = bytes_of(memory)
    call(driver.cuIpcCloseMemHandle, memory)
    of_pool = bytes_of(int(buffer.handle))
    call(driver.cuMemsetD8, int(buffer.handle), 7, 1000)
    call(driver.cuCtxSynchronize)
    answers.put((event.is_done, event.is_ipc_enabled, back, of_pool))
    buffer.close()
    event.close()


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    memory = call(driver.cuMemAlloc, 1000)
    call(driver.cuMemsetD8Async, memory, 42, 1000, stream.handle)
    options = DeviceMemoryResourceOptions(ipc_enabled=True, max_size=2 << 20)
    resource = DeviceMemoryResource(device, options=options)
    buffer = resource.allocate(1000, stream=stream)
    call(driver.cuMemsetD8Async, int(buffer.handle), 43, 1000, stream.handle)
    event = stream.record(options=EventOptions(ipc_enabled=True))
    exported = call(driver.cuIpcGetMemHandle, memory)
    handle = ctypes.string_at(exported.getPtr(), 64)
    answers = multiprocessing.Queue()
    child = multiprocessing.Process(target=importer, args=(event.ipc_descriptor, handle, buffer, answers))
    child.start()
    assert answers.get(timeout=20) == (True, True, b"\x2a" * 1000, b"\x2b" * 1000)
    child.join()
    assert child.exitcode == 0
    assert bytes_of(int(buffer.handle)) == b"\x07" * 1000
    buffer.close()
    resource.close()
    call(driver.cuMemFree, memory)
    event.close()
    stream.close()
    print("all is as it should be")
