# SPDX-License-Identifier: Apache-2.0
"""pycuda without kernels: a context, a stream, events, memory of several kinds, copies. Code is refused."""
import numpy
import pycuda.driver as cuda

cuda.init()
assert cuda.Device.count() == 2
device = cuda.Device(0)
assert device.name() == "NVIDIA H200" and device.compute_capability() == (9, 0)
assert len(device.get_attributes()) >= 90
context = device.make_context()
stream, begin, end = cuda.Stream(), cuda.Event(), cuda.Event()
there = cuda.pagelocked_empty(1 << 20, numpy.uint8)
there[:] = numpy.arange(1 << 20) % 251
back = cuda.pagelocked_empty_like(there)
memory = cuda.mem_alloc(there.nbytes)
begin.record(stream)
cuda.memcpy_htod_async(memory, there, stream)
cuda.memcpy_dtoh_async(back, memory, stream)
end.record(stream)
stream.synchronize()
assert (there == back).all() and end.query() and end.time_since(begin) > 0
cuda.memset_d8(memory, 5, 10)
assert (cuda.from_device(memory, (10,), numpy.uint8) == 5).all()
managed = cuda.managed_empty(16, numpy.int32, mem_flags=cuda.mem_attach_flags.GLOBAL)
managed[:] = 3
assert managed.sum() == 48
rows, pitch = cuda.mem_alloc_pitch(100, 10, 4)
assert pitch == 512
try:
    cuda.module_from_buffer(b".version 7.0\n.target sm_50\n.address_size 64\n")
    raise SystemExit("code was accepted")
except cuda.LogicError as error:
    print(error)
del memory, rows, managed, there, back
context.pop()
context.detach()
print("all is as it should be")
