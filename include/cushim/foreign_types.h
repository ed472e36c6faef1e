/* SPDX-License-Identifier: Apache-2.0 */
/* Types of entry points that plain <cuda.h> does not declare, written for cushim: structures of
 * the first ABI, parameters of the EGL and VDPAU interop calls, and parameters of entry points that
 * are newer than the CUDA headers in use. They let the list of entry points compile without graphics
 * headers, and type newer entry points under older headers. tests/toolkits/entry_points_check.cpp
 * asserts size, alignment and offsets against the headers of every supported toolkit. */
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

/* ---- Types of newer CUDA headers: NVIDIA's own where the headers in use declare them ---- */

/* CU_DEV_SM_RESOURCE_GROUP_PARAMS of CUDA 13.1, as 13.4 declares it: a group of multiprocessors for
 * cuDevSmResourceSplit. */
#if CUDA_VERSION >= 13010
typedef CU_DEV_SM_RESOURCE_GROUP_PARAMS CushimSmResourceGroup;
#else
typedef struct CushimSmResourceGroup {
  unsigned int smCount;
  unsigned int coscheduledSmCount;
  unsigned int preferredCoscheduledSmCount;
  unsigned int flags; /* 1: CU_DEV_SM_RESOURCE_GROUP_BACKFILL */
  unsigned int localityDomainId;
  unsigned int reserved[11];
} CushimSmResourceGroup;
#endif

/* CUcoredumpStatusCallback of CUDA 13.2: (user data, process, device). CUcoredumpCallbackHandle is a
 * pointer to the structure. */
typedef void (*CushimCoredumpStatusCallback)(void *, int, CUdevice);
struct CUcoredumpCallbackEntry_st;

/* CUgraphRecaptureStatus of CUDA 13.3. */
#if CUDA_VERSION >= 13030
typedef CUgraphRecaptureStatus CushimGraphRecaptureStatus;
#else
typedef enum CushimGraphRecaptureStatus {
  CUSHIM_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE = 0,
  CUSHIM_GRAPH_RECAPTURE_INELIGIBLE_FOR_UPDATE = 1,
  CUSHIM_GRAPH_RECAPTURE_ERROR = 2
} CushimGraphRecaptureStatus;
#endif

/* CUgraphRecaptureCallback of CUDA 13.3: (user data, node, its parameters before the recapture, those of the
 * recapture, status). The structure is CUgraphNodeParams, which headers before 12.2 lack. */
struct CUgraphNodeParams_st;
typedef CUresult (*CushimGraphRecaptureCallback)(void *, CUgraphNode, const struct CUgraphNodeParams_st *,
                                                 const struct CUgraphNodeParams_st *,
                                                 CushimGraphRecaptureStatus);

/* CUtensorMapAllocClass of CUDA 13.5. */
#if CUDA_VERSION >= 13050
typedef CUtensorMapAllocClass CushimTensorMapAllocClass;
#else
typedef enum CushimTensorMapAllocClass {
  CUSHIM_TENSOR_MAP_ALLOC_CLASS_AUTO = 0,
  CUSHIM_TENSOR_MAP_ALLOC_CLASS_SMALL = 1,
  CUSHIM_TENSOR_MAP_ALLOC_CLASS_LARGE = 2
} CushimTensorMapAllocClass;
#endif

#endif
