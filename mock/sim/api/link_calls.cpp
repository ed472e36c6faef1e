// SPDX-License-Identifier: Apache-2.0
// cuLink*: links several PTX inputs into one image. cuLinkComplete returns PTX, not machine code.
#include "api/service.hpp"
#include "kernels/jit_options.hpp"
#include "kernels/ptx_text.hpp"

namespace cushim::sim {
namespace {

CUresult create(Call &call, unsigned count, CUjit_option *names, void **values, CUlinkState *out) {
  Context &context = call.context();
  const JitOptions options{count, names, values};
  require(out != nullptr && options.are_valid());
  Link &link = call.system.handles.add(std::make_unique<Link>());
  link.context = &context;
  // The option arrays must exist as long as the link, as the documentation of cuLinkCreate says.
  link.options = options;
  *out = reinterpret_cast<CUlinkState>(link.handle);
  return CUDA_SUCCESS;
}

CUresult add(Call &call, Link &link, const void *data, std::size_t size, CUjitInputType type,
             const char *name) {
  require(data != nullptr && !link.is_complete);
  const bool is_known = type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY ||
                        type == CU_JIT_INPUT_CUBIN || type == CU_JIT_INPUT_OBJECT ||
                        type == CU_JIT_INPUT_LIBRARY;
  require(is_known);
  const Device &device = *link.context->device;
  LoadError error;
  const auto code = load_code(call.system, device, data, size, link.options, error);
  if (code == nullptr) {
    link.options.write_error_log(error.log);
    return error.code;
  }
  for (std::string &function : undefined_functions(code->module))
    link.references.push_back({std::move(function), name != nullptr ? name : ""});
  append_ptx(link.text, *code->module.text);
  return CUDA_SUCCESS;
}

CUresult add_data(Call &call, CUlinkState handle, CUjitInputType type, void *data, std::size_t size,
                  const char *name, unsigned, CUjit_option *, void **) {
  return add(call, call.link(handle), data, size, type, name);
}

CUresult add_file(Call &call, CUlinkState handle, CUjitInputType type, const char *path, unsigned,
                  CUjit_option *, void **) {
  Link &link = call.link(handle);
  require(path != nullptr);
  const auto bytes = read_file(path);
  require(bytes.has_value(), CUDA_ERROR_FILE_NOT_FOUND);
  return add(call, link, bytes->data(), bytes->size(), type, path);
}

// Returns a line for each input that uses one of these functions, in nvJitLink's words (13.0); empty if there
// is none.
std::string undefined_references(const Link &link, const std::vector<std::string> &functions) {
  std::string log;
  for (const auto &[function, input] : link.references)
    if (std::ranges::find(functions, function) != functions.end())
      log += "error   : Undefined reference to '" + function + "' in '" + input + "'\n";
  return log;
}

CUresult complete(Call &call, CUlinkState handle, void **image, std::size_t *size) {
  Link &link = call.link(handle);
  require(image != nullptr);
  LoadError error;
  // Driver 580 links no inputs to an empty image, and returns INVALID_SOURCE if a symbol is missing (on some
  // machines UNKNOWN).
  bool is_linked = link.text.empty();
  if (!is_linked) {
    const auto code =
        load_code(call.system, *link.context->device, link.text.c_str(), {}, link.options, error);
    if (code != nullptr) {
      const std::vector<std::string> missing = undefined_functions(code->module);
      error.log = undefined_references(link, missing);
      is_linked = missing.empty();
    }
  }
  link.options.write_error_log(error.log);
  require(is_linked, CUDA_ERROR_INVALID_SOURCE);
  link.is_complete = true;
  *image = link.text.data();
  if (size != nullptr) *size = link.text.size() + 1;
  return CUDA_SUCCESS;
}

CUresult destroy(Call &call, CUlinkState handle) {
  call.system.handles.erase(call.link(handle));
  return CUDA_SUCCESS;
}

}  // namespace

void serve_links(Service &service) {
  service.serve<"cuLinkCreate", create>();
  service.serve<"cuLinkAddData", add_data>();
  service.serve<"cuLinkAddFile", add_file>();
  service.serve<"cuLinkComplete", complete>();
  service.serve<"cuLinkDestroy", destroy>();
}

}  // namespace cushim::sim
