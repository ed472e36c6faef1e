// SPDX-License-Identifier: Apache-2.0
// Writes the declarations of memory that pointers in the structures of a call point to.
#include "cpp_text.hpp"
#include "created_memory.hpp"
#include "pointees.hpp"
#include "test_writer.hpp"

namespace cushim::replay {

// Declares the memory that the pointers of a structure point to, and sets the pointers.
void CallWriter::put_pointees(const Buffer &buffer, const Item &structure, std::uint64_t at,
                              const std::string &object) {
  using PointeeContent = Pointee::Content;
  for (const Pointee &pointee : pointees_of(*buffer.type, structure.bytes.data() + at)) {
    if (pointee.content == PointeeContent::handles_made) continue;
    const bool is_before = pointee.content == PointeeContent::rows_read;
    const Item *const item =
        pointee_item_of(is_before ? call_.before : call_.after, buffer.argument, at + pointee.offset);
    const std::string name = name_of(buffer.argument) + "_" + std::to_string(at + pointee.offset);
    if (pointee.is_data()) {
      put_rows(pointee, item, name, object);
      continue;
    }
    if (item == nullptr) continue;
    std::string made = name;
    if (pointee.content == PointeeContent::kernel_parameters)
      made = kernel_parameters(*item, name);
    else if (pointee.content == PointeeContent::launch_options)
      made = launch_options(*item, name);
    else
      words(item->bytes, name);
    declarations_ += "put(" + object + ", " + std::to_string(pointee.offset) +
                     ", static_cast<const void *>(" + made + "));\n";
  }
}

void CallWriter::put_rows(const Pointee &pointee, const Item *item, const std::string &name,
                          const std::string &object) {
  const auto known = variables_.address(pointee.address);
  const std::uint64_t extent = pointee.rows.extent();
  if (extent > kMostTestData) throw ShrinkError("the rows of a copy have more than 4 MiB");
  const bool has_bytes = pointee.content == Pointee::Content::rows_read && item != nullptr &&
                         !item->is_hash && item->bytes.size() == pointee.rows.size();
  if (has_bytes) {
    std::string all(extent, '\0');
    HostRows rows = pointee.rows;
    rows.address = reinterpret_cast<std::uint64_t>(all.data());
    rows.unpack(item->bytes);
    Item whole = *item;
    whole.bytes = all;
    bytes(whole, name);
    if (known)
      declarations_ +=
          "std::memcpy(" + as_pointer(*known) + ", " + name + ".data(), " + std::to_string(extent) + ");\n";
  } else if (!known) {
    declarations_ += "std::string " + name + "(" + std::to_string(extent) + ", '\\0');\n";
  }
  if (!known)
    declarations_ += "put(" + object + ", " + std::to_string(pointee.offset) +
                     ", static_cast<const void *>(" + name + ".data()));\n";
}

}  // namespace cushim::replay
