// A judge's verdicts on pairs of answers to one prompt, and how often each answer is preferred.
#pragma once

#include "run/messages/messages.hpp"

#include <cstddef>
#include <map>
#include <utility>

namespace rollcall::run {

class Comparisons {
 public:
  /// `judgement` is of `answer` beside `other`: 1 where the judge prefers `answer`, 0 where it
  /// prefers the other. The order of the calls changes no bit of the rates.
  void add(std::size_t answer, std::size_t other, const Judgement& judgement);

  /// The rate of wins of each answer that was added, from 0 to 1: the mean over the others of (v_ij
  /// + 1 - v_ji) / 2, so that a judge that favours the answer that it reads first gives no answer
  /// an advantage. A pair counts only where both of its verdicts could be read, and an answer
  /// without such a pair is undecided. Over a group whose pairs all count, the mean rate is 1/2.
  std::map<std::size_t, Judgement> win_rates() const;

 private:
  std::map<std::pair<std::size_t, std::size_t>, Judgement> verdicts_;
};

}  // namespace rollcall::run
