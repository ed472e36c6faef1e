// SPDX-License-Identifier: Apache-2.0
// nvJitLink returns no PTX of what it links, except with the option -ptx if all inputs are LTO IR. So this
// keeps the inputs of a link. The PTX of a link is that of its inputs: PTX, and cubins whose PTX is known;
// for inputs of LTO IR, a second link of these alone, with -ptx.
#include <exception>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kernels/cubin.hpp"
#include "kernels/device_runtime.hpp"
#include "kernels/image.hpp"
#include "kernels/object_file.hpp"
#include "kernels/ptx_text.hpp"
#include "recorder.hpp"

namespace cushim::recorder {

namespace {

// nvJitLinkInputType.
enum class InputType : int { none = 0, cubin = 1, ptx = 2, lto_ir = 3, fat_binary = 4, any = 10 };

struct NvJitLink {
  NvJitLink() = default;
  explicit NvJitLink(const link_map &library) {
    is_complete = find_function(library, "nvJitLinkCreate", create) &&
                  find_function(library, "nvJitLinkDestroy", destroy) &&
                  find_function(library, "nvJitLinkAddData", add_data) &&
                  find_function(library, "nvJitLinkAddFile", add_file) &&
                  find_function(library, "nvJitLinkComplete", complete) &&
                  find_function(library, "nvJitLinkGetLinkedCubin", get_cubin) &&
                  find_function(library, "nvJitLinkGetLinkedCubinSize", get_cubin_size) &&
                  find_function(library, "nvJitLinkGetLinkedPtx", get_ptx) &&
                  find_function(library, "nvJitLinkGetLinkedPtxSize", get_ptx_size);
  }
  explicit operator bool() const { return is_complete; }

  int (*create)(void **link, std::uint32_t count, const char **options) = nullptr;
  int (*destroy)(void **link) = nullptr;
  int (*add_data)(void *link, InputType type, const void *data, std::size_t size, const char *name) = nullptr;
  int (*add_file)(void *link, InputType type, const char *file) = nullptr;
  int (*complete)(void *link) = nullptr;
  int (*get_cubin)(void *link, void *cubin) = nullptr;
  int (*get_cubin_size)(void *link, std::size_t *size) = nullptr;
  int (*get_ptx)(void *link, char *ptx) = nullptr;
  int (*get_ptx_size)(void *link, std::size_t *size) = nullptr;
  bool is_complete = false;
};

struct Input {
  InputType type;
  std::string content;
  std::string name;
};

struct Link {
  std::vector<std::string> options;
  std::vector<Input> inputs;
};

Libraries<NvJitLink> libraries;
std::mutex mutex;  // protects `links`

std::unordered_map<const void *, Link> &links() {
  static auto &links =
      *new std::unordered_map<const void *, Link>;  // NOLINT(bugprone-unhandled-exception-at-new)
  return links;
}

// Ignores exceptions: a link that could not be followed has no PTX, which the driver reports.
template <class Use>
void attempt(Use use) noexcept try {
  const std::lock_guard lock(mutex);
  use();
} catch (const std::exception &) {
  return;
}

// An input, or a part of one: a fat binary in an object file, or a member of an archive.
struct Part {
  InputType type;
  std::string_view content;
};

std::vector<Part> parts_of(const Input &input) {
  const auto images = sim::device_images(input.content);
  if (!images) return {{input.type, input.content}};
  std::vector<Part> parts;
  for (const sim::DeviceImage &image : *images) parts.push_back({InputType::any, image.bytes});
  return parts;
}

InputType type_of(const Part &part) {
  if (part.type != InputType::any) return part.type;
  if (sim::is_ptx(part.content)) return InputType::ptx;
  if (sim::is_cubin(part.content.data(), part.content.size())) return InputType::cubin;
  const sim::Image image = sim::read_image(part.content.data(), 0, part.content.size());
  return image.error == CUDA_ERROR_INVALID_IMAGE ? InputType::lto_ir : InputType::fat_binary;
}

// Returns the compute capability that the options name: 90 for -arch=sm_90a; 0 if none does.
int capability_of(const Link &link) {
  for (const std::string &option : link.options)
    if (const std::size_t at = option.find("sm_"); option.starts_with("-arch") && at != std::string::npos)
      return std::atoi(option.c_str() + at + 3);
  return 0;
}

// Returns the PTX of code that is not LTO IR.
std::optional<std::string> ptx_of(const Part &part, int capability) {
  if (type_of(part) == InputType::ptx) return std::string(part.content);
  sim::Image image = sim::read_image(part.content.data(), capability, part.content.size());
  if (image.ptx) return image.ptx;
  if (!image.cubin) return std::nullopt;
  auto found = find(*image.cubin);
  return found ? std::optional(std::move(found->text)) : std::nullopt;
}

// Links the inputs of LTO IR once more, to PTX.
std::optional<std::string> link_to_ptx(const NvJitLink &library, const std::vector<std::string> &named,
                                       const std::vector<const Input *> &inputs) {
  std::vector<const char *> options;
  for (const std::string &option : named) options.push_back(option.c_str());
  options.push_back("-ptx");
  void *handle = nullptr;
  if (library.create(&handle, static_cast<std::uint32_t>(options.size()), options.data()) != 0)
    return std::nullopt;
  bool is_fine = true;
  for (const Input *const input : inputs)
    is_fine = is_fine && library.add_data(handle, input->type, input->content.data(), input->content.size(),
                                          input->name.c_str()) == 0;
  std::size_t size = 0;
  std::optional<std::string> ptx;
  if (is_fine && library.complete(handle) == 0 && library.get_ptx_size(handle, &size) == 0) {
    ptx.emplace(size, '\0');
    if (library.get_ptx(handle, ptx->data()) != 0) ptx.reset();
  }
  library.destroy(&handle);
  return ptx;
}

void keep_ptx(const NvJitLink &library, const Link &link, std::string_view cubin) {
  std::string text, missing;
  std::vector<const Input *> lto_inputs;
  const int capability = capability_of(link);
  for (const Input &input : link.inputs) {
    bool has_lto = false, is_missing = false;
    for (const Part &part : parts_of(input)) {
      const bool is_lto = type_of(part) == InputType::lto_ir;
      if (const auto ptx = is_lto ? std::nullopt : ptx_of(part, capability))
        sim::append_ptx(text, *ptx);
      else
        (is_lto || sim::has_lto_ir(part.content, capability) ? has_lto : is_missing) = true;
    }
    if (has_lto) lto_inputs.push_back(&input);
    if (is_missing) missing += (missing.empty() ? " without the code of " : ", ") + input.name;
  }
  if (!lto_inputs.empty()) {
    const auto ptx = link_to_ptx(library, link.options, lto_inputs);
    if (!ptx) return;
    sim::append_ptx(text, *ptx);
  }
  // The link succeeded, so an input without PTX defines the functions of the device runtime.
  if (!missing.empty()) text += sim::device_runtime_for(text);
  if (!text.empty()) keep(cubin, text, "nvJitLink" + missing, max_registers(link.options));
}

template <std::size_t Slot>
struct Instead {
  static const NvJitLink &library() { return libraries[Slot]; }

