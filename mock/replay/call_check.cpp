// SPDX-License-Identifier: Apache-2.0
// Writes statements that compare what a call of a test wrote with the recording.
#include "bits.hpp"
#include "cpp_text.hpp"
#include "created_memory.hpp"
#include "parameter_texts.hpp"
#include "recording_format.hpp"
#include "test_writer.hpp"

namespace cushim::replay {

using Content = Buffer::Content;
using Kind = trace::Type::Kind;

std::string CallWriter::host_memory(std::span<const Item> items, bool compares) const {
  std::string text;
  for (const Item &item : items) {
    const auto address = variables_.address(item.offset);
    if (item.argument != kHostMemory || !address) continue;
    // Zeros at the end are written, too.
    const std::size_t last = item.bytes.find_last_not_of('\0');
    const std::string literal = text_literal(item.bytes.substr(0, last + 1));
    const std::string size = std::to_string(item.bytes.size());
    std::string bytes = "(std::string(" + literal + ", " + std::to_string(last + 1) + ")";
    bytes += " + std::string(" + std::to_string(item.bytes.size() - (last + 1)) + ", '\\0'))";
    if (compares)
      text += "EXPECT_EQ(std::string(reinterpret_cast<const char *>(" + *address + "), " + size + "), " +
              bytes + ");\n";
    else
      text += "std::memcpy(" + as_pointer(*address) + ", " + bytes + ".data(), " + size + ");\n";
  }
  return text;
}

std::string CallWriter::check(std::string_view argument) const {
  for (const Buffer &buffer : buffers_of(call_.slot)) {
    const trace::Parameter &parameter = trace::row_of(call_.slot).parameters[buffer.argument];
    const Item *const item = item_of(call_.after, buffer.argument);
    const auto output = outputs_.find(buffer.argument);
    if (parameter.name != argument || item == nullptr || output == outputs_.end()) continue;
    const std::string &name = output->second;
    if (buffer.content == Content::text_out || buffer.content == Content::returned_text)
      return "EXPECT_STREQ(" + name + ", " + text_literal(item->bytes) + ");\n";
    if (buffer.is_data && !item->is_hash)
      return "EXPECT_EQ(std::string(static_cast<const char *>(" + name + "), " +
             std::to_string(item->bytes.size()) + "), std::string(" + text_literal(item->bytes) + ", " +
             std::to_string(item->bytes.size()) + "));\n";
    if (buffer.is_data || buffer.type == nullptr) return {};
    const Kind kind = buffer.type->kind;
    if (kind == Kind::handle || kind == Kind::pointer || kind == Kind::text) return {};
    std::string text;
    for (std::size_t i = 0; (i + 1) * buffer.element <= item->bytes.size(); ++i) {
      const std::string object = buffer.has_count ? name + "[" + std::to_string(i) + "]" : name;
      const char *const at = item->bytes.data() + i * buffer.element;
      if (kind != Kind::structure) {
        const auto spelling = pointee_type(call_.slot, buffer.argument);
        text += "EXPECT_EQ(" + object + ", static_cast<" + spelling + ">(" +
                value(*buffer.type, at, parameter.name, spelling) + "));\n";
        continue;
      }
      for (const trace::Field &field : *buffer.type->fields)
        if (field.type->kind == Kind::unsigned_number || field.type->kind == Kind::signed_number ||
            field.type->kind == Kind::enumeration)
          text += "EXPECT_EQ(got<" + std::string(unsigned_type_of(field.type->size)) + ">(" + object + ", " +
                  std::to_string(field.offset) + "), " +
                  unsigned_literal(bits_at(at + field.offset, field.type->size)) + ");  // " + field.name +
                  "\n";
    }
    return text;
  }
  return {};
}

}  // namespace cushim::replay
