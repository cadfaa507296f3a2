// Sums are taken in the order of the answers, because replies arrive in any order.
#include "run/scoring/comparisons.hpp"

namespace rollcall::run {

void Comparisons::add(std::size_t answer, std::size_t other, const Judgement& judgement) {
  verdicts_[{answer, other}] = judgement;
}

std::map<std::size_t, Judgement> Comparisons::win_rates() const {
  struct Wins {
    double sum = 0.0, pairs = 0.0;
    const Judgement *said = nullptr, *unread = nullptr;
  };
  std::map<std::size_t, Wins> wins;
  for (const auto& [pair, own] : verdicts_) {
    Wins& of = wins[pair.first];
    const auto turned = verdicts_.find({pair.second, pair.first});
    if (own.undecided) of.unread = &own;
    if (turned == verdicts_.end() || own.undecided || turned->second.undecided) continue;
    of.sum += (own.value + 1.0 - turned->second.value) / 2.0, of.pairs += 1.0;
    if (of.said == nullptr) of.said = &own;
  }
  std::map<std::size_t, Judgement> rates;
  for (const auto& [answer, of] : wins)
    rates[answer] =
        of.said != nullptr
            ? Judgement{.value = of.sum / of.pairs, .reason = of.said->reason}
            : Judgement{.undecided = true,
                        .reason = of.unread != nullptr
                                      ? of.unread->reason
                                      : "no other answer could be compared with it both ways"};
  return rates;
}

}  // namespace rollcall::run
