// SPDX-License-Identifier: Apache-2.0
// The C++ standard library on the device.
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/expected>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>

#include "corpus.cuh"

namespace std_ = cuda::std;

// run standard_containers 1 64 0 256
KERNEL(standard_containers) {
  std_::array<unsigned, 8> values;
  for (unsigned k = 0; k < 8; ++k) values[k] = in[threadIdx.x + k];
  const std_::span<unsigned> all(values);
  unsigned sum = 0;
  for (const unsigned one : all.subspan(2, 5)) sum = sum * 3 + one;
  std_::optional<unsigned> maybe;
  if (sum & 1) maybe = sum / 2;
  std_::tuple<unsigned, float, short> three{sum, unit(sum), static_cast<short>(sum)};
  out[threadIdx.x] = maybe.value_or(77) + std_::get<0>(three) + static_cast<unsigned>(std_::get<2>(three)) +
                     __float_as_uint(std_::get<1>(three));
  std_::variant<unsigned, float, double> any;
  switch (in[threadIdx.x] % 3) {
    case 0:
      any = in[1];
      break;
    case 1:
      any = unit(in[2]);
      break;
    default:
      any = unit(in[3], in[4]);
  }
  out[64 + threadIdx.x] = std_::visit([](auto one) { return static_cast<unsigned>(one * 1000); }, any) +
                          static_cast<unsigned>(any.index());
  std_::expected<unsigned, int> result = sum % 3 ? std_::expected<unsigned, int>(sum) : std_::unexpected(-5);
  out[128 + threadIdx.x] = result ? *result : static_cast<unsigned>(result.error());
  const std_::mdspan<const unsigned, std_::extents<int, 4, 16>> plane(in);
  out[192 + threadIdx.x] = plane(static_cast<int>(threadIdx.x / 16), static_cast<int>(threadIdx.x % 16)) +
                           std_::popcount(sum) + std_::countl_zero(sum) + std_::rotl(sum, 3) +
                           std_::bit_ceil(sum % 1000 + 1);
}
// run standard_complex 1 64 0 512
KERNEL(standard_complex) {
  const std_::complex<float> a(between(in[threadIdx.x], -2, 2), between(in[threadIdx.x + 64], -2, 2));
  const std_::complex<double> b(unit(in[threadIdx.x], 3), unit(in[threadIdx.x + 1], 4) - 0.5);
  const std_::complex<float> c = a * a / (a + 1.0f), d = std_::exp(a), e = std_::sqrt(a);
  const std_::complex<double> f = std_::log(b) * b / (b - 2.0), g = std_::polar(std_::abs(b), std_::arg(b));
  const float results[] = {c.real(),
                           c.imag(),
                           d.real(),
                           e.imag(),
                           static_cast<float>(f.real()),
                           static_cast<float>(f.imag()),
                           static_cast<float>(g.real()),
                           std_::norm(a)};
  for (unsigned k = 0; k < 8; ++k) out[k * 64 + threadIdx.x] = __float_as_uint(results[k]);
}
