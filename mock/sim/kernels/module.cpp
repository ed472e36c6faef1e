// SPDX-License-Identifier: Apache-2.0
#include "kernels/module.hpp"
#include "kernels/image_queries.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <thread>

#include "kernels/cubin.hpp"
#include "kernels/image.hpp"
#include "kernels/image_queries.hpp"
#include "kernels/linked_image.hpp"
#include "kernels/ptx_text.hpp"
#include "kernels/registered.hpp"
#include "machine/system.hpp"
#include "memory/rounding.hpp"
#include "objects/texture.hpp"

namespace cushim::sim {

namespace {

constexpr const char *kAborted = "ptxas fatal   : Ptx assembly aborted due to errors";

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

// Checks whether the compiler accepts the options for PTX. Measured, driver 580.
LoadError check_options(const JitOptions &options) {
  constexpr int kTargets[] = {50, 52, 60, 61, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121};
  const auto target = options.target();
  if (target && std::ranges::find(kTargets, *target) == std::end(kTargets))
    return {CUDA_ERROR_INVALID_IMAGE, ""};
  if (options.has_sm3x_option()) return {CUDA_ERROR_INVALID_PTX, ""};  // of an older compiler
  const unsigned level = options.optimization_level();
  if (level > static_cast<unsigned>(std::numeric_limits<int>::max()))
    return {CUDA_ERROR_INVALID_PTX,
            "ptxas fatal   : 32-bit integer value (" + std::to_string(level) + ") out of range"};
  if (options.has_debug_info() && level != 0)
    return {CUDA_ERROR_INVALID_PTX, "ptxas fatal   : Optimized debugging not supported"};
  return {};
}

// Checks whether PTX can be compiled for CU_JIT_TARGET. Measured, driver 580.
LoadError check_option_target(const ptx::Module &module, int target) {
  if (static_cast<int>(module.target.sm) > target)
    return {CUDA_ERROR_INVALID_PTX,
            "ptxas fatal   : SM version specified by .target is higher than default SM version assumed"};
  return {};
}

// Checks the head of PTX, which is not that of a cubin, and the options of its compilation.
LoadError check_compilation(const ptx::Module &module, const Device &device, const JitOptions &options,
                            const System &system) {
  if (LoadError error = check_options(options); error.code != CUDA_SUCCESS) return error;
  if (LoadError error = check_version(module, system); error.code != CUDA_SUCCESS) return error;
  if (LoadError error = check_target(module, device); error.code != CUDA_SUCCESS) return error;
  const auto target = options.target();
  return target ? check_option_target(module, *target) : LoadError{};
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
  // Managed memory is new, hence zero. Neither takes storage for zeros: a small image may declare large
  // variables.
  if (!global.is_managed) system.memory.clear(global.address, global.size);
  std::byte *const bytes = system.memory.bytes(global.address, global.size);
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

void index_entries(Code &code) {
  for (const ptx::Function &function : code.module.functions) {
    if (!function.is_entry || !function.has_body) continue;
    if (asks_more_than_extents(code.module, function, ptx::Opcode::txq)) continue;
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

// Parses the PTX of an image. Functions that the PTX of a cubin does not define and no kernel reaches become
// traps: the linker that made the cubin did not need them.
ptx::ParseResult parse_image(const Image &image) {
  ptx::ParseResult parsed = ptx::parse(*image.ptx);
  if (!image.cubin || !parsed.ok()) return parsed;
  std::vector<std::string> unused = undefined_functions(parsed.module);
  const auto needed = reachable_undefined_functions(parsed.module);
  std::erase_if(unused,
                [&](const std::string &name) { return std::ranges::find(needed, name) != needed.end(); });
  return unused.empty() ? std::move(parsed) : ptx::parse(with_traps(*image.ptx, unused));
}

std::shared_ptr<const Code> parse_code(System &system, const Device &device, const void *data,
                                       std::optional<std::size_t> size, const JitOptions &options,
                                       LoadError &error) {
  Image image = read_image(data, capability(device), size);
  auto linked = image.cubin ? linked_image_in(*image.cubin) : std::nullopt;
  if (linked && !runs_machine_code(linked->machine_target, capability(device))) {
    error = {CUDA_ERROR_NO_BINARY_FOR_GPU, ""};
    return nullptr;
  }
  unsigned max_registers = 0;
  if (linked) {
    image.ptx = std::move(linked->ptx);
    image.error = CUDA_SUCCESS;
  } else {
    max_registers = image.cubin ? find_ptx(system, image) : options.max_registers();
  }
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
  ptx::ParseResult parsed = parse_image(image);
  // The driver does not see the PTX of a cubin, only the device that the cubin was made for.
  error = image.cubin ? check_target(parsed.module, device)
                      : check_compilation(parsed.module, device, options, system);
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
  const bool is_available = std::ranges::none_of(parsed.module.functions, [&](const ptx::Function &function) {
    return asks_more_than_extents(parsed.module, function, ptx::Opcode::suq);
  });
  if (!is_available) {
    error = {CUDA_ERROR_NOT_SUPPORTED, ""};
    return nullptr;
  }
  auto code = std::make_shared<Code>();
  code->module = std::move(parsed.module);
  code->max_registers = max_registers;
  code->ptx_target = linked ? linked->oldest_target : code->module.target.sm;
  index_entries(*code);
  if (!image.cubin) {
    code->compiled_for = options.target();
    if (options.has_debug_info()) std::ranges::reverse(code->entries);
  }
  for (const ptx::Variable &variable : code->module.variables) {
    if (is_in_memory(variable)) code->variable_by_name.emplace(variable.name, &variable);
    if (is_reference(variable)) code->references.push_back(&variable);
  }
  return code;
}

void note(System &system, const LoadError &error) {
  if (error.code == CUDA_ERROR_INVALID_PTX || error.code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    system.compiler_errors[std::this_thread::get_id()] = error.code;
}

}  // namespace

int capability(const Device &device) {
  return 10 * device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::shared_ptr<const Code> load_code(System &system, const Device &device, const void *image,
                                      std::optional<std::size_t> size, const JitOptions &options,
                                      LoadError &error) {
  auto code = parse_code(system, device, image, size, options, error);
  if (code == nullptr) note(system, error);
  return code;
}

std::shared_ptr<const Code> load_complete_code(System &system, const Device &device, const void *image,
                                               std::optional<std::size_t> size, const JitOptions &options,
                                               LoadError &error) {
  auto code = load_code(system, device, image, size, options, error);
  if (code == nullptr) return nullptr;
  error = check_complete(*code);
  note(system, error);
  return error.code == CUDA_SUCCESS ? code : nullptr;
}

LoadError check_device(const Code &code, const Device &device) {
  if (code.compiled_for && !runs_machine_code(*code.compiled_for, capability(device)))
    return {CUDA_ERROR_INVALID_SOURCE, ""};
  return {};
}

Module *make_module(System &system, Context &context, std::shared_ptr<const Code> code, LoadError &error) {
  error = check_device(*code, *context.device);
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
    Allocation *const allocation =
        variable->managed ? system.memory.allocate_on_host(MemoryKind::managed, size)
                          : system.memory.allocate(*context.device, size, Memory::owner_of(context));
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
  module.program =
      ptx::compile(module.code->module, addresses, unsupported, {.counts = system.options.profiles_kernels});
  if (!module.program) {
    std::string log;
    for (const ptx::Diagnostic &one : unsupported) log += one.text() + "\n";
    return give_up({CUDA_ERROR_NOT_SUPPORTED, "the simulated driver does not execute this PTX:\n" + log});
  }
  if (system.options.models_kernel_times)
    module.sampled = ptx::compile(module.code->module, addresses, unsupported, {.costs = true});
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

}  // namespace cushim::sim
