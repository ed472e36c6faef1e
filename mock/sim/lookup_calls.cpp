// SPDX-License-Identifier: Apache-2.0
#include "../pool/lookup.hpp"
#include "service.hpp"

namespace cushim::sim {
namespace {

CUresult get_address(Call &call, const char *name, void **function, int version, cuuint64_t flags) {
  return mock::look_up(call.system.frame, name, function, version, flags);
}

#if CUDA_VERSION >= 12000
CUresult get_address_and_status(Call &call, const char *name, void **function, int version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *status) {
  return mock::look_up(call.system.frame, name, function, version, flags, status);
}
#endif

// What NVIDIA's own libraries ask each other is not known to the public. There is none of it here.
CUresult get_export_table(Call &, const void **table, const CUuuid *id) {
  require(table != nullptr && id != nullptr);
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
