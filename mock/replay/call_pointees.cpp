// SPDX-License-Identifier: Apache-2.0
// Writes the declarations of memory that pointers in the structures and options of a call point to.
#include <algorithm>
#include <cstring>
#include <vector>

#include "cpp_text.hpp"
#include "created_memory.hpp"
#include "option_values.hpp"
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
  if (known && pointee.may_be_of_device && !variables_.is_host_accessible(pointee.address)) return;
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

// Declares the array of the values of options, and the memory that they point to.
std::string CallWriter::options(const Buffer &buffer, const std::string &variable) {
  using OptionContent = OptionValue::Content;
  const auto known = recorded_option_values(call_, buffer.argument);
  if (!known) return "nullptr";
  const std::vector<OptionValue> &values = *known;
  const auto recorded = unpack_options(item_of(call_.before, buffer.argument)->bytes);
  std::string array;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const OptionValue &value = values[i];
    std::string text = "reinterpret_cast<void *>(std::uintptr_t{" + unsigned_literal(value.word) + "})";
    std::string name = variable + "_" + std::to_string(i);
    const std::string size = std::to_string(std::max<std::uint64_t>(value.count, 1));
    if (value.content == OptionContent::log) {
      declarations_ += "static char " + name + "[" + size + "];\n";
      text = name;
    } else if (value.content == OptionContent::texts) {
      declarations_ += "static const char *" + name + "[" + size + "] = {";
      for (const std::string_view one : texts_of(recorded[i].rest)) declarations_ += text_literal(one) + ", ";
      declarations_ += "};\n";
      text = name;
    } else if (value.content == OptionContent::addresses) {
      this->words(recorded[i].rest, name);
      text = name;
    } else if (value.content == OptionContent::unknown) {
      text = "nullptr";
    }
    array += (i == 0 ? "" : ", ") + text;
  }
  declarations_ += "void *" + variable + "[] = {" + array + "};\n";
  return variable;
}

}  // namespace cushim::replay
