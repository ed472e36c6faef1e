// SPDX-License-Identifier: Apache-2.0
#include "ipc/multicast_table.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ipc/futex.hpp"
#include "ipc/shared_blocks.hpp"

namespace cushim::sim {

// The file: the header, the devices, the records.
struct MulticastTable::Header {
  static constexpr char kMagic[24] = "cushim multicast 1";

  char magic[24];
  std::uint64_t nonce;
  Shape shape;
  std::atomic<std::uint32_t> devices;  // a futex
  std::atomic<std::uint32_t> records;  // that were ever used
  std::atomic<std::uint64_t> version;
  std::uint64_t last_id;
};

struct MulticastTable::Record {
  std::atomic<std::uint64_t> id;  // of the binding; 0: none. Written last
  Binding binding;
};

// Excludes changes by other processes. Each process has opened the file itself: the lock belongs to the open
// file description.
class MulticastTable::Lock {
 public:
  explicit Lock(const SharedFile &file) : file_(file) { change(F_WRLCK); }
  ~Lock() { change(F_UNLCK); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

 private:
  void change(short type) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    while (fcntl(file_.number(), F_OFD_SETLKW, &lock) != 0 && errno == EINTR) {
    }
  }

  const SharedFile &file_;
};

bool are_equal(const CUuuid &one, const CUuuid &other) noexcept {
  return std::memcmp(one.bytes, other.bytes, sizeof one.bytes) == 0;
}

namespace {

bool overlap(const MulticastTable::Binding &one, const MulticastTable::Binding &other) {
  return one.offset < other.offset + other.size && other.offset < one.offset + one.size;
}

}  // namespace

// Bindings of a device do not overlap, and each has at least one block.
std::size_t MulticastTable::record_count(const Shape &shape) noexcept {
  return shape.team * (shape.size / SharedBlocks::kBlock);
}

std::size_t MulticastTable::file_size(const Shape &shape) noexcept {
  return sizeof(Header) + shape.team * sizeof(CUuuid) + record_count(shape) * sizeof(Record);
}

MulticastTable::MulticastTable(SharedFile file, std::byte *mapped) noexcept
    : file_(std::move(file)),
      header_(*reinterpret_cast<Header *>(mapped)),
      shape_(header_.shape),
      devices_(reinterpret_cast<CUuuid *>(mapped + sizeof(Header))),
      records_(reinterpret_cast<Record *>(mapped + sizeof(Header) + shape_.team * sizeof(CUuuid))) {}

MulticastTable::~MulticastTable() { munmap(&header_, file_size(shape_)); }

std::unique_ptr<MulticastTable> MulticastTable::make(const Shape &shape) {
  const auto nonce = make_nonce();
  SharedFile file = nonce ? SharedFile::make(file_size(shape)) : SharedFile();
  std::byte *const mapped = file ? file.map(0, file_size(shape)) : nullptr;
  if (mapped == nullptr) return nullptr;
  auto &header = *reinterpret_cast<Header *>(mapped);
  std::memcpy(header.magic, Header::kMagic, sizeof header.magic);
  header.nonce = *nonce;
  header.shape = shape;
  return std::unique_ptr<MulticastTable>(new MulticastTable(std::move(file), mapped));
}

std::unique_ptr<MulticastTable> MulticastTable::open(int descriptor) {
  SharedFile file = SharedFile::open(Process::self(), descriptor);
  if (!file || file.size() < sizeof(Header)) return nullptr;
  std::byte *const mapped = file.map(0, file.size());
  if (mapped == nullptr) return nullptr;
  const auto &header = *reinterpret_cast<const Header *>(mapped);
  const Shape shape = header.shape;
  const bool is_valid = std::memcmp(header.magic, Header::kMagic, sizeof header.magic) == 0 &&
                        shape.team != 0 && shape.team <= kDevices && shape.size != 0 &&
                        shape.size % SharedBlocks::kBlock == 0 && shape.is_exportable == 1 &&
                        file_size(shape) == file.size();
  if (!is_valid) return munmap(mapped, file.size()), nullptr;
  return std::unique_ptr<MulticastTable>(new MulticastTable(std::move(file), mapped));
}

std::uint64_t MulticastTable::nonce() const noexcept { return header_.nonce; }

std::uint64_t MulticastTable::version() const noexcept { return header_.version; }

// The file may be damaged.
std::uint32_t MulticastTable::device_count() const noexcept {
  return std::min<std::uint32_t>(header_.devices, shape_.team);
}
std::size_t MulticastTable::used() const noexcept {
  return std::min<std::size_t>(header_.records, record_count(shape_));
}

std::vector<CUuuid> MulticastTable::devices() const { return {devices_, devices_ + device_count()}; }

bool MulticastTable::add_device(const CUuuid &device) {
  {
    const Lock lock(file_);
    const std::uint32_t count = device_count();
    const bool is_there = std::any_of(devices_, devices_ + count,
                                      [&](const CUuuid &other) { return are_equal(other, device); });
    if (is_there || count == shape_.team) return false;
    devices_[count] = device;
    header_.devices = count + 1;
  }
  wake_all(header_.devices);
  return true;
}

bool MulticastTable::wait_for_device(std::uint32_t than, std::chrono::milliseconds limit) const {
  return sleep_while(header_.devices, than, limit);
}

bool MulticastTable::bind(Binding &binding) {
  const Lock lock(file_);
  Record *place = nullptr;
  for (Record *record = records_; record != records_ + used(); ++record) {
    if (record->id == 0) {
      place = record;
      continue;
    }
    const Binding &other = record->binding;
    if (!are_equal(other.device, binding.device) || !overlap(other, binding)) continue;
    if (!other.process.is_gone()) return false;
    record->id = 0;
    place = record;
  }
  if (place == nullptr) {
    if (used() == record_count(shape_)) return false;
    place = records_ + used();
    ++header_.records;
  }
  binding.id = ++header_.last_id;
  place->binding = binding;
  place->id = binding.id;
  ++header_.version;
  return true;
}

bool MulticastTable::unbind(const CUuuid &device, std::uint64_t offset, std::uint64_t size) {
  const Lock lock(file_);
  Record *const end = records_ + used();
  Record *const found = std::find_if(records_, end, [&](const Record &record) {
    return record.id != 0 && are_equal(record.binding.device, device) && record.binding.offset == offset &&
           record.binding.size == size;
  });
  if (found == end) return false;
  found->id = 0;
  ++header_.version;
  return true;
}

void MulticastTable::unbind(std::uint64_t id) {
  const Lock lock(file_);
  Record *const end = records_ + used();
  Record *const found = std::find_if(records_, end, [&](const Record &record) { return record.id == id; });
  if (found == end) return;
  found->id = 0;
  ++header_.version;
}

MulticastTable::Bindings MulticastTable::bindings() const {
  const Lock lock(file_);
  Bindings found{.version = header_.version};
  for (const Record *record = records_; record != records_ + used(); ++record)
    if (record->id != 0) found.all.push_back(record->binding);
  return found;
}

}  // namespace cushim::sim
