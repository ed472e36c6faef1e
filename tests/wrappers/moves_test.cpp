// SPDX-License-Identifier: Apache-2.0
// Moves every owning type in every way. Each owned object is released exactly once.
#include <gmock/gmock.h>

#include "recording_driver.hpp"

namespace cushim::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

int host[2][4];

template <class T>
T make(int which);
template <>
Event make(int) {
  return Event::create(Device::from_handle(3));
}
template <>
TimedEvent make(int) {
  return TimedEvent::create();
}
template <>
IpcEvent make(int) {
  return event::ipc::import(Device::from_handle(3), event::ipc::handle_t{});
}
template <>
Stream make(int) {
  return Stream::create();
}
template <>
PrimaryContext make(int which) {
  return PrimaryContext::retain(Device::from_handle(which));
}
template <>
Context make(int which) {
  return Context::create(Device::from_handle(which));
}
template <>
DeviceBuffer<int> make(int) {
  return DeviceBuffer<int>::create(ContextRef::from_handle(context_handle(0xc1)), 4);
}
template <>
PinnedBuffer<int> make(int) {
  return PinnedBuffer<int>::create(4);
}
template <>
RegisteredBuffer<int> make(int which) {
  return RegisteredBuffer<int>::create(host[which]);
}
template <>
ManagedBuffer<int> make(int) {
  return ManagedBuffer<int>::create(4);
}
template <>
PitchedBuffer<int> make(int) {
  return PitchedBuffer<int>::create(4, 4);
}
template <>
StreamBuffer<int> make(int) {
  return StreamBuffer<int>::create(default_stream(), 4);
}
template <>
memory::ipc::Mapping make(int) {
  return memory::ipc::import(Device::from_handle(3), memory::ipc::handle_t{});
}

template <>
PhysicalMemory make(int which) {
  return PhysicalMemory::create(Device::from_handle(which), 0x1000);
}
template <>
ShareablePhysicalMemory make(int which) {
  return ShareablePhysicalMemory::create(Device::from_handle(which), 0x1000);
}
template <>
AddressReservation make(int) {
  return AddressReservation::create(0x1000);
}
template <>
Mapping make(int which) {
  return Mapping::create(ReservedRange::from_address(0x10000u * (which + 1u), 0x1000),
                         PhysicalMemoryRef::from_handle(1));
}
template <>
VirtualBuffer<int> make(int) {
  auto buffer = VirtualBuffer<int>::create(Device::from_handle(3), 3000);
  buffer.resize(10);
  buffer.resize(2000);
  return buffer;
}

template <>
Module make(int which) {
  return Module::load(Device::from_handle(which), "");
}
template <>
Library make(int) {
  return Library::load("");
}
template <>
Linker make(int) {
  return Linker::create();
}

template <>
Graph make(int) {
  return Graph::create();
}
template <>
GraphExec make(int) {
  return GraphExec::instantiate(GraphRef::from_handle(reinterpret_cast<CUgraph>(0x90)));
}

template <>
MemoryPool make(int which) {
  return MemoryPool::create(Device::from_handle(which));
}
template <>
Array make(int) {
  return Array::create({.width = 4});
}
template <>
MipmappedArray make(int) {
  return MipmappedArray::create({.width = 4}, 2);
}
template <>
TextureObject make(int) {
  return TextureObject::create(ArrayRef::from_handle(nullptr));
}
template <>
SurfaceObject make(int) {
  return SurfaceObject::create(ArrayRef::from_handle(nullptr));
}
template <>
ExternalMemory make(int which) {
  return ExternalMemory::import(which, 0x1000);
}
template <>
ExternalSemaphore make(int which) {
  return ExternalSemaphore::import_binary(which);
}
#if CUDA_VERSION >= 12040
template <>
MulticastObject make(int) {
  return MulticastObject::create(2, 0x1000);
}
template <>
GreenContext make(int which) {
  return GreenContext::create(Device::from_handle(which), {});
}
#endif

template <class T>
class Move : public testing::Test {
 public:
  Move() {
    recording.tracks<Entry::cuArrayCreate_v3020, Entry::cuArrayDestroy_v2000>("array");
    recording.tracks<Entry::cuMipmappedArrayCreate_v5000, Entry::cuMipmappedArrayDestroy_v5000>("mipmaps");
    recording.tracks<Entry::cuTexObjectCreate_v5000, Entry::cuTexObjectDestroy_v5000>("texture object");
    recording.tracks<Entry::cuSurfObjectCreate_v5000, Entry::cuSurfObjectDestroy_v5000>("surface object");
    recording.tracks<Entry::cuImportExternalMemory_v10000, Entry::cuDestroyExternalMemory_v10000>(
        "external memory");
    recording.tracks<Entry::cuImportExternalSemaphore_v10000, Entry::cuDestroyExternalSemaphore_v10000>(
        "external semaphore");
#if CUDA_VERSION >= 12040
    recording.tracks<Entry::cuMulticastCreate_v12010, Entry::cuMemRelease_v10020>("physical memory");
    recording.tracks<Entry::cuGreenCtxCreate_v12040, Entry::cuGreenCtxDestroy_v12040>("green context");
#endif
  }
  // Runs after all objects are destroyed.
  void TearDown() override {
    EXPECT_THAT(recording.live(), IsEmpty());
    EXPECT_THAT(recording.wrong_releases(), IsEmpty());
    EXPECT_THAT(Recording::unreported(), IsEmpty());
  }
  Recording recording;
};

