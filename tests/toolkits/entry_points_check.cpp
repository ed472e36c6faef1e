// SPDX-License-Identifier: Apache-2.0
// Compiling this file verifies the list of entry points against the headers of one toolkit: each entry
// point's type is the type of the declared function and of PFN_<base>_v<version><thread>, and cushim's own
// types (cushim/foreign_types.h) are equivalent to NVIDIA's. Nothing here runs.
//
// CUSHIM_CHECK_DECLARED is the number of entry points that the headers declare, counted without the list.
#include "cuda_headers.h"

#include <cushim/foreign_types.h>

#include <cstddef>
#include <type_traits>

// ---- cushim's names of types -----------------------------------------------------------------------

template <class Theirs>
struct InOurWords {
  using type = Theirs;
};
template <class Theirs>
using in_our_words = typename InOurWords<Theirs>::type;

template <class Theirs>
struct InOurWords<const Theirs> {
  using type = const in_our_words<Theirs>;
};
template <class Theirs>
struct InOurWords<Theirs *> {
  using type = in_our_words<Theirs> *;
};
template <class Result, class... Parameters>
struct InOurWords<Result(Parameters...)> {
  using type = in_our_words<Result>(in_our_words<Parameters>...);
};

#define CALLED(theirs, ours)  \
  template <>                 \
  struct InOurWords<theirs> { \
    using type = ours;        \
  };                          \
  static_assert(sizeof(theirs) == sizeof(ours) && alignof(theirs) == alignof(ours))

CALLED(CUDA_MEMCPY2D_v1, CushimMemcpy2D_v1);
CALLED(CUDA_MEMCPY3D_v1, CushimMemcpy3D_v1);
CALLED(CUDA_ARRAY_DESCRIPTOR_v1, CushimArrayDescriptor_v1);
CALLED(CUDA_ARRAY3D_DESCRIPTOR_v1, CushimArray3DDescriptor_v1);
CALLED(CUoutput_mode, unsigned int);
#ifdef CUSHIM_CHECK_GL
CALLED(CUGLDeviceList, unsigned int);
#endif
#ifdef CUSHIM_CHECK_EGL
CALLED(CUeglFrame_v1, CushimEglFrame_v1);
CALLED(CUeglFrameType, unsigned int);
CALLED(CUeglColorFormat, unsigned int);
#endif
#ifdef CUSHIM_CHECK_VDPAU
CALLED(VdpStatus, int);
static_assert(std::is_same_v<in_our_words<VdpGetProcAddress>, CushimVdpGetProcAddress>);
#endif
static_assert(std::is_same_v<CUdeviceptr_v1, CushimDeviceptr_v1>);

// ---- Structures, member by member ------------------------------------------------------------------

#define SAME_MEMBER(Theirs, member)                                                  \
  static_assert(offsetof(Theirs, member) == offsetof(in_our_words<Theirs>, member)); \
  static_assert(                                                                     \
      std::is_same_v<in_our_words<decltype(Theirs::member)>, decltype(in_our_words<Theirs>::member)>);

// clang-format off
#define MEMBER(name) SAME_MEMBER(CUDA_MEMCPY2D_v1, name)
MEMBER(srcXInBytes) MEMBER(srcY) MEMBER(srcMemoryType) MEMBER(srcHost) MEMBER(srcDevice) MEMBER(srcArray)
MEMBER(srcPitch) MEMBER(dstXInBytes) MEMBER(dstY) MEMBER(dstMemoryType) MEMBER(dstHost) MEMBER(dstDevice)
MEMBER(dstArray) MEMBER(dstPitch) MEMBER(WidthInBytes) MEMBER(Height)
#undef MEMBER

#define MEMBER(name) SAME_MEMBER(CUDA_MEMCPY3D_v1, name)
MEMBER(srcXInBytes) MEMBER(srcY) MEMBER(srcZ) MEMBER(srcLOD) MEMBER(srcMemoryType) MEMBER(srcHost)
MEMBER(srcDevice) MEMBER(srcArray) MEMBER(reserved0) MEMBER(srcPitch) MEMBER(srcHeight)
MEMBER(dstXInBytes) MEMBER(dstY) MEMBER(dstZ) MEMBER(dstLOD) MEMBER(dstMemoryType) MEMBER(dstHost)
MEMBER(dstDevice) MEMBER(dstArray) MEMBER(reserved1) MEMBER(dstPitch) MEMBER(dstHeight)
MEMBER(WidthInBytes) MEMBER(Height) MEMBER(Depth)
#undef MEMBER