  static int create(void **link, std::uint32_t count, const char **options) {
    const int result = library().create(link, count, options);
    if (result == 0) attempt([&] { links()[*link] = {{options, options + count}, {}}; });
    return result;
  }
  static int destroy(void **link) {
    if (link != nullptr) attempt([&] { links().erase(*link); });
    return library().destroy(link);
  }
  static int add_data(void *link, InputType type, const void *data, std::size_t size, const char *name) {
    const int result = library().add_data(link, type, data, size, name);
    if (result == 0)
      attempt([&] {
        links()[link].inputs.push_back(
            {type, {static_cast<const char *>(data), size}, name != nullptr ? name : ""});
      });
    return result;
  }
  static int add_file(void *link, InputType type, const char *file) {
    const int result = library().add_file(link, type, file);
    if (result == 0) attempt([&] { links()[link].inputs.push_back({type, content_of(file), file}); });
    return result;
  }
  static int get_cubin(void *link, void *cubin) {
    const int result = library().get_cubin(link, cubin);
    std::size_t size = 0;
    if (result == 0 && library().get_cubin_size(link, &size) == 0)
      attempt([&] { keep_ptx(library(), links()[link], {static_cast<const char *>(cubin), size}); });
    return result;
  }

  static void *of(std::string_view name) {
    if (name == "nvJitLinkCreate") return reinterpret_cast<void *>(create);
    if (name == "nvJitLinkDestroy") return reinterpret_cast<void *>(destroy);
    if (name == "nvJitLinkAddData") return reinterpret_cast<void *>(add_data);
    if (name == "nvJitLinkAddFile") return reinterpret_cast<void *>(add_file);
    if (name == "nvJitLinkGetLinkedCubin") return reinterpret_cast<void *>(get_cubin);
    return nullptr;
  }
};

// Returns nvJitLinkCreate for __nvJitLinkCreate_13_0: programs that are linked with the library use names
// with its version.
std::string_view without_version(std::string_view name) {
  if (!name.starts_with("__nvJitLink")) return name;
  name.remove_prefix(2);
  return name.substr(0, name.find('_'));
}

}  // namespace

void *replace_nvjitlink(const link_map &library, std::string_view name) {
  const std::string_view plain = without_version(name);
  if (Instead<0>::of(plain) == nullptr) return nullptr;
  return with_slot<decltype(libraries)::kMost>(
      libraries.slot_of(library), [&](auto slot) { return Instead<decltype(slot)::value>::of(plain); });
}

void forget_nvjitlink(const link_map &library) { libraries.forget(library); }

}  // namespace cushim::recorder
