// SPDX-License-Identifier: Apache-2.0
// cuLink*: links several PTX inputs into one image. cuLinkComplete returns PTX, not machine code.
#include "api/service.hpp"
#include "kernels/image.hpp"
#include "kernels/jit_options.hpp"

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

// Removes the directives that may occur only once; the first input contains them.
std::string without_header(const std::string &ptx) {
  std::string rest;
  for (std::size_t begin = 0; begin < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', begin), ptx.size() - 1) + 1;
    const std::string line = ptx.substr(begin, end - begin);
    const std::size_t first = line.find_first_not_of(" \t");
    const bool is_header = first != std::string::npos && (line.compare(first, 8, ".version") == 0 ||
                                                          line.compare(first, 7, ".target") == 0 ||
                                                          line.compare(first, 13, ".address_size") == 0);
    if (!is_header) rest += line;
    begin = end;
  }
  return rest;
}

CUresult add(Call &call, Link &link, const void *data, std::size_t size, CUjitInputType type) {
  require(data != nullptr && !link.is_complete);
  const bool is_known = type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY ||
                        type == CU_JIT_INPUT_CUBIN || type == CU_JIT_INPUT_OBJECT ||
                        type == CU_JIT_INPUT_LIBRARY;
  require(is_known);
  const Device &device = *link.context->device;
  LoadError error;
  const auto code = load_code(call.system, device, data, size, error);
  if (code == nullptr) {
    link.options.write_error_log(error.log);
    return error.code;
  }
  link.text += link.text.empty() ? *code->module.text : without_header(*code->module.text);
  link.text += '\n';
  return CUDA_SUCCESS;
}

CUresult add_data(Call &call, CUlinkState handle, CUjitInputType type, void *data, std::size_t size,
                  const char *, unsigned, CUjit_option *, void **) {
  return add(call, call.link(handle), data, size, type);
}

CUresult add_file(Call &call, CUlinkState handle, CUjitInputType type, const char *path, unsigned,
                  CUjit_option *, void **) {
  Link &link = call.link(handle);
  require(path != nullptr);
  const auto bytes = read_file(path);
  require(bytes.has_value(), CUDA_ERROR_FILE_NOT_FOUND);
  return add(call, link, bytes->data(), bytes->size(), type);
}

CUresult complete(Call &call, CUlinkState handle, void **image, std::size_t *size) {
  Link &link = call.link(handle);
  require(image != nullptr);
  LoadError error;
  const auto code = link.text.empty()
                        ? nullptr
                        : load_code(call.system, *link.context->device, link.text.c_str(), {}, error);
  // Driver 580 links no inputs to an empty image, and returns UNKNOWN if a symbol is missing.
  require(link.text.empty() || (code != nullptr && check_complete(*code).code == CUDA_SUCCESS),
          CUDA_ERROR_UNKNOWN);
  link.options.write_error_log(error.log);
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
