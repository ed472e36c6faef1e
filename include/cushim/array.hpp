// SPDX-License-Identifier: Apache-2.0
// Arrays: memory of a device in a layout for textures and surfaces, with or without mipmaps.
//
//   const auto image = Array::create({.width = 640, .height = 480, .format = ArrayFormat::float32});
//   copy_to_array(image, pixels);
#pragma once

#include <cushim/detail/flags.hpp>
#include <cushim/detail/handle.hpp>
#include <cushim/memory.hpp>
#include <cushim/stream.hpp>

#include <span>

namespace cushim {
inline namespace v1 {

// The type of the channels of an element.
enum class ArrayFormat : int {
  unsigned8 = CU_AD_FORMAT_UNSIGNED_INT8,
  unsigned16 = CU_AD_FORMAT_UNSIGNED_INT16,
  unsigned32 = CU_AD_FORMAT_UNSIGNED_INT32,
  signed8 = CU_AD_FORMAT_SIGNED_INT8,
  signed16 = CU_AD_FORMAT_SIGNED_INT16,
  signed32 = CU_AD_FORMAT_SIGNED_INT32,
  float16 = CU_AD_FORMAT_HALF,
  float32 = CU_AD_FORMAT_FLOAT,
};

// Flags of arrays.
enum class ArrayFlags : unsigned {
  none = 0,
  layered = CUDA_ARRAY3D_LAYERED,           // the depth is a number of layers
  surfaces = CUDA_ARRAY3D_SURFACE_LDST,     // kernels write the array by surfaces
  cubemap = CUDA_ARRAY3D_CUBEMAP,           // six square layers
  gather = CUDA_ARRAY3D_TEXTURE_GATHER,     // kernels gather texels of the array
  sparse = CUDA_ARRAY3D_SPARSE,             // memory is mapped to tiles later
  deferred = CUDA_ARRAY3D_DEFERRED_MAPPING  // memory is mapped to the whole array later
};
constexpr bool is_flags(ArrayFlags) { return true; }

// The shape of an array. A height or depth of 0 is an array of fewer dimensions.
struct ArrayShape {
  std::size_t width = 0;  // elements
  std::size_t height = 0;
  std::size_t depth = 0;
  ArrayFormat format = ArrayFormat::float32;
  unsigned channels = 1;  // 1, 2 or 4
  ArrayFlags flags = ArrayFlags::none;

  friend bool operator==(const ArrayShape &, const ArrayShape &) = default;

  // Convert from and to the driver's structure.
  CUDA_ARRAY3D_DESCRIPTOR raw() const noexcept {
    return {width, height, depth, static_cast<CUarray_format>(format), channels, detail::number(flags)};
  }
  static ArrayShape from_raw(const CUDA_ARRAY3D_DESCRIPTOR &raw) noexcept {
    return {raw.Width,       raw.Height,
            raw.Depth,       static_cast<ArrayFormat>(raw.Format),
            raw.NumChannels, static_cast<ArrayFlags>(raw.Flags)};
  }
};

// The calls that ArrayRef and Array have in common.
template <class Self>
class ArrayCalls : public detail::NounBase<Self, CUarray> {
 public:
  // Returns the shape. Driver calls: cuArray3DGetDescriptor.
  ArrayShape shape(Where where = Where::current()) const {
    return ArrayShape::from_raw(detail::ask<CUDA_ARRAY3D_DESCRIPTOR>(
        this->self().ref(), "cuArray3DGetDescriptor", where, [this](CUDA_ARRAY3D_DESCRIPTOR *out) {
          return this->driver().cuArray3DGetDescriptor(out, this->handle());
        }));
  }
  // Returns width and height of an array without depth. Driver calls: cuArrayGetDescriptor.
  CUDA_ARRAY_DESCRIPTOR descriptor(Where where = Where::current()) const {
    return detail::ask<CUDA_ARRAY_DESCRIPTOR>(
        this->self().ref(), "cuArrayGetDescriptor", where, [this](CUDA_ARRAY_DESCRIPTOR *out) {
          return this->driver().cuArrayGetDescriptor(out, this->handle());
        });
  }
  // Returns one plane of an array with several, such as YUV. It belongs to this array. Driver calls:
  // cuArrayGetPlane.
  detail::HandleRef<ArrayCalls> plane(unsigned index, Where where = Where::current()) const;
  // Returns size and alignment of the memory of an array with ArrayFlags::deferred. Driver calls:
  // cuArrayGetMemoryRequirements.
  CUDA_ARRAY_MEMORY_REQUIREMENTS memory_requirements(Device device, Where where = Where::current()) const {
    return detail::ask<CUDA_ARRAY_MEMORY_REQUIREMENTS>(
        this->self().ref(), "cuArrayGetMemoryRequirements", where, [&](CUDA_ARRAY_MEMORY_REQUIREMENTS *out) {
          return this->driver().cuArrayGetMemoryRequirements(out, this->handle(), device.handle());
        });
  }
  // Returns tiles and mip tail of an array with ArrayFlags::sparse. Driver calls: cuArrayGetSparseProperties.
  CUDA_ARRAY_SPARSE_PROPERTIES sparse_properties(Where where = Where::current()) const {
    return detail::ask<CUDA_ARRAY_SPARSE_PROPERTIES>(
        this->self().ref(), "cuArrayGetSparseProperties", where, [this](CUDA_ARRAY_SPARSE_PROPERTIES *out) {
          return this->driver().cuArrayGetSparseProperties(out, this->handle());
        });
  }

  static constexpr const char *kNoun = "array";
  static constexpr detail::NamedCall kDestroy{"cuArrayDestroy", &Driver::cuArrayDestroy};
};

// The calls that MipmappedArrayRef and MipmappedArray have in common.
template <class Self>
class MipmappedArrayCalls : public detail::NounBase<Self, CUmipmappedArray> {
 public:
  // Returns one level, which belongs to this array; level 0 is the largest. Driver calls:
  // cuMipmappedArrayGetLevel.
  detail::HandleRef<ArrayCalls> level(unsigned index, Where where = Where::current()) const;
  // Returns size and alignment of the memory of an array with ArrayFlags::deferred. Driver calls:
  // cuMipmappedArrayGetMemoryRequirements.
  CUDA_ARRAY_MEMORY_REQUIREMENTS memory_requirements(Device device, Where where = Where::current()) const {
    return detail::ask<CUDA_ARRAY_MEMORY_REQUIREMENTS>(
        this->self().ref(), "cuMipmappedArrayGetMemoryRequirements", where,
        [&](CUDA_ARRAY_MEMORY_REQUIREMENTS *out) {
          return this->driver().cuMipmappedArrayGetMemoryRequirements(out, this->handle(), device.handle());
        });
  }
  // Returns tiles and mip tail of an array with ArrayFlags::sparse. Driver calls:
  // cuMipmappedArrayGetSparseProperties.
  CUDA_ARRAY_SPARSE_PROPERTIES sparse_properties(Where where = Where::current()) const {
    return detail::ask<CUDA_ARRAY_SPARSE_PROPERTIES>(
        this->self().ref(), "cuMipmappedArrayGetSparseProperties", where,
        [this](CUDA_ARRAY_SPARSE_PROPERTIES *out) {
          return this->driver().cuMipmappedArrayGetSparseProperties(out, this->handle());
        });
  }

  static constexpr const char *kNoun = "mipmapped array";
  static constexpr detail::NamedCall kDestroy{"cuMipmappedArrayDestroy", &Driver::cuMipmappedArrayDestroy};
};

// A reference to an array. Owns nothing.
using ArrayRef = detail::HandleRef<ArrayCalls>;
// A reference to a mipmapped array. Owns nothing.
using MipmappedArrayRef = detail::HandleRef<MipmappedArrayCalls>;

template <class Self>
ArrayRef ArrayCalls<Self>::plane(unsigned index, Where where) const {
  CUarray plane = nullptr;
  detail::check(this->driver().cuArrayGetPlane(&plane, this->handle(), index), "cuArrayGetPlane", where,
                this->self().ref(), detail::Argument{"plane", index});
  return ArrayRef::from_handle(plane, this->driver());
}

template <class Self>
ArrayRef MipmappedArrayCalls<Self>::level(unsigned index, Where where) const {
  CUarray level = nullptr;
  detail::check(this->driver().cuMipmappedArrayGetLevel(&level, this->handle(), index),
                "cuMipmappedArrayGetLevel", where, this->self().ref(), detail::Argument{"level", index});
  return ArrayRef::from_handle(level, this->driver());
}

// Owns an array.
class Array : public detail::Owner<Array, ArrayRef, ArrayCalls> {
 public:
  // Allocates an array in the current context. Driver calls: cuArrayCreate for an array without depth and
  // flags, else cuArray3DCreate; at the end cuArrayDestroy.
  static Array create(const ArrayShape &shape, Driver &driver = cushim::driver(),
                      Where where = Where::current()) {
    CUarray handle = nullptr;
    if (shape.depth == 0 && shape.flags == ArrayFlags::none) {
      const CUDA_ARRAY_DESCRIPTOR description{shape.width, shape.height,
                                              static_cast<CUarray_format>(shape.format), shape.channels};
      detail::check(driver.cuArrayCreate(&handle, &description), "cuArrayCreate", where,
                    detail::Through{&driver});
    } else {
      const CUDA_ARRAY3D_DESCRIPTOR description = shape.raw();
      detail::check(driver.cuArray3DCreate(&handle, &description), "cuArray3DCreate", where,
                    detail::Through{&driver});
    }
    return Array(handle, driver, 0);
  }
  // Allocates an array in a given context. Driver calls: push, as above, pop.
  static Array create(ContextRef context, const ArrayShape &shape, Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return create(shape, context.driver(), where); });
  }
  // Allocates an array in a device's primary context, which the array retains until it is destroyed. Driver
  // calls: cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static Array create(Device device, const ArrayShape &shape, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(shape, device.driver(), where); });
  }

 private:
  using Owner::Owner;
};

