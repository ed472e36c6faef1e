// SPDX-License-Identifier: Apache-2.0
#include "call_text.hpp"

#include <cushim/driver.hpp>
#include <cushim/error.hpp>

#include <cstdio>
#include <cstring>
#include <iterator>
#include <unordered_set>

#include <cushim/detail/entry_traits.hpp>
#include <cushim/detail/reference.hpp>
#include "trace_format.hpp"

namespace cushim::trace {
namespace {

using cushim::detail::hexadecimal;
using Kind = Type::Kind;
using mock::EntryTraits;

constexpr const char *kKernel = "kernel";  // the noun of CUkernel, which older headers lack

std::string quoted(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    if (static_cast<unsigned char>(c) >= ' ')
      all += c;
    else
      all += '?';
  }
  return all + (text.size() == kMostText ? "\"..." : "\"");
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Writes values of one call.
class Writer {
 public:
  Writer(const Call &call, Names &names) : base_(cushim_entry(call.slot)->base), names_(names) {}

  // Returns a value as text. `at` has type.size bytes.
  std::string text(const Type &type, const void *at, std::string_view name) const {
    switch (type.kind) {
      case Kind::handle:
        return names_.of_handle(type.name, unsigned_at(type, at));
      case Kind::address:
        return is_number_name(name) ? std::to_string(unsigned_at(type, at))
                                    : names_.of_address(unsigned_at(type, at));
      case Kind::pointer:
      case Kind::text:
      case Kind::text_out:
        return unsigned_at(type, at) == 0 ? "null" : names_.of_address(unsigned_at(type, at));
      case Kind::enumeration:
        return enumeration(type, signed_at(type, at));
      case Kind::real:
        return real(type, at);
      case Kind::signed_number:
        return std::to_string(signed_at(type, at));
      case Kind::unsigned_number:
        return number(type, at, name);
      case Kind::structure:
        return structure(type, at);
      case Kind::batch_op:
        return batch_op(at);
      case Kind::bytes:
        break;
    }
    return hexadecimal(unsigned_at(type, at));
  }

 private:
  static std::uint64_t unsigned_at(const Type &type, const void *at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, std::min(type.size, sizeof value));
    return value;
  }
  static std::int64_t signed_at(const Type &type, const void *at) {
    const std::uint64_t value = unsigned_at(type, at);
    const std::size_t unused = 64 - 8 * std::min<std::size_t>(type.size, 8);
    return static_cast<std::int64_t>(value << unused) >> unused;
  }
  static bool is_number_name(std::string_view name) {
    for (const char *part : {"lags", "ize", "ytes", "ount", "ffset", "Id", "value", "maximum"})
      if (contains(name, part)) return true;
    return false;
  }

  static std::string enumeration(const Type &type, std::int64_t value) {
    if (type.name == nullptr) return std::to_string(value);
    if (std::string_view(type.name) == "CUresult") return result_name(static_cast<CUresult>(value));
    if (const std::string_view name = enumerator_name(type.name, value); !name.empty())
      return std::string(name);
    // Bits of a type of flags.
    std::string text;
    std::int64_t rest = value;
    for (int bit = 0; bit < 31; ++bit) {
      const std::int64_t one = std::int64_t{1} << bit;
      const std::string_view name = (value & one) != 0 ? enumerator_name(type.name, one) : std::string_view();
      if (name.empty()) continue;
      text.append(text.empty() ? "" : " | ").append(name);
      rest &= ~one;
    }
    return rest == 0 && !text.empty() ? text : std::to_string(value);
  }

  static std::string real(const Type &type, const void *at) {
    float single = 0;
    double number = 0;
    std::memcpy(type.size == sizeof single ? static_cast<void *>(&single) : &number, at, type.size);
    char text[32];
    std::snprintf(text, sizeof text, "%g", type.size == sizeof single ? static_cast<double>(single) : number);
    return text;
  }

  std::string number(const Type &type, const void *at, std::string_view name) const {
    const std::uint64_t value = unsigned_at(type, at);
    if (type.size == sizeof(unsigned) && (name == "flags" || name == "Flags"))
      return mock::flags_text(base_, static_cast<unsigned>(value));
    return std::to_string(value);
  }

