// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <algorithm>
#include <iterator>

namespace cushim::ptx::random {
namespace {

struct FloatType {
  std::string_view name;
  unsigned exponent, mantissa;
};
constexpr FloatType floats[] = {{"f16", 5, 10}, {"bf16", 8, 7}, {"f32", 8, 23}, {"f64", 11, 52}};

const FloatType *float_type(std::string_view kind) {
  const auto *const found =
      std::find_if(std::begin(floats), std::end(floats), [&](const auto &one) { return one.name == kind; });
  return found == std::end(floats) ? nullptr : found;
}

std::vector<std::uint64_t> float_edges(const FloatType &t) {
  const auto number = [&](std::uint64_t e, std::uint64_t m) { return e << t.mantissa | m; };
  const std::uint64_t full = (std::uint64_t{1} << t.mantissa) - 1, bias = (1u << (t.exponent - 1)) - 1,
                      top = (1u << t.exponent) - 1, half = std::uint64_t{1} << (t.mantissa - 1);
  std::vector<std::uint64_t> all{0,
                                 1,
                                 full,
                                 number(1, 0),
                                 number(bias, 0),
                                 number(bias, 1),
                                 number(bias - 1, full),
                                 number(bias - 1, 0),
                                 number(bias, half),
                                 number(bias + 1, half >> 1),
                                 number(top - 1, full),
                                 number(top, 0),
                                 number(top, half),
                                 number(top, 1),
                                 number(top, full)};
  for (std::size_t i = 0, count = all.size(); i < count; ++i)
    all.push_back(all[i] | std::uint64_t{1} << (t.exponent + t.mantissa));
  return all;
}

std::vector<std::uint64_t> edges(std::string_view kind) {
  if (const FloatType *const t = float_type(kind)) return float_edges(*t);
  if (kind == "n32")
    return {0, 1, 2, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x1f20, 0x80000000, 0xffffffff};
  if (kind == "b5") return {0, 1, 15, 30, 31};
  if (kind == "s5") return {0, 1, 2, 0xffffffff, 0xfffffffd};
  if (kind == "p") return {0, 1};
  const unsigned bits = width_of_kind(kind);
  const std::uint64_t half = std::uint64_t{1} << (bits - 1), ones = half | (half - 1);
  return {0,          1,
          2,          3,
          7,          0x7f,
          0x80,       0xff,
          0x100,      half - 1,
          half,       half + 1,
          ones,       ones - 1,
          ones - 127, 0x5555555555555555 & ones,
          half >> 1,  0x8080808080808080 & ones};
}

std::string_view half_of(std::string_view pair) {
  return pair.ends_with("x2") ? pair.substr(0, pair.size() - 2) : std::string_view{};
}

}  // namespace

std::size_t index_of_kind(std::string_view kind) {
  return static_cast<std::size_t>(std::find(std::begin(kinds), std::end(kinds), kind) - std::begin(kinds));
}

unsigned width_of_kind(std::string_view kind) {
  if (kind == "i16" || kind == "f16" || kind == "bf16") return 16;
  return kind == "i64" || kind == "f64" ? 64 : 32;
}

std::uint64_t draw(std::string_view kind, Random &random) {
  if (const std::string_view half = half_of(kind); !half.empty()) {
    const std::uint64_t low = draw(half, random);
    return draw(half, random) << 16 | low;
  }
  if (random.one_in(4)) return random.pick(edges(kind));
  if (const FloatType *const t = float_type(kind)) {
    const unsigned width = t->exponent + t->mantissa + 1;
    const std::uint64_t ones = ~std::uint64_t{0} >> (64 - width), any = random.bits() & ones;
    if (random.one_in(4)) return any;
    const std::uint64_t bias = (1u << (t->exponent - 1)) - 1, near = std::min<std::uint64_t>(bias - 1, 30);
    const std::uint64_t e = bias - near + random.below(2 * near + 1);
    const std::uint64_t exponents = ((std::uint64_t{1} << t->exponent) - 1) << t->mantissa;
    return (any & ~exponents) | e << t->mantissa;
  }
  if (kind == "n32") return random.below(71);
  if (kind == "b5") return random.below(32);
  if (kind == "s5") return (random.below(13) - std::uint64_t{6}) & 0xffffffff;
  if (kind == "p") return random.below(2);
  const unsigned bits = width_of_kind(kind);
  const std::uint64_t any = random.bits() >> (64 - bits);
  return random.one_in(3) ? any >> random.below(bits) : any;
}

std::vector<std::uint64_t> table_inputs() {
  std::vector<std::uint64_t> all;
  for (const std::string_view kind : kinds)
    for (std::size_t place = 0; place < places; ++place) {
      Random random(1000 * index_of_kind(kind) + place);
      const std::vector<std::uint64_t> edge =
          half_of(kind).empty() ? edges(kind) : std::vector<std::uint64_t>{};
      for (std::size_t i = 0; i < rows; ++i) {
        if (i >= std::min(edge.size() * edge.size(), rows / 2))
          all.push_back(draw(kind, random));
        else if (place == 0)
          all.push_back(edge[i % edge.size()]);
        else
          all.push_back(place == 1 ? edge[i / edge.size()] : random.pick(edge));
      }
    }
  return all;
}

}  // namespace cushim::ptx::random
