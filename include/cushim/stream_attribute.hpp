// SPDX-License-Identifier: Apache-2.0
// The attributes of streams.
#pragma once

#include <cushim/load.h>
#include <cushim/detail/cxx20.hpp>

namespace cushim {
inline namespace v1 {

// A stream attribute. Its value is the member of type T of CUstreamAttrValue.
template <class T>
struct StreamAttribute {
  CUstreamAttrID id;
  T CUstreamAttrValue::*member;
};

namespace stream_attribute {
inline constexpr StreamAttribute<CUaccessPolicyWindow> access_policy_window{
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &CUstreamAttrValue::accessPolicyWindow};
inline constexpr StreamAttribute<CUsynchronizationPolicy> synchronization_policy{
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &CUstreamAttrValue::syncPolicy};
inline constexpr StreamAttribute<int> priority{CU_LAUNCH_ATTRIBUTE_PRIORITY, &CUstreamAttrValue::priority};
#if CUDA_VERSION >= 12000
inline constexpr StreamAttribute<CUlaunchMemSyncDomainMap> mem_sync_domain_map{
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &CUstreamAttrValue::memSyncDomainMap};
inline constexpr StreamAttribute<CUlaunchMemSyncDomain> mem_sync_domain{CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                                                                        &CUstreamAttrValue::memSyncDomain};
#endif
}  // namespace stream_attribute

}  // namespace v1
}  // namespace cushim
