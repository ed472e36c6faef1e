// SPDX-License-Identifier: Apache-2.0
// Copies and memsets. A read beyond the end of device memory only compares the result code.
#include <fmt/format.h>

#include "walk.hpp"

namespace differential {
namespace {

constexpr std::size_t lengths[] = {0, 1, 16, 256, 1000, 4096};

std::size_t a_length(Walk &w) { return lengths[w.dice.below(std::size(lengths))]; }

using Bytes = std::vector<unsigned char>;

// Returns the declaration of pageable memory that one call uses.
std::string declaration(const Bytes &bytes) {
  const unsigned value = bytes.empty() ? 0U : bytes[0];
  return fmt::format("std::vector<unsigned char> bytes({}, {}); unsigned char *const data = bytes.data()",
                     bytes.size(), value);
}
Argument<void *> target(Bytes &data) { return {data.data(), "data", declaration(data)}; }
Argument<const void *> source(const Bytes &data) { return {data.data(), "data", declaration(data)}; }

void also_digest(Walk &w, const Bytes &data) {
  w.also(digest(data), "digest(bytes)", '"' + digest(data) + '"');
}

// Finishes all work before and after a call that does not order itself with other streams.
class Alone {
 public:
  explicit Alone(Walk &walk) : walk_(walk) { walk_.finish(); }
  ~Alone() { walk_.finish(); }
  Alone(const Alone &) = delete;
  Alone &operator=(const Alone &) = delete;

