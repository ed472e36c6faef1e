// SPDX-License-Identifier: Apache-2.0
// Checks the table of entry traits against the list of entry points: complete, and consistent with the types
// of the arguments.
#include <gtest/gtest.h>
#include <cushim/driver.hpp>
#include <cushim/mock/text.hpp>

#include <cushim/detail/entry_traits_table.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cushim::mock {
namespace {

using Lifetime = EntryTraits::Lifetime;
using Queue = EntryTraits::Queue;
using Wait = EntryTraits::Wait;
using Access = MemoryUse::Access;
using Space = MemoryUse::Space;

// The properties of a parameter's type that the tests use.
struct Parameter {
  bool is_pointer = false;
  bool is_pointer_to_constant = false;
  bool is_number = false;   // an integer that is not a device address, or an enumerator
  bool is_address = false;  // CUdeviceptr, or the 32 bits of the first ABI
  bool is_pointer_to_number = false;
  bool is_stream = false;
  bool is_array = false;
  Space described = Space::list;  // of a pointer to a description of a copy
  const char *noun = nullptr;     // of the handle, or of the handle that it points to
};

template <class T>
Parameter parameter_of() {
  using Pointed = std::remove_pointer_t<T>;
  Parameter parameter;
  parameter.is_pointer = std::is_pointer_v<T>;
  parameter.is_pointer_to_constant = std::is_pointer_v<T> && std::is_const_v<Pointed>;
  parameter.is_number = std::is_integral_v<T> || std::is_enum_v<T>;
  parameter.is_address = std::is_same_v<T, CUdeviceptr> || std::is_same_v<T, unsigned>;
  parameter.is_pointer_to_number = std::is_pointer_v<T> && std::is_integral_v<Pointed>;
  parameter.is_stream = std::is_same_v<T, CUstream>;
  parameter.is_array = std::is_same_v<T, CUarray>;
  using Structure = std::remove_const_t<Pointed>;
  if (std::is_same_v<Structure, CUDA_MEMCPY2D>) parameter.described = Space::described_2d;
  if (std::is_same_v<Structure, CUDA_MEMCPY3D>) parameter.described = Space::described_3d;
  if (std::is_same_v<Structure, CUDA_MEMCPY3D_PEER>) parameter.described = Space::described_3d_peer;
  parameter.noun = noun_of<T> != nullptr ? noun_of<T> : noun_of<std::remove_const_t<Pointed>>;
  return parameter;
}

struct Row {
  int slot;
  std::string_view base;
  std::string symbol;
  std::vector<Parameter> parameters;

