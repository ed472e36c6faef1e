// SPDX-License-Identifier: Apache-2.0
// NVRTC keeps PTX and cubin of a program side by side: nvrtcGetPTX returns what nvrtcGetCUBIN was made from.
#include <exception>

#include "recorder.hpp"

namespace cushim::recorder {

namespace {

struct Nvrtc {
  Nvrtc() = default;
  explicit Nvrtc(const link_map &library) {
    is_complete = find_function(library, "nvrtcGetCUBIN", get_cubin) &&
                  find_function(library, "nvrtcGetCUBINSize", get_cubin_size) &&
                  find_function(library, "nvrtcGetPTX", get_ptx) &&
                  find_function(library, "nvrtcGetPTXSize", get_ptx_size);
  }
  explicit operator bool() const { return is_complete; }

  int (*get_cubin)(void *program, char *cubin) = nullptr;
  int (*get_cubin_size)(void *program, std::size_t *) = nullptr;
  int (*get_ptx)(void *program, char *ptx) = nullptr;
  int (*get_ptx_size)(void *program, std::size_t *) = nullptr;
  bool is_complete = false;
};

Libraries<Nvrtc> libraries;

void keep_ptx(const Nvrtc &nvrtc, void *program, const char *cubin) try {
  std::size_t size = 0, ptx_size = 0;
  if (nvrtc.get_cubin_size(program, &size) != 0 || nvrtc.get_ptx_size(program, &ptx_size) != 0) return;
  std::string ptx(ptx_size, '\0');
  if (size != 0 && ptx_size > 1 && nvrtc.get_ptx(program, ptx.data()) == 0) keep({cubin, size}, ptx, "NVRTC");
} catch (const std::exception &) {
  return;  // out of memory: the driver reports that it has no PTX
}

template <std::size_t Slot>
int get_cubin(void *program, char *cubin) {
  const Nvrtc &nvrtc = libraries[Slot];
  const int result = nvrtc.get_cubin(program, cubin);
  if (result == 0) keep_ptx(nvrtc, program, cubin);
  return result;
}

}  // namespace

void *replace_nvrtc(const link_map &library, std::string_view name) {
  if (name != "nvrtcGetCUBIN") return nullptr;
  return with_slot<decltype(libraries)::kMost>(libraries.slot_of(library), [](auto slot) {
    return reinterpret_cast<void *>(get_cubin<decltype(slot)::value>);
  });
}

void forget_nvrtc(const link_map &library) { libraries.forget(library); }

}  // namespace cushim::recorder
