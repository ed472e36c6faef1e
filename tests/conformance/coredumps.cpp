// SPDX-License-Identifier: Apache-2.0
// Attributes of coredumps. Each statement has its own process, because the attributes are the process's.
#include <cstring>

#include "conformance.hpp"

#if CUDA_VERSION >= 12050

namespace conformance {
namespace {

class Coredumps : public Initialized {
 public:
  // Returns the result of reading an attribute of type T into `value`.
  template <class T>
  CUresult read_global(CUcoredumpSettings attribute, T &value) {
    size = sizeof value;
    return driver().cuCoredumpGetAttributeGlobal(attribute, &value, &size);
  }
  template <class T>
  CUresult write_global(CUcoredumpSettings attribute, T value) {
    size = sizeof value;
    return driver().cuCoredumpSetAttributeGlobal(attribute, &value, &size);
  }
  template <class T>
  CUresult read(CUcoredumpSettings attribute, T &value) {
    size = sizeof value;
    return driver().cuCoredumpGetAttribute(attribute, &value, &size);
  }
  template <class T>
  CUresult write(CUcoredumpSettings attribute, T value) {
    size = sizeof value;
    return driver().cuCoredumpSetAttribute(attribute, &value, &size);
  }

  bool is_set = true;
  int value = 77;
  char text[1024] = "unchanged";
  std::size_t size = 0;
};

struct Switch {
  const char *name;
  CUcoredumpSettings attribute;
  bool is_set;
  CUresult of_contexts = CUDA_SUCCESS;  // returned for a context
};
const Switch switches[] = {
    {"on_exceptions", CU_COREDUMP_ENABLE_ON_EXCEPTION, false},
    {"that_end_the_host", CU_COREDUMP_TRIGGER_HOST, true},
    {"that_are_lightweight", CU_COREDUMP_LIGHTWEIGHT, false},
    {"by_users", CU_COREDUMP_ENABLE_USER_TRIGGER, false, CUDA_ERROR_INVALID_VALUE},
};

[[maybe_unused]] const bool switches_added = [] {
  for (const Switch &row : switches) {
    const std::string of = std::string("The_switch_of_coredumps_") + row.name;
    ADD_TEST(Coredumps, of + "_is_read", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.read_global(row.attribute, t.is_set), CUDA_SUCCESS);
      EXPECT_VALUE(t.is_set, row.is_set);
      EXPECT_VALUE(t.size, sizeof(bool));
    });
    ADD_TEST(Coredumps, of + "_is_changed", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.write_global(row.attribute, !row.is_set), CUDA_SUCCESS);
      EXPECT_ANSWER(t.read_global(row.attribute, t.is_set), CUDA_SUCCESS);
      EXPECT_VALUE(t.is_set, !row.is_set);
    });
    ADD_TEST(Coredumps, of + "_is_read_of_a_context", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      make_context();
      EXPECT_ANSWER(t.read(row.attribute, t.is_set), row.of_contexts);
      EXPECT_VALUE(t.is_set, row.of_contexts == CUDA_SUCCESS ? row.is_set : true);
    });
    ADD_TEST(Coredumps, of + "_is_changed_for_a_context", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      make_context();
      EXPECT_ANSWER(t.write(row.attribute, !row.is_set), row.of_contexts);
      EXPECT_ANSWER(t.read(row.attribute, t.is_set), row.of_contexts);
      EXPECT_VALUE(t.is_set, !row.is_set);
      EXPECT_ANSWER(t.read_global(row.attribute, t.is_set), CUDA_SUCCESS);
      EXPECT_VALUE(t.is_set, row.is_set);
    });
    ADD_TEST(Coredumps, of + "_is_not_read_without_a_context", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.read(row.attribute, t.is_set), CUDA_ERROR_INVALID_CONTEXT);
    });
    ADD_TEST(Coredumps, of + "_is_not_changed_without_a_context", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.write(row.attribute, !row.is_set), CUDA_ERROR_INVALID_CONTEXT);
    });
    ADD_TEST(Coredumps, of + "_is_no_integer", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(t.read_global(row.attribute, t.value), CUDA_ERROR_INVALID_VALUE);
      EXPECT_VALUE(t.size, sizeof(int));
      EXPECT_VALUE(t.value, 77);
      EXPECT_ANSWER(t.write_global(row.attribute, 1), CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(Coredumps, of + "_tells_its_size", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(driver().cuCoredumpGetAttributeGlobal(row.attribute, nullptr, &t.size), CUDA_SUCCESS);
      EXPECT_VALUE(t.size, sizeof(bool));
    });
    ADD_TEST(Coredumps, of + "_needs_a_size", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      EXPECT_ANSWER(driver().cuCoredumpGetAttributeGlobal(row.attribute, &t.is_set, nullptr),
                    CUDA_ERROR_INVALID_VALUE);
      EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(row.attribute, &t.is_set, nullptr),
                    CUDA_ERROR_INVALID_VALUE);
    });
    ADD_TEST(Coredumps, of + "_written_without_a_value_tells_its_size", [=](Coredumps &t) {
      CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
      t.size = sizeof(bool);
      EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(row.attribute, nullptr, &t.size), CUDA_SUCCESS);
      EXPECT_VALUE(t.size, sizeof(bool));
    });
  }
  return true;
}();