// Owns an array with mipmaps.
class MipmappedArray : public detail::Owner<MipmappedArray, MipmappedArrayRef, MipmappedArrayCalls> {
 public:
  // Allocates an array with this number of levels in the current context. Driver calls:
  // cuMipmappedArrayCreate; at the end cuMipmappedArrayDestroy.
  static MipmappedArray create(const ArrayShape &shape, unsigned levels, Driver &driver = cushim::driver(),
                               Where where = Where::current()) {
    CUmipmappedArray handle = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR description = shape.raw();
    detail::check(driver.cuMipmappedArrayCreate(&handle, &description, levels), "cuMipmappedArrayCreate",
                  where, detail::Through{&driver}, detail::Argument{"levels", levels});
    return MipmappedArray(handle, driver, 0);
  }
  // The same in a given context. Driver calls: push, as above, pop.
  static MipmappedArray create(ContextRef context, const ArrayShape &shape, unsigned levels,
                               Where where = Where::current()) {
    return detail::Creation::in(context, where,
                                [&] { return create(shape, levels, context.driver(), where); });
  }
  // The same in a device's primary context. Driver calls: cuDevicePrimaryCtxRetain, push, as above, pop; at
  // the end also cuDevicePrimaryCtxRelease.
  static MipmappedArray create(Device device, const ArrayShape &shape, unsigned levels,
                               Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(shape, levels, device.driver(), where); });
  }

 private:
  using Owner::Owner;
};

