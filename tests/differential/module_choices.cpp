// SPDX-License-Identifier: Apache-2.0
// Modules made from good and broken PTX.
#include <algorithm>

#include "images.hpp"

namespace differential {
namespace {

void forget_functions(Walk &w, CUmodule module) {
  for (FunctionSlot &one : objects(w).f)
    if (one.module == module) one = {};
}

void load(Walk &w) {
  const unsigned at = w.dice.below(3);
  ModuleSlot &slot = objects(w).modules[at];
  if (slot.handle != nullptr) return;
  const auto out = argument(&slot.handle, fmt::format("&modules[{}]", at));
  const unsigned image = an_image(w);
  CUresult code{};
  switch (w.dice.below(6)) {
    case 0:
      code = CALL(w, cuModuleLoadFatBinary, out, image_of(image));
      break;
    case 1:
    case 2: {
      JitOptions jit;
      choose_options(w, jit);
      code =
          CALL(w, cuModuleLoadDataEx, out, image_of(image), number(static_cast<unsigned>(jit.options.size())),
               argument(jit.options.data(), jit.text), argument(jit.values.data(), "values"));
      const auto logged = std::ranges::find(jit.options, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
      if (logged != jit.options.end()) w.also(jit.log[0] != 0 ? "logged" : "quiet");
      break;
    }
    case 3:
      if (w.dice.once_in(3)) {
        CALL(w, cuModuleLoadData, out, argument<const void *>(nullptr, "nullptr"));
        slot = {};
        return;
      }
      [[fallthrough]];
    default:
      code = CALL(w, cuModuleLoadData, out, image_of(image));
  }
  if (code == CUDA_SUCCESS) {
    slot.image = image;
  } else {
    slot = {};
  }
}

Argument<CUmodule> a_module(Walk &w) {
  if (w.dice.once_in(40)) return {nullptr, "nullptr"};
  return a_living(w.dice, objects(w).modules, "modules");
}
void unload(Walk &w) {
  const auto module = a_module(w);
  // Nodes keep functions of unloaded modules, which is undefined on the real driver.
  if (w.subject != Subject::kernels) return;
  if (CALL(w, cuModuleUnload, module) != CUDA_SUCCESS) return;
  forget_functions(w, module.value);
  for (ModuleSlot &slot : objects(w).modules)
    if (slot.handle == module.value) slot = {};
}

void get_function(Walk &w) {
  GraphObjects &o = objects(w);
  const unsigned at = w.dice.below(static_cast<unsigned>(o.f.size()));
  if (o.f[at].handle != nullptr && !w.dice.once_in(3)) return;
  const auto module = a_module(w);
  const unsigned name = a_name_in(w, o.modules, module.value);
  CUfunction function = nullptr;
  const bool is_null = w.dice.once_in(40);
  const CUresult code = CALL(w, cuModuleGetFunction, argument(&function, fmt::format("&f[{}]", at)), module,
                             argument<const char *>(is_null ? nullptr : kernel_names[name],
                                                    is_null ? "nullptr" : kernel_names[name]));
  if (code != CUDA_SUCCESS) return;
  w.also(name_of(w, function));
  o.f[at] = {function, module.value, nullptr, name};
}

void get_global(Walk &w) {
  const auto module = a_module(w);
  const char *const name =
      w.dice.one_of<const char *>({"word", "table", "factor", "other", "absent", "write", ""});
  Result<std::size_t> size("size");
  CUdeviceptr address = 0;
  const auto where =
      w.dice.once_in(8) ? argument<CUdeviceptr *>(nullptr, "nullptr") : argument(&address, "&address");
  const CUresult code =
      CALL(w, cuModuleGetGlobal, where, size.argument(), module, argument(name, fmt::format("\"{}\"", name)));
  if (size.is_set()) w.also(std::to_string(size.value));
  if (code != CUDA_SUCCESS || address == 0 || size.value != 4) return;
  const auto value = number(w.dice.below(50));
  settle(w);
  if (w.dice.once_in(2)) CALL(w, cuMemsetD32, argument(address, "address"), value, bytes(1));
  Result<unsigned> read("read");
  CALL(w, cuMemcpyDtoH, Argument<void *>{&read.value, "&read"}, argument(address, "address"), bytes(4));
  if (read.is_set()) w.also_number(read);
}

void enumerate(Walk &w) {
  const auto module = a_module(w);
  Result<unsigned> count("count");
  if (CALL(w, cuModuleGetFunctionCount, count.argument(), module) == CUDA_SUCCESS) w.also_number(count);
  std::array<CUfunction, 12> all{};
  const auto room = number(w.dice.one_of({12U, 12U, 2U, 0U}));
  if (CALL(w, cuModuleEnumerateFunctions, argument(all.data(), "all"), room, module) != CUDA_SUCCESS) return;
  for (CUfunction function : all) {
    const char *name = nullptr;
    if (function != nullptr && driver().cuFuncGetName(&name, function) == CUDA_SUCCESS) w.also(name);
  }
}

void references(Walk &w) {
  const auto module = a_module(w);
  CUtexref texture = nullptr;
  CUsurfref surface = nullptr;
  const auto name = argument<const char *>("absent", "\"absent\"");
  if (w.dice.once_in(2))
    CALL(w, cuModuleGetTexRef, argument(&texture, "&texture"), module, name);
  else
    CALL(w, cuModuleGetSurfRef, argument(&surface, "&surface"), module, name);
}

void loading_mode(Walk &w) {
  Result<CUmoduleLoadingMode> mode("mode");
  if (CALL(w, cuModuleGetLoadingMode, mode.argument()) == CUDA_SUCCESS) w.also(std::to_string(mode.value));
}

}  // namespace

Choices module_choices() {
  return Choices({
      {8, load},
      {2, unload},
      {12, get_function},
      {3, get_global},
      {2, enumerate},
      {1, references},
      {1, loading_mode},
  });
}

}  // namespace differential
