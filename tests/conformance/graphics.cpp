// SPDX-License-Identifier: Apache-2.0
// Calls that share resources with graphics interfaces, on a machine without a display.
#include <cushim/exact.hpp>

#include "conformance.hpp"

namespace conformance {
namespace {

class Graphics : public OnDevice {
 public:
  CUgraphicsResource none = nullptr, resource = nullptr;
  CUarray array = nullptr;
  CUmipmappedArray levels = nullptr;
};

TEST_F(Graphics, Resources_in_a_list_of_none) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsMapResources(0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphicsUnmapResources(0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphics, Resources_without_a_list) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsMapResources(1, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGraphicsUnmapResources(1, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphics, Resources_that_are_null_are_not_mapped) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsMapResources(1, &none, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuGraphicsUnmapResources(1, &none, nullptr), CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(Graphics, Resources_that_are_null_are_not_unregistered) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsUnregisterResource(nullptr), CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(Graphics, Resources_that_are_null_have_no_memory) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsResourceGetMappedPointer(&pointer, &size, nullptr),
                CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuGraphicsSubResourceGetMappedArray(&array, nullptr, 0, 0),
                CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuGraphicsResourceGetMappedMipmappedArray(&levels, nullptr),
                CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuGraphicsResourceSetMapFlags(nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
}

// ---- OpenGL ----

TEST_F(Graphics, Of_OpenGL_buffers) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsGLRegisterBuffer(&resource, 1, 0), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuGraphicsGLRegisterBuffer(nullptr, 1, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphics, Of_OpenGL_images) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsGLRegisterImage(&resource, 1, 0x0DE1, 0), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuGraphicsGLRegisterImage(&resource, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphics, Of_OpenGL_before_registration) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGLInit(), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(driver().cuGLRegisterBufferObject(1), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_ANSWER(cushim::exact::cuGLMapBufferObject_v3020(driver())(&pointer, &size, 1),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGLUnmapBufferObject(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGLUnregisterBufferObject(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGLSetBufferObjectMapFlags(1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(cushim::exact::cuGLMapBufferObjectAsync_v3020(driver())(&pointer, &size, 1, nullptr),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(driver().cuGLUnmapBufferObjectAsync(1, nullptr), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Graphics, Of_OpenGL_make_no_contexts) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(cushim::exact::cuGLCtxCreate_v3020(driver())(&context_out, 0, device),
                CUDA_ERROR_OPERATING_SYSTEM);
}

// ---- EGL ----

TEST_F(Graphics, Of_EGL_images) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsEGLRegisterImage(&resource, nullptr, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_ANSWER(driver().cuGraphicsEGLRegisterImage(&resource, &number, 0), CUDA_ERROR_UNKNOWN);
}
TEST_F(Graphics, Of_EGL_frames) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsResourceGetMappedEglFrame(nullptr, nullptr, 0, 0),
                CUDA_ERROR_INVALID_HANDLE);
}
TEST_F(Graphics, Of_EGL_streams) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuEGLStreamConsumerConnect(nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEGLStreamConsumerConnectWithFlags(nullptr, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEGLStreamProducerConnect(nullptr, nullptr, 16, 16), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEGLStreamConsumerDisconnect(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEGLStreamProducerDisconnect(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEGLStreamConsumerAcquireFrame(nullptr, nullptr, nullptr, 0),
                CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEGLStreamConsumerReleaseFrame(nullptr, nullptr, nullptr),
                CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ANSWER(driver().cuEGLStreamProducerReturnFrame(nullptr, nullptr, nullptr),
                CUDA_ERROR_INVALID_HANDLE);
}

// ---- VDPAU ----

TEST_F(Graphics, Of_VDPAU_surfaces) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuGraphicsVDPAURegisterVideoSurface(&resource, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ANSWER(driver().cuGraphicsVDPAURegisterOutputSurface(&resource, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
}
TEST_F(Graphics, Of_VDPAU_devices) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(driver().cuVDPAUGetDevice(&device, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(cushim::exact::cuVDPAUCtxCreate_v3020(driver())(&context_out, 0, device, 1, nullptr),
                CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace conformance
