// SPDX-License-Identifier: Apache-2.0
// Device code in object files and archives.
#include "kernels/object_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <cushim/detail/fat_binary.hpp>
#include "support/cubin.hpp"

namespace cushim::sim {
namespace {

const std::string kPtx = ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry empty() { ret; }\n";

std::string object_with(const std::string &section, const std::string &content) {
  return elf_with(EM_X86_64, {{".text", "code"}, {section, content}, {".nvFatBinSegment", "wrapper"}});
}

TEST(ObjectFile, Has_the_fat_binaries_of_its_section) {
  const std::string one = fat_binary_with(kPtx), other = fat_binary_with("// longer\n" + kPtx);
  std::string both = one;
  both.resize((one.size() + 7) / 8 * 8);
  both += other;
  const std::string object = object_with("__nv_relfatbin", both);
  const auto images = device_images(object);
  ASSERT_TRUE(images.has_value());
  ASSERT_EQ(images->size(), 2U);
  EXPECT_EQ((*images)[0].bytes, one);
  EXPECT_EQ((*images)[1].bytes, other);
  EXPECT_TRUE(device_images(object_with(".nv_fatbin", both))->empty());  // not relocatable
  EXPECT_TRUE(device_images(elf_with(EM_X86_64, {{"__nv_relfatbin", both}}))->empty());
}

TEST(ObjectFile, Has_no_fat_binary_without_a_header) {
  std::string empty = fat_binary_with(kPtx);
  fat_binary::Container header;
  std::memcpy(&header, empty.data(), sizeof header);
  header.header_size = 0;
  header.size = 0;
  std::memcpy(empty.data(), &header, sizeof header);
  EXPECT_TRUE(device_images(object_with("__nv_relfatbin", empty))->empty());
}

TEST(ObjectFile, Is_no_cubin_and_no_text) {
  EXPECT_FALSE(device_images(cubin_with({"k"})).has_value());
  EXPECT_FALSE(device_images(kPtx).has_value());
  EXPECT_FALSE(device_images(fat_binary_with(kPtx)).has_value());
  EXPECT_FALSE(device_images("").has_value());
}

TEST(Archive, Has_the_device_code_of_its_members) {
  const std::string one = fat_binary_with(kPtx), other = fat_binary_with("// longer\n" + kPtx);
  const std::string archive =
      archive_of({{"host.o", object_with(".data", "x")},
                  {"device.o", object_with("__nv_relfatbin", one)},
                  {"a_name_of_more_than_16_characters.o", object_with("__nv_relfatbin", other)}});
  const auto images = device_images(archive);
  ASSERT_TRUE(images.has_value());
  ASSERT_EQ(images->size(), 2U);
  EXPECT_EQ((*images)[0].member, "device.o");
  EXPECT_EQ((*images)[0].bytes, one);
  EXPECT_EQ((*images)[1].member, "a_name_of_more_than_16_characters.o");
  EXPECT_EQ((*images)[1].bytes, other);
}

TEST(Archive, Has_no_code_if_a_member_is_not_an_object_file) {
  const std::string object = object_with("__nv_relfatbin", fat_binary_with(kPtx));
  for (const std::string &member : {kPtx, fat_binary_with(kPtx), cubin_with({"k"}), std::string("text")}) {
    const std::string archive = archive_of({{"device.o", object}, {"other", member}});
    EXPECT_TRUE(device_images(archive)->empty());
  }
  EXPECT_TRUE(device_images("!<arch>\n")->empty());
}

TEST(Archive, Of_arbitrary_bytes_is_read_within_its_bounds) {
  const std::string archive =
      archive_of({{"a_name_of_more_than_16_characters.ptx", kPtx},
                  {"device.o", object_with("__nv_relfatbin", fat_binary_with(kPtx))}});
  for (std::size_t size = 0; size < archive.size(); ++size) {
    const std::string shorter = archive.substr(0, size);  // on the heap, so that sanitizers see its end
    device_images(shorter);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = archive;
    for (int j = 0; j < 4; ++j) changed[8 + random() % (changed.size() - 8)] = static_cast<char>(random());
    const auto images = device_images(changed);
    ASSERT_TRUE(images);
    for (const DeviceImage &image : *images) {
      EXPECT_GE(image.bytes.data(), changed.data());
      EXPECT_LE(image.bytes.data() + image.bytes.size(), changed.data() + changed.size());
    }
  }
}

}  // namespace
}  // namespace cushim::sim
