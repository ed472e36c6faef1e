// SPDX-License-Identifier: Apache-2.0
// Every noun that the driver creates in a context can be created in a given context and on a device.
#include <gmock/gmock.h>

#include <sstream>

#include "sample_objects.hpp"

namespace cushim::test {
namespace {

using testing::IsEmpty;

// The context in which the driver ends an object.
enum class Ended { anywhere, in_its_context };

// How one noun is created, and the driver calls of its beginning and its end.
struct Creation {
  const char *name;
  std::function<void()> in_current;  // creates the object in the current context, and ends it; empty: cannot
  std::function<void()> in_context;  // creates the object in context_c1(), and ends it
  std::function<void()> on_device;   // the same on device_3()
  std::string beginning;
  std::string end;
  Ended ended = Ended::anywhere;
};
void PrintTo(const Creation &creation, std::ostream *out) { *out << creation.name; }

// Calls create() for the current context, create(place) for a context and for a device.
template <class Create>
Creation creation(const char *name, Create create, const char *beginning, const char *end,
                  Ended ended = Ended::anywhere) {
  std::function<void()> in_current;
  if constexpr (std::is_invocable_v<Create>) in_current = create;
  return {name, in_current, [create] { create(context_c1()); }, [create] { create(device_3()); }, beginning,
          end,  ended};
}

template <class Create>
Creation texture(const char *name, Create create,
                 const char *beginning = "cuTexObjectCreate(&, &, &, null)") {
  return creation(name, create, beginning, "cuTexObjectDestroy(0x1000)", Ended::in_its_context);
}

const Creation kCreations[] = {
    creation(
        "event", [](auto... place) { Event::create(place..., EventFlags::blocking_sync); },
        "cuEventCreate(&, 3)", "cuEventDestroy_v2(0x1000)"),
    creation(
        "imported_event", [](auto place) { event::ipc::import(place, event::ipc::handle_t{}); },
        "cuIpcOpenEventHandle(&, {})", "cuEventDestroy_v2(0x1000)"),
    creation(
        "stream", [](auto... place) { Stream::create(place..., {.priority = -1}); },
        "cuStreamCreateWithPriority(&, 0, -1)", "cuStreamDestroy_v2(0x1000)"),
    creation(
        "device_memory", [](auto... place) { DeviceBuffer<int>::create(place..., 4); },
        "cuMemAlloc_v2(&, 16)", "cuMemFree_v2(0x1000)", Ended::in_its_context),
    creation(
        "pinned_memory", [](auto... place) { PinnedBuffer<int>::create(place..., 4, PinnedFlags::portable); },
        "cuMemHostAlloc(&, 16, 1)", "cuMemFreeHost(0x1000)", Ended::in_its_context),
    creation(
        "registered_memory",
        [](auto... place) {
          auto *const memory = reinterpret_cast<int *>(0x8000);
          RegisteredBuffer<int>::create(place..., std::span(memory, 4), RegisterFlags::read_only);
        },
        "cuMemHostRegister_v2(0x8000, 16, 8)", "cuMemHostUnregister(0x8000)", Ended::in_its_context),
    creation(
        "managed_memory",
        [](auto... place) { ManagedBuffer<int>::create(place..., 4, MemoryAttachment::host); },
        "cuMemAllocManaged(&, 16, 2)", "cuMemFree_v2(0x1000)", Ended::in_its_context),
    creation(
        "pitched_memory", [](auto... place) { PitchedBuffer<int>::create(place..., 4, 5); },
        "cuMemAllocPitch_v2(&, &, 16, 5, 4)", "cuMemFree_v2(0x1000)", Ended::in_its_context),
    creation(
        "imported_memory", [](auto... place) { memory::ipc::import(place..., memory::ipc::handle_t{}); },
        "cuIpcOpenMemHandle_v2(&, {}, 1)", "cuIpcCloseMemHandle(0xa000)", Ended::in_its_context),
    creation(
        "array", [](auto... place) { Array::create(place..., {.width = 4}); }, "cuArrayCreate_v2(&, &)",
        "cuArrayDestroy(0x1000)"),
    creation(
        "mipmapped_array", [](auto... place) { MipmappedArray::create(place..., {.width = 4}, 2); },
        "cuMipmappedArrayCreate(&, &, 2)", "cuMipmappedArrayDestroy(0x1000)"),
    texture("texture_of_an_array", [](auto... place) { TextureObject::create(place..., array()); }),
    texture("texture_of_a_mipmapped_array",
            [](auto... place) { TextureObject::create(place..., mipmaps()); }),
    texture(
        "texture_with_a_view",
        [](auto... place) { TextureObject::create(place..., mipmaps(), {}, CUDA_RESOURCE_VIEW_DESC{}); },
        "cuTexObjectCreate(&, &, &, &)"),
    texture("texture_of_memory",
            [](auto... place) { TextureObject::create(place..., kDevice, ArrayFormat::signed32); }),
    creation(
        "surface", [](auto... place) { SurfaceObject::create(place..., array()); },
        "cuSurfObjectCreate(&, &)", "cuSurfObjectDestroy(0x1000)", Ended::in_its_context),
    creation(
        "external_memory",
        [](auto... place) { ExternalMemory::import(place..., 5, 4096, DedicatedMemory::yes); },
        "cuImportExternalMemory(&, &)", "cuDestroyExternalMemory(0x1000)"),
    creation(
        "external_buffer", [](auto... place) { external_memory().buffer<int>(place..., 0, 4); },
        "cuExternalMemoryGetMappedBuffer(&, 0x61, &)", "cuMemFree_v2(0x1000)", Ended::in_its_context),
    creation(
        "external_array", [](auto... place) { external_memory().array(place..., 0, {.width = 4}); },
        "cuExternalMemoryGetMappedMipmappedArray(&, 0x61, &)", "cuMipmappedArrayDestroy(0x1000)"),
    creation(
        "binary_semaphore", [](auto... place) { ExternalSemaphore::import_binary(place..., 5); },
        "cuImportExternalSemaphore(&, &)", "cuDestroyExternalSemaphore(0x1000)"),
    creation(
        "timeline_semaphore", [](auto... place) { ExternalSemaphore::import_timeline(place..., 5); },
        "cuImportExternalSemaphore(&, &)", "cuDestroyExternalSemaphore(0x1000)"),
    creation(
        "module",
        [](auto... place) {
          Module::load(place..., CodeImage::from_address(reinterpret_cast<void *>(0x8000)));
        },
        "cuModuleLoadDataEx(&, 0x8000, 5, &, &)", "cuModuleUnload(0x1000)"),
    creation(
        "module_of_a_file", [](auto... place) { Module::load_file(place..., "file"); },
        "cuModuleLoad(&, \"file\")", "cuModuleUnload(0x1000)"),
    creation(
        "linker", [](auto... place) { Linker::create(place...); }, "cuLinkCreate_v2(5, &, &, &)",
        "cuLinkDestroy(0x1000)"),
    creation(
        "executable_graph",
        [](auto... place) {
          GraphExec::instantiate(place..., graph(), InstantiateFlags::auto_free_on_launch);
        },
        "cuGraphInstantiateWithFlags(&, 0x90, 0x1)", "cuGraphExecDestroy(0x1000)"),
};

class Created : public testing::TestWithParam<Creation> {
 public:
  Recording recording;

