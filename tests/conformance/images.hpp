// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces for statements, and kernels that access them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "array_memory.hpp"

namespace conformance {

// Returns a number as printf("%g") writes it.
std::string text_of(float number);

// Destroys the textures and surfaces that its members create at the end of the test.
class WithImages : public WithArrays {
 protected:
  void TearDown() override;

 public:
  static CUDA_RESOURCE_DESC of(CUarray array);
  static CUDA_RESOURCE_DESC of(CUmipmappedArray array);
  CUtexObject texture(const CUDA_RESOURCE_DESC &resource, const CUDA_TEXTURE_DESC &sampling = {});
  CUsurfObject surface(CUarray array);

  CUmodule load(const std::string &text);
  // Runs instructions in one thread, and returns the code of the wait. The instructions find a handle in
  // `object` and coordinates in the floats x and y, and use the registers f0 to f3 (floats) and i to l
  // (integers). The result is f0.
  CUresult run(const std::string &instructions, unsigned long long object, float x, float y,
               const std::string &declarations = {});
  // The same; requires success. Returns the result as text.
  std::string fetched(const std::string &instructions, unsigned long long object, float x, float y,
                      const std::string &declarations = {});

  // Expects that an object has 16 columns and 8 rows, by an instruction without its suffix.
  void expect_extents(const std::string &instruction, unsigned long long made);

  // Returns the result of a kernel that is launched into a held stream, and runs after `meanwhile`.
  std::string fetched_after(const std::string &instructions, unsigned long long object, float x,
                            const std::function<void()> &meanwhile);

  // Also destroyed.
  CUtexObject texture_out = 0;
  CUsurfObject surface_out = 0;

  CUarray level_out = nullptr;
  // Unloaded at the end of the test.
  std::vector<CUmodule> modules;

 private:
  // Returns the address of the result.
  CUdeviceptr launch(const std::string &instructions, unsigned long long object, float x, float y,
                     const std::string &declarations, CUstream work);

  std::vector<CUtexObject> textures_;
  std::vector<CUsurfObject> surfaces_;
  float result_ = 0;
};

}  // namespace conformance
