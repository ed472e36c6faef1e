// SPDX-License-Identifier: Apache-2.0
// cuLink*: links inputs into one image, which contains PTX instead of machine code. Error codes and messages
// are those of driver 580 on an H200.
#include <ar.h>

#include <thread>

#include "api/service.hpp"
#include "kernels/cubin.hpp"
#include "kernels/image.hpp"
#include "kernels/jit_options.hpp"
#include "kernels/linked_image.hpp"
#include "kernels/object_file.hpp"
#include "kernels/ptx_text.hpp"

namespace cushim::sim {
namespace {

CUresult create(Call &call, unsigned count, CUjit_option *names, void **values, CUlinkState *out) {
  Context &context = call.context();
  const JitOptions options{count, names, values};
  require(out != nullptr && options.are_accepted(JitUse::link));
  Link &link = call.system.handles.add(std::make_unique<Link>());
  link.context = &context;
  // The option arrays must exist as long as the link, as the documentation of cuLinkCreate says.
  link.options = options;
  link.log_sizes = options.log_sizes();
  *out = reinterpret_cast<CUlinkState>(link.handle);
  return CUDA_SUCCESS;
}

void add_line(std::string &log, const std::string &line) {
  if (!log.empty() && !line.empty()) log += '\n';
  log += line;
}

// The code of an input, or of a part of it, and its description by the call.
struct Input {
  std::string_view bytes;
  CUjitInputType type;
  std::string name;
  unsigned max_registers = 0;
  JitOptions options{};
};

// The options of a link, then those of one input, which take their place. CU_JIT_NEW_SM3X_OPT of an input has
// no effect. Measured on an H200, driver 580.
class InputOptions {
 public:
  InputOptions(const JitOptions &link, const JitOptions &input)
      : names_(link.names, link.names + link.count), values_(link.values, link.values + link.count) {
    for (unsigned i = 0; i < input.count; ++i) {
      if (input.names[i] == CU_JIT_NEW_SM3X_OPT) continue;
      names_.push_back(input.names[i]);
      values_.push_back(input.values[i]);
    }
  }
  JitOptions view() { return {static_cast<unsigned>(names_.size()), names_.data(), values_.data()}; }

