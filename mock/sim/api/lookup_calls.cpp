// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>

#include <cushim/detail/lookup.hpp>
#include "api/service.hpp"

namespace cushim::sim {
namespace {

// Records a name that was not found, for the usage report.
CUresult noted(Call &call, CUresult result, const char *name, void *const *function) {
  if (name != nullptr && function != nullptr && *function == nullptr && result != CUDA_ERROR_INVALID_VALUE)
    call.system.not_found.insert(name);
  return result;
}

// In a libcuda.so.1, looks up a name that is not implemented as dlsym would: `*function` becomes an entry
// point that reports the call and returns CUDA_ERROR_NOT_SUPPORTED. Programs that look up all functions
// first, such as Python's bindings, would otherwise get null, without a report of the missing function.
bool is_unimplemented(const System &system, const char *name, void **function, int version,
                      cuuint64_t flags) {
  if (!system.options.is_library || name == nullptr || function == nullptr || *function != nullptr)
    return false;
  if (version < 0) version = system.driver_slot.driver().version();
  const mock::Function not_served =
      system.driver_slot.function(cushim_find_version(name, version, (flags & 2) != 0));
  if (not_served != nullptr) std::memcpy(function, &not_served, sizeof not_served);
  return not_served != nullptr;
}

CUresult get_address(Call &call, const char *name, void **function, int version, cuuint64_t flags) {
  const CUresult result = mock::look_up(call.system.driver_slot, name, function, version, flags);
  if (result == CUDA_ERROR_NOT_FOUND && is_unimplemented(call.system, name, function, version, flags))
    return CUDA_SUCCESS;
  return noted(call, result, name, function);
}

#if CUDA_VERSION >= 12000
CUresult get_address_and_status(Call &call, const char *name, void **function, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *status) {
  const CUresult result = mock::look_up(call.system.driver_slot, name, function, version, flags, status);
  if (result == CUDA_SUCCESS && is_unimplemented(call.system, name, function, version, flags)) {
    if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
  }
  return noted(call, result, name, function);
}
#endif

// The table that NVRTC asks for when it compiles. NVRTC works without it. Observed with NVRTC 12.9 and 13.0.
constexpr unsigned char kTableOfNvrtc[] = {0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41,
                                           0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3, 0x28};
bool is_of_nvrtc(const CUuuid &table) { return std::memcmp(&table, kTableOfNvrtc, sizeof table) == 0; }

// Export tables are an undocumented interface of NVIDIA's libraries. The simulated driver has none.
CUresult get_export_table(Call &call, const void **table, const CUuuid *id) {
  require(table != nullptr && id != nullptr);
  if (call.system.options.is_library && !call.system.has_reported_runtime && !is_of_nvrtc(*id)) {
    call.system.has_reported_runtime = true;
    std::fprintf(
        stderr,
        "cushim[sim]: this program carries a library of NVIDIA's, as a rule the runtime (libcudart), that "
        "works with NVIDIA's driver only; what it does through the driver's own functions (cu*) works "
        "here, the rest needs a machine with a GPU\n");
  }
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace

constinit const Entries entries_of_lookup = {
    entry<"cuGetProcAddress", get_address, When::anytime>,
#if CUDA_VERSION >= 12000
    entry<"cuGetProcAddress", get_address_and_status, When::anytime>,
#endif
    entry<"cuGetExportTable", get_export_table, When::anytime>,
};

}  // namespace cushim::sim
