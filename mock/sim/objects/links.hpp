// SPDX-License-Identifier: Apache-2.0
// Circular lists whose elements move to other places in constant time.
#pragma once

namespace cushim::sim {

// An element of a list, or the list itself: a link that is linked only to itself is an empty list. Leaves its
// list only when asked to.
class ListLink {
 public:
  ListLink() noexcept = default;
  ListLink(const ListLink &) = delete;
  ListLink &operator=(const ListLink &) = delete;

  ListLink &next() const noexcept { return *next_; }
  ListLink &previous() const noexcept { return *previous_; }
  bool is_alone() const noexcept { return next_ == this; }

  // Requires that this element is not in a list.
  void join_before(ListLink &at) noexcept {
    next_ = &at;
    previous_ = at.previous_;
    previous_->next_ = at.previous_ = this;
  }
  void leave() noexcept {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }

 private:
  ListLink *previous_ = this, *next_ = this;
};

// The link of an object in one list.
template <class T>
struct ListLinkOf : ListLink {
  explicit ListLinkOf(T &owner) noexcept : owner(owner) {}
  T &owner;
};

}  // namespace cushim::sim
