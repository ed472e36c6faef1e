// SPDX-License-Identifier: Apache-2.0
// Libraries and links, made from good and broken PTX.
#include "images.hpp"

namespace differential {
namespace {

Argument<CUlibrary> a_library(Walk &w) {
  if (w.dice.once_in(40)) return {nullptr, "nullptr"};
  return a_living(w.dice, objects(w).libraries, "libraries");
}
Argument<CUkernel> a_kernel(Walk &w) {
  if (w.dice.once_in(40)) return {nullptr, "nullptr"};
  return a_living(w.dice, objects(w).k, "k");
}

void load_library(Walk &w) {
  const unsigned at = w.dice.below(2);
  LibrarySlot &slot = objects(w).libraries[at];
  if (slot.handle != nullptr) return;
  const unsigned image = an_image(w);
  JitOptions jit;
  if (w.dice.once_in(4)) choose_options(w, jit);
  CUlibraryOption option =
      w.dice.one_of({CU_LIBRARY_BINARY_IS_PRESERVED, CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE,
                     static_cast<CUlibraryOption>(9)});
  void *preserved = reinterpret_cast<void *>(std::uintptr_t{1});
  const bool has_option = option != CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE && w.dice.once_in(4);
  const CUresult code =
      CALL(w, cuLibraryLoadData, argument(&slot.handle, fmt::format("&libraries[{}]", at)), image_of(image),
           argument(jit.options.data(), jit.text), argument(jit.values.data(), "values"),
           number(static_cast<unsigned>(jit.options.size())),
           argument(has_option ? &option : nullptr, fmt::format("{}", static_cast<int>(option))),
           argument(has_option ? &preserved : nullptr, "&preserved"), number(has_option ? 1U : 0U));
  if (code == CUDA_SUCCESS)
    slot.image = image;
  else
    slot = {};
}

void unload_library(Walk &w) {
  const auto library = a_library(w);
  if (w.subject != Subject::kernels) return;
  if (CALL(w, cuLibraryUnload, library) != CUDA_SUCCESS) return;
  GraphObjects &o = objects(w);
  for (FunctionSlot &one : o.f)
    if (one.library == library.value) one = {};
  for (KernelSlot &one : o.k)
    if (one.library == library.value) one = {};
  for (LibrarySlot &one : o.libraries)
    if (one.handle == library.value) one = {};
}

void get_kernel(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = w.dice.below(4);
  const auto library = a_library(w);
  const unsigned name = a_name_in(w, o.libraries, library.value);
  CUkernel kernel = nullptr;
  if (CALL(w, cuLibraryGetKernel, argument(&kernel, fmt::format("&k[{}]", at)), library,
           argument<const char *>(kernel_names[name], kernel_names[name])) != CUDA_SUCCESS)
    return;
  w.also(name_of(w, kernel));
  o.k[at] = {kernel, library.value, name};
}

void get_function_of_kernel(Walk &w) {
  GraphObjects &o = objects(w);
  const auto kernel = a_kernel(w);
  const unsigned at = w.dice.below(static_cast<unsigned>(o.f.size()));
  CUfunction function = nullptr;
  if (CALL(w, cuKernelGetFunction, argument(&function, fmt::format("&f[{}]", at)), kernel) != CUDA_SUCCESS)
    return;
  w.also(name_of(w, function));
  for (const KernelSlot &slot : o.k)
    if (slot.handle == kernel.value && slot.handle != nullptr)
      o.f[at] = {function, nullptr, slot.library, slot.name};
}

void of_library(Walk &w) {
  const auto library = a_library(w);
  Result<unsigned> count("count");
  Result<std::size_t> size("size");
  CUdeviceptr address = 0;
  CUmodule module = nullptr;
  const char *const name = w.dice.one_of<const char *>({"word", "table", "other", "absent"});
  void *pointer = nullptr;
  switch (w.dice.below(6)) {
    case 0:
      if (CALL(w, cuLibraryGetKernelCount, count.argument(), library) == CUDA_SUCCESS) w.also_number(count);
      return;
    case 1: {
      std::array<CUkernel, 12> all{};
      if (CALL(w, cuLibraryEnumerateKernels, argument(all.data(), "all"), number(12), library) !=
          CUDA_SUCCESS)
        return;
      for (CUkernel kernel : all) {
        const char *text = nullptr;
        if (kernel != nullptr && driver().cuKernelGetName(&text, kernel) == CUDA_SUCCESS) w.also(text);
      }
      return;
    }
    case 2:
      if (CALL(w, cuLibraryGetGlobal, argument(&address, "&address"), size.argument(), library,
               argument(name, fmt::format("\"{}\"", name))) == CUDA_SUCCESS)
        w.also_number(size);
      return;
    case 3:
      CALL(w, cuLibraryGetManaged, argument(&address, "&address"), size.argument(), library,
           argument(name, fmt::format("\"{}\"", name)));
      return;
    case 4:
      CALL(w, cuLibraryGetUnifiedFunction, argument(&pointer, "&pointer"), library,
           argument(name, fmt::format("\"{}\"", name)));
      return;
    default:
      CALL(w, cuLibraryGetModule, argument(&module, "&module"), library);
  }
}

void of_kernel(Walk &w) {
  const auto kernel = a_kernel(w);
  const int device = w.dice.once_in(10) ? 99 : 0;
  Result<int> value("value");
  CUlibrary library = nullptr;
  const auto which = static_cast<CUfunction_attribute>(w.dice.below(18));
  switch (w.dice.below(6)) {
    case 0:
      if (which == CU_FUNC_ATTRIBUTE_NUM_REGS) return;
      if (CALL(w, cuKernelGetAttribute, value.argument(), argument(which, std::to_string(which)), kernel,
               integer(device)) == CUDA_SUCCESS)
        w.also_number(value);
      return;
    case 1: {
      const int to = w.dice.one_of({0, 1, 1024, 49152, 60000, 232448, 300000, -1, 100, 101});
      CALL(w, cuKernelSetAttribute, argument(which, std::to_string(which)), integer(to), kernel,
           integer(device));
      return;
    }
    case 2:
      if (CALL(w, cuKernelGetLibrary, argument(&library, "&library"), kernel) == CUDA_SUCCESS)
        w.also(library == nullptr ? "null" : library == objects(w).libraries[0].handle ? "0" : "1");
      return;
    case 3:
      return also_name_from(w, [&](auto text) { return CALL(w, cuKernelGetName, text, kernel); });
    case 4:
      return also_parameter_from(w, [&](auto... at) { return CALL(w, cuKernelGetParamInfo, kernel, at...); });
    default: {
      const unsigned config = w.dice.below(5);
      CALL(w, cuKernelSetCacheConfig, kernel,
           argument(static_cast<CUfunc_cache>(config), std::to_string(config)), integer(device));
    }
  }
}

// ---- Links ----

void link(Walk &w) {
  GraphObjects &o = objects(w);
  const auto state = argument(o.link, "link");
  const auto none = argument<CUjit_option *>(nullptr, "nullptr");
  const auto values = argument<void **>(nullptr, "nullptr");
  if (o.link == nullptr) {
    if (CALL(w, cuLinkCreate, number(0), none, values, argument(&o.link, "&link")) != CUDA_SUCCESS)
      o.link = nullptr;
    return;
  }
  switch (w.dice.below(6)) {
    case 0:
      if (CALL(w, cuLinkDestroy, state) == CUDA_SUCCESS) o.link = nullptr;
      return;
    case 1: {
      void *image = nullptr;
      Result<std::size_t> size("size");
      const CUresult code = CALL(w, cuLinkComplete, state, argument(&image, "&image"), size.argument());
      if (code != CUDA_SUCCESS) return;
      const unsigned at = w.dice.below(3);
      ModuleSlot &slot = o.modules[at];
      if (slot.handle != nullptr) return;
      if (CALL(w, cuModuleLoadData, argument(&slot.handle, fmt::format("&modules[{}]", at)),
               argument<const void *>(image, "image")) == CUDA_SUCCESS) {
        slot.image = 0;
      } else {
        slot = {};
      }
      return;
    }
    default: {
      const unsigned image = an_image(w);
      const auto type = w.dice.one_of({CU_JIT_INPUT_PTX, CU_JIT_INPUT_PTX, CU_JIT_INPUT_PTX,
                                       CU_JIT_INPUT_CUBIN, static_cast<CUjitInputType>(77)});
      // A cubin of text crashes in some versions; so only PTX is given as PTX.
      if (type == CU_JIT_INPUT_CUBIN) return;
      CALL(w, cuLinkAddData, state, argument(type, std::to_string(type)),
           argument<void *>(const_cast<char *>(images[image]), fmt::format("images[{}]", image)),
           bytes(std::strlen(images[image]) + 1), argument<const char *>("name", "\"name\""), number(0), none,
           values);
    }
  }
}

}  // namespace

Choices library_choices() {
  return Choices({
      {4, load_library},
      {1, unload_library},
      {6, get_kernel},
      {4, get_function_of_kernel},
      {3, of_library},
      {4, of_kernel},
      {3, link},
  });
}

}  // namespace differential
