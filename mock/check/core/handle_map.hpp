// SPDX-License-Identifier: Apache-2.0
// A hash map by handle. Creating and destroying an object takes several lookups each. std::unordered_map
// divides in each lookup, which takes some ten nanoseconds; this map multiplies.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cushim::check {

// An open-addressing hash map with linear probing. Handle 0 marks an empty bucket. At least a quarter of
// the buckets is empty.
template <class Value>
class HandleMap {
 public:
  // Returns null if the handle is absent. The pointer is valid until the map changes.
  const Value *find(std::uint64_t handle) const noexcept {
    const Bucket &bucket = buckets_[bucket_of(handle)];
    return bucket.handle == 0 ? nullptr : &bucket.value;
  }
  Value *find(std::uint64_t handle) noexcept {
    return const_cast<Value *>(std::as_const(*this).find(handle));
  }

  // Inserts the handle if it is absent. The reference is valid until the map changes.
  Value &operator[](std::uint64_t handle) {
    if ((size_ + 1) * 4 > (mask_ + 1) * 3) grow();
    Bucket &bucket = buckets_[bucket_of(handle)];
    if (std::exchange(bucket.handle, handle) == 0) ++size_;
    return bucket.value;
  }

  void erase(std::uint64_t handle) noexcept {
    erase(handle, [](const Value &) { return true; });
  }
  // Erases the entry if `is_it` returns true for its value.
  template <class IsIt>
  void erase(std::uint64_t handle, IsIt is_it) noexcept {
    std::size_t hole = bucket_of(handle);
    if (buckets_[hole].handle == 0 || !is_it(std::as_const(buckets_[hole].value))) return;
    --size_;
    // Moves later entries of the probe sequence into the hole, so that no lookup stops at it too early.
    for (std::size_t next = after(hole); buckets_[next].handle != 0; next = after(next)) {
      const std::size_t from_home = (next - home_bucket_of(buckets_[next].handle)) & mask_;
      if (from_home >= ((next - hole) & mask_)) {
        buckets_[hole] = std::move(buckets_[next]);
        hole = next;
      }
    }
    buckets_[hole] = {};
  }

  std::size_t size() const noexcept { return size_; }

  // Visits all values, in no particular order.
  template <class Visit>
  void for_each(Visit visit) {
    for (Bucket &bucket : buckets_)
      if (bucket.handle != 0) visit(bucket.value);
  }

 private:
  static constexpr std::size_t kAtFirst = 64;

  struct Bucket {
    std::uint64_t handle = 0;  // 0: empty
    Value value{};
  };

  std::size_t after(std::size_t bucket) const noexcept { return (bucket + 1) & mask_; }
  std::size_t home_bucket_of(std::uint64_t handle) const noexcept {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>((handle * kGoldenRatio) >> shift_);
  }
  // Returns the bucket that holds the handle, or else the one to insert it in.
  std::size_t bucket_of(std::uint64_t handle) const noexcept {
    std::size_t bucket = home_bucket_of(handle);
    while (buckets_[bucket].handle != 0 && buckets_[bucket].handle != handle) bucket = after(bucket);
    return bucket;
  }
  [[gnu::cold]] void grow() {
    std::vector<Bucket> smaller(buckets_.size() * 2);
    smaller.swap(buckets_);
    mask_ = buckets_.size() - 1;
    --shift_;
    for (Bucket &bucket : smaller)
      if (bucket.handle != 0) buckets_[bucket_of(bucket.handle)] = std::move(bucket);
  }

  std::vector<Bucket> buckets_{std::vector<Bucket>(kAtFirst)};
  std::size_t mask_ = kAtFirst - 1;
  int shift_ = 64 - std::countr_zero(kAtFirst);
  std::size_t size_ = 0;
};

}  // namespace cushim::check
