// SPDX-License-Identifier: Apache-2.0
// Contexts: the context stack of the thread, and queries. context_lifetimes.cpp creates and destroys
// contexts.
#include "walk.hpp"

namespace differential {
namespace {

void set_current(Walk &w) {
  const auto context = w.a_context();
  if (CALL(w, cuCtxSetCurrent, context) == CUDA_SUCCESS) w.has_set(context.value);
}

void push(Walk &w) {
  const auto context = w.a_context();
  if (CALL(w, cuCtxPushCurrent, context) == CUDA_SUCCESS) w.has_pushed(context.value);
}

void pop(Walk &w) {
  Result<CUcontext> context("context");
  if (CALL(w, cuCtxPopCurrent, context.argument()) == CUDA_SUCCESS) w.has_popped();
  w.also_name(context);
}

void current(Walk &w) {
  Result<CUcontext> context("context");
  CALL(w, cuCtxGetCurrent, context.argument());
  w.also_name(context);
}

void device(Walk &w) {
  w.call_for_number<CUdevice>("device", [&](auto device) { CALL(w, cuCtxGetDevice, device); });
}

void flags(Walk &w) {
  Result<unsigned> flags("flags");
  CALL(w, cuCtxGetFlags, flags.argument());
  flags.leave_out(CU_CTX_MAP_HOST, "unsigned{CU_CTX_MAP_HOST}");
  w.also_number(flags);
}

void api_version(Walk &w) {
  w.call_for_number<unsigned>("version",
                              [&](auto version) { CALL(w, cuCtxGetApiVersion, w.a_context(), version); });
}

void priorities(Walk &w) {
  Result<int> least("least"), greatest("greatest");
  if (w.dice.once_in(4))
    CALL(w, cuCtxGetStreamPriorityRange, null(), greatest.argument());
  else
    CALL(w, cuCtxGetStreamPriorityRange, least.argument(), greatest.argument());
  w.also_number(least);
  w.also_number(greatest);
}

void limit(Walk &w) {
  Result<std::size_t> size("size");
  const unsigned which = w.dice.below(9);
  CALL(w, cuCtxGetLimit, size.argument(),
       Argument{static_cast<CUlimit>(which), "static_cast<CUlimit>(" + std::to_string(which) + ")"});
  w.also_number(size);
}

void cache_config(Walk &w) {
  w.call_for_number<CUfunc_cache>("config", [&](auto config) { CALL(w, cuCtxGetCacheConfig, config); });
}

void synchronize(Walk &w) { CALL(w, cuCtxSynchronize); }

void primary_state(Walk &w) {
  Result<unsigned> flags("flags");
  Result<int> active("active");
  CALL(w, cuDevicePrimaryCtxGetState, integer(w.dice.once_in(4) ? 99 : 0), flags.argument(),
       active.argument());
  flags.leave_out(CU_CTX_MAP_HOST, "unsigned{CU_CTX_MAP_HOST}");
  w.also_number(flags);
  w.also_number(active);
}

void retain_and_release(Walk &w) {
  if (!w.primary_is_active) return;
  Result<CUcontext> context("context");
  CALL(w, cuDevicePrimaryCtxRetain, context.argument(), integer(0));
  w.also_name(context);
  CALL(w, cuDevicePrimaryCtxRelease, integer(0));
}

void attribute(Walk &w) {
  Result<int> value("value");
  const int which = static_cast<int>(w.dice.below(140));
  CALL(w, cuDeviceGetAttribute, value.argument(),
       Argument{static_cast<CUdevice_attribute>(which),
                "static_cast<CUdevice_attribute>(" + std::to_string(which) + ")"},
       integer(w.dice.once_in(10) ? 77 : 0));
  // Multicast support and the PCI address depend on the machine, so they are not compared.
  if (which != CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED && which != CU_DEVICE_ATTRIBUTE_PCI_BUS_ID &&
      which != CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID && which != CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)
    w.also_number(value);
}

}  // namespace

Choices context_choices() {
  return Choices({
      {3, set_current},
      {3, push},
      {3, pop},
      {2, current},
      {1, device},
      {1, flags},
      {1, api_version},
      {1, priorities},
      {1, limit},
      {1, cache_config},
      waiting(2, synchronize),
      {1, primary_state},
      {1, attribute},
      {1, retain_and_release},
  });
}

}  // namespace differential
