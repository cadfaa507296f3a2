// What a rendering may still use: steps, bytes of living values, depth of evaluation.
#pragma once

#include "text/jinja/fault.hpp"

#include <cstdint>

namespace rollcall::text::jinja {

/// Values in values, and iterators over iterators: bounds the recursion of everything that walks or
/// frees them.
constexpr int kValueDepth = 400;
/// Evaluations inside evaluations. A frame of them takes less than 1 KiB of stack (8 MiB is usual);
/// Python's own limit of 1000 frames stops macros at a like depth.
constexpr int kEvaluationDepth = 1500;
/// Bytes copied or compared that count as one step.
constexpr std::int64_t kBytesOfAStep = 256;
/// Bytes searched, or looked at character by character, that count as one step.
constexpr std::int64_t kLooksOfAStep = 32;
/// Names of a scope or of a call's arguments passed in search of one that count as one step.
constexpr std::int64_t kNamesOfAStep = 16;

struct Budget {
  std::int64_t steps, bytes;
  int depth = 0;

  void step(std::int64_t n = 1) {
    if ((steps -= n) < 0) throw Fault{FaultKind::limit, "too many steps"};
  }
  /// A bulk operation on `n` bytes or values.
  void work(std::int64_t n) { step(1 + n / kBytesOfAStep); }
  void look(std::int64_t n) { step(1 + n / kLooksOfAStep); }
  void pass_names(std::size_t n) { step(std::int64_t(n) / kNamesOfAStep); }
  /// Whether `n` more bytes would still fit: asked before a large value is built.
  void check(std::int64_t n) const {
    if (n > bytes) throw Fault{FaultKind::limit, "too much memory"};
  }
  void take(std::int64_t n) {
    check(n);
    bytes -= n;
  }
  void give(std::int64_t n) { bytes += n; }
};

/// One more evaluation inside the others.
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
