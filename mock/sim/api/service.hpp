// SPDX-License-Identifier: Apache-2.0
// The entry points that the simulated driver implements, and their functions.
#pragma once

#include <cushim/mock/signature.hpp>

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

class Service {
 public:
  // Returns the table of all implemented entry points.
  static const Service &all();

  bool serves(int slot) const noexcept { return makers_[slot] != nullptr; }
  // Returns null if serves() is false and the compiled headers do not declare the entry point's types.
  static std::unique_ptr<mock::AnyReceiver> make(System &system, int slot);

  // Registers CUresult function(Call &, arguments...) as the implementation of the ABI variants of an entry
  // point that have exactly these arguments. The name is one of kVariants: "cuStreamGetCtx" for all versions,
  // "cuStreamGetCtx_v12050" for one; both include the per-thread variants. Does not compile if a name is
  // unknown, or if no variant has these arguments although the CUDA headers declare all of them.
  template <Name name, auto function, When when = When::initialized>
  void serve() {
    static_assert(kVariants<name>.size() > 0, "the list has no entry point of this name");
    serve_variants<name, function, when>(std::make_index_sequence<kVariants<name>.size()>());
  }

  // Registers functions that return this result for any arguments as the implementation of the ABI variants
  // of this name.
  template <Name name, CUresult result>
  void serve_result() {
    static_assert(kVariants<name>.size() > 0, "the list has no entry point of this name");
    serve_result_of_variants<name, result>(std::make_index_sequence<kVariants<name>.size()>());
  }

 private:
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

// One function per group of entry points, in the file that implements the group.
void serve_initialization(Service &service);
void serve_lookup(Service &service);
void serve_errors(Service &service);
void serve_devices(Service &service);
void serve_contexts(Service &service);
void serve_primary_contexts(Service &service);
void serve_green_contexts(Service &service);
void serve_streams(Service &service);
void serve_events(Service &service);
void serve_host_functions(Service &service);
void serve_memory_operations(Service &service);
void serve_device_memory(Service &service);
void serve_host_memory(Service &service);
void serve_managed_memory(Service &service);
void serve_managed_batches(Service &service);
void serve_virtual_memory(Service &service);
void serve_multicast(Service &service);
void serve_pointers(Service &service);
void serve_tensor_maps(Service &service);
void serve_copies(Service &service);
void serve_3d_copies(Service &service);
void serve_copy_batches(Service &service);
void serve_memsets(Service &service);
void serve_arrays(Service &service);
void serve_mipmapped_arrays(Service &service);
void serve_array_copies(Service &service);
void serve_textures(Service &service);
void serve_surfaces(Service &service);
void serve_texture_references(Service &service);
void serve_surface_references(Service &service);
void serve_pools(Service &service);
void serve_pool_sharing(Service &service);
void serve_stream_ordered_memory(Service &service);
void serve_peers(Service &service);
void serve_ipc_memory(Service &service);
void serve_ipc_events(Service &service);
void serve_modules(Service &service);
void serve_functions(Service &service);
void serve_libraries(Service &service);
void serve_links(Service &service);
void serve_launches(Service &service);
void serve_graphs(Service &service);
void serve_graph_edges(Service &service);
void serve_graph_nodes(Service &service);
void serve_graph_memory(Service &service);
void serve_conditional_nodes(Service &service);
void serve_executable_graphs(Service &service);
void serve_executable_nodes(Service &service);
void serve_captures(Service &service);
void serve_user_objects(Service &service);
void serve_context_events(Service &service);
void serve_graphics(Service &service);
void serve_external_memory(Service &service);
void serve_external_semaphores(Service &service);
void serve_device_services(Service &service);
void serve_occupancy(Service &service);
void serve_coredumps(Service &service);
void serve_logs(Service &service);
void serve_checkpoints(Service &service);
void serve_array_mappings(Service &service);

}  // namespace cushim::sim
