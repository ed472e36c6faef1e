# SPDX-License-Identifier: Apache-2.0
"""Runs pycuda on the simulated driver: a context, a stream, events, memory of several kinds, copies, and a kernel given as PTX."""
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
module = cuda.module_from_buffer(b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry increment(.param .u64 words)
{
  .reg .u64 %address;
  .reg .u32 %thread, %word;
  ld.param.u64 %address, [words];
  mov.u32 %thread, %tid.x;
  mad.wide.u32 %address, %thread, 4, %address;
  ld.global.u32 %word, [%address];
  add.u32 %word, %word, 1;
  st.global.u32 [%address], %word;
  ret;
}
""")
words = cuda.to_device(numpy.arange(64, dtype=numpy.uint32))
module.get_function("increment")(words, block=(64, 1, 1), grid=(1, 1))
assert (cuda.from_device(words, (64,), numpy.uint32) == numpy.arange(1, 65)).all()
for image in (b"no code at all", b".version 7.0\n.target sm_50\n.visible .entry broken() { add.u32 %r1; }\n"):
    try:
        cuda.module_from_buffer(image)
    except (cuda.LogicError, cuda.RuntimeError) as error:
        print(error)
    else:
        raise SystemExit(f"{image} was loaded")
del module, words, memory, rows, managed, there, back
context.pop()
context.detach()
print("all is as it should be")
