// Forks at tokens for which a different token was nearly as probable.
#include "base/errors/error.hpp"
#include "run/generation/forks/rules.hpp"

#include <algorithm>

namespace rollcall::run {
namespace {

class RunnerUpRule : public ForkRule {
 public:
  explicit RunnerUpRule(const RunnerUp& settings) : settings_(settings) {}

  std::vector<std::size_t> places(const model::DecodedSequence& so_far, std::size_t begin,
                                  std::size_t end, std::uint32_t left,
                                  std::uint64_t) const override {
    expect(so_far.likeliest.size() == so_far.tokens.size() &&
               so_far.runner_up.size() == so_far.tokens.size(),
           "sampling reports the two likeliest tokens of each place");
    std::vector<std::size_t> places;
    const std::size_t last = std::min(end, settings_.tokens);
    for (std::size_t t = std::max<std::size_t>(begin, 1); t < last && places.size() < left; ++t) {
      const double first = double(so_far.likeliest[t]), second = double(so_far.runner_up[t]);
      if (second > settings_.least && first - second < settings_.gap) places.push_back(t);
    }
    return places;
  }

 private:
  RunnerUp settings_;
};

}  // namespace

std::unique_ptr<const ForkRule> make_runner_up(const RunnerUp& settings) {
  return std::make_unique<RunnerUpRule>(settings);
}

}  // namespace rollcall::run
