// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>

#include <cushim/detail/entry_traits.hpp>
#include "bits.hpp"
#include "call_text.hpp"
#include "cpp_text.hpp"
#include "created_memory.hpp"
#include "mapping.hpp"
#include "parameter_texts.hpp"
#include "test_writer.hpp"

namespace cushim::replay {

using Content = Buffer::Content;
using Kind = trace::Type::Kind;
CallWriter::CallWriter(const RecordedCall &call, std::size_t number, Variables &variables)
    : call_(call), number_(number), variables_(variables) {
  for (std::size_t i = 0; i < trace::row_of(call.slot).parameters.size(); ++i)
    arguments_.push_back(argument(i));
}

std::string CallWriter::name_of(std::size_t index) const {
  return std::string(trace::row_of(call_.slot).parameters[index].name) + std::to_string(number_);
}

std::string CallWriter::call() const {
  std::string text = std::string("driver.") + cushim_entry(call_.slot)->symbol + "(";
  for (std::size_t i = 0; i < arguments_.size(); ++i) text += (i == 0 ? "" : ", ") + arguments_[i];
  return text + ")";
}

std::string CallWriter::argument(std::size_t index) {
  const trace::Parameter &parameter = trace::row_of(call_.slot).parameters[index];
  const std::uint64_t word = call_.words[parameter.word];
  const Buffer *const buffer = buffer_of(call_.slot, index);
  if (buffer == nullptr) return plain(index);
  if (word != 0) return behind(*buffer);
  return parameter.type->kind == Kind::address ? "0" : "nullptr";
}

// An argument that points to no memory of the program.
std::string CallWriter::plain(std::size_t index) {
  const trace::Parameter &parameter = trace::row_of(call_.slot).parameters[index];
  const auto created = memory_created_by(call_);
  if (created && !created->is_written_address && created->argument == index) {  // registered memory
    std::string name = name_of(index);
    declarations_ += "alignas(4096) static unsigned char " + name + "[" +
                     std::to_string(std::max<std::uint64_t>(created->size, 1)) + "];\n";
    variables_.add_memory(created->address, created->size, true,
                          "reinterpret_cast<CUdeviceptr>(&" + name + "[0])");
    return name;
  }
  const char *const at = reinterpret_cast<const char *>(&call_.words[parameter.word]);
  if (parameter.type->kind != Kind::structure && parameter.type->kind != Kind::batch_op)
    return value(*parameter.type, at, parameter.name, parameter_type(call_.slot, index));
  std::string name = name_of(index);
  declarations_ += parameter_type(call_.slot, index) + " " + name + "{};\n";
  fill(*parameter.type, at, name, 0, parameter.name);
  return name;
}

// Returns an expression of a value that is not a structure. `spelling` is its type in C.
std::string CallWriter::value(const trace::Type &type, const void *at, std::string_view name,
                              const std::string &spelling) const {
  const std::uint64_t bits = bits_at(at, type.size);
  switch (type.kind) {
    case Kind::handle:
      if (bits == 0) return "nullptr";
      if (bits == 1) return "CU_STREAM_LEGACY";
      if (bits == 2) return "CU_STREAM_PER_THREAD";
      if (const auto known = variables_.handle(type.name, bits)) return *known;
      return "reinterpret_cast<" + spelling + ">(" + unsigned_literal(bits) + ")";
    case Kind::address:
      if (bits == 0 || is_number_name(name)) return unsigned_literal(bits);
      if (const auto address = variables_.address(bits)) return *address;
      if (const auto known = variables_.handle("", bits)) return *known;
      return unsigned_literal(bits);
    case Kind::pointer:
    case Kind::text:
    case Kind::text_out:
      if (name == "fn" || name == "destroy") return "[](void *) {}";
      if (const auto address = variables_.address(bits)) return as_pointer(*address);
      if (name == "callback") return "[](CUstream, CUresult, void *) {}";
      return "nullptr";
    case Kind::enumeration:
      if (spelling == "CUresult") return trace::result_name(static_cast<CUresult>(bits));
      if (type.name != nullptr)
        if (const auto known = trace::enumerator_name(type.name, signed_bits_at(at, type.size));
            !known.empty())
          return std::string(known);
      return "static_cast<" + spelling + ">(" + signed_literal(signed_bits_at(at, type.size)) + ")";
    case Kind::real: {
      float single = 0;
      double number = 0;
      std::memcpy(type.size == sizeof single ? static_cast<void *>(&single) : &number, at, type.size);
      char text[48];
      std::snprintf(text, sizeof text, "%a",
                    type.size == sizeof single ? static_cast<double>(single) : number);
      return text;
    }
    case Kind::signed_number:
      return signed_literal(signed_bits_at(at, type.size));
    default:
      return unsigned_literal(bits);
  }
}

std::string CallWriter::behind(const Buffer &buffer) {
  std::string name = name_of(buffer.argument);
  const Item *const after = item_of(call_.after, buffer.argument);
  const auto size = [&] {
    return size_of(buffer, call_.slot, call_.words, [&](void *to, std::uint64_t, std::size_t count_size) {
      const Item *const count = item_of(call_.before, buffer.count);
      if (count == nullptr || count->bytes.size() < count_size) return false;
      std::memcpy(to, count->bytes.data(), count_size);
      return true;
    });
  };
  switch (buffer.content) {
    case Content::text:
      return after != nullptr ? text_literal(after->bytes) : "\"\"";
    case Content::text_out:
      declarations_ +=
          "char " + name + "[" + std::to_string(std::max<std::uint64_t>(size(), 1)) + "] = {};\n";
      outputs_[buffer.argument] = name;
      return name;
    case Content::returned_text:
      declarations_ += "const char *" + name + " = nullptr;\n";
      outputs_[buffer.argument] = name;
      return "&" + name;
    case Content::returned_array:
      declarations_ += pointee_type(call_.slot, buffer.argument) + " " + name + " = nullptr;\n";
      outputs_[buffer.argument] = name;
      return "&" + name;
    case Content::image:
      return after != nullptr ? image(*after, name) : "\"\"";
    case Content::kernel_parameters:
    case Content::attribute_values:
      return after != nullptr ? kernel_parameters(*after, name) : "nullptr";
    case Content::launch_options:
      return after != nullptr ? launch_options(*after, name) : "nullptr";
    case Content::option_values:
      return options(buffer, name);
    case Content::objects:
      break;
  }
  const std::uint64_t address = argument_of(call_.slot, call_.words, buffer.argument);
  return buffer.is_data ? data(buffer, address, size()) : objects(buffer, size());
}

std::string CallWriter::bytes(const Item &item, const std::string &variable) {
  data_size_ += item.bytes.size();
  const bool is_uniform =
      item.bytes.size() > 32 && item.bytes.find_first_not_of(item.bytes[0]) == item.bytes.npos;
  if (is_uniform)
    declarations_ += "const std::string " + variable + "(" + std::to_string(item.bytes.size()) + ", " +
                     "static_cast<char>(" + std::to_string(static_cast<unsigned char>(item.bytes[0])) +
                     "));\n";
  else
    declarations_ += "const std::string " + variable + "(" + text_literal(item.bytes) + ", " +
                     std::to_string(item.bytes.size()) + ");\n";
  return variable;
}

std::string CallWriter::data(const Buffer &buffer, std::uint64_t address, std::uint64_t size) {
  std::string name = name_of(buffer.argument);
  const bool is_address = trace::row_of(call_.slot).parameters[buffer.argument].type->kind == Kind::address;
  const auto as_argument = [&](const std::string &pointer) {
    return is_address ? "reinterpret_cast<CUdeviceptr>(" + pointer + ")" : pointer;
  };
  const Item *const item = buffer.is_read() ? item_of(call_.before, buffer.argument) : nullptr;
  const bool has_bytes = item != nullptr && !item->is_hash && size != 0;
  if (const auto known = variables_.address(address)) {
    const std::string pointer = as_pointer(*known);
    if (variables_.is_host_accessible(address)) {
      if (has_bytes)
        declarations_ += "std::memcpy(" + pointer + ", " + bytes(*item, name) + ".data(), " +
                         std::to_string(item->bytes.size()) + ");\n";
      outputs_[buffer.argument] = pointer;
    }
    return is_address ? *known : pointer;
  }
  if (has_bytes) return as_argument(bytes(*item, name) + ".data()");
  declarations_ += "std::string " + name + "(" + std::to_string(size) + ", '\\0');\n";
  outputs_[buffer.argument] = name + ".data()";
  return as_argument(name + ".data()");
}

std::string CallWriter::image(const Item &item, const std::string &variable) {
  if (item.is_hash) return "\"\"";
  data_size_ += item.bytes.size();
  std::string_view bytes = item.bytes;
  if (bytes.ends_with('\0')) bytes.remove_suffix(1);  // the literal has one
  declarations_ += "alignas(16) static const char " + variable + "[] =\n      " + text_literal(bytes) + ";\n";
  return variable;
}

// Declares bytes of unknown type as whole words.
void CallWriter::words(std::string_view bytes, const std::string &variable) {
  declarations_ += "std::uint64_t " + variable + "[] = {";
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = bits_at(&bytes[at], std::min<std::size_t>(bytes.size() - at, 8));
    const auto address = variables_.address(word), handle = variables_.handle("", word);
    declarations_ += (at == 0 ? "" : ", ") + (address ? *address : handle ? *handle : unsigned_literal(word));
  }
  declarations_ += bytes.empty() ? "0};\n" : "};\n";
}

