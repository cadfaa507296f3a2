// Forks at places where entropy has risen after a reply.
#include "base/numbers/random.hpp"
#include "run/generation/forks/rules.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::run {
namespace {

class AfterReplyRule : public ForkRule {
 public:
  explicit AfterReplyRule(const AfterReply& settings)
      : settings_(settings),
        unit_(settings.vocabulary > 1 ? std::log(double(settings.vocabulary)) : 1.0) {}

  std::vector<std::size_t> places(const model::DecodedSequence& so_far, std::size_t begin,
                                  std::size_t end, std::uint32_t left,
                                  std::uint64_t address) const override {
    if (begin == 0 || begin == end || left == 0) return {};
    const double rise = (mean(so_far, begin, end) - mean(so_far, 0, begin)) / unit_,
                 u = RandomStream(address, RandomPurpose::forks).uniform(0);
    if (std::clamp(u - settings_.weight * rise, 0.0, 1.0) > settings_.share) return {};
    return {begin};
  }

 private:
  /// The mean entropy of the first tokens of [begin, end), which has some.
  double mean(const model::DecodedSequence& of, std::size_t begin, std::size_t end) const {
    const std::size_t count = std::min(settings_.tokens, end - begin);
    const auto first = of.columns.entropy.begin() + std::ptrdiff_t(begin);
    return std::accumulate(first, first + std::ptrdiff_t(count), 0.0) / double(count);
  }

  AfterReply settings_;
  double unit_;  ///< of entropy, in nats
};

}  // namespace

std::unique_ptr<const ForkRule> make_after_reply(const AfterReply& settings) {
  return std::make_unique<AfterReplyRule>(settings);
}

}  // namespace rollcall::run
