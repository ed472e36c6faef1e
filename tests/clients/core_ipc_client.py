# SPDX-License-Identifier: Apache-2.0
"""Shares an event of cuda.core and memory of cuda.bindings between two Python processes."""
import ctypes
import multiprocessing

from cuda.bindings import driver
from cuda.core import Device, Event, EventOptions


def call(function, *arguments):
    code, *values = function(*arguments)
    assert code == driver.CUresult.CUDA_SUCCESS, (function.__name__, code)
    return values[0] if values else None


def importer(descriptor, handle, answers):
    Device(0).set_current()
    event = Event.from_ipc_descriptor(descriptor)
    event.sync()
    memory_handle = driver.CUipcMemHandle()
    ctypes.memmove(memory_handle.getPtr(), handle, len(handle))
    memory = call(driver.cuIpcOpenMemHandle, memory_handle, 1)
    back = (ctypes.c_ubyte * 1000)()
    call(driver.cuMemcpyDtoH, ctypes.addressof(back), memory, 1000)
    call(driver.cuIpcCloseMemHandle, memory)
    answers.put((event.is_done, event.is_ipc_enabled, bytes(back)))
    event.close()


if __name__ == "__main__":
    processes = multiprocessing.get_context("spawn")
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    memory = call(driver.cuMemAlloc, 1000)
    call(driver.cuMemsetD8Async, memory, 42, 1000, stream.handle)
    event = stream.record(options=EventOptions(ipc_enabled=True))
    exported = call(driver.cuIpcGetMemHandle, memory)
    handle = ctypes.string_at(exported.getPtr(), 64)
    answers = processes.Queue()
    child = processes.Process(target=importer, args=(event.ipc_descriptor, handle, answers))
    child.start()
    assert answers.get(timeout=20) == (True, True, b"\x2a" * 1000)
    child.join()
    assert child.exitcode == 0
    call(driver.cuMemFree, memory)
    event.close()
    stream.close()
    print("all is as it should be")
