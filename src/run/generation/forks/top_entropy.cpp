// Forks at the tokens of which the policy was least sure.
#include "run/generation/forks/rules.hpp"

#include <algorithm>
#include <numeric>

namespace rollcall::run {
namespace {

class TopEntropyRule : public ForkRule {
 public:
  explicit TopEntropyRule(const TopEntropy& settings) : settings_(settings) {}

  std::vector<std::size_t> places(const model::DecodedSequence& so_far, std::size_t begin,
                                  std::size_t end, std::uint32_t left,
                                  std::uint64_t) const override {
    const auto& entropy = so_far.columns.entropy;
    std::vector<std::size_t> best;
    // Before the first token nothing would be shared, and at an entropy of 0 nothing would differ.
    for (std::size_t t = std::max<std::size_t>(begin, 1); t < end; ++t)
      if (entropy[t] > 0.0F) best.push_back(t);
    const std::size_t wanted = (left + settings_.continuations - 1) / settings_.continuations,
                      count = std::min(best.size(), wanted);
    std::partial_sort(best.begin(), best.begin() + std::ptrdiff_t(count), best.end(),
                      [&](std::size_t a, std::size_t b) {
                        return entropy[a] != entropy[b] ? entropy[a] > entropy[b] : a < b;
                      });
    best.resize(count);
    std::vector<std::size_t> places;
    for (const std::size_t place : best)
      for (std::uint32_t i = 0; i < settings_.continuations && places.size() < left; ++i)
        places.push_back(place);
    std::sort(places.begin(), places.end());
    return places;
  }

 private:
  TopEntropy settings_;
};

}  // namespace

std::unique_ptr<const ForkRule> make_top_entropy(const TopEntropy& settings) {
  return std::make_unique<TopEntropyRule>(settings);
}

}  // namespace rollcall::run
