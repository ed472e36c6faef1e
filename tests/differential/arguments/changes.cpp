// SPDX-License-Identifier: Apache-2.0
#include "changes.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <span>

namespace arguments::detail {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

constexpr std::array<std::uint64_t, 17> kSizes{
    0, 1, 2, 3, 4, 7, 16, 64, 511, 512, 4096, kBytes, kBytes + 1, kMiB, 2 * kMiB, 4 * kMiB, 8 * kMiB};
constexpr std::array<std::int64_t, 27> kIntegers{
    -1, 0,   1,   2,   3,   4,    5,    6,    7,    8,     16,    31,         32,        33,
    64, 128, 255, 256, 512, 1023, 1024, 1025, 2048, 65535, 65536, 0x7fffffff, 0x80000000};
constexpr std::array<std::int64_t, 36> kEnumerators{-1, 0,  1,  2,  3,  4,  5,  6,  7,  8,   9,   10,
                                                    11, 12, 13, 14, 15, 16, 17, 18, 19, 20,  21,  22,
                                                    23, 24, 25, 26, 27, 28, 29, 32, 64, 128, 256, 0x10000};
constexpr std::array<std::int64_t, 8> kFieldNumbers{0, 1, 2, 3, 16, 128, 0x7fffffff, -1};
constexpr std::array<std::int64_t, 11> kFieldEnumerators{-1, 0, 1, 2, 3, 4, 5, 8, 16, 32, 0x7fffffff};

// Returns the number as an integer of this size would be printed.
std::string text_of(std::uint64_t number, std::size_t size, bool is_signed) {
  const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
  if (is_signed) return std::to_string(static_cast<std::int64_t>(number << unused) >> unused);
  return std::to_string(number << unused >> unused);
}

// Returns where a change writes. With `is_behind`, the argument is a pointer to the changed structure.
void *target(void *argument, bool is_behind, std::size_t offset) {
  void *first = argument;
  if (is_behind) std::memcpy(&first, argument, sizeof first);
  return static_cast<char *>(first) + offset;
}

// Adds a change to a number of this size.
void add_number(const std::string &name, std::uint64_t number, std::size_t size, bool is_signed, Changes &to,
                bool is_behind = false, std::size_t offset = 0) {
  std::string full = name + "=" + text_of(number, size, is_signed);
  for (const Change &other : to)
    if (other.name == full) return;  // two numbers are equal in this size
  to.push_back({std::move(full), [=](Objects &, void *argument) {
                  std::memcpy(target(argument, is_behind, offset), &number, size);
                }});
}

using Make = std::uint64_t (*)(Objects &);
struct Kind {
  const char *name;
  Make make;
};
std::uint64_t number_of(HostMemory memory) { return reinterpret_cast<std::uint64_t>(memory.value); }
constexpr Kind kAddresses[] = {
    {"null", [](Objects &) { return std::uint64_t{}; }},
    {"1", [](Objects &) { return std::uint64_t{1}; }},
    {"memory+1", [](Objects &o) { return std::uint64_t{o.memory().value + 1}; }},
    {"memory+4", [](Objects &o) { return std::uint64_t{o.memory().value + 4}; }},
    {"memory+256", [](Objects &o) { return std::uint64_t{o.memory().value + 256}; }},
    {"last_byte", [](Objects &o) { return std::uint64_t{o.memory().value + kBytes - 1}; }},
    {"pinned", [](Objects &o) { return number_of(o.pinned()); }},
    {"pageable", [](Objects &o) { return number_of(o.pageable()); }},
    {"registered", [](Objects &o) { return number_of(o.registered()); }},
    {"managed", [](Objects &o) { return std::uint64_t{o.managed().value}; }},
    {"managed+1", [](Objects &o) { return std::uint64_t{o.managed().value + 1}; }},
    {"stream_ordered", [](Objects &o) { return std::uint64_t{o.stream_ordered().value}; }},
    {"pool", [](Objects &o) { return std::uint64_t{o.pool_memory().value}; }},
    {"mapped", [](Objects &o) { return std::uint64_t{o.mapped().value}; }},
    {"mapped+1", [](Objects &o) { return std::uint64_t{o.mapped().value + 1}; }},
    {"mapped_end-4", [](Objects &o) { return std::uint64_t{o.mapped().value + kMapped - 4}; }},
    {"unmapped", [](Objects &o) { return std::uint64_t{(o.mapped(), o.unmapped().value)}; }},
};
constexpr Kind kHostMemory[] = {
    {"null", [](Objects &) { return std::uint64_t{}; }},
    {"pinned", [](Objects &o) { return number_of(o.pinned()); }},
    {"pinned+4", [](Objects &o) { return number_of(o.pinned()) + 4; }},
    {"pageable", [](Objects &o) { return number_of(o.pageable()); }},
    {"registered", [](Objects &o) { return number_of(o.registered()); }},
    {"memory", [](Objects &o) { return std::uint64_t{o.memory().value}; }},
    {"managed", [](Objects &o) { return std::uint64_t{o.managed().value}; }},
    {"stream_ordered", [](Objects &o) { return std::uint64_t{o.stream_ordered().value}; }},
    {"mapped", [](Objects &o) { return std::uint64_t{o.mapped().value}; }},
};

void add_kinds(const std::string &name, std::span<const Kind> kinds, Changes &to, bool is_behind = false,
               std::size_t offset = 0) {
  for (const Kind &kind : kinds)
    to.push_back({name + "=" + kind.name, [=, make = kind.make](Objects &o, void *argument) {
                    const std::uint64_t address = make(o);
                    std::memcpy(target(argument, is_behind, offset), &address, sizeof address);
                  }});
}

void add_field(const std::string &name, const Field &field, std::size_t offset, bool is_behind, Changes &to) {
  switch (field.kind) {
    case FieldKind::number:
      for (const std::int64_t number : kFieldNumbers)
        add_number(name, static_cast<std::uint64_t>(number), field.size, field.is_signed, to, is_behind,
                   offset);
      break;
    case FieldKind::enumerator:
      for (const std::int64_t number : kFieldEnumerators)
        add_number(name, static_cast<std::uint64_t>(number), field.size, true, to, is_behind, offset);
      break;
    case FieldKind::real:
      for (const char sign : {'+', '-'}) {
        const float value = sign == '+' ? 1000.0F : -1.0F;
        to.push_back({name + "=" + (sign == '+' ? "1000" : "-1"), [=](Objects &, void *argument) {
                        std::memcpy(target(argument, is_behind, offset), &value, sizeof value);
                      }});
      }
      break;
    case FieldKind::address:
      add_kinds(name, kAddresses, to, is_behind, offset);
      break;
    case FieldKind::pointer:
      add_kinds(name, std::span(kAddresses).first(1), to, is_behind, offset);
      break;
  }
}

void write_pointer(void *argument, const void *pointer) { std::memcpy(argument, &pointer, sizeof pointer); }

}  // namespace

