// SPDX-License-Identifier: Apache-2.0
#include "hazards/kernel_knowledge.hpp"

#include <algorithm>
#include <cstring>

#include <cushim/detail/packed_parameters.hpp>

namespace cushim::check {
namespace {

using Kernel = mock::EnqueuedKernel;
using Parameters = std::vector<Kernel::Parameter>;

constexpr std::size_t kAddress = sizeof(CUdeviceptr);

// Returns the buffer of the launch's parameters that the program has packed.
std::vector<std::byte> packed(void *const *extra) {
  const mock::PackedParameters packed = mock::packed_parameters(extra);
  if (packed.bytes == nullptr) return {};
  const auto *const first = reinterpret_cast<const std::byte *>(packed.bytes);
  return {first, first + packed.size};
}

// Calls `visit` with each aligned number of a parameter that may be an address.
template <class Visit>
void for_each_number(const Kernel &kernel, const Kernel::Parameter &parameter, Visit visit) {
  std::size_t at = (parameter.offset + kAddress - 1) / kAddress * kAddress;
  const std::size_t end = std::min(parameter.offset + parameter.size, kernel.values.size());
  for (; at + kAddress <= end; at += kAddress) {
    std::uint64_t number = 0;
    std::memcpy(&number, kernel.values.data() + at, kAddress);
    visit(number);
  }
}

Access::Kind kind_of(mock::ParameterUse use) {
  if (use == mock::ParameterUse::unknown) return Access::Kind::unknown;
  return use == mock::ParameterUse::read ? Access::Kind::read : Access::Kind::write;
}

}  // namespace

const KernelKnowledge::Known &KernelKnowledge::known(CUfunction function) {
  const auto [found, is_new] = known_.try_emplace(function);
  if (!is_new) return found->second;
#if CUDA_VERSION >= 12030
  const char *name = nullptr;
  if (driver.cuFuncGetName(&name, function) == CUDA_SUCCESS && name != nullptr) found->second.name = name;
#endif
#if CUDA_VERSION >= 12040
  Parameters parameters;
  Kernel::Parameter next;
  CUresult result;
  while ((result = driver.cuFuncGetParamInfo(function, parameters.size(), &next.offset, &next.size)) ==
         CUDA_SUCCESS)
    parameters.push_back(next);
  // An index behind the last parameter. A driver without the entry point returns another error.
  if (result == CUDA_ERROR_INVALID_VALUE) found->second.parameters = std::move(parameters);
#endif
  return found->second;
}

Kernel KernelKnowledge::ask(CUfunction function, void *const *pointers, void *const *extra) {
  const Known &known = this->known(function);
  Kernel kernel{.function = function, .name = known.name, .parameters = {}, .values = {}, .record = nullptr};
  if (known.parameters) kernel.parameters = *known.parameters;
  if (extra != nullptr) {
    kernel.values = packed(extra);
    if (!known.parameters) kernel.parameters.push_back({0, kernel.values.size()});
  } else if (pointers != nullptr && known.parameters) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      const auto &[offset, size, use] = kernel.parameters[i];
      kernel.values.resize(std::max(kernel.values.size(), offset + size));
      std::memcpy(kernel.values.data() + offset, pointers[i], size);
    }
  }
  return kernel;
}

std::vector<KernelKnowledge::PointerUse> KernelKnowledge::pointers_of(const Kernel &kernel,
                                                                      const HazardModel &model) const {
  std::vector<PointerUse> uses;
  if (!options_.checks_kernels) return uses;
  const auto add = [&](std::uint64_t address, Access::Kind kind) {
    if (model.is_known(address)) uses.push_back({address, kind});
  };
  const auto described = options_.kernels.find(kernel.name);
  if (described != options_.kernels.end() && kernel.record == nullptr) {
    for (const auto &[indices, kind] : {std::pair(&described->second.reads, Access::Kind::read),
                                        std::pair(&described->second.writes, Access::Kind::write)})
      for (const std::size_t index : *indices)
        if (index < kernel.parameters.size())
          for_each_number(kernel, kernel.parameters[index],
                          [&, kind = kind](std::uint64_t number) { add(number, kind); });
    return uses;
  }
  for (const Kernel::Parameter &parameter : kernel.parameters)
    for_each_number(kernel, parameter, [&](std::uint64_t number) { add(number, kind_of(parameter.use)); });
  return uses;
}

std::shared_ptr<const NamedWork> named(const Kernel &kernel) {
  const std::string name = kernel.name.empty() ? "a kernel" : "kernel " + kernel.name;
  return std::make_shared<NamedWork>(NamedWork{.name = name, .is_kernel = true, .record = kernel.record});
}

}  // namespace cushim::check
