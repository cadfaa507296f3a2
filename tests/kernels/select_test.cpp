// Choice of kernels: names, the environment variable, one answer for all threads.
#include "operands.hpp"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace rollcall::kernels {
namespace {

TEST(Select, NamesAreTheirOwn) {
  for (const char* name : {"reference", "scalar"}) ASSERT_STREQ(kernels_by_name(name)->name, name);
  for (const KernelSet* set : simd_sets()) EXPECT_EQ(kernels_by_name(set->name), set);
  EXPECT_EQ(kernels_by_name("avx1024"), nullptr);
  EXPECT_EQ(kernels_by_name(""), nullptr);
  for (const KernelSet* set : sets_of(kBf16Sliced8)) EXPECT_STREQ(set->numerics, kBf16Sliced8);
  EXPECT_EQ(kernels_by_name("amx", kFp32FixedOrder), nullptr);
  EXPECT_THROW(kernels_by_name("scalar", "fp16"), std::invalid_argument);
  EXPECT_THROW(selected_kernels("fp16"), std::invalid_argument);
}

// The choice is made once per process, so each of the next tests asks in a process of its own.
TEST(SelectDeathTest, ThreadsGetOneAnswerAndItIsNotTheReference) {
  const auto ask = [] {
    unsetenv("ROLLCALL_KERNELS");
    const KernelSet* answers[4];
    std::vector<std::thread> threads;
    for (const KernelSet*& answer : answers)
      threads.emplace_back([&answer] { answer = &selected_kernels(); });
    for (std::thread& thread : threads) thread.join();
    bool same = answers[0] != &reference_kernels();
    for (const KernelSet* answer : answers) same = same && answer == answers[0];
    std::exit(same ? 0 : 1);
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(0), "");
}

TEST(SelectDeathTest, EnvironmentForcesASet) {
  const auto ask = [] {
    setenv("ROLLCALL_KERNELS", "scalar", 1);
    const bool both = &selected_kernels() == &scalar_kernels() &&
                      &selected_kernels(kBf16Sliced8) == kernels_by_name("scalar", kBf16Sliced8);
    std::exit(both && selected_kernels().numerics != selected_kernels(kBf16Sliced8).numerics ? 0
                                                                                             : 1);
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(0), "");
}

TEST(SelectDeathTest, UnknownNameIsAnError) {
  const auto ask = [] {
    setenv("ROLLCALL_KERNELS", "fastest", 1);
    try {
      selected_kernels();
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      std::exit(text.find("'fastest'") != std::string::npos &&
                        text.find("scalar") != std::string::npos
                    ? 0
                    : 1);
    }
    std::exit(2);
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(0), "");
}

TEST(SelectDeathTest, ASetOfOtherNumericsIsAnErrorThatNamesThose) {
  const auto ask = [] {
    setenv("ROLLCALL_KERNELS", "amx", 1);
    try {
      selected_kernels(kFp32FixedOrder);
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      const bool named = text.find("'amx'") != std::string::npos &&
                         text.find(kFp32FixedOrder) != std::string::npos &&
                         text.find("scalar") != std::string::npos;
      std::exit(named && text.find("avx512_bf16") == std::string::npos ? 0 : 1);
    }
    std::exit(2);
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(0), "");
}

TEST(Workspace, IsAlignedAndGrows) {
  Workspace workspace;
  for (const std::size_t count : {1UL, 3UL, 1000UL, 5UL}) {
    float* memory = workspace.floats(count);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
    for (std::size_t i = 0; i < count; ++i) memory[i] = 1.0F;
  }
}

}  // namespace
}  // namespace rollcall::kernels
