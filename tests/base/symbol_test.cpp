// Names of functions by address, and how they are shortened.
#include "base/process/symbol.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rollcall {
namespace {

/// No other file knows this name, and dladdr() does not either.
__attribute__((noinline)) int known_here_alone(int x) { return 3 * x + std::rand(); }

TEST(Symbol, NamesFunctionsOfThisFileAndOfLibraries) {
  Symbols symbols;
  EXPECT_EQ(symbols.name(reinterpret_cast<std::uintptr_t>(&known_here_alone) + 1),
            "rollcall::known_here_alone()");
  EXPECT_GT(known_here_alone(1), 0);
  const std::string library = symbols.name(reinterpret_cast<std::uintptr_t>(&std::getenv));
  EXPECT_NE(library.find("getenv"), std::string::npos) << library;
}

TEST(Symbol, WhatHasNoNameIsAPlace) {
  Symbols symbols;
  EXPECT_EQ(symbols.name(1), "0x1");
  static const int data = 1;
  EXPECT_EQ(symbols.name(reinterpret_cast<std::uintptr_t>(&data)).substr(0, 2), "0x");
}

TEST(Symbol, ShortNamesKeepWhatPeopleSay) {
  EXPECT_EQ(
      short_name(
          "rollcall::run::(anonymous namespace)::Rank::dispatch(rollcall::comm::Envelope const&)"),
      "rollcall::run::Rank::dispatch()");
  EXPECT_EQ(short_name("std::vector<int, std::allocator<int> >::push_back(int&&)"),
            "std::vector<>::push_back()");
  EXPECT_EQ(
      short_name(
          "f(std::map<int, void (*)(int)> const&)::{lambda(long, int)#1}::operator()(long, int) const"),
      "f()::{lambda#1}::operator()()");
  EXPECT_EQ(short_name("std::ostream& operator<< <char>(std::ostream&, char)"),
            "std::ostream& operator<< <>()");
  EXPECT_EQ(short_name("A::operator<(A const&) const"), "A::operator<()");
  EXPECT_EQ(short_name("A::operator->() const"), "A::operator->()");
  EXPECT_EQ(short_name("my_operator(int)"), "my_operator()");
  EXPECT_EQ(short_name("sum(int) [clone .isra.0]"), "sum()");
  for (const char* odd :
       {"", "<", ">", ")(", "operator", "operator<", "{lambda(", "(anonymous namespace)::"})
    EXPECT_LT(short_name(odd).size(), 20U) << odd;
}

}  // namespace
}  // namespace rollcall