using Owners = testing::Types<Event, TimedEvent, IpcEvent, Stream, PrimaryContext, Context, DeviceBuffer<int>,
                              PinnedBuffer<int>, RegisteredBuffer<int>, ManagedBuffer<int>,
                              PitchedBuffer<int>, StreamBuffer<int>, memory::ipc::Mapping, PhysicalMemory,
                              ShareablePhysicalMemory, AddressReservation, Mapping, VirtualBuffer<int>,
                              Module, Library, Linker, Graph, GraphExec, MemoryPool, Array, MipmappedArray,
                              TextureObject, SurfaceObject, ExternalMemory, ExternalSemaphore
#if CUDA_VERSION >= 12040
                              ,
                              MulticastObject, GreenContext
#endif
                              >;
TYPED_TEST_SUITE(Move, Owners);

TYPED_TEST(Move, Construction_leaves_the_source_empty) {
  TypeParam source = make<TypeParam>(0);
  const auto live = this->recording.live();
  const TypeParam target(std::move(source));
  EXPECT_TRUE(source.is_empty());
  EXPECT_FALSE(target.is_empty());
  EXPECT_EQ(this->recording.live(), live);
}

TYPED_TEST(Move, Assignment_releases_the_object_of_the_target) {
  TypeParam source = make<TypeParam>(0);
  const auto live = this->recording.live();
  TypeParam target = make<TypeParam>(1);
  target = std::move(source);
  EXPECT_TRUE(source.is_empty());
  EXPECT_FALSE(target.is_empty());
  EXPECT_THAT(this->recording.live(), SizeIs(live.size()));
}

TYPED_TEST(Move, Assignment_to_itself_changes_nothing) {
  TypeParam owner = make<TypeParam>(0);
  const auto live = this->recording.live();
  TypeParam &same = owner;
  owner = std::move(same);
  EXPECT_FALSE(owner.is_empty());
  EXPECT_EQ(this->recording.live(), live);
}

TYPED_TEST(Move, From_an_empty_one_makes_an_empty_one) {
  TypeParam owner = make<TypeParam>(0);
  TypeParam empty;
  EXPECT_TRUE(empty.is_empty());
  owner = std::move(empty);
  EXPECT_TRUE(owner.is_empty());
  EXPECT_THAT(this->recording.live(), IsEmpty());
  const TypeParam still(std::move(owner));
  EXPECT_TRUE(still.is_empty());
}

TYPED_TEST(Move, Swap_exchanges_and_releases_nothing) {
  TypeParam first = make<TypeParam>(0);
  TypeParam second = make<TypeParam>(1);
  TypeParam empty;
  this->recording.calls();
  swap(first, second);
  swap(first, empty);
  EXPECT_THAT(this->recording.calls(), IsEmpty());
  EXPECT_TRUE(first.is_empty());
  EXPECT_FALSE(second.is_empty() || empty.is_empty());
}

TYPED_TEST(Move, Close_releases_once) {
  TypeParam owner = make<TypeParam>(0);
  owner.close();
  EXPECT_TRUE(owner.is_empty());
  EXPECT_THAT(this->recording.live(), IsEmpty());
  this->recording.calls();
  owner.close();
  EXPECT_THAT(this->recording.calls(), IsEmpty());
}

// True if a reference of type Reference to an owner could be assigned through.
template <class Owner, class Reference>
constexpr bool is_assignable_as = std::is_convertible_v<Owner &, Reference &>;

TYPED_TEST(Move, Is_not_possible_through_a_reference_that_does_not_own) {
  using Owner = TypeParam;
  static_assert(!is_assignable_as<Owner, StreamRef> && !is_assignable_as<Owner, EventRef> &&
                !is_assignable_as<Owner, TimedEventRef> && !is_assignable_as<Owner, ContextRef> &&
                !is_assignable_as<Owner, DeviceSpan<int>> && !is_assignable_as<Owner, PinnedSpan<int>> &&
                !is_assignable_as<Owner, GraphRef> && !is_assignable_as<Owner, GraphExecRef> &&
                !is_assignable_as<Owner, ModuleRef> && !is_assignable_as<Owner, LibraryRef> &&
                !is_assignable_as<Owner, MemoryPoolRef> && !is_assignable_as<Owner, PhysicalMemoryRef> &&
                !is_assignable_as<Owner, ArrayRef> && !is_assignable_as<Owner, MipmappedArrayRef> &&
                !is_assignable_as<Owner, TextureObjectRef> && !is_assignable_as<Owner, SurfaceObjectRef> &&
                !is_assignable_as<Owner, ExternalMemoryRef> &&
                !is_assignable_as<Owner, ExternalSemaphoreRef> && !is_assignable_as<Owner, std::span<int>> &&
                !is_assignable_as<Owner, DeviceSpan2D<int>>);
  static_assert(is_assignable_as<Owner, Event> == std::is_same_v<Owner, Event>);
  static_assert(!is_assignable_as<TimedEventRef, EventRef>);
}

TYPED_TEST(Move, Is_the_only_way_and_does_not_throw) {
  static_assert(!std::is_copy_constructible_v<TypeParam> && !std::is_copy_assignable_v<TypeParam>);
  static_assert(std::is_nothrow_move_constructible_v<TypeParam> &&
                std::is_nothrow_move_assignable_v<TypeParam>);
  static_assert(std::is_nothrow_destructible_v<TypeParam>);
}

}  // namespace
}  // namespace cushim::test