  std::string structure(const Type &type, const void *at) const {
    if (type.fields->empty()) return "{" + std::to_string(type.size) + " bytes}";
    std::string text = "{";
    for (const Field &field : *type.fields) {
      if (text.size() > 1) text += ", ";
      text.append(field.name)
          .append("=")
          .append(this->text(*field.type, static_cast<const char *>(at) + field.offset, field.name));
    }
    return text + "}";
  }

  std::string batch_op(const void *at) const {
    CUstreamBatchMemOpParams operation;
    std::memcpy(&operation, at, sizeof operation);
    const std::string_view name = enumerator_name("CUstreamBatchMemOpType", operation.operation);
    std::string text = "{operation=";
    text += name.empty() ? std::to_string(operation.operation) : std::string(name);
    // Waits and writes have the same layout.
    if (contains(name, "_VALUE_"))
      text +=
          ", address=" + names_.of_address(operation.waitValue.address) + ", value=" +
          std::to_string(contains(name, "_64") ? operation.waitValue.value64 : operation.waitValue.value) +
          ", flags=" +
          mock::flags_text(contains(name, "WAIT") ? "cuStreamWaitValue32" : "cuStreamWriteValue32",
                           operation.waitValue.flags);
    return text + "}";
  }

  const char *const base_;
  Names &names_;
};

// Returns the object that a call creates or destroys: the noun of its handle type, or null for memory.
struct Subject {
  const Type *type;
  std::uint64_t bits;
};
std::optional<Subject> subject_of(const Call &call, const EntryTraits &traits) {
  const Row &row = row_of(call.slot);
  if (traits.subject == mock::kNoArgument || row.parameters.empty()) return std::nullopt;
  const std::size_t index = mock::position(traits.subject, row.parameters.size());
  const Type *type = row.parameters[index].type;
  std::uint64_t bits = bits_of(call, index);
  if (type->pointee != nullptr && traits.begins_lifetime()) {
    const auto value = value_behind(call, index);
    if (value.empty()) return std::nullopt;
    type = type->pointee;
    bits = bits_of(value);
  }
  return Subject{type, bits};
}

std::uint64_t size_of_memory(const Call &call, const EntryTraits &traits) {
  const Row &row = row_of(call.slot);
  if (traits.bytes == mock::kNoArgument) return 1;
  const std::size_t index = mock::position(traits.bytes, row.parameters.size());
  if (traits.rows == mock::kNoArgument) return bits_of(call, index);
  const auto pitch = value_behind(call, index);
  return bits_of(pitch) * bits_of(call, mock::position(traits.rows, row.parameters.size()));
}

}  // namespace

std::string Names::of_handle(const char *noun, std::uint64_t bits) {
  if (bits == 0 ||
      mock::handle_text(noun, reinterpret_cast<const void *>(bits)).find("0x") == std::string::npos)
    return mock::handle_text(noun, reinterpret_cast<const void *>(bits));
  // A kernel may be passed as a function.
  constexpr std::string_view kFunction = mock::noun_of<CUfunction>;
  if (noun == kFunction && !handles_.contains({kFunction, bits}) && handles_.contains({kKernel, bits}))
    return of_handle(kKernel, bits);
  Handle &known = handles_[{noun, bits}];
  if (known.number == 0) known.number = ++last_[noun];
  std::string name = std::string(noun) + "#" + std::to_string(known.number);
  if (!known.text.empty()) name.append(" ").append(quoted(known.text));
  return name;
}

void Names::give(const GivenName &given) {
#define CUSHIM_HANDLE(type, word) \
  if (given.noun == word) handles_[{word, given.object}].text = given.text;
  CUSHIM_HANDLES(CUSHIM_HANDLE)
#undef CUSHIM_HANDLE
}

// Adds the name of a function, kernel or reference that a call found by it.
void Names::add_found(const Call &call) {
  const Row &row = row_of(call.slot);
  if (row.parameters.size() < 2) return;
  const Type *const found = row.parameters.front().type->pointee;
  if (found == nullptr || found->kind != Kind::handle || row.parameters.front().type->is_input) return;
  const auto bits = value_behind(call, 0);
  if (bits.empty()) return;
  const Parameter &last = row.parameters.back();
  if (last.type->kind == Kind::text && last.name == "name")
    handles_[{found->name, bits_of(bits)}].text = value_behind(call, row.parameters.size() - 1);
  if (cushim_entry(call.slot)->base == std::string_view("cuKernelGetFunction"))
    handles_[{found->name, bits_of(bits)}].text = handles_[{kKernel, bits_of(call, 1)}].text;
}

