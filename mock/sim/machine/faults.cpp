// SPDX-License-Identifier: Apache-2.0
#include "machine/faults.hpp"

#include <stdexcept>

#include "machine/system.hpp"

namespace cushim::sim {

mock::FaultRules fault_rules(const std::string &text, std::size_t devices) {
  mock::FaultRules rules = mock::read_fault_rules(text);
  for (const mock::FaultRule &rule : rules) {
    std::optional<int> device;
    if (const auto *const limit = std::get_if<mock::MemoryLimit>(&rule.what)) device = limit->device;
    if (const auto *const loss = std::get_if<mock::DeviceLoss>(&rule.what)) device = loss->device;
    if (device && static_cast<std::size_t>(*device) >= devices)
      throw std::invalid_argument("faults:" + std::to_string(rule.line) + ":" + std::to_string(rule.column) +
                                  ": there is no device " + std::to_string(*device) +
                                  "; the last device of the machine is " + std::to_string(devices - 1));
  }
  return rules;
}

MachineFaults::MachineFaults(System &system, const mock::FaultRules &rules)
    : system_(system), faults_(system.driver_slot.driver(), rules, *this) {
  for (const mock::FaultRule &rule : rules)
    if (const auto *const limit = std::get_if<mock::MemoryLimit>(&rule.what))
      limits_.push_back({rule.text, *limit});
}

bool MachineFaults::forbids(int device, std::size_t in_use, const char *call) {
  for (const auto &[rule, limit] : limits_) {
    if (limit.device.value_or(device) != device || in_use <= limit.bytes) continue;
    faults_.record_limit(rule, call);
    return true;
  }
  return false;
}

std::chrono::nanoseconds MachineFaults::now() const {
  const std::lock_guard lock(system_.mutex);
  return std::chrono::nanoseconds(system_.engine.now());
}

void MachineFaults::fault(CUcontext handle, CUresult result) {
  const std::lock_guard lock(system_.mutex);
  if (Context *const context = system_.handles.find<Context>(handle)) system_.lose_context(*context, result);
}

CUresult MachineFaults::fault_of(CUcontext handle) {
  const std::lock_guard lock(system_.mutex);
  const Context *const context = system_.handles.find<Context>(handle);
  return context != nullptr ? context->fault : CUDA_SUCCESS;
}

void MachineFaults::lose_device(int index, CUresult result) {
  const std::lock_guard lock(system_.mutex);
  Device &device = *system_.devices[static_cast<std::size_t>(index)];
  device.is_gone = true;
  system_.lose_device(device, result);
}

}  // namespace cushim::sim
