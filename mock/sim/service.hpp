// SPDX-License-Identifier: Apache-2.0
// Which entry points the simulated driver implements, and with what.
#pragma once

#include <cushim/mock/signature.hpp>

#include <memory>
#include <string_view>

#include "call.hpp"

namespace cushim::sim {

// In which state of the driver a call is answered by its function.
enum class When {
  initialized,             // else NOT_INITIALIZED; NOT_PERMITTED inside host functions
  also_in_host_functions,  // else NOT_INITIALIZED
  anytime,                 // or the function asks admit() itself
};

// How far the process is. As the real one, the driver does not work in a child of fork(), nor after its end.
inline constinit std::atomic<bool> is_forked_child{false};
inline constinit std::atomic<bool> is_over{false};

// What the real driver answers before it looks at the arguments; CUDA_SUCCESS if it goes on.
inline CUresult admit(const System &system, When when) {
  if (!system.is_initialized.load(std::memory_order_acquire) ||
      is_forked_child.load(std::memory_order_relaxed))
    return CUDA_ERROR_NOT_INITIALIZED;
  if (is_over.load(std::memory_order_relaxed)) return CUDA_ERROR_DEINITIALIZED;
  if (when == When::initialized && system.engine.is_host_thread()) return CUDA_ERROR_NOT_PERMITTED;
  return CUDA_SUCCESS;
}
inline void require_admitted(const Call &call, When when) {
  if (const CUresult code = admit(call.system, when); code != CUDA_SUCCESS) refuse(code);
}

class Service {
 public:
  // All that is implemented.
  static const Service &all();

  bool serves(int slot) const noexcept { return makers_[slot] != nullptr; }
  // Null where serves() is false and these headers cannot type the row.
  static std::unique_ptr<mock::AnyReceiver> make(System &system, int slot);

  // The function answers the calls of this entry: CUresult function(Call &, arguments...).
  template <Entry entry, auto function, When when = When::initialized>
  void serve() {
    makers_[static_cast<int>(entry)] = [](System &system) -> std::unique_ptr<mock::AnyReceiver> {
      return std::unique_ptr<mock::AnyReceiver>(
          new Served<entry, function, when, mock::Signature<entry>>(system));
    };
  }

 private:
  using Make = std::unique_ptr<mock::AnyReceiver> (*)(System &system);

  template <Entry entry, auto function, When when, class Signature>
  class Served;

  template <Entry entry, auto function, When when, class... Arguments>
  class Served<entry, function, when, CUresult(Arguments...)> final
      : public mock::Receiver<CUresult(Arguments...)> {
   public:
    explicit Served(System &system) : system_(system) {}
    CUresult receive(Arguments... arguments) override {
      constexpr auto slot = static_cast<std::size_t>(entry);
      constexpr std::string_view symbol = detail::symbols[static_cast<int>(entry)];
      constexpr bool per_thread = symbol.ends_with("_ptsz") || symbol.ends_with("_ptds");
      try {
        if constexpr (when != When::anytime) {
          if (const CUresult code = admit(system_, when); code != CUDA_SUCCESS) {
            system_.not_admitted[slot].fetch_add(1, std::memory_order_relaxed);
            return code;
          }
        }
        Call call(system_, symbol.data(), per_thread);
        ++system_.calls[slot];
        return function(call, arguments...);
      } catch (const Refusal &refusal) {
        return refusal.code;
      }
    }

   private:
    System &system_;
  };

  Service();

  Make makers_[CUSHIM_ENTRY_COUNT] = {};
};

// One for each noun, in the file of its calls.
void serve_initialization(Service &service);
void serve_lookup(Service &service);
void serve_errors(Service &service);
void serve_devices(Service &service);
void serve_contexts(Service &service);
void serve_primary_contexts(Service &service);
void serve_streams(Service &service);
void serve_events(Service &service);
void serve_host_functions(Service &service);
void serve_memory_operations(Service &service);
void serve_device_memory(Service &service);
void serve_host_memory(Service &service);
void serve_managed_memory(Service &service);
void serve_pointers(Service &service);
void serve_copies(Service &service);
void serve_box_copies(Service &service);
void serve_sets(Service &service);
void serve_arrays(Service &service);
void serve_mipmapped_arrays(Service &service);
void serve_array_copies(Service &service);
void serve_pools(Service &service);
void serve_peers(Service &service);
void serve_ipc_memory(Service &service);
void serve_ipc_events(Service &service);

}  // namespace cushim::sim