#define MEMBER(name) SAME_MEMBER(CUDA_ARRAY_DESCRIPTOR_v1, name)
MEMBER(Width) MEMBER(Height) MEMBER(Format) MEMBER(NumChannels)
#undef MEMBER

#define MEMBER(name) SAME_MEMBER(CUDA_ARRAY3D_DESCRIPTOR_v1, name)
MEMBER(Width) MEMBER(Height) MEMBER(Depth) MEMBER(Format) MEMBER(NumChannels) MEMBER(Flags)
#undef MEMBER

#ifdef CUSHIM_CHECK_EGL
#define MEMBER(name) SAME_MEMBER(CUeglFrame_v1, name)
MEMBER(frame.pArray) MEMBER(frame.pPitch) MEMBER(width) MEMBER(height) MEMBER(depth) MEMBER(pitch)
MEMBER(planeCount) MEMBER(numChannels) MEMBER(frameType) MEMBER(eglColorFormat) MEMBER(cuFormat)
#undef MEMBER
#endif

// ---- Types of newer headers ------------------------------------------------------------------------

// NVIDIA's where the headers have them, else cushim's: the same for both.
static_assert(sizeof(CushimSmResourceGroup) == 64 && alignof(CushimSmResourceGroup) == 4);
static_assert(offsetof(CushimSmResourceGroup, smCount) == 0);
static_assert(offsetof(CushimSmResourceGroup, coscheduledSmCount) == 4);
static_assert(offsetof(CushimSmResourceGroup, preferredCoscheduledSmCount) == 8);
static_assert(offsetof(CushimSmResourceGroup, flags) == 12);
static_assert(sizeof(CushimTensorMapAllocClass) == 4 && sizeof(CushimGraphRecaptureStatus) == 4);
#if CUDA_VERSION >= 13040 || CUDA_VERSION < 13010
static_assert(offsetof(CushimSmResourceGroup, localityDomainId) == 16);
#endif
#if CUDA_VERSION >= 13010
static_assert(CU_DEV_SM_RESOURCE_GROUP_BACKFILL == 1);
#endif
#if CUDA_VERSION >= 13030
static_assert(CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE == 0 && CU_GRAPH_RECAPTURE_INELIGIBLE_FOR_UPDATE == 1 &&
              CU_GRAPH_RECAPTURE_ERROR == 2);
#endif
#if CUDA_VERSION >= 13050
static_assert(CU_TENSOR_MAP_ALLOC_CLASS_AUTO == 0 && CU_TENSOR_MAP_ALLOC_CLASS_SMALL == 1 &&
              CU_TENSOR_MAP_ALLOC_CLASS_LARGE == 2);
#endif

// ---- Every entry point -----------------------------------------------------------------------------

// Stands in for functions that the headers do not declare. A qualified name finds a global declaration if
// there is one, and otherwise searches namespaces named by using-directives; so ::cuX is the header's
// function or this one.
struct Absent {};
namespace absent {
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  extern Absent symbol; using PFN_##base##_v##version##thread = Absent;
#define CUSHIM_ENTRY_UNTYPED CUSHIM_ENTRY
#include <cushim/entry_points.inc>
}  // namespace absent
using namespace absent;

template <class Theirs, class Ours>
constexpr bool agrees = std::is_same_v<Theirs, Absent> || std::is_same_v<in_our_words<Theirs>, Ours>;

#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments)                      \
  static_assert(agrees<decltype(::symbol), CUresult parameters>, #symbol " is declared otherwise");   \
  static_assert(agrees<::PFN_##base##_v##version##thread, CUresult(*) parameters>,                    \
                "PFN_" #base "_v" #version #thread " is another type than " #symbol);
#include <cushim/entry_points.inc>

// ---- No entry point is skipped ---------------------------------------------------------------------

// The number of entry points for which the checks above compared a declared function and its typedef.
constexpr int compared = 0
#define CUSHIM_ENTRY(slot, symbol, base, version, thread, parameters, arguments) \
  + (!std::is_same_v<decltype(::symbol), Absent> &&                              \
     !std::is_same_v<::PFN_##base##_v##version##thread, Absent>)
#include <cushim/entry_points.inc>
    ;
// clang-format on

static_assert(compared == CUSHIM_CHECK_DECLARED,
              "an entry point that these headers declare has no row, no type or no typedef");
