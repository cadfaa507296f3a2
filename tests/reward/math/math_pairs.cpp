// Writes generated pairs of answers as JSON lines, or judges them and counts.
// usage: math_pairs write SEED COUNT | math_pairs judge SEED COUNT [SHOWN]
#include "base/text/json.hpp"
#include "reward/math/pairs.hpp"

#include "reward/math/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

namespace {

using namespace rollcall::reward::math;

struct Count {
  long pairs = 0, wrong = 0, undecided = 0;
};

/// 0 where at least 99.9 % are right and at most 1 % of each category is undecided.
int judge(std::uint64_t seed, std::uint64_t count, long shown) {
  std::map<std::string, Count> counts;
  Count all;
  for (std::uint64_t n = 0; n < count; ++n) {
    const auto pair = testing::make_pair(seed, n);
    const Verdict verdict = decide(pair.reference, pair.answer).verdict;
    const bool undecided = verdict.answer == Answer::undecided,
               wrong = !undecided && (verdict.answer == Answer::equal) != pair.equal;
    for (Count* c : {&counts[pair.category], &all})
      ++c->pairs, c->wrong += long(wrong), c->undecided += long(undecided);
    if ((wrong || undecided) && shown-- > 0)
      fmt::print("{}: {} | {} | {} | {} ({})\n", pair.category, pair.reference, pair.answer,
                 pair.equal ? "equal" : "different", undecided ? "undecided" : "wrong",
                 verdict.reason);
  }
  bool is_good = double(all.wrong + all.undecided) <= 0.001 * double(all.pairs);
  for (const auto& [name, c] : counts) {
    fmt::print("{:22} {:7} pairs {:5} wrong {:5} undecided\n", name, c.pairs, c.wrong, c.undecided);
    is_good &= double(c.undecided) <= 0.01 * double(c.pairs);
  }
  fmt::print("{:22} {:7} pairs {:5} wrong {:5} undecided\n", "all", all.pairs, all.wrong,
             all.undecided);
  return is_good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || (std::strcmp(argv[1], "write") != 0 && std::strcmp(argv[1], "judge") != 0)) {
    fmt::print(stderr,
               "usage: math_pairs write SEED COUNT | math_pairs judge SEED COUNT [SHOWN]\n");
    return 2;
  }
  const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10),
                      count = std::strtoull(argv[3], nullptr, 10);
  if (std::strcmp(argv[1], "judge") == 0)
    return judge(seed, count, argc > 4 ? std::atol(argv[4]) : 20);
  for (std::uint64_t n = 0; n < count; ++n) {
    const auto pair = testing::make_pair(seed, n);
    const nlohmann::json line = {{"category", pair.category},
                                 {"answer", pair.reference},
                                 {"response", "\\boxed{" + pair.answer + "}"},
                                 {"equal", pair.equal}};
    fmt::print("{}\n", line.dump());
  }
  return 0;
}
