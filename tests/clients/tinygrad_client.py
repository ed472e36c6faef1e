# SPDX-License-Identifier: Apache-2.0
"""Uses tinygrad, which compiles with NVRTC to PTX: tensors, gradients, a captured function that becomes a graph, and a
copy between two devices."""
import sys

import numpy
from tinygrad import Device, Tensor, TinyJit

try:
    Device["CUDA"]
    (Tensor([1.0], device="CUDA") + 1).realize()
except (OSError, AttributeError) as error:
    print(f"NVRTC is not installed: {error}")
    sys.exit(77)

generator = numpy.random.default_rng(1)
left, right = (generator.random((24, 24), dtype=numpy.float32) for _ in range(2))
on_device = Tensor(left, device="CUDA")
product = on_device @ Tensor(right, device="CUDA")
numpy.testing.assert_allclose(product.numpy(), left @ right, rtol=1e-5)
exponentials = numpy.exp(left)
numpy.testing.assert_allclose(on_device.softmax().numpy(), exponentials / exponentials.sum(1, keepdims=True), rtol=1e-5)
assert on_device.argmax(1).numpy().tolist() == left.argmax(1).tolist()
assert (on_device.sort(1)[0].numpy() == numpy.sort(left)).all()


@TinyJit
def step(x):
    return (x * 2 + 1).realize().sum(0).realize()


# The third call launches the graph.
for _ in range(4):
    values = generator.random((8, 8), dtype=numpy.float32)
    sums = step(Tensor(values, device="CUDA").realize())
    numpy.testing.assert_allclose(sums.numpy(), (values * 2 + 1).sum(0), rtol=1e-5)

assert (on_device.to("CUDA:1").contiguous().realize().numpy() == left).all()
gradient = (on_device * on_device).sum().gradient(on_device)[0]
numpy.testing.assert_allclose(gradient.numpy(), 2 * left, rtol=1e-5)
print("all is as it should be")
