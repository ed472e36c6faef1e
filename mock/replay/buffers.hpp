// SPDX-License-Identifier: Apache-2.0
// The host memory behind the pointers of each entry point: where it is, how long, and whether the call reads
// or writes it. Derived from the types of parameters, the entry traits, and arrays.inc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "type.hpp"

namespace cushim::replay {

struct Buffer {
  enum class Content : std::uint8_t {
    objects,  // `element` bytes each
    text,     // NUL-terminated
    text_out,
    returned_text,      // the call writes a pointer to a text
    returned_array,     // the call writes a pointer to an array of the driver
    image,              // a module: its headers or its NUL tell where it ends
    kernel_parameters,  // an array of pointers, one to each parameter
    launch_options,     // the argument `extra` of a launch
    attribute_values,   // an array of pointers, one to each value
    option_values,      // of the compiler, a linker or a library, whose names the argument before has
  };
  enum class Direction : std::uint8_t { in, out, both };

  std::uint8_t argument = 0;
  Content content = Content::objects;
  Direction direction = Direction::in;
  bool is_data = false;       // the program's data, which is recorded as RecordData says
  bool is_async = false;      // written after the call returned
  bool has_pointees = false;  // whether the objects that the call reads have pointers (pointees.hpp)
  bool has_count = false;
  bool is_count_behind_pointer = false;
  std::uint8_t count = 0;             // argument: the number of elements; without it 1
  std::uint8_t count_size = 0;        // bytes of this number
  std::uint8_t shorter_by = 0;        // elements, subtracted from the count
  std::uint32_t element = 0;          // bytes
  const trace::Type *type = nullptr;  // of an element; null: bytes
  // Returns the number of bytes of the attribute in argument `count`; if it is null, `element` has the size.
  std::uint64_t (*size_of_attribute)(std::uint64_t attribute) = nullptr;

  bool is_read() const noexcept { return direction != Direction::out; }
  bool is_written() const noexcept { return direction != Direction::in; }
};

// Returns the buffers of an entry point.
std::span<const Buffer> buffers_of(int slot);

// Returns the buffer of an argument; null if it has none.
const Buffer *buffer_of(int slot, std::size_t argument);

// Returns the index of the kernel that a call launches; the number of parameters if there is none.
std::size_t kernel_argument_of(int slot);

// Returns the argument's first word.
std::uint64_t argument_of(int slot, std::span<const std::uint64_t> words, std::size_t argument);

// Returns the number of bytes of a buffer of objects or text_out, or of a returned array. read(to, address,
// size) copies the number of elements if an argument points to it, and returns whether it could. Returns 0 if
// the product overflows.
template <class Read>
std::uint64_t size_of(const Buffer &buffer, int slot, std::span<const std::uint64_t> words, Read &&read) {
  if (buffer.size_of_attribute != nullptr)
    return buffer.size_of_attribute(argument_of(slot, words, buffer.count) & 0xffffffff);
  if (!buffer.has_count) return buffer.element;
  std::uint64_t count = argument_of(slot, words, buffer.count);
  if (buffer.is_count_behind_pointer) {
    const std::uint64_t address = count;
    count = 0;
    if (address == 0 || !read(&count, address, std::min<std::size_t>(buffer.count_size, sizeof count)))
      return 0;
  } else if (buffer.count_size < sizeof count) {
    count &= (std::uint64_t{1} << (8 * buffer.count_size)) - 1;
  }
  count -= std::min<std::uint64_t>(count, buffer.shorter_by);
  std::uint64_t size = 0;
  return __builtin_mul_overflow(count, std::uint64_t{buffer.element}, &size) ? 0 : size;
}

// Returns the size of a module's image; 0 if there is no image at the address. `address` becomes that of the
// container if the image is a fat binary's wrapper. Trusts the headers, as the driver must.
std::uint64_t size_of_image(std::uint64_t &address);

// Returns the bytes of an image that the driver rejected, whose headers may be wrong: at most 1 MiB, and only
// memory that exists.
std::string bytes_of_rejected_image(std::uint64_t address);

}  // namespace cushim::replay