  Created() {
    recording.tracks<Entry::cuArrayCreate_v3020, Entry::cuArrayDestroy_v2000>("array");
    recording.tracks<Entry::cuMipmappedArrayCreate_v5000, Entry::cuMipmappedArrayDestroy_v5000>("array");
    recording
        .tracks<Entry::cuExternalMemoryGetMappedMipmappedArray_v10000, Entry::cuMipmappedArrayDestroy_v5000>(
            "array");
    recording.tracks<Entry::cuTexObjectCreate_v5000, Entry::cuTexObjectDestroy_v5000>("texture");
    recording.tracks<Entry::cuSurfObjectCreate_v5000, Entry::cuSurfObjectDestroy_v5000>("surface");
    recording.tracks<Entry::cuImportExternalMemory_v10000, Entry::cuDestroyExternalMemory_v10000>("import");
    recording.tracks<Entry::cuImportExternalSemaphore_v10000, Entry::cuDestroyExternalSemaphore_v10000>(
        "import");
  }

  // Returns the calls of an object's life while `push` makes its context current.
  static Calls calls_with(const std::string &push) {
    const Creation &noun = GetParam();
    Calls calls{push, noun.beginning, "cuCtxPopCurrent_v2(&)"};
    if (noun.ended == Ended::in_its_context) calls.push_back(push);
    calls.push_back(noun.end);
    if (noun.ended == Ended::in_its_context) calls.emplace_back("cuCtxPopCurrent_v2(&)");
    return calls;
  }
};

TEST_P(Created, In_the_current_context_takes_one_call_and_its_end_another) {
  if (!GetParam().in_current) {
    EXPECT_STREQ(GetParam().name, "imported_event");
    return;
  }
  GetParam().in_current();
  EXPECT_EQ(recording.calls(), (Calls{GetParam().beginning, GetParam().end}));
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST_P(Created, In_a_given_context_makes_it_current_for_the_call) {
  GetParam().in_context();
  EXPECT_EQ(recording.calls(), calls_with("cuCtxPushCurrent_v2(0xc1)"));
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST_P(Created, On_a_device_retains_its_primary_context_until_the_end) {
  Calls expected = calls_with("cuCtxPushCurrent_v2(0xc0)");
  expected.insert(expected.begin(), "cuDevicePrimaryCtxRetain(&, 3)");
  expected.emplace_back("cuDevicePrimaryCtxRelease_v2(3)");
  GetParam().on_device();
  EXPECT_EQ(recording.calls(), expected);
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST_P(Created, Leaves_nothing_behind_if_the_driver_fails) {
  recording.fail(2, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(error_of(GetParam().in_context).result(), CUDA_ERROR_OUT_OF_MEMORY);
  recording.fail(3, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(error_of(GetParam().on_device).result(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(recording.live(), IsEmpty());
}

TEST_P(Created, Names_a_failed_call_of_its_end) {
  GetParam().in_context();
  const std::size_t count = recording.calls().size();
  for (std::size_t nth = 4; nth <= count; ++nth) {
    Recording::unreported().clear();
    recording.fail(static_cast<int>(nth), CUDA_ERROR_INVALID_VALUE);
    GetParam().in_context();
    EXPECT_THAT(Recording::unreported(), testing::ElementsAre(testing::StartsWith(recording.failed() + ":")));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Created, testing::ValuesIn(kCreations),
                         [](const auto &info) { return std::string(info.param.name); });

// ---- Queries of textures and surfaces, which the driver answers in the object's context only ------

TEST(CreatedTexture, Is_queried_in_its_context) {
  Recording recording;
  const auto texture = TextureObject::create(context_c1(), array());
  EXPECT_EQ(texture.context(), context_c1());
  recording.calls();
  texture.options();
  EXPECT_THAT(recording.calls(),
              testing::ElementsAre("cuCtxPushCurrent_v2(0xc1)", "cuTexObjectGetTextureDesc(&, 0x0)",
                                   "cuCtxPopCurrent_v2(&)"));
  const auto surface = SurfaceObject::create(device_3(), array());
  EXPECT_EQ(surface.context()->handle(), kPrimary);
  recording.calls();
  surface.resource();
  EXPECT_THAT(recording.calls(),
              testing::ElementsAre("cuCtxPushCurrent_v2(0xc0)", "cuSurfObjectGetResourceDesc(&, 0x0)",
                                   "cuCtxPopCurrent_v2(&)"));
}

// ---- Texts of owners -------------------------------------------------------------------------------

template <class Owner>
void expect_text(const Owner &owner, const std::string &text) {
  std::ostringstream out;
  out << owner;
  EXPECT_EQ(out.str(), text);
  EXPECT_EQ(std::hash<Owner>()(owner), std::hash<std::remove_cvref_t<decltype(owner.ref())>>()(owner.ref()));
}

TEST(CreatedText, Is_that_of_the_reference) {
  Recording recording;
  expect_text(Stream::create(), "stream 0x1000");
  expect_text(TimedEvent::create(), "event 0x2000");
  expect_text(Module::load(""), "module 0x3000");
  expect_text(PhysicalMemory::create(device(), 0x1000), "physical memory 0x4000");
  expect_text(GraphExec::instantiate(graph()), "executable graph 0x5000");
  expect_text(Array::create({.width = 4}), "array 0x0");
  expect_text(SurfaceObject::create(array()), "surface object 0x0");
  expect_text(ExternalMemory(), "an empty external memory");
}

}  // namespace
}  // namespace cushim::test