// ---- Copies of arrays of one dimension -----------------------------------------------------------
// Offsets are in bytes. Arrays of two and three dimensions: copies of rows with cuMemcpy3D of the table.

// Copies a range to an array and back. The host memory may be reused when this returns. Driver calls:
// cuMemcpyHtoA, cuMemcpyAtoH; for device memory cuMemcpyDtoA, cuMemcpyAtoD.
template <class T, std::size_t extent>
void copy_to_array(const ArrayRef &to, std::span<T, extent> from, std::size_t offset = 0,
                   Where where = Where::current()) {
  detail::check(to.driver().cuMemcpyHtoA(to.handle(), offset, from.data(), from.size_bytes()), "cuMemcpyHtoA",
                where, to);
}
template <class T, std::size_t extent>
void copy_from_array(std::span<T, extent> to, const ArrayRef &from, std::size_t offset = 0,
                     Where where = Where::current()) {
  detail::check(from.driver().cuMemcpyAtoH(to.data(), from.handle(), offset, to.size_bytes()), "cuMemcpyAtoH",
                where, from);
}
template <class T>
void copy_to_array(const ArrayRef &to, DeviceSpan<T> from, std::size_t offset = 0,
                   Where where = Where::current()) {
  detail::check(to.driver().cuMemcpyDtoA(to.handle(), offset, from.data().address(), from.size_bytes()),
                "cuMemcpyDtoA", where, to);
}
template <class T>
void copy_from_array(DeviceSpan<T> to, const ArrayRef &from, std::size_t offset = 0,
                     Where where = Where::current()) {
  detail::check(from.driver().cuMemcpyAtoD(to.data().address(), from.handle(), offset, to.size_bytes()),
                "cuMemcpyAtoD", where, from);
}
// Copies bytes from one array to another. Driver calls: cuMemcpyAtoA.
inline void copy_array(const ArrayRef &to, std::size_t to_offset, const ArrayRef &from,
                       std::size_t from_offset, std::size_t bytes, Where where = Where::current()) {
  detail::require(from, "cuMemcpyAtoA", where);
  detail::check(to.driver().cuMemcpyAtoA(to.handle(), to_offset, from.handle(), from_offset, bytes),
                "cuMemcpyAtoA", where, to, from);
}

inline namespace CUSHIM_DEFAULT_STREAM {

// Copy in stream order and return at once. The host memory must stay valid and unchanged until the copy is
// done. Driver calls: cuMemcpyHtoAAsync, cuMemcpyAtoHAsync.
template <class T>
void copy_to_array(const ArrayRef &to, PinnedSpan<T> from, const StreamRef &stream, std::size_t offset = 0,
                   Where where = Where::current()) {
  detail::require(to, "cuMemcpyHtoAAsync", where);
  detail::check(
      stream.driver().cuMemcpyHtoAAsync(to.handle(), offset, from.data(), from.size_bytes(), stream.handle()),
      "cuMemcpyHtoAAsync", where, stream, to);
}
template <class T>
void copy_from_array(PinnedSpan<T> to, const ArrayRef &from, const StreamRef &stream, std::size_t offset = 0,
                     Where where = Where::current()) {
  detail::require(from, "cuMemcpyAtoHAsync", where);
  detail::check(
      stream.driver().cuMemcpyAtoHAsync(to.data(), from.handle(), offset, to.size_bytes(), stream.handle()),
      "cuMemcpyAtoHAsync", where, stream, from);
}

}  // namespace CUSHIM_DEFAULT_STREAM
}  // namespace v1
}  // namespace cushim
