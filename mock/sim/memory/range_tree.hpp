// SPDX-License-Identifier: Apache-2.0
// Disjoint ranges of addresses, of which the first one of at least a size is found in logarithmic time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

namespace cushim::sim {

// A treap by address. Each node knows the size of the largest range of its subtree. Pointers to ranges stay
// valid until their range is extracted.
template <class Value>
class RangeTree {
 public:
  struct Range {
    std::size_t base = 0, size = 0;
    Value value{};
    std::size_t end() const noexcept { return base + size; }
  };

 private:
  struct Element;

 public:
  // A range that is in no tree.
  using Node = std::unique_ptr<Element>;
  static Node make_node() { return std::make_unique<Element>(); }
  static Range &range_of(const Node &node) noexcept { return *node; }

  bool empty() const noexcept { return root_ == nullptr; }

  // Adds the range of a node; it must not overlap others.
  Range &insert(Node &&node) noexcept {
    Element &added = *node;
    if (added.priority == 0) added.priority = next_priority();
    Node *place = &root_;
    while (*place != nullptr && (*place)->priority >= added.priority) {
      Element &above = **place;
      above.largest = std::max(above.largest, added.size);
      place = above.base < added.base ? &above.right : &above.left;
    }
    std::tie(added.left, added.right) = split(std::move(*place), added.base);
    update(added);
    *place = std::move(node);
    return added;
  }
  Range &insert(std::size_t base, std::size_t size, Value value = {}) {
    Node node = make_node();
    static_cast<Range &>(*node) = {base, size, std::move(value)};
    return insert(std::move(node));
  }

  // There must be a range with this base.
  Node extract(std::size_t base) noexcept { return extract(root_, base); }

  // Changes the bounds of a range. It must stay between its neighbours.
  void resize(Range &range, std::size_t base, std::size_t size) noexcept {
    const std::size_t old = std::exchange(range.size, size);
    range.base = base;
    if (size > old)
      raise_path(root_.get(), range);
    else
      update_path(root_.get(), range, old);
  }

  // Removes [base, base + size) from the range that contains it. The value stays with what is left.
  void cut(std::size_t base, std::size_t size) {
    Range &whole = *last_before(base + 1);
    const std::size_t before = base - whole.base, after = whole.end() - base - size;
    if (before == 0 && after == 0) {
      extract(base);
    } else if (before == 0) {
      resize(whole, base + size, after);
    } else {
      Node rest = after != 0 ? make_node() : nullptr;  // may throw, so it comes before any change
      resize(whole, whole.base, before);
      if (rest == nullptr) return;
      range_of(rest) = {base + size, after, whole.value};
      insert(std::move(rest));
    }
  }

  // Each returns null if there is no such range.
  Range *last_before(std::size_t address) const noexcept {
    Element *found = nullptr;
    for (Element *at = root_.get(); at != nullptr;)
      if (at->base < address)
        found = std::exchange(at, at->right.get());
      else
        at = at->left.get();
    return found;
  }
  Range *first_from(std::size_t address) const noexcept { return first_fit(root_.get(), address, 0); }
  Range *first_of_size(std::size_t size, std::size_t from = 0) const noexcept {
    return first_fit(root_.get(), from, size);
  }

 private:
  struct Element : Range {
    std::size_t largest = 0;
    std::uint32_t priority = 0;
    Node left, right;
  };

  static std::size_t largest_of(const Node &tree) noexcept { return tree != nullptr ? tree->largest : 0; }
  static void update(Element &element) noexcept {
    element.largest = std::max({element.size, largest_of(element.left), largest_of(element.right)});
  }

  // Updates a node below which a range of this size has shrunk or gone. Reads its children only if that may
  // have been the largest: they are rarely in the processor's caches.
  static void update(Element &element, std::size_t old) noexcept {
    if (element.largest == old) update(element);
  }

  // Update a range and the nodes above it, after it has grown, or shrunk from a size.
  static void raise_path(Element *at, const Range &grown) noexcept {
    for (;; at = grown.base < at->base ? at->left.get() : at->right.get()) {
      at->largest = std::max(at->largest, grown.size);
      if (at == &grown) return;
    }
  }
  static void update_path(Element *at, const Range &shrunk, std::size_t old) noexcept {
    if (at != &shrunk) update_path(shrunk.base < at->base ? at->left.get() : at->right.get(), shrunk, old);
    update(*at, old);
  }

  static Node extract(Node &place, std::size_t base) noexcept {
    if (place->base != base) {
      Node found = extract(base < place->base ? place->left : place->right, base);
      update(*place, found->size);
      return found;
    }
    Node found = std::move(place);
    place = merge(std::move(found->left), std::move(found->right));
    return found;
  }

  // Returns the ranges before the address, and the others.
  static std::pair<Node, Node> split(Node tree, std::size_t address) noexcept {
    if (tree == nullptr) return {};
    const bool is_before = tree->base < address;
    Node &cut = is_before ? tree->right : tree->left;
    auto [before, others] = split(std::move(cut), address);
    cut = std::move(is_before ? before : others);
    update(*tree);
    (is_before ? before : others) = std::move(tree);
    return {std::move(before), std::move(others)};
  }

  // Requires that all ranges of `before` are before those of `after`.
  static Node merge(Node before, Node after) noexcept {
    if (before == nullptr) return after;
    if (after == nullptr) return before;
    if (before->priority > after->priority) {
      before->right = merge(std::move(before->right), std::move(after));
      update(*before);
      return before;
    }
    after->left = merge(std::move(before), std::move(after->left));
    update(*after);
    return after;
  }

  static Element *first_fit(Element *tree, std::size_t from, std::size_t size) noexcept {
    if (tree == nullptr || tree->largest < size) return nullptr;
    if (tree->base < from) return first_fit(tree->right.get(), from, size);
    Element *const found = first_fit(tree->left.get(), from, size);
    if (found != nullptr) return found;
    return tree->size >= size ? tree : first_fit(tree->right.get(), from, size);
  }

  // xorshift: the same priorities in each run. Never 0.
  std::uint32_t next_priority() noexcept {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    return random_ ^= random_ << 5;
  }

  Node root_;
  std::uint32_t random_ = 2'463'534'242;
};

}  // namespace cushim::sim