 private:
  std::vector<CUjit_option> names_;
  std::vector<void *> values_;
};

bool is_elf(std::string_view bytes) { return bytes.starts_with("\177ELF"); }

// Returns the error for content that is not of the input's type. Sets `images` to the device code of an
// object file or an archive.
LoadError check_type(const Input &input, std::optional<std::vector<DeviceImage>> &images) {
  const bool is_code = is_cubin(input.bytes.data(), input.bytes.size());
  if (input.type == CU_JIT_INPUT_CUBIN) {
    if (is_code) return {};
    return is_elf(input.bytes) ? LoadError{CUDA_ERROR_UNKNOWN, "fatal   : Unknown arch name ''"}
                               : LoadError{CUDA_ERROR_INVALID_IMAGE, ""};
  }
  if (input.type == CU_JIT_INPUT_PTX || input.type == CU_JIT_INPUT_FATBINARY) return {};
  if (!is_code) images = device_images(input.bytes);
  if (input.type == CU_JIT_INPUT_OBJECT) {
    if (!is_elf(input.bytes))
      return {CUDA_ERROR_UNKNOWN, "fatal   : Could not find fatbin in '" + input.name + "'"};
  } else if (!images || is_elf(input.bytes)) {
    // A file that is too short for a member's header is invalid without a message.
    if (input.bytes.size() < sizeof(ar_hdr)) return {CUDA_ERROR_INVALID_IMAGE, ""};
    return {CUDA_ERROR_UNKNOWN, "fatal   : unexpected archive format"};
  }
  return !images || images->empty() ? LoadError{CUDA_ERROR_INVALID_IMAGE, ""} : LoadError{};
}

// Returns the compiler's last error in this thread.
CUresult compiler_error(const System &system) {
  const auto found = system.compiler_errors.find(std::this_thread::get_id());
  return found != system.compiler_errors.end() ? found->second : CUDA_SUCCESS;
}

// Returns the error of inputs that do not fit together. It depends on the compiler's last error, although
// that was reported before. Measured, driver 580.
CUresult error_of_linking(const System &system) {
  return compiler_error(system) == CUDA_ERROR_INVALID_PTX ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_INVALID_SOURCE;
}

// Returns an error if an earlier input defines a visible name of the module; else notes its names.
LoadError define(const System &system, Link &link, const ptx::Module &module, const std::string &input) {
  std::map<std::string, std::string, std::less<>> defined;
  for (const ptx::Function &function : module.functions)
    if (function.has_body && function.linkage == ptx::Linkage::visible) defined.emplace(function.name, input);
  for (const ptx::Variable &variable : module.variables)
    if (variable.linkage == ptx::Linkage::visible) defined.emplace(variable.name, input);
  std::string log;
  for (const auto &[name, file] : defined)
    if (const auto first = link.definitions.find(name); first != link.definitions.end())
      add_line(log, "error   : Multiple definition of '" + name + "' in '" + file + "', first defined in '" +
                        first->second + "'");
  if (!log.empty()) return {link.failure = error_of_linking(system), log};
  link.definitions.merge(defined);
  return {};
}

// Adds PTX, a fat binary or a cubin. `is_member`: of an object file or an archive.
LoadError add_image(Call &call, Link &link, const Input &input, bool is_member) {
  const Device &device = *link.context->device;
  const Image image = read_image(input.bytes.data(), capability(device), input.bytes.size());
  // A linked image is not relocatable.
  if (image.cubin && linked_image_in(*image.cubin)) return {CUDA_ERROR_NO_BINARY_FOR_GPU, ""};
  LoadError error;
  const auto code =
      load_code(call.system, device, input.bytes.data(), input.bytes.size(), input.options, error);
  if (code == nullptr) {
    // A fat binary without code for the device adds nothing. Measured on an H200, driver 580.
    const bool may_lack_code = is_member || (input.type == CU_JIT_INPUT_FATBINARY && !image.cubin);
    if (!may_lack_code || error.code != CUDA_ERROR_NO_BINARY_FOR_GPU) return error;
    // Machine code without PTX is left out: an archive may contain it without need.
    if (image.cubin)
      for (std::string &function : functions_of(*image.cubin))
        link.machine_functions.insert(std::move(function));
    else
      add_line(link.info_log, " No code for sm_" + std::to_string(capability(device)) + " in " + input.name +
                                  "; continuing.");
    return {};
  }
  if (code->is_machine_code) return {CUDA_ERROR_NO_BINARY_FOR_GPU, "the kernels of the cubin are registered"};
  // A link that has failed stays so. Measured, driver 580.
  if (link.failure != CUDA_SUCCESS) return {link.failure, ""};
  if (LoadError twice = define(call.system, link, code->module, input.name); twice.code != CUDA_SUCCESS)
    return twice;
  for (std::string &function : undefined_functions(code->module))
    link.references.push_back({std::move(function), input.name});
  const bool is_compiled = !image.cubin && input.max_registers != 0;
  const unsigned limit = is_compiled ? input.max_registers : code->max_registers;
  append_ptx(link.text, limit != 0 ? with_register_limit(*code->module.text, limit) : *code->module.text);
  const std::uint32_t target = code->ptx_target;
  link.oldest_target = link.oldest_target == 0 ? target : std::min(link.oldest_target, target);
  return {};
}

LoadError add_parts(Call &call, Link &link, const Input &input) {
  std::optional<std::vector<DeviceImage>> images;
  if (LoadError error = check_type(input, images); error.code != CUDA_SUCCESS) return error;
  if (!images) return add_image(call, link, input, false);
  for (const DeviceImage &image : *images) {
    Input part = input;
    part.bytes = image.bytes;
    if (LoadError error = add_image(call, link, part, true); error.code != CUDA_SUCCESS) return error;
  }
  return {};
}

CUresult add(Call &call, Link &link, const Input &input) {
  require(!link.is_complete);
  const bool is_known = input.type == CU_JIT_INPUT_PTX || input.type == CU_JIT_INPUT_FATBINARY ||
                        input.type == CU_JIT_INPUT_CUBIN || input.type == CU_JIT_INPUT_OBJECT ||
                        input.type == CU_JIT_INPUT_LIBRARY || input.type == CU_JIT_INPUT_NVVM;
  require(is_known);
  const LoadError error = input.type == CU_JIT_INPUT_NVVM ? LoadError{CUDA_ERROR_JIT_COMPILER_NOT_FOUND, ""}
                                                          : add_parts(call, link, input);
  if (error.code != CUDA_SUCCESS) {
    if (input.type == CU_JIT_INPUT_CUBIN || input.type == CU_JIT_INPUT_NVVM ||
        error.code == CUDA_ERROR_NO_BINARY_FOR_GPU)
      link.failure = error.code;
    add_line(link.error_log, error.log);
    // The driver reads a fat binary twice.
    if (input.type == CU_JIT_INPUT_FATBINARY && error.code == CUDA_ERROR_INVALID_IMAGE)
      add_line(link.error_log, error.log);
  }
  link.options.write_logs(link.error_log, link.info_log, link.log_sizes);
  return error.code;
}

// Requires accepted options.
CUresult add(Call &call, Link &link, Input &&input, const JitOptions &own) {
  InputOptions options(link.options, own);
  input.options = options.view();
  const unsigned limit = own.max_registers();
  input.max_registers = limit != 0 ? limit : link.options.max_registers();
  return add(call, link, input);
}

CUresult add_data(Call &call, CUlinkState handle, CUjitInputType type, void *data, std::size_t size,
                  const char *name, unsigned count, CUjit_option *names, void **values) {
  Link &link = call.link(handle);
  const JitOptions options{count, names, values};
  require(data != nullptr && size != 0 && options.are_accepted(JitUse::link_input));
  return add(call, link, {{static_cast<const char *>(data), size}, type, name != nullptr ? name : ""},
             options);
}

CUresult add_file(Call &call, CUlinkState handle, CUjitInputType type, const char *path, unsigned count,
                  CUjit_option *names, void **values) {
  Link &link = call.link(handle);
  const JitOptions options{count, names, values};
  require(path != nullptr && *path != '\0' && options.are_accepted(JitUse::link_input));
  const auto bytes = read_file(path);
  require(bytes.has_value(), CUDA_ERROR_FILE_NOT_FOUND);
  const std::string_view content(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  return add(call, link, {content, type, path}, options);
}

// Returns a line for each input that uses one of these functions; empty if there is none.
std::string undefined_references(const Link &link, const std::vector<std::string> &functions) {
  std::string log;
  for (const auto &[function, input] : link.references)
    if (std::ranges::find(functions, function) != functions.end())
      add_line(log, "error   : Undefined reference to '" + function + "' in '" + input + "'");
  return log;
}

// Returns why a function cannot be executed although the driver links it; null if the link lacks it.
const char *reason_not_executed(const Link &link, const std::string &function) {
  if (link.machine_functions.contains(function))
    return "is machine code, which the simulated driver does not execute";
  // The libcudadevrt.a of CUDA 12.1 calls them in its PTX.
  if (function.starts_with("__cuda_syscall_")) return "is a function of the driver, and not implemented";
  return nullptr;
}

// Removes functions that are not missing, such as those by which kernels launch kernels. Reports them: a
// kernel that calls one traps.
void remove_linked_functions(Call &call, const Link &link, std::vector<std::string> &functions) {
  std::erase_if(functions, [&](const std::string &function) {
    const char *const reason = reason_not_executed(link, function);
    if (reason != nullptr)
      call.system.engine.report("cuLinkComplete: " + function + " " + reason +
                                "; a kernel that calls it traps");
    return reason != nullptr;
  });
}

// Makes the image of the inputs. Returns an error if a kernel needs a function that no input defines.
LoadError make_image(Call &call, Link &link) {
  std::vector<std::string> kernels;
  if (!link.text.empty()) {
    LoadError error;
    const auto code =
        load_code(call.system, *link.context->device, link.text.c_str(), {}, link.options, error);
    if (code == nullptr) return {CUDA_ERROR_INVALID_SOURCE, error.log};
    auto undefined = reachable_undefined_functions(code->module);
    remove_linked_functions(call, link, undefined);
    const auto missing = undefined_references(link, undefined);
    // After this error of the compiler, the driver makes an image nevertheless. Measured, driver 580.
    const bool is_ignored = compiler_error(call.system) == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    if (!missing.empty() && !is_ignored) return {error_of_linking(call.system), missing};
    add_line(link.error_log, missing);
    for (const ptx::Function *const entry : code->entries) kernels.emplace_back(entry->name);
    if (const auto unused = undefined_functions(code->module); !unused.empty())
      link.text = with_traps(link.text, unused);
  }
  const std::string empty = ".version 6.0\n.target sm_50\n.address_size 64\n";
  // A link can be for another device than that of the context. Measured on an H200, driver 580.
  const int machine_target = link.options.target().value_or(capability(*link.context->device));
  link.image = to_cubin({link.text.empty() ? empty : link.text, link.oldest_target, machine_target}, kernels);
  return {};
}

CUresult complete(Call &call, CUlinkState handle, void **image, std::size_t *size) {
  Link &link = call.link(handle);
  require(!link.is_complete, CUDA_ERROR_INVALID_HANDLE);
  require(image != nullptr);
  require(link.failure == CUDA_SUCCESS, link.failure);
  const LoadError error = make_image(call, link);
  add_line(link.error_log, error.log);
  link.options.write_logs(link.error_log, link.info_log, link.log_sizes);
  require(error.code == CUDA_SUCCESS, error.code);
  link.is_complete = true;
  *image = link.image.data();
  if (size != nullptr) *size = link.image.size();
  return CUDA_SUCCESS;
}

CUresult destroy(Call &call, CUlinkState handle) {
  call.system.handles.erase(call.link(handle));
  return CUDA_SUCCESS;
}

}  // namespace

constinit const Entries entries_of_links = {
    entry<"cuLinkCreate", create>,     entry<"cuLinkAddData", add_data>, entry<"cuLinkAddFile", add_file>,
    entry<"cuLinkComplete", complete>, entry<"cuLinkDestroy", destroy>,
};

}  // namespace cushim::sim
