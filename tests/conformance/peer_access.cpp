// SPDX-License-Identifier: Apache-2.0
#include "conformance.hpp"

namespace conformance {
namespace {

class PeerAccess : public OnDevice {};

STATEMENT(PeerAccess, A_device_can_be_asked_about_itself, driver().cuDeviceCanAccessPeer(&number, 0, 0),
          CUDA_SUCCESS)
STATEMENT(PeerAccess, Asking_needs_a_place, driver().cuDeviceCanAccessPeer(nullptr, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerAccess, Asking_needs_a_device, driver().cuDeviceCanAccessPeer(&number, 99, 0),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PeerAccess, Asking_needs_a_peer, driver().cuDeviceCanAccessPeer(&number, 0, 99),
          CUDA_ERROR_INVALID_DEVICE)
STATEMENT(PeerAccess, To_the_own_context_is_not_given, driver().cuCtxEnablePeerAccess(context, 0),
          CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
STATEMENT(PeerAccess, To_no_context_is_not_given, driver().cuCtxEnablePeerAccess(nullptr, 0),
          CUDA_ERROR_INVALID_CONTEXT)
STATEMENT(PeerAccess, To_no_context_is_refused_before_flags, driver().cuCtxEnablePeerAccess(nullptr, 1),
          CUDA_ERROR_INVALID_CONTEXT)
STATEMENT(PeerAccess, With_flags_is_not_given, driver().cuCtxEnablePeerAccess(context, 1),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerAccess, To_another_context_of_the_device_is_not_given,
          driver().cuCtxEnablePeerAccess(other_context(), 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
STATEMENT(PeerAccess, To_no_context_is_not_ended, driver().cuCtxDisablePeerAccess(nullptr),
          CUDA_ERROR_INVALID_CONTEXT)
STATEMENT(PeerAccess, To_the_own_context_is_not_ended, driver().cuCtxDisablePeerAccess(context),
          CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)

const bool attributes = [] {
  static constexpr int codes[] = {101, 101, 101, 101, 101, 101, 101};
  for (int attribute = 0; attribute < 7; ++attribute) {
    const auto index = static_cast<std::size_t>(attribute);
    const CUresult expected = static_cast<CUresult>(index < std::size(codes) ? codes[index] : 0);
    ADD_TEST(PeerAccess, "A_device_and_itself_do_not_have_the_attribute_" + std::to_string(attribute),
             [=](OnDevice &test) {
               expect_answer(__FILE__, __LINE__, "cuDeviceGetP2PAttribute(&number, attribute, 0, 0)",
                             driver().cuDeviceGetP2PAttribute(
                                 &test.number, static_cast<CUdevice_P2PAttribute>(attribute), 0, 0),
                             expected);
             });
  }
  return true;
}();
STATEMENT(PeerAccess, An_attribute_needs_a_place,
          driver().cuDeviceGetP2PAttribute(nullptr, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 0, 0),
          CUDA_ERROR_INVALID_VALUE)
STATEMENT(PeerAccess, An_attribute_needs_a_device,
          driver().cuDeviceGetP2PAttribute(&number, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 99, 0),
          CUDA_ERROR_INVALID_DEVICE)

}  // namespace
}  // namespace conformance