  const EntryTraits &traits() const { return traits_of(slot); }
  // Returns null if there is no such argument.
  const Parameter *at(ArgumentIndex index) const {
    const int position = index == kLastArgument ? static_cast<int>(parameters.size()) - 1 : index;
    if (position < 0 || position >= static_cast<int>(parameters.size())) return nullptr;
    return &parameters[static_cast<std::size_t>(position)];
  }
};

template <class Signature>
struct ParametersOf;
template <class... Arguments>
struct ParametersOf<CUresult(Arguments...)> {
  static std::vector<Parameter> all() { return {parameter_of<Arguments>()...}; }
};

// All entry points whose types these headers have.
const std::vector<Row> &typed_rows() {
  static const std::vector<Row> rows = {
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  {slot, #base, #symbol, ParametersOf<CUresult parameters>::all()},
#include <cushim/entry_points.inc>
      // clang-format on
  };
  return rows;
}

template <class Has>
std::vector<std::string> rows_without(Has has) {
  std::vector<std::string> rows;
  for (const Row &row : typed_rows())
    if (!has(row)) rows.push_back(row.symbol);
  return rows;
}
const std::vector<std::string> kNone;

const EntryTraits *row_of(std::string_view base) { return traits::find(base); }

TEST(EntryTraits, Have_a_row_for_each_base_name_of_the_list_and_no_other) {
  std::set<std::string_view> listed, classified;
  for (int slot = 0; slot < cushim_entry_count(); ++slot) listed.insert(cushim_entry(slot)->base);
  for (const EntryTraits &row : traits::kTable)
    EXPECT_TRUE(classified.insert(row.base).second) << row.base << " has two rows";
  for (const std::string_view base : listed) EXPECT_TRUE(classified.contains(base)) << base << " has no row";
  for (const std::string_view base : classified)
    EXPECT_TRUE(listed.contains(base)) << base << " is not in the list";
}

TEST(EntryTraits, Are_found_by_the_slot_of_each_variant) {
  for (int slot = 0; slot < cushim_entry_count(); ++slot)
    EXPECT_EQ(traits_of(slot).base, cushim_entry(slot)->base);
  EXPECT_EQ(&traits_of(static_cast<int>(Entry::cuMemcpyHtoDAsync_v3020)),
            &traits_of(static_cast<int>(Entry::cuMemcpyHtoDAsync_v7000_ptsz)));
}

TEST(EntryTraits, Say_of_each_entry_point_what_it_does) {
  for (const EntryTraits &row : traits::kTable) {
    const bool acts = row.lifetime != Lifetime::none || row.queue != Queue::none || row.wait != Wait::never ||
                      row.changes_current || row.allocates;
    const bool is_passive = row.is_query || row.configures;
    const bool names_memory = row.memory[0].access != Access::none;
    EXPECT_TRUE(acts || is_passive || names_memory) << row.base;
    EXPECT_FALSE(acts && is_passive) << row.base << " only reads or changes state, and does more";
    EXPECT_FALSE(row.is_query && row.configures) << row.base;
  }
}

TEST(EntryTraits, Name_arguments_that_exist) {
  EXPECT_EQ(
      rows_without([](const Row &row) {
        const EntryTraits &traits = row.traits();
        std::vector<ArgumentIndex> named = {traits.subject, traits.bytes,           traits.rows,
                                            traits.stream,  traits.same_context[0], traits.same_context[1]};
        for (const MemoryUse &use : traits.memory) named.insert(named.end(), {use.argument, use.size});
        return std::ranges::all_of(
            named, [&](ArgumentIndex index) { return index == kNoArgument || row.at(index) != nullptr; });
      }),
      kNone);
}

// ---- Lifetimes ----

TEST(EntryTraits, Destroy_only_what_another_entry_point_creates) {
  for (const EntryTraits &row : traits::kTable) {
    if (!row.ends_lifetime()) continue;
    EXPECT_TRUE(std::ranges::any_of(
        traits::kTable,
        [&](const EntryTraits &other) { return other.object == row.object && other.begins_lifetime(); }))
        << row.base << " ends an object that no entry point makes: " << object_name(row.object);
  }
}

TEST(EntryTraits, Have_an_inverse_for_all_that_begins_a_lifetime) {
  for (const EntryTraits &row : traits::kTable)
    EXPECT_TRUE(!row.begins_lifetime() || !row.inverse.empty()) << row.base;
}

TEST(EntryTraits, Have_inverses_that_are_mutual_in_kind) {
  for (const EntryTraits &row : traits::kTable) {
    if (row.inverse.empty()) continue;
    const EntryTraits *const other = row_of(row.inverse);
    ASSERT_NE(other, nullptr) << row.base << " has the inverse " << row.inverse;
    EXPECT_NE(row.begins_lifetime(), other->begins_lifetime()) << row.base << ", " << other->base;
    EXPECT_NE(row.ends_lifetime(), other->ends_lifetime()) << row.base << ", " << other->base;
    // One call frees memory of several kinds.
    EXPECT_TRUE(row.object == other->object || (is_memory(row.object) && is_memory(other->object)))
        << row.base << " is about " << object_name(row.object) << ", its inverse about "
        << object_name(other->object);
    EXPECT_FALSE(other->inverse.empty()) << other->base << " is the inverse of " << row.base;
  }
}

TEST(EntryTraits, Name_as_subject_a_handle_of_the_kind_of_the_object) {
  using enum Object;
  // Named by handles of another kind.
  const std::set<Object> by_others = {context_stack_entry, egl_frame, graphics_mapping, peer_access,
                                      primary_context};
  EXPECT_EQ(
      rows_without([&](const Row &row) {
        const EntryTraits &traits = row.traits();
        if (traits.lifetime == Lifetime::none || by_others.contains(traits.object)) return true;
        const auto is_object = [&](const Parameter &parameter) {
          return parameter.noun != nullptr && std::string_view(parameter.noun) == object_name(traits.object);
        };
        const Parameter &subject = *row.at(traits.subject);
        // Without a noun, it is a number or a pointer: then no other argument is such a handle.
        return subject.noun != nullptr ? is_object(subject) : std::ranges::none_of(row.parameters, is_object);
      }),
      kNone);
}

TEST(EntryTraits, Create_a_handle_through_a_pointer) {
  using enum Object;
  // The subject is an input: an address, a name or a device.
  const std::set<Object> by_value = {
      context_stack_entry, endpoint_binding,  gl_buffer,   gl_mapping,      logical_endpoint,
      mapped_memory,       multicast_binding, peer_access, primary_context, process_checkpoint,
      process_lock,        registered_memory, user_object};
  EXPECT_EQ(rows_without([&](const Row &row) {
              const EntryTraits &traits = row.traits();
              if (!traits.begins_lifetime() || by_value.contains(traits.object)) return true;
              const Parameter &subject = *row.at(traits.subject);
              return subject.is_pointer && !subject.is_pointer_to_constant;
            }),
            kNone);
}

TEST(EntryTraits, Give_the_size_of_created_memory_by_a_number) {
  EXPECT_EQ(rows_without([](const Row &row) {
              const EntryTraits &traits = row.traits();
              if (traits.bytes == kNoArgument) return traits.rows == kNoArgument;
              if (traits.lifetime == Lifetime::none) return false;
              if (traits.rows == kNoArgument) return row.at(traits.bytes)->is_number;
              return row.at(traits.bytes)->is_pointer_to_number && row.at(traits.rows)->is_number;
            }),
            kNone);
}

// ---- Streams ----

TEST(EntryTraits, Enqueue_work_in_an_argument_that_is_a_stream) {
  EXPECT_EQ(rows_without([](const Row &row) {
              return row.traits().queue != Queue::stream || row.at(row.traits().stream)->is_stream;
            }),
            kNone);
}

TEST(EntryTraits, Are_asynchronous_if_the_name_ends_in_Async) {
  for (const EntryTraits &row : traits::kTable)
    EXPECT_TRUE(!row.base.ends_with("Async") || row.queue == Queue::stream) << row.base;
  // Each entry point with per-thread variants takes a stream or means one.
  for (int slot = 0; slot < cushim_entry_count(); ++slot) {
    const EntryTraits &row = traits_of(slot);
    if (cushim_entry(slot)->thread != std::string_view("_ptds")) continue;
    EXPECT_TRUE(row.queue == Queue::null_stream || row.wait != Wait::never) << row.base;
  }
}

TEST(EntryTraits, Have_a_stream_or_wait_if_they_access_memory) {
  for (const EntryTraits &row : traits::kTable)
    for (const MemoryUse &use : row.memory)
      EXPECT_TRUE(use.access == Access::none || use.access == Access::names || row.queue != Queue::none)
          << row.base;
}

// ---- Memory ----

TEST(EntryTraits, Name_memory_by_an_argument_of_its_type) {
  const auto is_right = [](const Row &row, const MemoryUse &use) {
    const Parameter &argument = *row.at(use.argument);
    switch (use.space) {
      case Space::device:
      case Space::any:
      case Space::rows:
        return argument.is_address;
      case Space::array:
        return argument.is_array;
      case Space::described_2d:
      case Space::described_3d:
      case Space::described_3d_peer:  // the first ABI has other structures
        return argument.described == use.space || cushim_entry(row.slot)->version < 3020;
      default:
        return argument.is_pointer;
    }
  };
  EXPECT_EQ(rows_without([&](const Row &row) {
              return std::ranges::all_of(row.traits().memory, [&](const MemoryUse &use) {
                return use.access == Access::none || is_right(row, use);
              });
            }),
            kNone);
}

TEST(EntryTraits, Write_and_read_the_ends_of_each_copy) {
  for (const EntryTraits &row : traits::kTable) {
    if (!row.base.starts_with("cuMemcpy")) continue;
    const bool has_two_ends = row.memory[0].access == Access::writes && row.memory[1].access == Access::reads;
    EXPECT_TRUE(has_two_ends || row.memory[0].access == Access::both) << row.base;
  }
  for (const EntryTraits &row : traits::kTable)
    EXPECT_TRUE(!row.base.starts_with("cuMemset") || row.memory[0].access == Access::writes) << row.base;
}

}  // namespace
}  // namespace cushim::mock
