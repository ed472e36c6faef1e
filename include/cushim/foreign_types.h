/* SPDX-License-Identifier: Apache-2.0 */
/* Types of entry points that plain <cuda.h> does not declare, written for cushim: structures of
 * the first ABI, and parameters of the EGL and VDPAU interop calls. They let the list of entry
 * points compile without graphics headers. tests/toolkits/entry_points_check.cpp asserts size,
 * alignment and offsets against the headers of every supported toolkit. */
#ifndef CUSHIM_FOREIGN_TYPES_H
#define CUSHIM_FOREIGN_TYPES_H

#if defined(__has_include)
#if __has_include(<features.h>)
#include <features.h> /* defines __GLIBC__ if the C library is glibc */
#endif
#endif

#if !defined(__linux__) || !defined(__GLIBC__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "cushim supports Linux with glibc on x86-64 and aarch64 only, for now"
#endif

#include <cuda.h>

#if CUDA_VERSION < 11080
#error "cushim needs the headers of CUDA 11.8 or newer; set CUSHIM_CUDA_INCLUDE_DIR to their folder"
#endif

/* A device pointer of the first ABI, before CUDA 3.2: 32 bits. */
typedef unsigned int CushimDeviceptr_v1;

typedef struct CushimMemcpy2D_v1 {
  unsigned int srcXInBytes;
  unsigned int srcY;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CushimDeviceptr_v1 srcDevice;
  CUarray srcArray;
  unsigned int srcPitch;
  unsigned int dstXInBytes;
  unsigned int dstY;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CushimDeviceptr_v1 dstDevice;
  CUarray dstArray;
  unsigned int dstPitch;
  unsigned int WidthInBytes;
  unsigned int Height;
} CushimMemcpy2D_v1;

typedef struct CushimMemcpy3D_v1 {
  unsigned int srcXInBytes;
  unsigned int srcY;
  unsigned int srcZ;
  unsigned int srcLOD;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CushimDeviceptr_v1 srcDevice;
  CUarray srcArray;
  void *reserved0;
  unsigned int srcPitch;
  unsigned int srcHeight;
  unsigned int dstXInBytes;
  unsigned int dstY;
  unsigned int dstZ;
  unsigned int dstLOD;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CushimDeviceptr_v1 dstDevice;
  CUarray dstArray;
  void *reserved1;
  unsigned int dstPitch;
  unsigned int dstHeight;
  unsigned int WidthInBytes;
  unsigned int Height;
  unsigned int Depth;
} CushimMemcpy3D_v1;

typedef struct CushimArrayDescriptor_v1 {
  unsigned int Width;
  unsigned int Height;
  CUarray_format Format;
  unsigned int NumChannels;
} CushimArrayDescriptor_v1;

typedef struct CushimArray3DDescriptor_v1 {
  unsigned int Width;
  unsigned int Height;
  unsigned int Depth;
  CUarray_format Format;
  unsigned int NumChannels;
  unsigned int Flags;
} CushimArray3DDescriptor_v1;

/* CUeglStreamConnection of cudaEGL.h is a pointer to this. */
struct CUeglStreamConnection_st;

/* CUeglFrame of cudaEGL.h; its two enumerations are 32 bits wide. */
typedef struct CushimEglFrame_v1 {
  union {
    CUarray pArray[3];
    void *pPitch[3];
  } frame;
  unsigned int width;
  unsigned int height;
  unsigned int depth;
  unsigned int pitch;
  unsigned int planeCount;
  unsigned int numChannels;
  unsigned int frameType;
  unsigned int eglColorFormat;
  CUarray_format cuFormat;
} CushimEglFrame_v1;

/* VdpGetProcAddress of vdpau.h: (device, function id, out: function) -> status. */
typedef int CushimVdpGetProcAddress(unsigned int, unsigned int, void **);

#endif
