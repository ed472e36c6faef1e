// SPDX-License-Identifier: Apache-2.0
// Calls of entry points with their arguments, and the cases that change one argument at a time.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "changes.hpp"
#include "objects.hpp"

namespace arguments {

struct Result {
  CUresult code = CUDA_SUCCESS;
  std::string numbers;      // " name=value" for each number that the call has written
  std::uint64_t first = 0;  // the first argument
};

// A change and the index of its argument.
struct ChangedArgument {
  std::size_t index;
  const Change *change;
};

// Makes a call in a situation, and returns its result.
using MakeCall = std::function<CUresult(const std::function<CUresult()> &call)>;

struct Call {
  std::string name;  // the symbol; "cuMemcpy2D_v2(array)" if there are several calls of it
  struct Argument {
    std::string name;
    Changes changes;
    bool is_stream = false;
    bool is_structure = false;  // whose fields are changed
    bool is_grid = false;
  };
  std::vector<Argument> arguments;
  bool needs_new_context = false;      // it changes its context in a way that other cases would see
  bool is_destroying = false;          // its first argument
  bool is_of_attribute = false;        // one of many calls, which differ by an attribute and its value
  bool needs_current_context = false;  // the real driver crashes without one
  // Makes the objects, changes arguments, and gives the call of the entry point to `make_call`.
  std::function<Result(const cushim::Driver &, Objects &, const std::vector<ChangedArgument> &,
                       const MakeCall &)>
      run;

  // Leaves changes out: "name=value", or "name*" for all changes that begin so. Throws std::logic_error if
  // there is no such change.
  Call &without(std::initializer_list<std::string_view> names);
  // The call destroys the object that is its first argument.
  Call &destroys() {
    is_destroying = true;
    return *this;
  }
  // The call is not made without a current context: the real driver crashes.
  Call &with_current_context() {
    needs_current_context = true;
    return *this;
  }
  // The call is made in a context of its own.
  Call &in_new_context() {
    needs_new_context = true;
    return *this;
  }
};

namespace detail {

// Returns the names of the parameters.
std::vector<std::string> parameter_names(std::string_view symbol);

template <class B>
void add_number(std::string &, const std::string &, const B &) {}
template <class T>
void add_written(std::string &to, const std::string &name, const T *place) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    if (!Objects::is_written(place)) return;
    to += " " + name + "=";
    if constexpr (std::is_enum_v<T>)
      to += std::to_string(static_cast<long long>(*place));
    else
      to += std::to_string(*place);
  }
}
template <class T>
void add_number(std::string &to, const std::string &name, const Out<T> &out) {
  if (out.is_shown) add_written(to, name, out.place);
}
template <class T>
void add_number(std::string &to, const std::string &name, const InOut<T> &in_out) {
  add_written(to, name, in_out.place);
}

}  // namespace detail

class Calls {
 public:
  // `make` returns a tuple with the arguments.
  template <class... A, class Make>
  Call &add(std::string_view symbol, std::string_view tag, CushimEntry<CUresult(A...)> CushimDriver::*entry,
            Make make) {
    Call call;
    call.is_of_attribute = !tag.empty() && tag.front() >= '0' && tag.front() <= '9';
    call.name = tag.empty() ? std::string(symbol) : std::string(symbol) + "(" + std::string(tag) + ")";
    Objects none(nullptr, nullptr);
    add_changes<A...>(detail::parameter_names(symbol), make(none), call, std::index_sequence_for<A...>());
    call.run = [entry, make, names = detail::parameter_names(symbol)](
                   const cushim::Driver &driver, Objects &objects,
                   const std::vector<ChangedArgument> &changed, const MakeCall &make_call) {
      return run(driver.*entry, names, make(objects), objects, changed, make_call,
                 std::index_sequence_for<A...>());
    };
    return calls_.emplace_back(std::move(call));
  }
  const std::vector<Call> &all() const { return calls_; }

 private:
  template <class... A, class Base, std::size_t... i>
  static void add_changes(const std::vector<std::string> &names, const Base &base, Call &call,
                          std::index_sequence<i...>) {
    static_assert(std::tuple_size_v<Base> == sizeof...(A), "one value for each parameter");
    call.arguments.resize(sizeof...(A));
    ((call.arguments[i].name = names[i],
      arguments::add_changes<A>(names[i], std::get<i>(base), call.arguments[i].changes),
      call.arguments[i].is_stream = std::is_same_v<A, CUstream>,
      call.arguments[i].is_grid = std::is_same_v<std::tuple_element_t<i, Base>, Grid>,
      call.arguments[i].is_structure = is_structure<A, std::tuple_element_t<i, Base>>),
     ...);
  }

  template <class... A, class Base, std::size_t... i>
  static Result run(const CushimEntry<CUresult(A...)> &entry, const std::vector<std::string> &names,
                    const Base &base, Objects &objects, const std::vector<ChangedArgument> &changed,
                    const MakeCall &make_call, std::index_sequence<i...>) {
    std::tuple<A...> values{argument<A>(std::get<i>(base))...};
    const std::array<void *, sizeof...(A) + 1> places{&std::get<i>(values)..., nullptr};
    for (const ChangedArgument &one : changed) one.change->apply(objects, places[one.index]);
    Result result;
    if constexpr (sizeof...(A) != 0)
      std::memcpy(&result.first, places[0], std::min(sizeof result.first, sizeof(std::get<0>(values))));
    result.code = make_call([&] { return entry(std::get<i>(values)...); });
    (detail::add_number(result.numbers, names[i], std::get<i>(base)), ...);
    return result;
  }

  std::vector<Call> calls_;
};

// Adds the calls of a noun.
void add_device_calls(Calls &calls);
void add_context_calls(Calls &calls);
void add_module_calls(Calls &calls);
void add_library_calls(Calls &calls);
void add_function_calls(Calls &calls);
void add_memory_calls(Calls &calls);
void add_pointer_calls(Calls &calls);
void add_managed_calls(Calls &calls);
void add_virtual_memory_calls(Calls &calls);
void add_pool_calls(Calls &calls);
void add_ipc_calls(Calls &calls);
void add_copy_calls(Calls &calls);
void add_memset_calls(Calls &calls);
void add_array_calls(Calls &calls);
void add_texture_calls(Calls &calls);
void add_stream_calls(Calls &calls);
void add_capture_calls(Calls &calls);
void add_event_calls(Calls &calls);
void add_memop_calls(Calls &calls);
void add_launch_calls(Calls &calls);
void add_graph_calls(Calls &calls);
void add_node_calls(Calls &calls);
void add_node_parameter_calls(Calls &calls);
void add_executable_graph_calls(Calls &calls);
void add_green_context_calls(Calls &calls);
void add_external_calls(Calls &calls);

}  // namespace arguments

#define CALL_SYMBOL(symbol) #symbol
// Adds a call of `entry` with the arguments, which may use the objects `o`.
#define CALL(entry, ...) CALL_AS("", entry, __VA_ARGS__)
#define CALL_AS(tag, entry, ...)                                             \
  calls.add(CALL_SYMBOL(entry), tag, &CushimDriver::entry, [=](Objects &o) { \
    (void)o;                                                                 \
    return std::tuple{__VA_ARGS__};                                          \
  })
