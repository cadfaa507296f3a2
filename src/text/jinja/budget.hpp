// The budget of a rendering: the steps, the bytes of values in memory, and the depth of evaluation
// that it may still use.
#pragma once

#include "text/jinja/fault.hpp"

#include <cstdint>

namespace rollcall::text::jinja {

/// How deeply values may nest in values, and iterators in iterators. It limits the recursion of all
/// functions that traverse them or free them.
constexpr int kValueDepth = 400;
/// How deeply evaluations may nest. Each takes less than 1 KiB of stack, of which there are usually
/// 8 MiB. Python's own limit of 1000 frames stops macros at a similar depth.
constexpr int kEvaluationDepth = 1500;
/// Bytes copied or compared in one step.
constexpr std::int64_t kBytesOfAStep = 256;
/// Bytes that are searched, or looked at character by character, in one step.
constexpr std::int64_t kLooksOfAStep = 32;
/// The number of names in a scope, or among a call's arguments, that a search passes in one step.
constexpr std::int64_t kNamesOfAStep = 16;

/// The part of the budget that is left. All functions that take from it throw Fault when it is used
/// up.
struct Budget {
  std::int64_t steps, bytes;
  int depth = 0;

  void step(std::int64_t n = 1) {
    if ((steps -= n) < 0) throw Fault{FaultKind::limit, "too many steps"};
  }
  /// Charges for copying or comparing `n` bytes or values.
  void work(std::int64_t n) { step(1 + n / kBytesOfAStep); }
  void look(std::int64_t n) { step(1 + n / kLooksOfAStep); }
  void pass_names(std::size_t n) { step(std::int64_t(n) / kNamesOfAStep); }
  /// Throws if `n` more bytes would not fit. Called before a large value is built.
  void check(std::int64_t n) const {
    if (n > bytes) throw Fault{FaultKind::limit, "too much memory"};
  }
  void take(std::int64_t n) {
    check(n);
    bytes -= n;
  }
  void give(std::int64_t n) { bytes += n; }
};

/// Counts one more level of nested evaluations while the object lives. Throws Fault if there are
/// too many.
class Deeper {
 public:
  explicit Deeper(Budget& budget) : budget_(budget) {
    if (budget_.depth >= kEvaluationDepth)
      throw Fault{FaultKind::limit, "macros, loops or expressions nested too deeply"};
    ++budget_.depth;
  }
  ~Deeper() { --budget_.depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Budget& budget_;
};

}  // namespace rollcall::text::jinja
