// SPDX-License-Identifier: Apache-2.0
#include "fields.hpp"

#include <map>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace arguments {
namespace {

struct PlainField {
  Field field;
  std::string_view type;  // of a structure in the structure; else empty
  operator Field() const { return field; }
};
using PlainFields = std::map<std::string_view, std::vector<PlainField>>;

template <class T>
PlainField plain_field(const char *name, std::size_t offset) {
  return {{.name = name,
           .offset = offset,
           .size = sizeof(T),
           .kind = field_kind<T>(),
           .is_signed = std::is_signed_v<T>},
          std::is_class_v<T> ? typeid(T).name() : ""};
}

#define FIELD(structure, member) \
  plain_field<std::remove_reference_t<decltype(structure{}.member)>>(#member, offsetof(structure, member))

const PlainFields &plain_fields() {
  static const PlainFields fields = [] {
    PlainFields to;
#define ADD(structure, member) to[typeid(structure).name()].push_back(FIELD(structure, member));
#define CUSHIM_STRUCT(type)
#define CUSHIM_FIELD ADD
#include "mock/trace/fields.inc"
    // Fields of unions, and reserved ones, which the list does not have.
    ADD(CUmemLocation, id)
    ADD(CUmemAllocationProp, allocFlags.compressionType)
    ADD(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable)
    ADD(CUmemAllocationProp, allocFlags.usage)
    ADD(CUmemAllocationProp, allocFlags.reserved[0])
    ADD(CUmemPoolProps, reserved[0])
    ADD(CUDA_TEXTURE_DESC, addressMode[0])
    ADD(CUDA_TEXTURE_DESC, addressMode[1])
    ADD(CUDA_TEXTURE_DESC, addressMode[2])
    ADD(CUDA_TEXTURE_DESC, borderColor[0])
    ADD(CUDA_TEXTURE_DESC, reserved[0])
    ADD(CUDA_RESOURCE_VIEW_DESC, reserved[0])
    ADD(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, reserved[0])
    ADD(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, reserved[0])
    ADD(CUgraphEdgeData, reserved[0])
    ADD(CUgraphNodeParams, reserved0[0])
    ADD(CUgraphNodeParams, reserved2)
#undef ADD
    return to;
  }();
  return fields;
}

void add(std::string_view type, const std::string &before, std::size_t offset, Fields &to) {
  const auto found = plain_fields().find(type);
  if (found == plain_fields().end()) return;
  for (const PlainField &plain : found->second) {
    if (!plain.type.empty()) {
      add(plain.type, before + plain.field.name + ".", offset + plain.field.offset, to);
      continue;
    }
    Field field = plain.field;
    field.name = before + field.name;
    field.offset += offset;
    // CUdeviceptr is a number: only the name tells.
    for (const std::string_view part : {"Device", "devPtr", "dptr", "dst"})
      if (field.size == sizeof(CUdeviceptr) && field.kind == FieldKind::number && !field.is_signed &&
          field.name.ends_with(part))
        field.kind = FieldKind::address;
    to.push_back(field);
  }
}

Field address(PlainField plain) {
  plain.field.kind = FieldKind::address;
  return plain.field;
}

}  // namespace

const Fields &detail::fields_of(const char *type) {
  static std::map<std::string_view, Fields> all;
  const auto [found, is_new] = all.try_emplace(type);
  if (is_new) add(type, "", 0, found->second);
  return found->second;
}

const Fields &array_resource_fields() {
  static const Fields fields{FIELD(CUDA_RESOURCE_DESC, resType), FIELD(CUDA_RESOURCE_DESC, res.array.hArray),
                             FIELD(CUDA_RESOURCE_DESC, flags)};
  return fields;
}
const Fields &mipmapped_resource_fields() {
  static const Fields fields{FIELD(CUDA_RESOURCE_DESC, resType),
                             FIELD(CUDA_RESOURCE_DESC, res.mipmap.hMipmappedArray),
                             FIELD(CUDA_RESOURCE_DESC, flags)};
  return fields;
}
const Fields &linear_resource_fields() {
  static const Fields fields{
      FIELD(CUDA_RESOURCE_DESC, resType), address(FIELD(CUDA_RESOURCE_DESC, res.linear.devPtr)),
      FIELD(CUDA_RESOURCE_DESC, res.linear.format), FIELD(CUDA_RESOURCE_DESC, res.linear.numChannels),
      FIELD(CUDA_RESOURCE_DESC, res.linear.sizeInBytes)};
  return fields;
}
const Fields &pitched_resource_fields() {
  static const Fields fields{FIELD(CUDA_RESOURCE_DESC, resType),
                             address(FIELD(CUDA_RESOURCE_DESC, res.pitch2D.devPtr)),
                             FIELD(CUDA_RESOURCE_DESC, res.pitch2D.format),
                             FIELD(CUDA_RESOURCE_DESC, res.pitch2D.numChannels),
                             FIELD(CUDA_RESOURCE_DESC, res.pitch2D.width),
                             FIELD(CUDA_RESOURCE_DESC, res.pitch2D.height),
                             FIELD(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes)};
  return fields;
}
const Fields &write_value_fields() {
  static const Fields fields{FIELD(CUstreamBatchMemOpParams, writeValue.operation),
                             address(FIELD(CUstreamBatchMemOpParams, writeValue.address)),
                             FIELD(CUstreamBatchMemOpParams, writeValue.value64),
                             FIELD(CUstreamBatchMemOpParams, writeValue.flags),
                             address(FIELD(CUstreamBatchMemOpParams, writeValue.alias))};
  return fields;
}
const Fields &wait_value_fields() {
  static const Fields fields{FIELD(CUstreamBatchMemOpParams, waitValue.operation),
                             address(FIELD(CUstreamBatchMemOpParams, waitValue.address)),
                             FIELD(CUstreamBatchMemOpParams, waitValue.flags),
                             address(FIELD(CUstreamBatchMemOpParams, waitValue.alias))};
  return fields;
}

}  // namespace arguments
