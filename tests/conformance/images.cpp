// SPDX-License-Identifier: Apache-2.0
#include "images.hpp"

#include <cstdio>
#include <utility>

#include "kernels.hpp"

namespace conformance {

std::string text_of(float number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(number));
  return text;
}

void WithImages::TearDown() {
  driver().cuCtxSetCurrent(context);
  if (texture_out != 0) driver().cuTexObjectDestroy(texture_out);
  if (surface_out != 0) driver().cuSurfObjectDestroy(surface_out);
  for (CUtexObject made : textures_) driver().cuTexObjectDestroy(made);
  for (CUsurfObject made : surfaces_) driver().cuSurfObjectDestroy(made);
  for (CUmodule made : modules) driver().cuModuleUnload(made);
  WithArrays::TearDown();
}

CUDA_RESOURCE_DESC WithImages::of(CUarray array) {
  CUDA_RESOURCE_DESC made = {};
  made.resType = CU_RESOURCE_TYPE_ARRAY;
  made.res.array.hArray = array;
  return made;
}

CUDA_RESOURCE_DESC WithImages::of(CUmipmappedArray array) {
  CUDA_RESOURCE_DESC made = {};
  made.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  made.res.mipmap.hMipmappedArray = array;
  return made;
}

CUtexObject WithImages::texture(const CUDA_RESOURCE_DESC &resource, const CUDA_TEXTURE_DESC &sampling) {
  CUtexObject made = 0;
  NEED(driver().cuTexObjectCreate(&made, &resource, &sampling, nullptr));
  textures_.push_back(made);
  return made;
}

CUsurfObject WithImages::surface(CUarray array) {
  const CUDA_RESOURCE_DESC resource = of(array);
  CUsurfObject made = 0;
  NEED(driver().cuSurfObjectCreate(&made, &resource));
  surfaces_.push_back(made);
  return made;
}

CUmodule WithImages::load(const std::string &text) {
  CUmodule made = nullptr;
  NEED(driver().cuModuleLoadData(&made, text.c_str()));
  modules.push_back(made);
  return made;
}

CUdeviceptr WithImages::launch(const std::string &instructions, unsigned long long object, float x, float y,
                               const std::string &declarations, CUstream work) {
  const CUmodule module = load(kHeader + declarations + R"(
.visible .entry run(.param .u64 handle, .param .f32 first, .param .f32 second, .param .u64 to) {
  .reg .f32 f<4>, x, y; .reg .b32 i, j, k, l; .reg .b64 object, out;
  ld.param.u64 object, [handle]; ld.param.u64 out, [to];
  ld.param.f32 x, [first]; ld.param.f32 y, [second];
  mov.f32 f0, 0f00000000;
  )" + instructions + "\n  st.global.f32 [out], f0;\n  ret;\n}\n");
  CUfunction function = nullptr;
  NEED(driver().cuModuleGetFunction(&function, module, "run"));
  CUdeviceptr out = memory();
  void *arguments[] = {&object, &x, &y, &out};
  NEED(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, work, arguments, nullptr));
  return out;
}

CUresult WithImages::run(const std::string &instructions, unsigned long long object, float x, float y,
                         const std::string &declarations) {
  const CUdeviceptr out = launch(instructions, object, x, y, declarations, nullptr);
  const CUresult code = driver().cuCtxSynchronize();
  if (code == CUDA_SUCCESS) NEED(driver().cuMemcpyDtoH(&result_, out, sizeof result_));
  return code;
}

void WithImages::expect_extents(const std::string &instruction, unsigned long long made) {
  for (const auto &[extent, wanted] : {std::pair("width", "16"), std::pair("height", "8")}) {
    const std::string code = instruction + "." + extent + ".b32 i, [object]; cvt.rn.f32.u32 f0, i;";
    EXPECT_EQ(answer("fetched(\"" + code + "\", made, 0, 0)", fetched(code, made, 0, 0)), wanted);
  }
}

std::string WithImages::fetched_after(const std::string &instructions, unsigned long long object, float x,
                                      const std::function<void()> &meanwhile) {
  const CUstream work = stream();
  LimitedHold held(work);
  const CUdeviceptr out = launch(instructions, object, x, 0, {}, work);
  meanwhile();
  held.release();
  NEED(driver().cuStreamSynchronize(work));
  NEED(driver().cuMemcpyDtoH(&result_, out, sizeof result_));
  return text_of(result_);
}

std::string WithImages::fetched(const std::string &instructions, unsigned long long object, float x, float y,
                                const std::string &declarations) {
  NEED(run(instructions, object, x, y, declarations));
  return text_of(result_);
}

}  // namespace conformance
