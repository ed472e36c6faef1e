// SPDX-License-Identifier: Apache-2.0
#include "core/watch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <string_view>
#include <system_error>

#include <cushim/detail/entry_traits_table.hpp>
#include <cushim/detail/layers.hpp>
#include <cushim/detail/receivers.hpp>

namespace cushim::check {
namespace {

std::atomic_flag has_reported_lack;

// Returns whether the checker had the memory and the threads that it needs. If it has not, the driver call is
// made nevertheless; the first time is reported on stderr.
template <class Action>
bool watches(Action action) {
  const char *missing = "thread";
  try {
    action();
    return true;
  } catch (const std::system_error &) {
  } catch (const std::bad_alloc &) {
    missing = "memory";
  }
  if (!has_reported_lack.test_and_set())
    std::fprintf(stderr, "cushim[check]: the system has no %s left for a checker; findings may be missing\n",
                 missing);
  return false;
}

struct WatchRunner {
  template <class... Arguments>
  CUresult run(int slot, const mock::Next<CUresult(Arguments...)> &next, Arguments... arguments) const {
    const std::array<Argument, sizeof...(Arguments)> sorted{argument_of(arguments)...};
    const std::array<mock::Value, sizeof...(Arguments)> values{mock::Value(arguments)...};
    WatchedCall call{slot, sorted, values};
    const bool is_watched = watches([&] { watcher.before(call); });
    if (call.answer) return *call.answer;
    const CUresult result = next(arguments...);
    if (is_watched) watches([&] { watcher.after(call, result); });
    return result;
  }

  Watcher &watcher;
};

// The layer factory of an entry point, and its parameters without values.
struct Row {
  mock::AnyLayer *(*make_layer)(int slot, WatchRunner runner) = nullptr;
  std::vector<Argument> parameters{};
};

// Returns whether the table of traits says of an entry point what a checker needs to know.
constexpr bool is_of_interest(std::string_view base) {
  const mock::EntryTraits *const traits = mock::traits::find(base);
  return traits != nullptr &&
         (traits->changes_current || traits->object == mock::Object::primary_context ||
          traits->object == mock::Object::user_object || mock::is_memory(traits->object) ||
          has_integer_handle(traits->object) || traits->names_memory() ||
          traits->queue != mock::EntryTraits::Queue::none || traits->wait != mock::EntryTraits::Wait::never);
}

// Returns whether arguments of this type are of interest.
template <class T>
constexpr bool is_watched_type() {
  using Pointed = std::remove_pointer_t<T>;
  return kind_of<T>() != Kind::none || kind_of<Pointed>() != Kind::none ||
         std::is_same_v<Pointed, CUdeviceptr>;
}

template <bool is_named, class Signature>
struct RowOf;

template <bool is_named, class... Arguments>
struct RowOf<is_named, CUresult(Arguments...)> {
  static Row row() {
    if constexpr (is_named || (is_watched_type<Arguments>() || ...))
      return {&hook::detail::make_layer<WatchRunner, CUresult(Arguments...)>,
              {argument_of(std::remove_cv_t<Arguments>{})...}};
    return {};
  }
};

const Row &row_of(int slot) {
  static const std::vector<Row> &rows = *new std::vector<Row>{
// clang-format off
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  RowOf<is_of_interest(#base), CUresult parameters>::row(),
#define CUSHIM_ENTRY_UNTYPED(slot, symbol, base, version, thread, parameters, arguments) Row{},
#include <cushim/entry_points.inc>
      // clang-format on
  };
  return rows[static_cast<std::size_t>(slot)];
}

}  // namespace

std::vector<hook::Hook> watch(Driver &driver, Watcher &watcher,
                              const std::function<bool(int slot)> &is_wanted) {
  std::vector<hook::Hook> hooks;
  for (int slot = 0; slot < CUSHIM_ENTRY_COUNT; ++slot) {
    const Row &row = row_of(slot);
    if (row.make_layer != nullptr && is_wanted(slot))
      hooks.emplace_back(driver, slot, std::shared_ptr<mock::AnyLayer>(row.make_layer(slot, {watcher})),
                         hook::detail::make_receiver_of(slot));
  }
  return hooks;
}

std::uint64_t stream_of(const WatchedCall &call) {
  const auto stream = std::ranges::find(call.arguments, Kind::stream, &Argument::kind);
  if (stream == call.arguments.end() || stream->type != Argument::Type::handle) return 0;
  if (stream->bits != 0) return stream->bits;
  const bool is_per_thread = cushim_entry(call.slot)->thread[0] != '\0';
  return reinterpret_cast<std::uintptr_t>(is_per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
}

std::span<const Argument> parameters_of(int slot) { return row_of(slot).parameters; }

}  // namespace cushim::check
