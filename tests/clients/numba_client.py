# SPDX-License-Identifier: Apache-2.0
"""Uses numba-cuda without kernels: detection, a stream, events, memory of several kinds, copies."""
import numpy
from numba import cuda

assert cuda.is_available() and len(cuda.list_devices()) == 2
cuda.detect()
stream = cuda.stream()
there = numpy.arange(1000.0)
begin, end = cuda.event(), cuda.event()
begin.record(stream)
on_device = cuda.to_device(there, stream=stream)
back = on_device.copy_to_host(stream=stream)
end.record(stream)
end.synchronize()
assert (there == back).all() and cuda.event_elapsed_time(begin, end) > 0
square = cuda.device_array((4, 4))
square.copy_to_device(numpy.ones((4, 4)))
assert square.copy_to_host().sum() == 16
pinned, mapped, managed = cuda.pinned_array(10), cuda.mapped_array(10), cuda.managed_array(10)
for one in (pinned, mapped, managed):
    one[:] = 2
assert pinned.sum() + mapped.sum() + managed.sum() == 60
free, total = cuda.current_context().get_memory_info()
assert 0 < free < total
print("all is as it should be")
