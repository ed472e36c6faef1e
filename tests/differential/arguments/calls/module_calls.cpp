// SPDX-License-Identifier: Apache-2.0
#include "../calls.hpp"
#include "../structures.hpp"

namespace arguments {

void add_module_calls(Calls &calls) {
  // Images, options and their numbers are not changed: the driver reads as far as they say.
  CALL(cuModuleLoad, o.made<CUmodule>(), "/nonexistent");
  CALL(cuModuleLoadData, o.made<CUmodule>(), List<const char>{kPtx});
  CALL(cuModuleLoadDataEx, o.made<CUmodule>(), List<const char>{kPtx}, Count{0}, nullptr, nullptr);
  CALL_AS("option", cuModuleLoadDataEx, o.made<CUmodule>(), List<const char>{kPtx}, Count{1},
          o.list({CU_JIT_MAX_REGISTERS}), o.list({(void *)32}));
  CALL(cuModuleUnload, o.module()).destroys();
  // The real driver crashes if the place is null.
  CALL(cuModuleGetLoadingMode, o.out<CUmoduleLoadingMode>()).without({"mode=null"});
  CALL(cuModuleGetFunction, o.hidden<CUfunction>(), o.module(), "empty");
  CALL(cuModuleGetFunctionCount, o.out<unsigned>(), o.module());
  CALL(cuModuleEnumerateFunctions, List<CUfunction>{o.hidden<CUfunction>().place}, 3U, o.module());
  CALL(cuModuleGetGlobal, o.hidden<CUdeviceptr>(), o.out<std::size_t>(), o.module(), "table");
  CALL_AS("constant", cuModuleGetGlobal, o.hidden<CUdeviceptr>(), o.out<std::size_t>(), o.module(),
          "constants");
  CALL_AS("visible", cuModuleGetGlobal, o.hidden<CUdeviceptr>(), o.out<std::size_t>(), o.module(), "counter");
  CALL(cuModuleGetTexRef, o.hidden<CUtexref>(), o.module(), "texture");
  CALL(cuModuleGetSurfRef, o.hidden<CUsurfref>(), o.module(), "surface");
  CALL(cuLinkCreate, Count{0}, nullptr, nullptr, o.made<CUlinkState>());
  // The code of a failed link depends on earlier errors of the compiler, so only types that the driver
  // rejects at once are tried.
  CALL(cuLinkAddData, o.link(), CU_JIT_INPUT_PTX, List<const char>{kPtx},
       fixed(std::string_view(kPtx).size() + 1), "name", Count{0}, nullptr, nullptr)
      .without({"type=0", "type=2", "type=3", "type=4", "type=5"});
  CALL(cuLinkAddFile, o.link(), CU_JIT_INPUT_PTX, "/nonexistent", Count{0}, nullptr, nullptr);
  CALL(cuLinkComplete, o.link(), o.hidden<void *>(), o.hidden<std::size_t>());
  CALL(cuLinkDestroy, o.link()).destroys();
}

}  // namespace arguments
