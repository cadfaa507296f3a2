// The shift register: the newest outcome enters at the bottom, and outcomes beyond the window are
// forgotten.
#include "scheduling/prompts/prompt_history.hpp"

#include <algorithm>
#include <bit>

namespace rollcall::scheduling {

void PromptHistory::add(PromptId prompt, bool any_correct) {
  Entry& e = entries_[prompt.value];
  e.high = std::uint16_t(e.high << 1 | e.upper >> 31);
  e.upper = e.upper << 1 | e.middle >> 31;
  e.middle = e.middle << 1 | e.low >> 31;
  e.low = e.low << 1 | std::uint32_t(any_correct);
  e.length = std::uint8_t(std::min<int>(e.length + 1, window_));
}

int PromptHistory::passed(PromptId prompt) const {
  const Entry& e = entries_[prompt.value];
  const auto newest = [&](std::uint32_t word, int before, int bits) {
    const int used = std::clamp(int(e.length) - before, 0, bits);
    return std::popcount(used >= 32 ? word : word & ((std::uint32_t{1} << used) - 1));
  };
  return newest(e.low, 0, 32) + newest(e.middle, 32, 32) + newest(e.upper, 64, 32) +
         newest(e.high, 96, 16);
}

}  // namespace rollcall::scheduling