std::string CallWriter::kernel_parameters(const Item &item, const std::string &variable) {
  std::string pointers;
  std::size_t count = 0;
  for (std::string_view rest = item.bytes; rest.size() >= 4; ++count) {
    const std::size_t size = std::min<std::size_t>(bits_at(rest.data(), 4), rest.size() - 4);
    std::string name = variable + "_" + std::to_string(count);
    const std::string_view bytes = rest.substr(4, size);
    if (size == 1 || size == 2 || size == 4)
      declarations_ += std::string(unsigned_type_of(size)) + " " + name + " = " +
                       unsigned_literal(bits_at(bytes.data(), size)) + ";\n";
    else
      words(bytes, name);
    pointers += (count == 0 ? "&" : ", &") + name;
    rest.remove_prefix(4 + size);
  }
  if (count == 0) return "nullptr";
  declarations_ += "void *" + variable + "[] = {" + pointers + "};\n";
  return variable;
}

std::string CallWriter::launch_options(const Item &item, const std::string &variable) {
  words(item.bytes, variable + "_bytes");
  declarations_ += "std::size_t " + variable + "_size = " + std::to_string(item.bytes.size()) + ";\n";
  declarations_ += "void *" + variable + "[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, " + variable +
                   "_bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &" + variable + "_size, CU_LAUNCH_PARAM_END};\n";
  return variable;
}

