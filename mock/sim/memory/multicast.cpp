// SPDX-License-Identifier: Apache-2.0
#include "memory/multicast.hpp"

#include <algorithm>

#include "memory/physical_view.hpp"
#include "objects/device.hpp"

namespace cushim::sim {

Multicast::Multicast(std::unique_ptr<MulticastTable> table, PhysicalFiles &files)
    : table_(std::move(table)), files_(files) {}

Multicast::~Multicast() {
  for (const auto &[id, memory] : own_) table_->unbind(id);
}

bool Multicast::has(const Device &device) const {
  return std::ranges::any_of(devices(), [&](const CUuuid &one) { return are_equal(one, device.uuid); });
}

bool Multicast::add(const Device &device) { return table_->add_device(device.uuid); }

void Multicast::wait_for_device(std::chrono::milliseconds limit) const {
  const std::uint32_t count = table_->device_count();
  if (count != team()) table_->wait_for_device(count, limit);
}

bool Multicast::add(MulticastTable::Binding &binding, std::shared_ptr<BoundMemory> memory) {
  if (!table_->bind(binding)) return false;
  own_.emplace(binding.id, std::move(memory));
  return true;
}

bool Multicast::bind(const Device &device, std::size_t offset, std::size_t size,
                     const std::shared_ptr<PhysicalMemory> &memory, std::shared_ptr<BoundMemory> view,
                     std::size_t from) {
  if (!is_exportable()) return bind(device, offset, size, std::move(view), from);
  MulticastTable::Binding binding{.device = device.uuid,
                                  .offset = offset,
                                  .size = size,
                                  .process = Process::self(),
                                  .file = memory->bytes->file(),
                                  .nonce = memory->bytes->nonce(),
                                  .from = from};
  return add(binding, std::move(view));
}

bool Multicast::bind(const Device &device, std::size_t offset, std::size_t size,
                     std::shared_ptr<BoundMemory> view, std::size_t from) {
  MulticastTable::Binding binding{
      .device = device.uuid, .offset = offset, .size = size, .process = Process::self(), .from = from};
  return add(binding, std::move(view));
}

bool Multicast::unbind(const Device &device, std::size_t offset, std::size_t size) {
  if (!table_->unbind(device.uuid, offset, size)) return false;
  update();  // lets go of the memory
  return true;
}

// Opens memory that another process, or another object of this process, has bound. Returns null if it cannot
// be reached.
std::shared_ptr<BoundMemory> Multicast::open(const MulticastTable::Binding &binding) {
  auto opened = files_.open(binding.process, binding.file, binding.nonce);
  if (!opened || binding.from > opened->bytes->size() || binding.size > opened->bytes->size() - binding.from)
    return nullptr;
  auto memory = std::make_shared<PhysicalMemory>();
  memory->bytes = std::move(opened->bytes);
  return PhysicalView::make(std::move(memory));
}

void Multicast::update() {
  if (table_->version() == version_) return;
  MulticastTable::Bindings found = table_->bindings();
  std::vector<Bound> bound;
  std::map<std::uint64_t, std::shared_ptr<BoundMemory>> own;
  for (const MulticastTable::Binding &binding : found.all) {
    const auto mine = own_.find(binding.id);
    if (mine != own_.end()) {
      own.insert(*mine);
      bound.push_back({binding, mine->second});
      continue;
    }
    const auto known =
        std::ranges::find_if(bound_, [&](const Bound &one) { return one.binding.id == binding.id; });
    bound.push_back({binding, known != bound_.end() ? known->memory : open(binding)});
  }
  bound_ = std::move(bound);
  own_ = std::move(own);
  version_ = found.version;
}

std::vector<Multicast::Copy> Multicast::copies(std::size_t offset, std::size_t count) {
  update();
  std::vector<Copy> found;
  std::size_t covered = 0;
  for (const auto &[binding, memory] : bound_) {
    const std::size_t first = std::max<std::size_t>(offset, binding.offset);
    const std::size_t end = std::min<std::size_t>(offset + count, binding.offset + binding.size);
    if (memory == nullptr || first >= end) continue;
    std::byte *const bytes = memory->bytes(binding.from + (first - binding.offset), end - first);
    if (bytes == nullptr) continue;
    found.push_back({bytes, first - offset, end - first, memory});
    covered += end - first;
  }
  if (covered != team() * count) found.clear();
  return found;
}

std::shared_ptr<Multicast> MulticastObjects::add(std::unique_ptr<MulticastTable> table) {
  if (table == nullptr) return nullptr;
  std::erase_if(objects_, [](const auto &entry) { return entry.second.expired(); });
  std::weak_ptr<Multicast> &known = objects_[table->nonce()];
  if (auto object = known.lock()) return object;
  auto object = std::make_shared<Multicast>(std::move(table), files_);
  known = object;
  return object;
}

std::shared_ptr<Multicast> MulticastObjects::make(const Multicast::Shape &shape) {
  return add(MulticastTable::make(shape));
}

std::shared_ptr<Multicast> MulticastObjects::open(int descriptor) {
  return add(MulticastTable::open(descriptor));
}

}  // namespace cushim::sim
