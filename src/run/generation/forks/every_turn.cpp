// Forks at the beginning of each turn that answers a reply.
#include "run/generation/forks/rules.hpp"

namespace rollcall::run {
namespace {

class EveryTurnRule : public ForkRule {
 public:
  std::vector<std::size_t> places(const model::DecodedSequence&, std::size_t begin, std::size_t,
                                  std::uint32_t left, std::uint64_t) const override {
    if (begin == 0 || left == 0) return {};
    return {begin};
  }
};

}  // namespace

std::unique_ptr<const ForkRule> make_every_turn() { return std::make_unique<EveryTurnRule>(); }

}  // namespace rollcall::run
