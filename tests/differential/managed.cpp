// SPDX-License-Identifier: Apache-2.0
// Managed memory: advice, prefetches, discards, attributes of ranges; registered memory; batches of copies;
// attributes of pointers.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "memory_walks.hpp"

namespace differential {

unsigned a_managed(Walk &w) {
  const auto &all = of_managed(w).g;
  const auto count = static_cast<unsigned>(all.size()), first = w.dice.below(count);
  for (unsigned i = 0; i < count; ++i)
    if (all[(first + i) % count].base != 0) return (first + i) % count;
  return kNone;
}

Bytes some_bytes(Walk &w) {
  const unsigned k = a_managed(w), b = w.a_buffer();
  const unsigned pinned = w.dice.below(static_cast<unsigned>(w.p.size()));
  if (w.dice.once_in(12) && b != Walk::buffers) return {w.address_in(b, 0), w.b[b].bytes};
  if (w.dice.once_in(20) && w.p[pinned] != nullptr)
    return {{reinterpret_cast<CUdeviceptr>(w.p[pinned]), fmt::format("p[{}]", pinned)}, buffer_bytes};
  if (k == kNone || w.dice.once_in(40)) return {nowhere_at(w.dice.one_of<CUdeviceptr>({0, kPage})), kPage};
  const AddressRange &all = of_managed(w).g[k];
  std::size_t offset =
      w.dice.one_of<std::size_t>({0, 0, 0, kPage, kPage, 2 * kPage, 100, 4095, all.size - 1});
  if (offset >= all.size) offset = 0;  // what is behind the memory is up to the driver
  const std::size_t size =
      w.dice.one_of<std::size_t>({kPage, kPage, 2 * kPage, all.size, all.size - offset, 1, 100, 0,
                                  all.size + 1, all.size + kPage, std::size_t{1} << 24});
  return {{all.base + offset, fmt::format("g[{}] + {}", k, offset)}, size};
}

namespace {

CUmemLocation a_location(Walk &w, std::string &text) {
  CUmemLocation made{};
  const int type = w.dice.one_of({1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 0, 5});
  made.type = static_cast<CUmemLocationType>(type);
  made.id = w.dice.once_in(8) ? w.dice.one_of({-1, 1, 99}) : 0;
  text = fmt::format("{{{}, {}}}", type, made.id);
  return made;
}

void allocate(Walk &w) {
  const unsigned k = w.dice.below(3);
  AddressRange &made = of_managed(w).g[k];
  if (made.base != 0) return;
  const std::size_t size =
      w.dice.one_of<std::size_t>({kPage, 4 * kPage, 4 * kPage, 16 * kPage, 5000, 65536, 0});
  const auto flags = number(w.dice.one_of({1U, 1U, 1U, 1U, 1U, 2U, 4U, 0U, 3U}));
  w.finish();
  if (CALL(w, cuMemAllocManaged, Argument{&made.base, fmt::format("&g[{}]", k)}, bytes(size), flags) !=
      CUDA_SUCCESS) {
    made = {};
    return;
  }
  made.size = size;
  driver().cuMemsetD8(made.base, static_cast<unsigned char>(k), size);
  w.finish();
}

void free_memory(Walk &w) {
  const unsigned k = a_managed(w);
  if (k == kNone) return;
  w.finish();
  const std::size_t inside = w.dice.once_in(6) ? std::min(kPage, of_managed(w).g[k].size - 1) : 0;
  const Argument<CUdeviceptr> address{of_managed(w).g[k].base + inside, fmt::format("g[{}] + {}", k, inside)};
  const Argument<void *> host{reinterpret_cast<void *>(address.value), address.text};
  CUresult code = CUDA_SUCCESS;
  switch (w.dice.below(8)) {
    case 0:
      code = CALL(w, cuMemFreeHost, host);
      break;
    case 1:
      code = CALL(w, cuMemFreeAsync, address, Argument<CUstream>{nullptr, "nullptr"});
      break;
    case 2:
      CALL(w, cuMemHostUnregister, host);
      return;
    default:
      code = CALL(w, cuMemFree, address);
  }
  if (code == CUDA_SUCCESS) of_managed(w).g[k] = {};
}

void advise(Walk &w) {
  const Bytes range = some_bytes(w);
  const auto advice = numbered(
      "advice", static_cast<CUmem_advise>(w.dice.once_in(15) ? w.dice.one_of({0, 7, 9})
                                                             : 1 + static_cast<int>(w.dice.below(6))));
  std::string text;
  const CUmemLocation at = a_location(w, text);
  CALL(w, cuMemAdvise_v2, range.address, bytes(range.size), advice, Argument{at, text});
}

void prefetch(Walk &w) {
  const Bytes range = some_bytes(w);
  std::string text;
  const CUmemLocation to = a_location(w, text);
  const auto flags = number(w.dice.once_in(15) ? 1U : 0U);
  w.finish();
  CALL(w, cuMemPrefetchAsync_v2, range.address, bytes(range.size), Argument{to, text}, flags, w.a_stream());
  w.finish();
}

void batch(Walk &w) {
  CUdeviceptr addresses[2];
  std::size_t sizes[2];
  std::string text;
  for (unsigned i = 0; i < 2; ++i) {
    const Bytes range = some_bytes(w);
    addresses[i] = range.address.value;
    sizes[i] = range.size;
    text += fmt::format("{{{}, {}}}", range.address.text, range.size);
  }
  CUmemLocation to[2];
  std::string places;
  for (CUmemLocation &one : to) {
    std::string place;
    one = a_location(w, place);
    places += place;
  }
  std::size_t first[2] = {w.dice.once_in(20) ? 1U : 0U, w.dice.once_in(10) ? 0U : 1U};
  const std::size_t count = w.dice.one_of<std::size_t>({1, 1, 2, 2, 2, 0});
  const std::size_t places_count = w.dice.one_of<std::size_t>({1, 1, 1, 2, 0});
  const unsigned long long flags = w.dice.once_in(20) ? 1 : 0;
  const Argument ranges{addresses, text};
  const auto stream = w.a_stream();
  w.finish();
  const unsigned which = w.dice.below(4);
  if (which == 0) {
    CALL(w, cuMemDiscardBatchAsync, ranges, Argument{sizes, "sizes"}, bytes(count),
         Argument{flags, std::to_string(flags)}, stream);
  } else {
    const Argument locations{to, fmt::format("{}, first {}, {}", places, first[0], first[1])};
    if (which == 1)
      CALL(w, cuMemDiscardAndPrefetchBatchAsync, ranges, Argument{sizes, "sizes"}, bytes(count), locations,
           Argument{first, "first"}, bytes(places_count), Argument{flags, std::to_string(flags)}, stream);
    else
      CALL(w, cuMemPrefetchBatchAsync, ranges, Argument{sizes, "sizes"}, bytes(count), locations,
           Argument{first, "first"}, bytes(places_count), Argument{flags, std::to_string(flags)}, stream);
  }
  w.finish();
  if (which > 1) return;
  // The contents of discarded bytes are undefined.
  for (unsigned k = 0; k < of_managed(w).g.size(); ++k)
    if (of_managed(w).g[k].base != 0)
      driver().cuMemsetD8(of_managed(w).g[k].base, static_cast<unsigned char>(k), of_managed(w).g[k].size);
  w.finish();
}

void attach(Walk &w) {
  const Bytes range = some_bytes(w);
  const auto stream = w.a_stream();
  const auto flags = number(w.dice.one_of({1U, 1U, 4U, 4U, 2U, 0U, 3U}));
  const auto is_whole = [&](const AddressRange &one) {
    return one.base == range.address.value && (range.size == 0 || range.size == one.size);
  };
  // With these arguments the real driver crashes.
  if (flags.value == 0 && std::ranges::any_of(of_managed(w).g, is_whole)) return;
  w.finish();
  CALL(w, cuStreamAttachMemAsync, stream, range.address, bytes(range.size), flags);
  w.finish();
}

void attribute_of_range(Walk &w) {
  const Bytes range = some_bytes(w);
  int value[4] = {77, 77, 77, 77};
  const auto size = bytes(w.dice.one_of<std::size_t>({4, 4, 4, 4, 4, 4, 4, 8, 16, 3, 0}));
  const int which = static_cast<int>(w.dice.below(10));
  CALL(w, cuMemRangeGetAttribute, Argument<void *>{value, "value"}, size,
       numbered("attribute", static_cast<CUmem_range_attribute>(which)), range.address, bytes(range.size));
  w.also(fmt::format("{} {} {} {}", value[0], value[1], value[2], value[3]));
}

void attributes_of_range(Walk &w) {
  const Bytes range = some_bytes(w);
  int values[3][2];
  std::memset(values, 0x11, sizeof values);
  void *places[3] = {values[0], values[1], values[2]};
  std::size_t sizes[3];
  CUmem_range_attribute which[3];
  std::string text;
  for (unsigned i = 0; i < 3; ++i) {
    which[i] = static_cast<CUmem_range_attribute>(w.dice.once_in(20) ? 9 : 1 + w.dice.below(8));
    sizes[i] = which[i] == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? 8 : w.dice.once_in(20) ? 8 : 4;
    text += fmt::format("{{{}, {}}}", static_cast<int>(which[i]), sizes[i]);
  }
  CALL(w, cuMemRangeGetAttributes, Argument{places, "values"}, Argument{sizes, "sizes"},
       Argument{which, text}, bytes(w.dice.one_of<std::size_t>({3, 3, 3, 1, 0})), range.address,
       bytes(range.size));
  for (const auto &value : values) w.also(fmt::format("{} {}", value[0], value[1]));
}

}  // namespace

Choices managed_choices() {
  return waiting({
      {24, allocate},
      {8, free_memory},
      {40, advise},
      {24, prefetch},
      {20, batch},
      {4, attach},
      {40, attribute_of_range},
      {12, attributes_of_range},
  });
}

}  // namespace differential
