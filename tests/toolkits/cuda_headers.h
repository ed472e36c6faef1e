/* SPDX-License-Identifier: Apache-2.0 */
/* Includes every driver header of the toolkit whose dependencies this machine has. The check uses the
 * entry points that they declare. */
#ifndef CUSHIM_TESTS_CHECK_CUDA_HEADERS_H
#define CUSHIM_TESTS_CHECK_CUDA_HEADERS_H

#ifndef __CUDA_API_VERSION_INTERNAL
#error "compile the check with __CUDA_API_VERSION_INTERNAL: it must see every ABI variant"
#endif

#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#if __has_include(<GL/gl.h>)
#define CUSHIM_CHECK_GL
#include <GL/gl.h>

#include <cudaGL.h>
#include <cudaGLTypedefs.h>
#endif

#if __has_include(<EGL/egl.h>)
#define CUSHIM_CHECK_EGL
#include <cudaEGL.h>
#include <cudaEGLTypedefs.h>
#endif

#if __has_include(<vdpau/vdpau.h>)
#define CUSHIM_CHECK_VDPAU
#include <vdpau/vdpau.h>

#include <cudaVDPAU.h>
#include <cudaVDPAUTypedefs.h>
#endif

#endif
