# SPDX-License-Identifier: Apache-2.0
"""Uses cuda.core: a device and its properties, streams, events with timing, buffers and copies."""
from cuda.core import Device, EventOptions, StreamOptions

device = Device(0)
device.set_current()
assert device.name == "NVIDIA H200" and tuple(device.compute_capability) == (9, 0), device.name
names = [name for name in dir(device.properties) if not name.startswith("_")]
assert len([getattr(device.properties, name) for name in names]) >= 100
stream = device.create_stream(options=StreamOptions(priority=-2, nonblocking=True))
assert stream.priority == -2 and stream.is_nonblocking
timed = EventOptions(timing_enabled=True)
begin = stream.record(options=timed)
first, second = device.allocate(1 << 20, stream=stream), device.allocate(1 << 20, stream=stream)
first.fill(7, stream=stream)
second.copy_from(first, stream=stream)
end = stream.record(options=timed)
stream.sync()
assert begin.is_done and end.is_done and end - begin > 0
untimed = stream.record()
stream.wait(untimed)
stream.sync()
try:
    untimed - begin
    raise SystemExit("an event without times gave a time")
except RuntimeError as error:
    print(error)
assert end.is_timing_enabled and not untimed.is_timing_enabled and end.device.device_id == 0
assert first.size == second.size == 1 << 20 and first.is_device_accessible
first.close(stream)
second.close(stream)
stream.sync()
stream.close()
print("all is as it should be")