TEST_F(Coredumps, Have_no_other_attributes) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(read_global(static_cast<CUcoredumpSettings>(0), value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(read_global(static_cast<CUcoredumpSettings>(8), value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(read_global(static_cast<CUcoredumpSettings>(99), value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(write_global(static_cast<CUcoredumpSettings>(0), value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_ANSWER(write_global(static_cast<CUcoredumpSettings>(99), value), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Coredumps, Have_flags) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(read_global(CU_COREDUMP_GENERATION_FLAGS, value), CUDA_SUCCESS);
  EXPECT_VALUE(value, 0);
  EXPECT_VALUE(size, sizeof(int));
}
// The documentation names six flags.
TEST_F(Coredumps, Take_any_flag) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  for (int bit = 0; bit < 8; ++bit) {
    EXPECT_ANSWER(write_global(CU_COREDUMP_GENERATION_FLAGS, 1 << bit), CUDA_SUCCESS);
    EXPECT_ANSWER(read_global(CU_COREDUMP_GENERATION_FLAGS, value), CUDA_SUCCESS);
    EXPECT_VALUE(value, 1 << bit);
  }
}
TEST_F(Coredumps, Become_lightweight_by_flags) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(write_global(CU_COREDUMP_GENERATION_FLAGS, 0x2f), CUDA_SUCCESS);
  EXPECT_ANSWER(read_global(CU_COREDUMP_LIGHTWEIGHT, is_set), CUDA_SUCCESS);
  EXPECT_VALUE(is_set, true);
}
TEST_F(Coredumps, That_are_lightweight_have_flags) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(write_global(CU_COREDUMP_LIGHTWEIGHT, true), CUDA_SUCCESS);
  EXPECT_ANSWER(read_global(CU_COREDUMP_GENERATION_FLAGS, value), CUDA_SUCCESS);
  EXPECT_VALUE(value, 0x2f);
}
TEST_F(Coredumps, That_do_not_end_the_host_have_a_flag) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(write_global(CU_COREDUMP_TRIGGER_HOST, false), CUDA_SUCCESS);
  EXPECT_ANSWER(read_global(CU_COREDUMP_GENERATION_FLAGS, value), CUDA_SUCCESS);
  EXPECT_VALUE(value, int{CU_COREDUMP_SKIP_ABORT});
}
// The documentation has default names, which the driver uses without returning them.
TEST_F(Coredumps, Have_no_name_of_a_file_at_first) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(read_global(CU_COREDUMP_FILE, text), CUDA_SUCCESS);
  EXPECT_VALUE(std::string(text, 5) == "core_", false);
  EXPECT_VALUE(size == std::strlen(text), false);
  EXPECT_VALUE(size == sizeof text, true);
}
TEST_F(Coredumps, Have_no_name_of_a_pipe_at_first) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(read_global(CU_COREDUMP_PIPE, text), CUDA_SUCCESS);
  EXPECT_VALUE(std::string(text, 8) == "corepipe", false);
  EXPECT_VALUE(size == std::strlen(text), false);
  EXPECT_VALUE(size == sizeof text, true);
}
TEST_F(Coredumps, Tell_the_size_of_the_name_of_their_file) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  EXPECT_ANSWER(driver().cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, nullptr, &size), CUDA_SUCCESS);
  const std::size_t told = size;
  NEED(read_global(CU_COREDUMP_FILE, text));
  EXPECT_VALUE(static_cast<int>(told - std::strlen(text)), 1024);
  EXPECT_VALUE(told, std::size_t{1024});
}
TEST_F(Coredumps, Are_written_to_a_named_file) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  char name[] = "core.of.a.test";
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, name, &size), CUDA_SUCCESS);
  EXPECT_ANSWER(read_global(CU_COREDUMP_FILE, text), CUDA_SUCCESS);
  EXPECT_VALUE(std::string(text), "core.of.a.test");
  EXPECT_VALUE(static_cast<int>(size), 1024);
  size = 5;
  std::memset(text, 'x', sizeof text - 1);
  EXPECT_ANSWER(driver().cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, text, &size),
                CUDA_ERROR_INVALID_VALUE);
  EXPECT_VALUE(std::string(text, 8), "xxxxxxxx");
  EXPECT_VALUE(static_cast<int>(size), 5);
}
TEST_F(Coredumps, Are_not_written_to_a_file_of_1024_characters) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  std::string name(1024, 'n');
  size = name.size() + 1;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, name.data(), &size),
                CUDA_ERROR_INVALID_VALUE);
  name.resize(1023);
  size = name.size() + 1;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, name.data(), &size), CUDA_SUCCESS);
}
TEST_F(Coredumps, Of_a_context_have_a_file_of_their_own) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  char name[] = "core.of.a.test";
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttribute(CU_COREDUMP_FILE, name, &size), CUDA_SUCCESS);
  EXPECT_ANSWER(read(CU_COREDUMP_FILE, text), CUDA_SUCCESS);
  EXPECT_VALUE(std::string(text), "core.of.a.test");
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttribute(CU_COREDUMP_PIPE, name, &size), CUDA_ERROR_INVALID_VALUE);
}
TEST_F(Coredumps, Have_another_pipe_after_the_first_context) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  char name[] = "pipe.of.a.test";
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_PIPE, name, &size), CUDA_SUCCESS);
  EXPECT_ANSWER(read_global(CU_COREDUMP_PIPE, text), CUDA_SUCCESS);
  EXPECT_VALUE(std::string(text), "pipe.of.a.test");
}
TEST_F(Coredumps, By_users_are_enabled_after_the_first_context) {
  CUSHIM_IN_A_FRESH_PROCESS_THAT_MAY_CRASH();
  make_context();
  EXPECT_ANSWER(write_global(CU_COREDUMP_ENABLE_USER_TRIGGER, true), CUDA_SUCCESS);
  char name[] = "pipe.of.a.test";
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_PIPE, name, &size),
                CUDA_ERROR_NOT_SUPPORTED);
  size = sizeof name;
  EXPECT_ANSWER(driver().cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, name, &size), CUDA_SUCCESS);
  EXPECT_ANSWER(write_global(CU_COREDUMP_ENABLE_ON_EXCEPTION, true), CUDA_SUCCESS);
  EXPECT_ANSWER(read(CU_COREDUMP_ENABLE_ON_EXCEPTION, is_set), CUDA_SUCCESS);
  EXPECT_VALUE(is_set, false);
}

}  // namespace
}  // namespace conformance

#endif
