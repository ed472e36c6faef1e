// SPDX-License-Identifier: Apache-2.0
// Fuzzes the archive reader of `cushim check`: input after "d" is a Debian package, any other input is a
// wheel.
#include "check/archive.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "check/check_facts.hpp"
#include "file.hpp"
#include "fuzz.hpp"

namespace {

using namespace cushim::command;

// The input file under two names, whose extensions determine the archive type.
class Named {
 public:
  Named() {
    fuzz::promise(mkdtemp(folder_) != nullptr, "a folder can be made");
    for (const char *const name : {"/file.deb", "/file.whl"})
      std::filesystem::create_symlink("/proc/" + std::to_string(getpid()) + "/fd" +
                                          file_.path().substr(std::string_view("/proc/self/fd").size()),
                                      folder_ + std::string(name));
  }
  ~Named() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Named(const Named &) = delete;
  Named &operator=(const Named &) = delete;

  std::string set(bool is_package, std::string_view bytes) const {
    file_.set(bytes);
    return folder_ + std::string(is_package ? "/file.deb" : "/file.whl");
  }

 private:
  const fuzz::File file_;
  char folder_[32] = "/tmp/cushim_fuzz_XXXXXX";
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const Named file;
  if (size == 0) return 0;
  try {
    const ArchiveVisitor visitor{[](const std::string &name, std::string_view bytes) {
                                   try {
                                     static_cast<void>(inspect(name, bytes));
                                   } catch (const BrokenElf &) {
                                   }
                                 },
                                 [](const std::string &, const std::string &why) {
                                   fuzz::promise(!why.empty(), "a problem has words");
                                 }};
    visit_archive(file.set(data[0] == 'd', fuzz::text_of(data + 1, size - 1)), visitor);
  } catch (const BrokenArchive &broken) {
    fuzz::promise(*broken.what() != '\0', "an error has words");
  }
  return 0;
}
