// SPDX-License-Identifier: Apache-2.0
// Links several pieces of device code into one image.
//
//   Linker linker = Linker::create(JitOptions().line_info());
//   linker.add(ptx, "main.ptx");
//   linker.add_file(LinkInput::library, "libdevice.a");
//   const Module module = Module::load(linker.complete());
#pragma once

#include <cushim/detail/home_context.hpp>
#include <cushim/jit.hpp>

#include <memory>
#include <span>

namespace cushim {
inline namespace v1 {

// The kind of an input of a linker.
enum class LinkInput {
  cubin = CU_JIT_INPUT_CUBIN,
  ptx = CU_JIT_INPUT_PTX,
  fat_binary = CU_JIT_INPUT_FATBINARY,
  object = CU_JIT_INPUT_OBJECT,
  library = CU_JIT_INPUT_LIBRARY,
};

// Owns a link in the context of its creation. Its other calls need no current context. Move-only.
class Linker {
 public:
  // Empty.
  Linker() = default;

  // Starts a link in the current context. Driver calls: cuLinkCreate; at the end cuLinkDestroy.
  static Linker create(const JitOptions &options = {}, Driver &driver = cushim::driver(),
                       Where where = Where::current()) {
    Linker linker;
    linker.jit_ = std::make_unique<detail::JitCall>(options);
    CUlinkState state = nullptr;
    detail::JitCall &jit = *linker.jit_;
    detail::check(driver.cuLinkCreate(jit.count(), jit.names(), jit.values(), &state), "cuLinkCreate", where,
                  detail::Through{&driver});
    linker.bound_ = detail::Bound<CUlinkState>(state, driver);
    return linker;
  }
  // Starts a link in a given context. Driver calls: push, as above, pop.
  static Linker create(ContextRef context, const JitOptions &options = {}, Where where = Where::current()) {
    return detail::Creation::in(context, where, [&] { return create(options, context.driver(), where); });
  }
  // Starts a link in a device's primary context, which the linker retains until the end of the link. Driver
  // calls: cuDevicePrimaryCtxRetain, push, as above, pop; at the end also cuDevicePrimaryCtxRelease.
  static Linker create(Device device, const JitOptions &options = {}, Where where = Where::current()) {
    return detail::Creation::on(device, where, [&] { return create(options, device.driver(), where); });
  }

  Linker(Linker &&other) noexcept { swap(other); }
  Linker &operator=(Linker &&other) noexcept {
    Linker(std::move(other)).swap(*this);
    return *this;
  }
  ~Linker() {
    if (!is_empty())
      detail::report(driver().cuLinkDestroy(handle()), "cuLinkDestroy", detail::Through{&driver()}, words());
  }
  void swap(Linker &other) noexcept {
    std::swap(jit_, other.jit_);
    std::swap(home_, other.home_);
    std::swap(bound_, other.bound_);
  }
  friend void swap(Linker &left, Linker &right) noexcept { left.swap(right); }

  // Adds PTX. name appears in the log. Throws JitError with the compiler's log. Driver calls: cuLinkAddData.
  void add(const std::string &ptx, const std::string &name = {}, Where where = Where::current()) {
    add(LinkInput::ptx, std::as_bytes(std::span(ptx.c_str(), ptx.size() + 1)), name, where);
  }
  // Adds other code; PTX must end with NUL. Driver calls: cuLinkAddData.
  void add(LinkInput kind, std::span<const std::byte> code, const std::string &name = {},
           Where where = Where::current()) {
    require("cuLinkAddData", where);
    jit_->check(driver().cuLinkAddData(handle(), static_cast<CUjitInputType>(kind),
                                       const_cast<std::byte *>(code.data()), code.size(), name.c_str(), 0,
                                       nullptr, nullptr),
                "cuLinkAddData", where, detail::Through{&driver()}, words(), detail::Remark{name.c_str()});
  }
  // Adds a file. Driver calls: cuLinkAddFile.
  void add_file(LinkInput kind, const std::string &path, Where where = Where::current()) {
    require("cuLinkAddFile", where);
    jit_->check(driver().cuLinkAddFile(handle(), static_cast<CUjitInputType>(kind), path.c_str(), 0, nullptr,
                                       nullptr),
                "cuLinkAddFile", where, detail::Through{&driver()}, words(), detail::Remark{path.c_str()});
  }
  // Returns the linked image, which belongs to this and is valid until its end. Throws JitError with the
  // linker's log. Driver calls: cuLinkComplete.
  std::span<const std::byte> complete(Where where = Where::current()) {
    require("cuLinkComplete", where);
    void *image = nullptr;
    std::size_t size = 0;
    jit_->check(driver().cuLinkComplete(handle(), &image, &size), "cuLinkComplete", where,
                detail::Through{&driver()}, words());
    return {static_cast<const std::byte *>(image), size};
  }
  // Returns what the linker has reported so far. No driver call.
  JitLog log() const { return is_empty() ? JitLog{} : jit_->log(); }

  // Ends the link now. Throws Error if that fails. Does nothing if this is empty. Driver calls:
  // cuLinkDestroy.
  void close(Where where = Where::current()) {
    if (is_empty()) return;
    Linker closing;
    closing.swap(*this);
    const detail::Address link = closing.words();
    const auto bound = std::exchange(closing.bound_, {});
    detail::check(bound.driver().cuLinkDestroy(bound.handle()), "cuLinkDestroy", where,
                  detail::Through{&bound.driver()}, link);
    closing.home_.close(where);
  }

  CUlinkState handle() const noexcept { return bound_.handle(); }
  Driver &driver() const noexcept { return bound_.driver(); }
  bool is_empty() const noexcept { return bound_.is_empty(); }

 private:
  friend detail::Creation;
  void set_home(detail::HomeContext home) noexcept { home_ = std::move(home); }
  void require(const char *routine, Where where) const {
    if (is_empty())
      detail::fail(CUDA_ERROR_INVALID_HANDLE, routine, where, detail::Remark{"an empty linker"});
  }
  detail::Address words() const noexcept { return {"link", reinterpret_cast<std::uintptr_t>(handle())}; }

  std::unique_ptr<detail::JitCall> jit_;  // the driver writes logs there until the link is destroyed
  detail::HomeContext home_;
  detail::Bound<CUlinkState> bound_;
};

}  // namespace v1
}  // namespace cushim