 private:
  Walk &walk_;
};

void to_device(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  const Alone alone(w);
  Bytes data(buffer_bytes, static_cast<unsigned char>(w.dice.below(250)));
  const std::size_t length = a_length(w);
  CALL(w, cuMemcpyHtoD, w.address_in(k, w.b[k].bytes >= buffer_bytes + 64 ? 64 : 0), source(data),
       bytes(length));
}

void to_host(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  const Alone alone(w);
  Bytes data(buffer_bytes);
  CALL(w, cuMemcpyDtoH, target(data), w.address_in(k, 0), bytes(a_length(w)));
  also_digest(w, data);
}

void all_to_host(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  const Alone alone(w);
  Bytes data(w.b[k].bytes);
  CALL(w, cuMemcpyDtoH, target(data), w.address_in(k, 0), bytes(data.size()));
  also_digest(w, data);
}

void between(Walk &w) {
  const unsigned from = w.a_buffer(), to = w.a_buffer();
  if (from == Walk::buffers) return;
  const Alone alone(w);
  if (from == to) {
    CALL(w, cuMemcpyDtoD, w.address_in(to, 2048), w.address_in(from, 0), bytes(256));
  } else if (w.dice.once_in(2)) {
    CALL(w, cuMemcpyDtoD, w.address_in(to, 0), w.address_in(from, 0), bytes(a_length(w)));
  } else {
    CALL(w, cuMemcpy, w.address_in(to, 0), w.address_in(from, 0), bytes(a_length(w)));
  }
}

void with_pinned(Walk &w) {
  const unsigned k = w.a_buffer(), pinned = w.dice.below(static_cast<unsigned>(w.p.size()));
  Argument<CUstream> stream{nullptr, ""};
  // Each pinned buffer belongs to one stream, too.
  if (k == Walk::buffers || k != pinned || w.p[pinned] == nullptr || !w.stream_of(k, stream)) return;
  const std::size_t length = a_length(w);
  if (w.dice.once_in(2))
    CALL(w, cuMemcpyHtoDAsync, w.address_in(k, 0),
         Argument<const void *>{w.p[pinned], fmt::format("p[{}]", pinned)}, bytes(length), stream);
  else
    CALL(w, cuMemcpyDtoHAsync, Argument<void *>{w.p[pinned], fmt::format("p[{}]", pinned)},
         w.address_in(k, 0), bytes(length), stream);
}

void look_at_pinned(Walk &w) {
  const unsigned k = w.dice.below(static_cast<unsigned>(w.p.size()));
  if (w.p[k] == nullptr) return;
  w.finish();
  w.call(fmt::format("look_at_p{}", k).c_str(), "", [] { return CUDA_SUCCESS; });
  const std::string found = digest({w.p[k], buffer_bytes});
  w.also(found, fmt::format("digest({{p[{}].bytes, {}}})", k, buffer_bytes), '"' + found + '"');
}

void within(Walk &w) {
  const unsigned k = w.a_buffer();
  Argument<CUstream> stream{nullptr, ""};
  if (k == Walk::buffers || !w.stream_of(k, stream)) return;
  CALL(w, cuMemcpyDtoDAsync, w.address_in(k, 2048), w.address_in(k, 0),
       bytes(w.dice.one_of<std::size_t>({0, 16, 2048})), stream);
}

void set_async(Walk &w) {
  const unsigned k = w.a_buffer();
  Argument<CUstream> stream{nullptr, ""};
  if (k == Walk::buffers || !w.stream_of(k, stream)) return;
  const unsigned value = w.dice.below(200);
  const std::size_t offset = w.dice.one_of<std::size_t>({0, 0, 4, 6, 1}),
                    count = w.dice.one_of<std::size_t>({0, 1, 5, 500});
  switch (w.dice.below(3)) {
    case 0:
      CALL(w, cuMemsetD8Async, w.address_in(k, offset),
           Argument{static_cast<unsigned char>(value), std::to_string(value)}, bytes(count), stream);
      break;
    case 1:
      CALL(w, cuMemsetD16Async, w.address_in(k, offset),
           Argument{static_cast<unsigned short>(value), std::to_string(value)}, bytes(count), stream);
      break;
    default:
      CALL(w, cuMemsetD32Async, w.address_in(k, offset), number(value), bytes(count), stream);
  }
}

void set(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  const Alone alone(w);
  const unsigned value = w.dice.below(200);
  if (w.dice.once_in(2)) {
    const auto count = bytes(w.dice.one_of<std::size_t>({0, 3, 1000}));
    CALL(w, cuMemsetD32, w.address_in(k, w.dice.one_of<std::size_t>({0, 2, 8})), number(value), count);
  } else {
    const auto height = bytes(w.dice.one_of<std::size_t>({0, 1, 60}));
    const auto width = bytes(w.dice.one_of<std::size_t>({0, 1, 16}));
    const auto pitch = bytes(w.dice.one_of<std::size_t>({0, 16, 64}));
    CALL(w, cuMemsetD2D8, w.address_in(k, 0), pitch,
         Argument{static_cast<unsigned char>(value), std::to_string(value)}, width, height);
  }
}

void past_the_end(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  const Alone alone(w);
  const std::size_t beyond = w.dice.one_of<std::size_t>({1, 64, 4096});
  Bytes data(w.b[k].bytes + beyond);
  CALL(w, cuMemcpyDtoH, target(data), w.address_in(k, 0), bytes(data.size()));
}

void from_nowhere(Walk &w) {
  const unsigned k = w.a_buffer();
  if (k == Walk::buffers) return;
  const Alone alone(w);
  Bytes data(16);
  const auto nowhere = nowhere_at(w.dice.one_of<CUdeviceptr>({0, 16}));
  if (w.dice.once_in(2))
    CALL(w, cuMemcpyDtoH, target(data), nowhere, bytes(16));
  else
    CALL(w, cuMemsetD8, nowhere, Argument{static_cast<unsigned char>(1), "1"},
         bytes(w.dice.one_of<std::size_t>({0, 16})));
}

}  // namespace

Choices copy_choices() {
  return Choices({
      waiting(3, to_device),
      waiting(3, to_host),
      waiting(3, all_to_host),
      waiting(3, between),
      {6, with_pinned},
      waiting(2, look_at_pinned),
      {2, within},
      {5, set_async},
      waiting(2, set),
      waiting(1, past_the_end),
      waiting(1, from_nowhere),
  });
}

}  // namespace differential
