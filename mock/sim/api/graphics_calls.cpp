// SPDX-License-Identifier: Apache-2.0
// Resources of OpenGL, EGL and VDPAU. No simulated device drives a display, so none of them can be
// registered. The results are those of an H200 without a display, driver 580, except where noted.
#include <algorithm>
#include <iterator>

#include "api/service.hpp"

namespace cushim::sim {
namespace {

[[noreturn]] void refuse(Call &call, CUgraphicsResource resource) {
  call.report_misuse(resource, Kind::graphics_resource);
  fail(CUDA_ERROR_INVALID_HANDLE);
}

// Implements cuGraphicsMapResources and cuGraphicsUnmapResources.
CUresult map_or_unmap(Call &call, unsigned count, CUgraphicsResource *resources, CUstream) {
  require(count != 0);
  call.context();
  require(resources != nullptr);
  refuse(call, resources[0]);
}

CUresult unregister(Call &call, CUgraphicsResource resource) { refuse(call, resource); }
CUresult set_flags(Call &call, CUgraphicsResource resource, unsigned) { refuse(call, resource); }
CUresult get_pointer(Call &call, CUdeviceptr *, std::size_t *, CUgraphicsResource resource) {
  refuse(call, resource);
}
CUresult get_pointer_of_32_bits(Call &call, unsigned *, unsigned *, CUgraphicsResource resource) {
  refuse(call, resource);
}
CUresult get_array(Call &call, CUarray *, CUgraphicsResource resource, unsigned, unsigned) {
  refuse(call, resource);
}
CUresult get_levels(Call &call, CUmipmappedArray *, CUgraphicsResource resource) { refuse(call, resource); }

// ---- OpenGL: the library that the driver asks for the current OpenGL context is not loaded ----

constexpr CUresult kNoOpenGl = CUDA_ERROR_OPERATING_SYSTEM;

CUresult register_buffer(Call &call, CUgraphicsResource *out, unsigned, unsigned) {
  call.context();
  require(out != nullptr);
  return kNoOpenGl;
}

CUresult register_image(Call &call, CUgraphicsResource *out, unsigned, unsigned target, unsigned) {
  // GL_TEXTURE_2D, GL_TEXTURE_3D, GL_TEXTURE_RECTANGLE, GL_TEXTURE_CUBE_MAP, GL_TEXTURE_2D_ARRAY,
  // GL_RENDERBUFFER: documentation. Measured: GL_TEXTURE_2D and 0.
  constexpr unsigned kTargets[] = {0x0DE1, 0x806F, 0x84F5, 0x8513, 0x8C1A, 0x8D41};
  call.context();
  require(out != nullptr && std::ranges::find(kTargets, target) != std::end(kTargets));
  return kNoOpenGl;
}

CUresult get_devices(Call &, unsigned *count, CUdevice *devices, unsigned, unsigned) {
  require(count != nullptr && devices != nullptr);
  *count = 0;
  return CUDA_ERROR_NO_DEVICE;
}

void serve_opengl(Service &service) {
  service.serve<"cuGraphicsGLRegisterBuffer", register_buffer>();
  service.serve<"cuGraphicsGLRegisterImage", register_image>();
  service.serve<"cuGLGetDevices", get_devices>();
  service.serve_result<"cuGLInit", kNoOpenGl>();
  service.serve_result<"cuGLCtxCreate", kNoOpenGl>();
  service.serve_result<"cuGLRegisterBufferObject", kNoOpenGl>();
  service.serve_result<"cuGLMapBufferObject", CUDA_ERROR_INVALID_VALUE>();
  service.serve_result<"cuGLMapBufferObjectAsync", CUDA_ERROR_INVALID_VALUE>();
  service.serve_result<"cuGLUnmapBufferObject", CUDA_ERROR_INVALID_VALUE>();
  service.serve_result<"cuGLUnmapBufferObjectAsync", CUDA_ERROR_INVALID_VALUE>();
  service.serve_result<"cuGLUnregisterBufferObject", CUDA_ERROR_INVALID_VALUE>();
  service.serve_result<"cuGLSetBufferObjectMapFlags", CUDA_ERROR_INVALID_VALUE>();
}

void serve_egl(Service &service) {
  service.serve_result<"cuGraphicsEGLRegisterImage", CUDA_ERROR_UNKNOWN>();
  service.serve_result<"cuGraphicsResourceGetMappedEglFrame", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamConsumerConnect", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamConsumerConnectWithFlags", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamConsumerDisconnect", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamConsumerAcquireFrame", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamConsumerReleaseFrame", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamProducerConnect", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamProducerDisconnect", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamProducerReturnFrame", CUDA_ERROR_INVALID_HANDLE>();
  service.serve_result<"cuEGLStreamProducerPresentFrame", CUDA_ERROR_INVALID_HANDLE>();  // not measured
}

void serve_vdpau(Service &service) {
  service.serve_result<"cuGraphicsVDPAURegisterVideoSurface", CUDA_ERROR_INVALID_CONTEXT>();
  service.serve_result<"cuGraphicsVDPAURegisterOutputSurface", CUDA_ERROR_INVALID_CONTEXT>();
  service.serve_result<"cuVDPAUGetDevice", CUDA_ERROR_INVALID_VALUE>();
  service.serve_result<"cuVDPAUCtxCreate", CUDA_ERROR_INVALID_VALUE>();  // the real driver crashes
}

}  // namespace

void serve_graphics(Service &service) {
  service.serve<"cuGraphicsMapResources", map_or_unmap>();
  service.serve<"cuGraphicsUnmapResources", map_or_unmap>();
  service.serve<"cuGraphicsUnregisterResource", unregister>();
  service.serve<"cuGraphicsResourceSetMapFlags", set_flags>();
  service.serve<"cuGraphicsResourceGetMappedPointer_v3000", get_pointer_of_32_bits>();
  service.serve<"cuGraphicsResourceGetMappedPointer", get_pointer>();
  service.serve<"cuGraphicsSubResourceGetMappedArray", get_array>();
  service.serve<"cuGraphicsResourceGetMappedMipmappedArray", get_levels>();
  serve_opengl(service);
  serve_egl(service);
  serve_vdpau(service);
}

}  // namespace cushim::sim