std::string CallWriter::objects(const Buffer &buffer, std::uint64_t size) {
  std::string name = name_of(buffer.argument);
  const trace::Parameter &parameter = trace::row_of(call_.slot).parameters[buffer.argument];
  const Item *item = item_of(call_.after, buffer.argument);
  if (buffer.direction == Buffer::Direction::both) item = item_of(call_.before, buffer.argument);
  if (buffer.type == nullptr) {
    const bool has_bytes = buffer.is_read() && item != nullptr;
    words(has_bytes ? item->bytes : std::string(size, '\0'), name);
    outputs_[buffer.argument] = name;
    return name;
  }
  const std::size_t count = size / buffer.element;
  const bool is_array = buffer.has_count;
  const std::string spelling = pointee_type(call_.slot, buffer.argument);
  declarations_ += spelling + (spelling.ends_with('*') ? "" : " ") + name +
                   (is_array ? "[" + std::to_string(std::max<std::size_t>(count, 1)) + "]" : "") + "{};\n";
  if (buffer.is_read() && item != nullptr)
    for (std::size_t i = 0; i < count && (i + 1) * buffer.element <= item->bytes.size(); ++i) {
      const std::string object = is_array ? name + "[" + std::to_string(i) + "]" : name;
      fill(*buffer.type, item->bytes.data() + i * buffer.element, object, 0, parameter.name);
      if (buffer.has_pointees) put_pointees(buffer, *item, i * buffer.element, object);
    }
  if (buffer.is_written()) {
    outputs_[buffer.argument] = name;
    add_objects(buffer, name, is_array);
  }
  return is_array ? name : "&" + name;
}

