// SPDX-License-Identifier: Apache-2.0
// The entry points that the simulated driver implements, and their functions.
#pragma once

#include <cushim/mock/signature.hpp>

#include <initializer_list>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "api/call.hpp"
#include "api/host_function_rules.hpp"
#include "api/variants.hpp"

namespace cushim::sim {

// The driver states in which a call reaches its function.
enum class When {
  initialized,        // else NOT_INITIALIZED; in host functions as host_function_rules.inc says
  anytime,            // no check, or the function calls require_admitted() itself
  also_while_locked,  // as `initialized`, and does not wait while the process is locked
};

// True while the process exits: the driver does not work then, like the real one.
inline constinit std::atomic<bool> is_over{false};

// Returns the error that the real driver returns before it reads the arguments; CUDA_SUCCESS if there is
// none.
[[gnu::always_inline]] inline CUresult admit(const System &system, std::size_t slot) {
  if (!system.is_initialized.load(std::memory_order_acquire) ||
      is_forked_child.load(std::memory_order_relaxed))
    return CUDA_ERROR_NOT_INITIALIZED;
  if (is_over.load(std::memory_order_relaxed)) return CUDA_ERROR_DEINITIALIZED;
  if (system.engine.is_host_thread()) [[unlikely]] {
    const InHostFunction rule = host_function_rule_of(slot);
    if (rule == InHostFunction::refused) return CUDA_ERROR_NOT_PERMITTED;
    if (rule == InHostFunction::rejected) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
inline void require_admitted(const Call &call) {
  if (const CUresult code = admit(call.system, static_cast<std::size_t>(call.slot)); code != CUDA_SUCCESS)
    fail(code);
}
// For calls that look at arguments before they are refused in host functions.
inline void refuse_in_host_function(const Call &call) {
  require(!call.system.engine.is_host_thread(), CUDA_ERROR_NOT_PERMITTED);
}

// Throws STREAM_CAPTURE_UNSUPPORTED, and invalidates the captures, if a stream capture forbids the entry
// point in the calling thread.
void require_allowed_in_capture(Call &call, std::size_t slot);

// Returns the code for the exception that is being handled; call it in a catch block. OUT_OF_MEMORY for
// std::bad_alloc and std::length_error, OPERATING_SYSTEM for std::system_error, UNKNOWN for others.
CUresult error_of_exception() noexcept;

// Adds the result of a failed call to the error log. NOT_READY is no failure.
[[gnu::cold]] void log_error(System &system, std::size_t slot, CUresult code) noexcept;

// The result of the first ABIs that need a context with 32-bit addresses, which does not exist in a 64-bit
// process.
inline constexpr CUresult kNeeds32BitAddresses = CUDA_ERROR_INVALID_CONTEXT;

class Service;

// Registers CUresult function(Call &, arguments...) as the implementation of those ABI variants of an entry
// point whose argument types are the same. The name is one of kVariants: "cuStreamGetCtx" stands for all
// versions, "cuStreamGetCtx_v12050" for one version, each with its per-thread variant. Does not compile if
// the name is unknown, or if the CUDA headers declare all variants and none has these argument types.
template <Name name, auto function, When when = When::initialized>
void entry(Service &service);

// Registers functions that return this result for any arguments as the implementations of the ABI variants of
// these names.
template <CUresult result, Name... names>
void entries_with_result(Service &service);

class Service {
 public:
  // Returns the table of all implemented entry points.
  static const Service &all();

  bool serves(int slot) const noexcept { return makers_[slot] != nullptr; }
  // Returns null if serves() is false and the compiled headers do not declare the entry point's types.
  static std::unique_ptr<mock::AnyReceiver> make(System &system, int slot);

 private:
  template <Name name, auto function, When when>
  friend void entry(Service &service);
  template <CUresult result, Name... names>
  friend void entries_with_result(Service &service);

  using Make = std::unique_ptr<mock::AnyReceiver> (*)(System &system, int slot);

  template <class Signature>
  struct WithCall;
  template <class... Arguments>
  struct WithCall<CUresult(Arguments...)> {
    using type = CUresult (*)(Call &, Arguments...);
    template <CUresult result>
    static CUresult constant(Call &, Arguments...) {
      return result;
    }
  };

  template <int slot, auto function>
  static consteval bool implements() {
    if constexpr (kIsTyped<slot>)
      return std::is_same_v<decltype(function),
                            typename WithCall<typename mock::SignatureOf<slot>::type>::type>;
    return false;
  }

  template <Name name, auto function, When when, std::size_t... index>
  void serve_variants(std::index_sequence<index...>) {
    constexpr auto &slots = kVariants<name>;
    static_assert(((!kIsTyped<slots[index]> || implements<slots[index], function>()) || ...),
                  "no ABI variant of the entry point has the arguments of the function");
    (serve_slot<slots[index], function, when>(), ...);
  }

  template <Name name, CUresult result, std::size_t... index>
  void serve_result_of_variants(std::index_sequence<index...>) {
    (serve_result_of_slot<kVariants<name>[index], result>(), ...);
  }

  template <int slot, CUresult result>
  void serve_result_of_slot() {
    if constexpr (kIsTyped<slot>)
      serve_slot<slot, &WithCall<typename mock::SignatureOf<slot>::type>::template constant<result>,
                 When::initialized>();
  }

  template <int slot, auto function, When when>
  void serve_slot() {
    if constexpr (implements<slot, function>()) {
      if (makers_[slot] != nullptr) fail_served_twice(slot);
      makers_[slot] = &make_served<function, when, typename mock::SignatureOf<slot>::type>;
    }
  }

  [[noreturn]] static void fail_served_twice(int slot);
  static constexpr bool is_per_thread(std::string_view symbol) {
    return symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
  }

  template <auto function, When when, class Signature>
  static std::unique_ptr<mock::AnyReceiver> make_served(System &system, int slot) {
    return std::unique_ptr<mock::AnyReceiver>(new Served<function, when, Signature>(system, slot));
  }

  template <auto function, When when, class Signature>
  class Served;

  template <auto function, When when, class... Arguments>
  class Served<function, when, CUresult(Arguments...)> final : public mock::Receiver<CUresult(Arguments...)> {
   public:
    Served(System &system, int slot)
        : system_(system), slot_(slot), is_per_thread_(is_per_thread(cushim::detail::symbols[slot])) {}
    CUresult receive(Arguments... arguments) override {
      const CUresult code = answer(arguments...);
      if (code != CUDA_SUCCESS) [[unlikely]]
        log_error(system_, slot_, code);
      return code;
    }

   private:
    CUresult answer(Arguments... arguments) {
      try {
        if constexpr (when != When::also_while_locked) system_.checkpoint.wait_until_unlocked();
        if constexpr (when != When::anytime) {
          if (const CUresult code = admit(system_, slot_); code != CUDA_SUCCESS) {
            system_.not_admitted[slot_].fetch_add(1, std::memory_order_relaxed);
            return code;
          }
        }
        Call call(system_, cushim::detail::symbols[slot_].data(), is_per_thread_, slot_);
        ++system_.calls[slot_];
        if (!system_.captures.empty()) [[unlikely]]
          require_allowed_in_capture(call, slot_);
        return function(call, arguments...);
      } catch (const CallError &error) {
        return error.code;
      } catch (...) {
        return error_of_exception();
      }
    }

    System &system_;
    const std::size_t slot_;
    const bool is_per_thread_;
  };

  Service();

  Make makers_[CUSHIM_ENTRY_COUNT] = {};
};

template <Name name, auto function, When when>
void entry(Service &service) {
  static_assert(kVariants<name>.size() > 0, "the list has no entry point of this name");
  service.serve_variants<name, function, when>(std::make_index_sequence<kVariants<name>.size()>());
}

template <CUresult result, Name... names>
void entries_with_result(Service &service) {
  static_assert(((kVariants<names>.size() > 0) && ...), "the list has no entry point of this name");
  (service.serve_result_of_variants<names, result>(std::make_index_sequence<kVariants<names>.size()>()), ...);
}

// Implementations of entry points, one for each row: entry<"cuX", function>, or entries_with_result<result,
// "cuX", "cuY">. No ABI variant may have two.
using Entries = std::initializer_list<void (*)(Service &)>;

// The groups of entry points. The file that implements the group `streams` ends with entries_of_streams.
#define CUSHIM_GROUP(name, since) extern const Entries entries_of_##name;
#include "api/groups.inc"

}  // namespace cushim::sim
