// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "../pool/lookup.hpp"
#include "service.hpp"

namespace cushim::sim {
namespace {

// Names that were looked up in vain stand in the report.
CUresult noted(Call &call, CUresult result, const char *name, void *const *function) {
  if (name != nullptr && function != nullptr && *function == nullptr && result != CUDA_ERROR_INVALID_VALUE)
    call.system.not_found.insert(name);
  return result;
}

CUresult get_address(Call &call, const char *name, void **function, int version, cuuint64_t flags) {
  const CUresult result = mock::look_up(call.system.frame, name, function, version, flags);
  return noted(call, result, name, function);
}

#if CUDA_VERSION >= 12000
CUresult get_address_and_status(Call &call, const char *name, void **function, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *status) {
  const CUresult result = mock::look_up(call.system.frame, name, function, version, flags, status);
  return noted(call, result, name, function);
}
#endif

// What NVIDIA's own libraries ask each other is not known to the public. There is none of it here.
CUresult get_export_table(Call &call, const void **table, const CUuuid *id) {
  require(table != nullptr && id != nullptr);
  if (call.system.options.is_library && !call.system.has_told_of_runtime) {
    call.system.has_told_of_runtime = true;
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

void serve_lookup(Service &service) {
  service.serve<Entry::cuGetProcAddress_v11030, get_address, When::anytime>();
#if CUDA_VERSION >= 12000
  service.serve<Entry::cuGetProcAddress_v12000, get_address_and_status, When::anytime>();
#endif
  service.serve<Entry::cuGetExportTable_v3000, get_export_table, When::anytime>();
}

}  // namespace cushim::sim