// Sets the bytes of an object that are not 0.
void CallWriter::fill(const trace::Type &type, const char *at, const std::string &object, std::size_t offset,
                      std::string_view name) {
  const bool is_leaf =
      type.kind != Kind::structure && type.kind != Kind::batch_op && type.kind != Kind::bytes;
  if (is_leaf && offset == 0 && object.find("::") == object.npos) {
    if (bits_at(at, type.size) == 0) return;
    const std::string text = value(type, at, name, "std::remove_reference_t<decltype(" + object + ")>");
    if (text != "nullptr") declarations_ += object + " = " + text + ";\n";
    return;
  }
  std::vector<bool> is_described(type.size);
  const auto put = [&](std::size_t where, const std::string &text, std::string_view comment) {
    declarations_ += "put(" + object + ", " + std::to_string(where) + ", " + text + ");";
    declarations_ += comment.empty() ? "\n" : "  // " + std::string(comment) + "\n";
  };
  const auto describe = [&](const auto &self, const trace::Type &structure, std::size_t base) -> void {
    for (const trace::Field &field : *structure.fields) {
      const std::size_t where = base + field.offset;
      std::fill_n(is_described.begin() + static_cast<std::ptrdiff_t>(where), field.type->size, true);
      if (field.type->kind == Kind::structure && !field.type->fields->empty()) {
        std::fill_n(is_described.begin() + static_cast<std::ptrdiff_t>(where), field.type->size, false);
        self(self, *field.type, where);
        continue;
      }
      if (field.type->size > 8 || bits_at(at + where, field.type->size) == 0) {
        if (field.type->size > 8)
          std::fill_n(is_described.begin() + static_cast<std::ptrdiff_t>(where), field.type->size, false);
        continue;
      }
      const bool is_pointer = field.type->kind == Kind::pointer || field.type->kind == Kind::text;
      const bool is_known =
          field.type->kind == Kind::handle || field.type->kind == Kind::address || is_pointer;
      const std::string text = value(*field.type, at + where, field.name, "void *");
      if (text == "nullptr") continue;
      if (text.starts_with("[]"))
        put(where, "static_cast<CUhostFn>(" + text + ")", field.name);
      else if (is_known)
        put(where, field.type->kind == Kind::address ? "std::uint64_t{" + text + "}" : text, field.name);
      else
        put(where,
            std::string(unsigned_type_of(field.type->size)) + "{" +
                unsigned_literal(bits_at(at + where, field.type->size)) + "}",
            field.name);
    }
  };
  if (type.kind == Kind::structure) describe(describe, type, 0);
  // Unions, and all but the first element of arrays.
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= type.size; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = bits_at(at + i, sizeof word);
    const bool has_field = std::find(is_described.begin() + static_cast<std::ptrdiff_t>(i),
                                     is_described.begin() + static_cast<std::ptrdiff_t>(i + 8),
                                     true) != is_described.begin() + static_cast<std::ptrdiff_t>(i + 8);
    if (has_field || word == 0) continue;
    const auto address = variables_.address(word), handle = variables_.handle("", word);
    put(i,
        address  ? "std::uint64_t{" + *address + "}"
        : handle ? *handle
                 : "std::uint64_t{" + unsigned_literal(word) + "}",
        "");
  }
}

// Adds the handles and addresses that the call wrote to a variable.
void CallWriter::add_objects(const Buffer &buffer, const std::string &variable, bool is_array) {
  const Item *const item = item_of(call_.after, buffer.argument);
  if (item == nullptr || call_.result != CUDA_SUCCESS) return;
  const auto created = memory_created_by(call_);
  for (std::size_t i = 0; (i + 1) * buffer.element <= item->bytes.size(); ++i) {
    const std::uint64_t bits = bits_at(item->bytes.data() + i * buffer.element, buffer.element);
    const std::string expression = is_array ? variable + "[" + std::to_string(i) + "]" : variable;
    const Kind kind = buffer.type->kind;
    if (bits <= 2) continue;
    if (kind == Kind::handle)
      variables_.add_handle(buffer.type->name, bits, expression);
    else if (created && created->address == bits && created->argument == buffer.argument)
      variables_.add_memory(
          bits, created->size, created->is_host_accessible,
          kind == Kind::address ? expression : "reinterpret_cast<CUdeviceptr>(" + expression + ")");
    else if (kind == Kind::address && !variables_.is_in_memory(bits))
      variables_.add_handle("", bits, expression);
  }
}

}  // namespace cushim::replay
