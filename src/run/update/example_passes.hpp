// Decides which examples a supervised step learns from. The passes over all examples are laid end
// to end. Each pass has every example once, in its own order.
#pragma once

#include "base/numbers/random.hpp"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace rollcall::run {

/// A step takes the next `batch_size` places, so its batch may hold the end of one pass and the
/// beginning of the next. The example at a place is a function of seed, pass and number of
/// examples. A resume and another number of ranks therefore change nothing.
class ExamplePasses {
 public:
  ExamplePasses(std::uint64_t seed, std::uint64_t examples) : seed_(seed), examples_(examples) {}

  /// The example at a place in all passes laid end to end; place and example count from 0.
  std::uint64_t at(std::uint64_t place) {
    const std::uint64_t pass = place / examples_;
    if (order_.empty() || pass != pass_) shuffle(pass);
    return order_[place % examples_];
  }

 private:
  /// Fisher and Yates, in Durstenfeld's form (1964): every order is equally likely.
  void shuffle(std::uint64_t pass) {
    order_.resize(examples_);
    std::iota(order_.begin(), order_.end(), std::uint64_t(0));
    const RandomStream stream(seed_, RandomPurpose::supervised, pass);
    for (std::uint64_t i = examples_; i > 1; --i)
      std::swap(order_[i - 1], order_[stream.below(i - 1, i)]);
    pass_ = pass;
  }

  std::uint64_t seed_, examples_, pass_ = 0;
  std::vector<std::uint64_t>
      order_;  ///< [examples] the order of pass_; empty before the first call
};

}  // namespace rollcall::run
