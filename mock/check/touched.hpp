// SPDX-License-Identifier: Apache-2.0
// Which work last used which bytes of an address space, as far as later work may still conflict with it. What
// the host knows to be done is forgotten.
#pragma once

#include <map>
#include <vector>

#include "access.hpp"

namespace cushim::check {

class Touched {
 public:
  explicit Touched(const Order &order) : order_(order) {}

  // The newest work of access's lane uses these bytes. Adds to the conflicts: one at most with each earlier
  // use.
  void touch(const Extent &extent, const Access &access, std::vector<Conflict> &conflicts);

  // The bytes are other memory now, or none.
  void forget(ByteRange range);

  // Who last changed any of these bytes.
  std::vector<Moment> writers(ByteRange range) const;

  // How many uses are remembered.
  std::size_t size() const noexcept { return ranges_.size() + boxes_.size(); }

 private:
  // The last change, and the reads since then that are not ordered among themselves.
  struct Uses {
    Access change;  // of no lane if there is none
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
  // The first use that the access conflicts with.
  const Access *opponent(const Uses &uses, const Access &access) const;
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
