// SPDX-License-Identifier: Apache-2.0
#include "kernels/module.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "kernels/cubin.hpp"
#include "kernels/image.hpp"
#include "kernels/registered.hpp"
#include "machine/system.hpp"
#include "memory/rounding.hpp"
#include "objects/texture.hpp"

namespace cushim::sim {

namespace {

constexpr const char *kAborted = "ptxas fatal   : Ptx assembly aborted due to errors";
constexpr std::size_t kSharedGranularity = 128;  // of a block's shared memory, measured on an H200
constexpr std::size_t kStaticGranularity = 16;

// Returns the newest PTX version that a driver's compiler accepts, 900 for 9.0. Each CUDA 13.x adds one.
unsigned newest_ptx(int driver_version) {
  const int major = driver_version / 1000, minor = driver_version % 1000 / 10;
  return static_cast<unsigned>((major - 4) * 100 + minor * 10);
}

// Error codes and messages are those of driver 580 on an H200.
LoadError check_version(const ptx::Module &module, const System &system) {
  const unsigned version = module.version_major * 100 + module.version_minor * 10;
  const unsigned newest = newest_ptx(system.profile.driver_version);
  const auto to_text = [](unsigned number) {
    return std::to_string(number / 100) + "." + std::to_string(number % 100 / 10);
  };
  if (version > newest)
    return {CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            "ptxas application ptx input, line 1; fatal   : Unsupported .version " + to_text(version) +
                "; current version is '" + to_text(newest) + "'"};
  return {};
}

LoadError check_target(const ptx::Module &module, const Device &device) {
  const auto sm = static_cast<int>(module.target.sm);
  if (sm > capability(device) || (module.target.suffix == 'a' && sm != capability(device)))
    return {CUDA_ERROR_INVALID_PTX,
            "ptxas fatal   : SM version specified by .target is higher than default SM version assumed"};
  // PTX without .address_size is treated as 64-bit. Measured, driver 580.
  const bool says_32 = module.address_size == 32 && module.text != nullptr &&
                       module.text->find(".address_size") != std::string::npos;
  if (says_32 && capability(device) >= 90)
    return {CUDA_ERROR_INVALID_PTX,
            "ptxas fatal   :  32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or "
            "higher architectures."};
  return {};
}

bool is_reference(const ptx::Variable &variable) {
  return variable.space == ptx::StateSpace::tex ||
         ptx::type_class(variable.type) == ptx::TypeClass::reference;
}

bool is_in_memory(const ptx::Variable &variable) {
  if (is_reference(variable)) return false;
  return variable.space == ptx::StateSpace::global || variable.space == ptx::StateSpace::const_;
}

// Writes the initial value of a variable. Requires the addresses of all variables in it.
void initialize(System &system, const Module &module, const ptx::Variable &variable, const Global &global) {
  if (global.size == 0) return;
  std::byte *const bytes = system.memory.bytes(global.address, global.size);
  std::memset(bytes, 0, global.size);
  const auto initial = std::as_bytes(std::span(variable.initializer));
  std::ranges::copy(initial.first(std::min(initial.size(), global.size)), bytes);
  for (const ptx::Relocation &relocation : variable.relocations) {
    const auto target = module.globals.find(relocation.name);
    std::uint64_t address = static_cast<std::uint64_t>(relocation.addend);
    if (relocation.symbol.kind == ptx::SymbolKind::function)
      address += ptx::code_window + 16 * std::uint64_t{relocation.symbol.index};
    else if (target != module.globals.end())
      address += target->second.address;
    address >>= relocation.shift;
    if (relocation.size <= global.size && relocation.offset <= global.size - relocation.size)
      std::memcpy(bytes + relocation.offset, &address,
                  std::min<std::size_t>(relocation.size, sizeof address));
  }
}

bool is_unresolved(const ptx::Function &function) {
  return !function.has_body && function.linkage == ptx::Linkage::external && !ptx::implements(function.name);
}

void index_entries(Code &code) {
  for (const ptx::Function &function : code.module.functions) {
    if (!function.is_entry || !function.has_body) continue;
    code.entries.push_back(&function);
    code.entry_by_name.emplace(function.name, &function);
  }
}

// Looks for the PTX of a cubin, and notes for the report where it comes from or that it is missing. Returns
// the limit of registers with which the cubin was compiled; 0 if there is none.
unsigned find_ptx(System &system, Image &image) {
  const std::string key = content_key(*image.cubin);
  Usage::Cubin &cubin = system.cubins[key];
  ++cubin.loads;
  if (auto found = system.ptx_store.find(*image.cubin)) {
    image.ptx = std::move(found->text);
    image.error = CUDA_SUCCESS;
    cubin.ptx_from = std::move(found->origin);
    return found->max_registers;
  }
  image.log =
      "the image is machine code (a cubin, " + key + "), which the simulated driver does not execute, and ";
  image.log += system.ptx_store.folder().empty()
                   ? "no PTX is kept. Run the program by `cushim run`, which keeps the PTX of what NVRTC, "
                     "nvJitLink, nvcc and ptxas make; or load PTX; or register its kernels"
                   : "its PTX is not in " + system.ptx_store.folder() +
                         ". Make it again by NVRTC, nvJitLink, nvcc or ptxas under `cushim run` (clear the "
                         "program's cache of kernels); or load PTX; or register its kernels";
  return 0;
}

// Makes the module's texture and surface references. Their handles are what instructions name.
void make_references(System &system, Module &module, ptx::SymbolAddresses &addresses) {
  const auto make = [&]<class T>(const ptx::Variable &variable,
                                 std::map<std::string, T *, std::less<>> &references) {
    T &made = system.handles.add(std::make_unique<T>());
    made.context = module.context;
    made.module = &module;
    references.emplace(variable.name, &made);
    addresses.emplace(variable.name, made.handle);
  };
  for (const ptx::Variable *const variable : module.code->references) {
    if (variable->type == ptx::Type::surfref)
      make(*variable, module.surface_references);
    else if (variable->type != ptx::Type::samplerref)
      make(*variable, module.texture_references);
  }
}

void destroy_references(System &system, const Module &module) {
  for (const auto &[name, reference] : module.texture_references) system.handles.erase(*reference);
  for (const auto &[name, reference] : module.surface_references) system.handles.erase(*reference);
}

}  // namespace

int capability(const Device &device) {
  return 10 * device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::shared_ptr<const Code> load_code(System &system, const Device &device, const void *data,
                                      std::optional<std::size_t> size, const JitOptions &options,
                                      LoadError &error) {
  Image image = read_image(data, capability(device), size);
  const unsigned max_registers = image.cubin ? find_ptx(system, image) : options.max_registers();
  error = {image.error, image.log};
  if (!image.ptx) {
    auto code = image.cubin
                    ? code_of_cubin(*image.cubin, system.kernels, system.options.skips_kernels, device)
                    : nullptr;
    if (code == nullptr) return nullptr;
    index_entries(*code);
    error = {};
    return code;
  }
  ptx::ParseResult parsed = ptx::parse(*image.ptx);
  // The driver does not see the PTX of a cubin, only the device that the cubin was made for.
  if (!image.cubin) error = check_version(parsed.module, system);
  if (error.code == CUDA_SUCCESS) error = check_target(parsed.module, device);
  if (error.code != CUDA_SUCCESS) {
    if (image.cubin) error.code = CUDA_ERROR_NO_BINARY_FOR_GPU;
    return nullptr;
  }
  if (!parsed.ok()) {
    error = {CUDA_ERROR_INVALID_PTX, parsed.log()};
    if (!error.log.empty() && error.log.back() != '\n') error.log += '\n';
    error.log += kAborted;
    return nullptr;
  }
  auto code = std::make_shared<Code>();
  code->module = std::move(parsed.module);
  code->max_registers = max_registers;
  index_entries(*code);
  for (const ptx::Variable &variable : code->module.variables) {
    if (is_in_memory(variable)) code->variable_by_name.emplace(variable.name, &variable);
    if (is_reference(variable)) code->references.push_back(&variable);
  }
  return code;
}

std::vector<std::string> undefined_functions(const ptx::Module &module) {
  std::vector<std::string> names;
  for (const ptx::Function &user : module.functions)
    for (const ptx::Operand &operand : user.body.operands) {
      if (operand.kind != ptx::OperandKind::symbol || operand.symbol_kind != ptx::SymbolKind::function)
        continue;
      const ptx::Function &used = module.functions[operand.index];
      if (is_unresolved(used) && std::ranges::find(names, used.name) == names.end())
        names.emplace_back(used.name);
    }
  return names;
}

LoadError check_complete(const Code &code) {
  const auto missing = undefined_functions(code.module);
  if (missing.empty()) return {};
  return {CUDA_ERROR_INVALID_PTX, "ptxas fatal   : Unresolved extern function '" + missing.front() + "'"};
}

Module *make_module(System &system, Context &context, std::shared_ptr<const Code> code, LoadError &error) {
  error = check_complete(*code);
  if (error.code != CUDA_SUCCESS) return nullptr;
  auto owned = std::make_unique<Module>();
  Module &module = *owned;
  module.context = &context;
  module.code = std::move(code);
  const auto give_up = [&](LoadError why) {
    error = std::move(why);
    for (const auto &[name, global] : module.globals)
      if (Allocation *const allocation = system.memory.find(global.address))
        system.memory.release(*allocation);
    destroy_references(system, module);
    return nullptr;
  };
  ptx::SymbolAddresses addresses;
  for (const auto &[name, variable] : module.code->variable_by_name) {
    const std::size_t size = std::max<std::size_t>(variable->size, 1);
    Allocation *const allocation = variable->managed
                                       ? system.memory.allocate_on_host(MemoryKind::managed, size)
                                       : system.memory.allocate(*context.device, size);
    if (allocation == nullptr) return give_up({CUDA_ERROR_OUT_OF_MEMORY, ""});
    allocation->context = &context;
    allocation->device = context.device;
    allocation->is_of_module = true;
    if (variable->managed) allocation->flags = CU_MEM_ATTACH_GLOBAL;
    module.globals.emplace(name, Global{allocation->base, variable->size, variable->managed});
    addresses.emplace(name, allocation->base);
  }
  for (const auto &[name, variable] : module.code->variable_by_name)
    initialize(system, module, *variable, module.globals.find(name)->second);
  make_references(system, module, addresses);
  std::vector<ptx::Diagnostic> unsupported;
  module.program = ptx::compile(module.code->module, addresses, unsupported);
  if (!module.program) {
    std::string log;
    for (const ptx::Diagnostic &one : unsupported) log += one.text() + "\n";
    return give_up({CUDA_ERROR_NOT_SUPPORTED, "the simulated driver does not execute this PTX:\n" + log});
  }
  context.modules.insert(&module);
  return &system.handles.add(std::move(owned));
}

void destroy_module(System &system, Module &module) {
  for (const auto &[name, function] : module.functions) system.handles.erase(*function);
  destroy_references(system, module);
  for (const auto &[name, global] : module.globals)
    if (Allocation *const allocation = system.memory.find(global.address)) system.memory.release(*allocation);
  if (module.library != nullptr) module.library->modules.erase(module.context);
  module.context->modules.erase(&module);
  system.handles.erase(module);
}

Function *function_of(System &system, Module &module, std::string_view name) {
  if (const auto known = module.functions.find(name); known != module.functions.end()) return known->second;
  const auto place = module.code->entry_by_name.find(name);
  if (place == module.code->entry_by_name.end()) return nullptr;
  Function &function = system.handles.add(std::make_unique<Function>());
  function.module = &module;
  function.entry = place->second;
  function.name = std::string(name);
  module.functions.emplace(function.name, &function);
  return &function;
}

CUresult error_of_missing(System &system, const Code &code, std::string_view name) {
  if (!code.unregistered.contains(name)) return CUDA_ERROR_NOT_FOUND;
  system.engine.report(
      "the kernel " + std::string(name) +
      " is in a cubin without PTX, and not registered: register it before the cubin is loaded "
      "(sim::Machine::kernel(), cushim run --kernels)");
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

// ---- Resources ----

std::size_t static_shared(const ptx::Function &entry) {
  return rounded_up(static_cast<std::size_t>(entry.body.shared_size), kStaticGranularity);
}

unsigned max_threads(const ptx::Function &entry) {
  const auto &most = entry.performance.maxntid;
  return most ? std::min(1024u, (*most)[0] * (*most)[1] * (*most)[2]) : 1024;
}

namespace {

// Estimates the registers per thread: the real driver's compiler chooses them by rules that are not public.
int registers_of(const ptx::Function &entry, const Code &code) {
  const auto words = [](const ptx::Register &one) {
    return one.type == ptx::Type::pred ? std::size_t{0} : std::size_t{1};
  };
  std::size_t sum = 0;
  for (const ptx::Register &one : entry.body.registers) sum += words(one);
  // The compiler ignores the option for kernels with launch bounds (CUDA C++ Programming Guide 13.0, "Launch
  // Bounds"), which are .maxntid in PTX.
  const bool uses_option = code.max_registers != 0 && !entry.performance.maxntid;
  const unsigned most = entry.performance.maxnreg.value_or(uses_option ? code.max_registers : 255);
  return static_cast<int>(std::clamp<std::size_t>(sum / 2 + 4, 4, std::clamp(most, 4u, 255u)));
}

std::size_t constants_of(const Code &code) {
  std::size_t sum = 0;
  for (const auto &[name, variable] : code.variable_by_name)
    if (variable->space == ptx::StateSpace::const_)
      sum = rounded_up(sum, std::size_t{variable->alignment}) + static_cast<std::size_t>(variable->size);
  return sum;
}

}  // namespace

bool attribute_of(const ptx::Function &entry, const Code &code, const Device &device,
                  const FunctionAttributes &set, int attribute, int &value) {
  if (const auto own = set.find(attribute); own != set.end()) {
    value = own->second;
    return true;
  }
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      value = static_cast<int>(max_threads(entry));
      return true;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      value = static_cast<int>(static_shared(entry));
      return true;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      value = static_cast<int>(constants_of(code));
      return true;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      value = static_cast<int>(rounded_up(static_cast<std::size_t>(entry.body.local_size), 8));
      return true;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      value = registers_of(entry, code);
      return true;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      value = static_cast<int>(code.module.target.sm);
      return true;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      value = capability(device);
      return true;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      value = std::max(0, device.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) -
                              static_cast<int>(static_shared(entry)));
      return true;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      value = -1;
      return true;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
      const auto at = static_cast<std::size_t>(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
      const auto &cluster = entry.performance.reqnctapercluster;
      value = cluster ? static_cast<int>((*cluster)[at]) : 0;
      return true;
    }
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      value = entry.performance.explicitcluster ? 1 : 0;
      return true;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      value = 0;
      return true;
    default:
      return false;
  }
}

CUresult check_attribute(const ptx::Function &entry, const Device &device, int attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      const int most = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) -
                       static_cast<int>(static_shared(entry));
      return value >= 0 && value <= most ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

int max_dynamic_shared(const Function &function) {
  int value = 0;
  attribute_of(*function.entry, *function.module->code, *function.module->context->device, function.set,
               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, value);
  return value;
}

int resident_blocks(const Function &function, int threads, std::size_t dynamic_shared) {
  const ptx::Function &entry = *function.entry;
  const Device &device = *function.module->context->device;
  const auto attribute = [&](CUdevice_attribute which) {
    return static_cast<std::size_t>(std::max(0, device.attribute(which)));
  };
  constexpr std::size_t kWarp = 32, kRegistersOfWarp = 256;
  if (threads > 1024 || dynamic_shared > static_cast<std::size_t>(max_dynamic_shared(function))) return 0;
  const std::size_t warps = (static_cast<std::size_t>(threads) + kWarp - 1) / kWarp;
  std::size_t blocks = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  if (blocks == 0) blocks = 32;
  blocks = std::min(blocks, attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / kWarp / warps);
  const std::size_t shared = static_shared(entry) + dynamic_shared;
  const std::size_t reserved = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  const std::size_t of_block = rounded_up(shared + reserved, kSharedGranularity);
  if (of_block != 0)
    blocks = std::min(blocks, attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / of_block);
  const std::size_t registers =
      rounded_up(static_cast<std::size_t>(registers_of(entry, *function.module->code)) * kWarp,
                 kRegistersOfWarp) *
      warps;
  blocks = std::min(blocks, attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / registers);
  return static_cast<int>(blocks);
}

}  // namespace cushim::sim
