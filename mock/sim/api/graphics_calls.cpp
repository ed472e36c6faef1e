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

}  // namespace

constinit const Entries entries_of_graphics = {
    entry<"cuGraphicsMapResources", map_or_unmap>,
    entry<"cuGraphicsUnmapResources", map_or_unmap>,
    entry<"cuGraphicsUnregisterResource", unregister>,
    entry<"cuGraphicsResourceSetMapFlags", set_flags>,
    entry<"cuGraphicsResourceGetMappedPointer_v3000", get_pointer_of_32_bits>,
    entry<"cuGraphicsResourceGetMappedPointer", get_pointer>,
    entry<"cuGraphicsSubResourceGetMappedArray", get_array>,
    entry<"cuGraphicsResourceGetMappedMipmappedArray", get_levels>,

    // OpenGL
    entry<"cuGraphicsGLRegisterBuffer", register_buffer>,
    entry<"cuGraphicsGLRegisterImage", register_image>,
    entry<"cuGLGetDevices", get_devices>,
    entries_with_result<kNoOpenGl, "cuGLInit", "cuGLCtxCreate", "cuGLRegisterBufferObject">,
    entries_with_result<CUDA_ERROR_INVALID_VALUE, "cuGLMapBufferObject", "cuGLMapBufferObjectAsync",
                        "cuGLUnmapBufferObject", "cuGLUnmapBufferObjectAsync", "cuGLUnregisterBufferObject",
                        "cuGLSetBufferObjectMapFlags">,

    // EGL; not measured: cuEGLStreamProducerPresentFrame
    entries_with_result<CUDA_ERROR_UNKNOWN, "cuGraphicsEGLRegisterImage">,
    entries_with_result<
        CUDA_ERROR_INVALID_HANDLE, "cuGraphicsResourceGetMappedEglFrame", "cuEGLStreamConsumerConnect",
        "cuEGLStreamConsumerConnectWithFlags", "cuEGLStreamConsumerDisconnect",
        "cuEGLStreamConsumerAcquireFrame", "cuEGLStreamConsumerReleaseFrame", "cuEGLStreamProducerConnect",
        "cuEGLStreamProducerDisconnect", "cuEGLStreamProducerReturnFrame", "cuEGLStreamProducerPresentFrame">,

    // VDPAU; the real driver crashes in cuVDPAUCtxCreate
    entries_with_result<CUDA_ERROR_INVALID_CONTEXT, "cuGraphicsVDPAURegisterVideoSurface",
                        "cuGraphicsVDPAURegisterOutputSurface">,
    entries_with_result<CUDA_ERROR_INVALID_VALUE, "cuVDPAUGetDevice", "cuVDPAUCtxCreate">,
};

}  // namespace cushim::sim
