// Random answers, most of them grammatical, against one another: always a verdict, never more work
// than the limits allow. Reports the worst count and time.
// usage: math_fuzz RUNS [FIRST]     run N depends on N alone, so a run is repeated by  math_fuzz 1
// N
#include "base/numbers/random.hpp"
#include "reward/math/decide.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>

namespace {

using namespace rollcall;
using namespace rollcall::reward::math;

class Draws {
 public:
  explicit Draws(std::uint64_t run) : stream_(run, RandomPurpose::test, 26) {}
  std::size_t below(std::size_t n) { return std::size_t(stream_.below(next_++, n)); }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

std::string expression(Draws& draw, int depth);

std::string leaf(Draws& draw) {
  constexpr std::array kLeaves = {"x",           "y",     "n",       "\\pi",    "e",
                                  "i",           "0",     "1",       "2",       "-3",
                                  "7",           "12",    "1/3",     "0.25",    "1.5e3",
                                  "10^{30}",     "99999", "\\infty", "\\theta", "0.\\overline{3}",
                                  "\\text{ cm}", "1,234"};
  return kLeaves[draw.below(kLeaves.size())];
}

std::string several(Draws& draw, int depth, const char* separator) {
  std::string all = expression(draw, depth);
  for (std::size_t n = draw.below(3) + 1; n-- > 0;) all += separator + expression(draw, depth);
  return all;
}

std::string expression(Draws& draw, int depth) {
  if (depth <= 0) return leaf(draw);
  const auto part = [&] { return expression(draw, depth - 1 - int(draw.below(2))); };
  constexpr std::array kFunctions = {"sin",    "cos",    "tan", "ln",  "log",
                                     "arctan", "arcsin", "exp", "cosh"};
  switch (draw.below(22)) {
    case 0: return fmt::format("{}+{}", part(), part());
    case 1: return fmt::format("{}-{}", part(), part());
    case 2: return fmt::format("{}\\cdot {}", part(), part());
    case 3: return fmt::format("({})({})", part(), part());
    case 4: return fmt::format("\\frac{{{}}}{{{}}}", part(), part());
    case 5: return fmt::format("({})^{{{}}}", part(), part());
    case 6: return fmt::format("\\sqrt{{{}}}", part());
    case 7: return fmt::format("\\sqrt[{}]{{{}}}", 2 + draw.below(5), part());
    case 8: return fmt::format("\\{}({})", kFunctions[draw.below(kFunctions.size())], part());
    case 9: return fmt::format("({})!", part());
    case 10: return fmt::format("|{}|", part());
    case 11: return fmt::format("({})^{}", part(), draw.below(40));
    case 12: return fmt::format("\\binom{{{}}}{{{}}}", part(), part());
    case 13: return fmt::format("{}%", part());
    case 14: return fmt::format("({})", several(draw, depth - 2, ","));
    case 15: return fmt::format("\\{{{}\\}}", several(draw, depth - 2, ","));
    case 16: return fmt::format("[{},{})\\cup({},{})", part(), part(), part(), part());
    case 17:
      return fmt::format("\\begin{{pmatrix}}{}\\end{{pmatrix}}", several(draw, depth - 2, "\\\\"));
    case 18: return fmt::format("{}={}", part(), part());
    case 19: return fmt::format("{}\\le {}", part(), part());
    case 20: return fmt::format("{}\\pm {}", part(), part());
    default: return fmt::format("\\lfloor {}\\rfloor", part());
  }
}

/// Grammar alone, grammar with bytes changed, or noise.
std::string random_answer(Draws& draw) {
  if (draw.below(20) == 0) {
    std::string noise(draw.below(60), ' ');
    for (char& c : noise) c = char(draw.below(256));
    return noise;
  }
  std::string text = expression(draw, int(draw.below(6)));
  if (draw.below(3) != 0) return text;
  constexpr std::string_view kMarks = "{}()[]\\^_!|%,.+-*/=<>&'0123456789eixXU ";
  for (std::size_t n = 1 + draw.below(4); n-- > 0 && !text.empty();) {
    const std::size_t at = draw.below(text.size());
    if (draw.below(2) == 0) text.erase(at, 1 + draw.below(3));
    else text.insert(at, 1, kMarks[draw.below(kMarks.size())]);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: math_fuzz RUNS [FIRST]\n");
    return 2;
  }
  const std::uint64_t runs = std::strtoull(argv[1], nullptr, 10),
                      first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  std::array<long, 3> verdicts{};
  std::int64_t most_work = 0;
  std::uint64_t most_work_run = 0, slowest_run = 0;
  double slowest = 0;
  for (std::uint64_t run = first; run < first + runs; ++run) {
    Draws draw(run);
    const std::string reference = random_answer(draw),
                      answer = draw.below(4) == 0 ? reference + "+0" : random_answer(draw);
    const auto start = std::chrono::steady_clock::now();
    const Decision decision = decide(reference, answer);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++verdicts[std::size_t(decision.verdict.answer)];
    if (decision.work > most_work) most_work = decision.work, most_work_run = run;
    if (seconds > slowest) slowest = seconds, slowest_run = run;
    if (decision.verdict.reason.empty()) {
      fmt::print(stderr, "run {} has no reason\n", run);
      return 1;
    }
  }
  constexpr std::int64_t kWatched =
      3 * (kMostWork + kMostEvaluation);  // less than decide() may spend: nothing near it was seen,
                                          // and what is should be looked at
  fmt::print(
      "{} runs: {} equal, {} different, {} undecided; most work {} (run {}); slowest {:.1f} ms (run {})\n",
      runs, verdicts[0], verdicts[1], verdicts[2], most_work, most_work_run, slowest * 1e3,
      slowest_run);
  return most_work <= kWatched ? 0 : 1;
}
