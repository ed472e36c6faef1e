// SPDX-License-Identifier: Apache-2.0
// A shadow of an address space: which work last accessed which bytes, as far as later work may still
// conflict with it. Accesses that the host knows to be done are dropped.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hazards/access.hpp"

namespace cushim::check {

class ShadowMemory {
 public:
  explicit ShadowMemory(const Order &order) : order_(order) {}

  // Records that the newest work of the access's stream uses these bytes. Adds to `conflicts`: at most one
  // for each earlier access.
  void touch(const Extent &extent, const Access &access, std::vector<Conflict> &conflicts);

  // Adds to `conflicts` all accesses to these bytes that the newest work of the access's stream is not
  // ordered after, whatever their kind. Records nothing.
  void match(const Extent &extent, const Access &access, std::vector<Conflict> &conflicts) const;

  // Forgets the accesses to these bytes: they are now other memory, or unmapped.
  void forget(ByteRange range);

  // Returns the last changes of these bytes.
  std::vector<Epoch> writers(ByteRange range) const;

  // Returns the first of these bytes that are freed in stream order, and the free.
  std::optional<std::pair<Access, ByteRange>> freed(const Extent &extent) const;

  // Returns the number of ranges and boxes that are tracked.
  std::size_t size() const noexcept { return ranges_.size() + boxes_.size(); }

 private:
  // The last change, and the later accesses of other kinds that are not ordered among themselves.
  struct Uses {
    Access change;  // stream kNoStream if there is none
    std::vector<Access> reads;
  };
  struct Range {
    std::uint64_t end = 0;
    Uses uses;
  };
  struct Box {
    Extent extent;
    Uses uses;
  };
  using Ranges = std::map<std::uint64_t, Range>;

  bool is_over(const Uses &uses) const;
  // Returns the first access that conflicts with `access`; null if none.
  const Access *conflicting_access(const Uses &uses, const Access &access) const;
  void add(Uses &uses, const Access &access) const;
  void touch_range(ByteRange range, const Access &access, std::vector<Conflict> &conflicts);
  void touch_box(const Extent &extent, const Access &access, std::vector<Conflict> &conflicts);
  void match_boxes(const Extent &extent, const Access &access, std::vector<Conflict> &conflicts);
  Ranges::iterator cut(std::uint64_t at);
  void sweep();

  const Order &order_;
  Ranges ranges_;
  std::vector<Box> boxes_;
  std::size_t sweep_at_ = 1024;
};

}  // namespace cushim::check