void add_null(const std::string &name, Changes &to) {
  to.push_back({name + "=null", [](Objects &, void *argument) { write_pointer(argument, nullptr); }});
}

void add_texts(const std::string &name, Changes &to) {
  add_null(name, to);
  to.push_back({name + "=\"\"", [](Objects &, void *argument) { write_pointer(argument, ""); }});
  to.push_back({name + "=nope", [](Objects &, void *argument) { write_pointer(argument, "nope"); }});
}

void add_streams(const std::string &name, Changes &to) {
  add_null(name, to);
  to.push_back(
      {name + "=legacy", [](Objects &, void *argument) { write_pointer(argument, CU_STREAM_LEGACY); }});
  to.push_back({name + "=per_thread",
                [](Objects &, void *argument) { write_pointer(argument, CU_STREAM_PER_THREAD); }});
}

void add_own(const Address &, const std::string &name, Changes &to) { add_kinds(name, kAddresses, to); }

void add_own(const HostMemory &, const std::string &name, Changes &to) { add_kinds(name, kHostMemory, to); }

void add_fields(const std::string &name, const Fields &fields, std::size_t part, Changes &to) {
  for (const Field &field : fields) add_field(name + "." + field.name, field, part + field.offset, true, to);
}

void add_fields_by_value(const std::string &name, const Fields &fields, Changes &to) {
  for (const Field &field : fields) add_field(name + "." + field.name, field, field.offset, false, to);
}

void add_enumerators(const std::string &name, std::size_t size, Changes &to) {
  for (const std::int64_t number : kEnumerators)
    add_number(name, static_cast<std::uint64_t>(number), size, true, to);
}

void add_integers(const std::string &name, std::size_t size, bool is_signed, Changes &to) {
  for (const std::int64_t number : kIntegers)
    add_number(name, static_cast<std::uint64_t>(number), size, is_signed, to);
}

void add_sizes(const std::string &name, Changes &to) {
  add_own(SmallSize{}, name, to);
  for (const std::uint64_t number : {std::uint64_t{1} << 50, kMost}) add_number(name, number, 8, false, to);
}

void add_own(const SmallSize &, const std::string &name, Changes &to) {
  for (const std::uint64_t number : kSizes) add_number(name, number, 8, false, to);
}

void add_reals(const std::string &name, std::size_t size, Changes &to) {
  Field field;
  field.size = size;
  field.kind = FieldKind::real;
  add_field(name, field, 0, false, to);
}

void add_own(const Grid &, const std::string &name, Changes &to) {
  for (const std::uint64_t number : {0U, 2U, 1024U, 65535U, 65536U, 0x80000000U, 0xffffffffU})
    add_number(name, number, 4, false, to);
}

void add_counts(const std::string &name, std::size_t size, unsigned end, Changes &to) {
  for (unsigned number = 0; number < end; ++number) add_number(name, number, size, false, to);
}

void add_in_out(const std::string &name, std::size_t size, Changes &to) {
  for (const std::uint64_t number : {0U, 1U}) add_number("*" + name, number, size, false, to, true);
}

}  // namespace arguments::detail