std::string Names::of_address(std::uint64_t address) const {
  auto next = memory_.upper_bound(address);
  if (next == memory_.begin()) return address == 0 ? "0" : hexadecimal(address);
  const auto &[begin, memory] = *std::prev(next);
  if (address - begin >= memory.size) return hexadecimal(address);
  std::string text = "memory#" + std::to_string(memory.number);
  if (address != begin) text += " + " + std::to_string(address - begin);
  return text;
}

void Names::add(const Call &call) {
  if (!call.end || call.result != CUDA_SUCCESS) return;
  add_found(call);
  const EntryTraits &traits = mock::traits_of(call.slot);
  if (!traits.begins_lifetime()) return;
  const auto subject = subject_of(call, traits);
  if (!subject) return;
  if (mock::is_memory(traits.object)) {
    memory_.insert_or_assign(subject->bits, Memory{size_of_memory(call, traits), ++last_["memory"]});
  } else if (traits.lifetime == EntryTraits::Lifetime::creates && subject->type->kind == Kind::handle) {
    handles_.erase({subject->type->name, subject->bits});
  }
}

void Names::remove(const Call &call) {
  if (!call.end || call.result != CUDA_SUCCESS) return;
  const EntryTraits &traits = mock::traits_of(call.slot);
  if (!traits.ends_lifetime()) return;
  const auto subject = subject_of(call, traits);
  if (!subject) return;
  if (subject->type->kind == Kind::handle) handles_.erase({subject->type->name, subject->bits});
  if (mock::is_memory(traits.object)) memory_.erase(subject->bits);
}

std::string_view value_behind(const Call &call, std::size_t argument) {
  for (std::size_t at = 0; at < call.values.size();) {
    ValueHeader header;
    std::memcpy(static_cast<void *>(&header), &call.values[at], sizeof header);
    const std::size_t words = words_for(header.size);
    if (words > call.values.size() - at - 1) break;
    if (header.argument == argument)
      return {reinterpret_cast<const char *>(call.values.data() + at + 1), header.size};
    at += 1 + words;
  }
  return {};
}

std::vector<Word> words_of(const Call &call, Names &names) {
  const Row &row = row_of(call.slot);
  const Writer writer(call, names);
  std::vector<Word> words;
  for (std::size_t i = 0; i < row.parameters.size(); ++i) {
    const auto &[name, type, word] = row.parameters[i];
    const auto value = value_behind(call, i);
    const bool is_text = type->kind == Kind::text || type->kind == Kind::text_out ||
                         (type->pointee != nullptr && type->pointee->kind == Kind::text);
    const bool has_value = value.data() != nullptr &&
                           (is_text || (type->pointee != nullptr && value.size() >= type->pointee->size));
    if (!has_value) {
      words.push_back({name, writer.text(*type, &call.words[word], name)});
    } else if (is_text) {
      if (type->kind == Kind::text)
        words.push_back({name, quoted(value)});
      else
        words.push_back({name, "", quoted(value)});
    } else if (type->is_input) {
      words.push_back({name, writer.text(*type->pointee, value.data(), name)});
    } else {
      words.push_back({name, "", writer.text(*type->pointee, value.data(), name)});
    }
  }
  return words;
}

void for_each_call(const Trace &trace,
                   const std::function<void(const Call &call, const std::vector<Word> &words)> &visit) {
  Names names;
  auto given = trace.names().begin();
  for (const Call &call : trace.calls()) {
    for (; given != trace.names().end() && given->time <= call.begin; ++given) names.give(*given);
    names.add(call);
    visit(call, words_of(call, names));
    names.remove(call);
  }
}

NotesOfCalls::NotesOfCalls(const Trace &trace) {
  if (trace.notes().empty()) return;
  std::unordered_set<std::uint64_t> calls;
  for (const Call &call : trace.calls()) calls.insert(call.id);
  for (const Note &note : trace.notes())
    (calls.contains(note.call) ? by_call_[note.call] : others_).push_back(&note);
}

const std::vector<const Note *> &NotesOfCalls::of(const Call &call) const {
  static const std::vector<const Note *> none;
  const auto found = by_call_.find(call.id);
  return found != by_call_.end() ? found->second : none;
}

std::string result_name(CUresult result) {
  const std::string_view name = name_of(result);
  return name.empty() ? std::to_string(static_cast<int>(result)) : std::string(name);
}

}  // namespace cushim::trace
