// Answers of random tokens against references of every kind: a verdict is undecided for a reason of
// the list alone, and for those that the reference gives rise to. usage: undecided_fuzz RUNS
// [FIRST]     run N depends on N alone; 100000 is the long form
#include "base/numbers/random.hpp"
#include "reward/math/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace rollcall;
using namespace rollcall::reward::math;

struct Reference {
  std::string_view text;
  std::vector<Open> may_be{};  ///< what it may leave open
};

const std::vector<Reference>& references() {
  static const std::vector<Reference> all = {
      {"42"},
      {"-3"},
      {"0"},
      {"\\frac{1}{2}"},
      {"0.75"},
      {"3\\frac12"},
      {"50\\%"},
      {"1,234"},
      {"\\text{five}"},
      {"3 \\text{ dozen}"},
      {"1011_2"},
      {"10!"},
      {"\\binom{5}{2}"},
      {"\\sqrt{2}"},
      {"2+\\sqrt[3]{5}"},
      {"3\\pi"},
      {"e^2"},
      {"\\ln 5"},
      {"\\arctan 2"},
      {"1+2i"},
      {"\\infty"},
      {"-\\infty"},
      {"2x+1"},
      {"x^2-1"},
      {"\\frac{1}{x}"},
      {"\\sin x"},
      {"|x|"},
      {"n!"},
      {"2^n"},
      {"abc"},
      {"\\lfloor x\\rfloor"},
      {"\\sqrt{x}", {Open::wider}},
      {"\\ln x", {Open::wider}},
      {"(1,2)"},
      {"(x,y)=(1,2)"},
      {"[0,\\infty)"},
      {"(1,2]\\cup[3,4)"},
      {"\\{1,2\\}"},
      {"\\emptyset"},
      {"\\mathbb{R}"},
      {"\\mathbb{R}\\setminus\\{0\\}"},
      {"1, 2"},
      {"2\\pm\\sqrt3"},
      {"\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"},
      {"\\frac{\\pi}{4}+k\\pi, k\\in\\mathbb{Z}"},
      {"n^2, n\\in\\mathbb{N}"},
      {"x=3"},
      {"x=1, y=2"},
      {"y=2x+1"},
      {"x^2+y^2=4"},
      {"f(x)=x+1"},
      {"\\text{Area}=12"},
      {"x>3"},
      {"1<x\\le 2"},
      {"x\\ne 0"},
      {"x^2<4"},
      {"x+y<1"},
      {"x<1 \\text{ or } x>3"},
      {"x^2=4"},
      {"x^3=8", {Open::equation}},
      {"x^5+x=34", {Open::equation}},
      {"x^3<8", {Open::inequality}},
      {"\\sin x>0", {Open::inequality}},
      {"3:2"},
      {"1:2:3"},
      {"3:30", {Open::clock}},
      {"8:05"},
      {"3:30 \\text{ p.m.}"},
      {"5\\text{ PM}"},
      {"5\\text{ cm}"},
      {"\\$5"},
      {"5\\text{ kJ}"},
      {"30^\\circ"},
      {"12\\text{ apples}"},
      {"5\\text{ goats}"},
      {"60\\text{ mph}"},
      {"2\\text{ hours}"},
      {"25^\\circ\\text{C}"},
      {"\\text{dog}"},
      {"IV"},
      {"\\text{yes}"},
      {"C"},
      {"\\text{(E)}"},
      {"\\textbf{(B)}\\ 5"},
      {"\\text{June 20}"},
      {"\\text{A, C}"},
      {"A(1,2)"},
      {"\\sin^2 x"},
      {"x_1"},
      {"10^{100}"},
      {"0.\\overline{3}"},
      {"\\sqrt{x^2+1}"},
      {"\\log_2 3"},
      {"3i"},
      {"(-\\infty,2)"},
      {"1\\text{ cm},2\\text{ cm}"},
      {"y=\\frac{1}{x}"},
      {"\\frac{x}{x-1}"},
      {"x=\\frac{\\pi}{4}+k\\pi, k\\in\\mathbb{Z}"},
      {"7 \\pmod{12}"},
      {"2x+3y=6"},
      {"|x-1|<2"},
      {"x^2-5x+6=0"},
      {"(1,2),(3,4)"},
      {"6\\text{ ft }2\\text{ in}"},
      {"\\$1,000"},
      {"€5"},
      {"\\frac{n(n+1)}{2}"},
      {"a+b"},
      {"\\tan x"},
      {"e^x"},
      {"D"},
      {"\\text{Monday}"},
      {"\\frac{dy}{dx}=2x"},
      {"x\\in\\{1,2\\}"},
      {"\\{x : x>0\\}"},
      {"\\vec{v}"},
      {"\\text{2 to 3}"},
      {"\\text{3 pairs}"},
      {"1^\\circ 30'"},
      {"\\text{no solution}"},
      {"noon"},
      {"\\int_0^1 x\\,dx", {Open::unread}},
      {"1, 2, \\ldots, n", {Open::unread}},
      {"\\sin(9^{9^9})", {Open::valueless, Open::costly}},
      {"\\frac{1}{0}", {Open::valueless}},
      {"e^{4000}", {Open::costly}},
  };
  return all;
}

constexpr std::string_view kTokens[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "5",
                                        "42",
                                        "0.5",
                                        "10^{30}",
                                        "x",
                                        "y",
                                        "a",
                                        "n",
                                        "k",
                                        "C",
                                        ":",
                                        ": ",
                                        " to ",
                                        "\\text{ to }",
                                        "\\infty",
                                        "\\{",
                                        "\\}",
                                        "(",
                                        ")",
                                        "[",
                                        "]",
                                        ",",
                                        ", ",
                                        ";",
                                        "hello",
                                        "unknown",
                                        "\\text{I do not know}",
                                        "\\text{a}",
                                        " or ",
                                        " and ",
                                        "\\text{ or }",
                                        " is ",
                                        " cm",
                                        "\\text{ kJ}",
                                        " goats",
                                        " dozen",
                                        " half",
                                        "five ",
                                        "\\$",
                                        "\\%",
                                        "^\\circ",
                                        "'",
                                        " PM",
                                        "\\sin ",
                                        "\\ln ",
                                        "\\arcsin ",
                                        "\\sqrt",
                                        "|",
                                        "\\lfloor ",
                                        "\\rfloor ",
                                        "{",
                                        "}",
                                        "\\frac",
                                        "+",
                                        "-",
                                        "\\times ",
                                        "/",
                                        "^",
                                        "!",
                                        "=",
                                        "<",
                                        ">",
                                        "\\le ",
                                        "\\ne ",
                                        "\\pm ",
                                        "\\approx ",
                                        "\\cup ",
                                        "\\cap ",
                                        "\\setminus ",
                                        "\\in ",
                                        "\\mathbb{R}",
                                        "\\mathbb{Z}",
                                        "k\\in\\mathbb{Z}",
                                        "\\emptyset",
                                        "\\pi ",
                                        "e",
                                        "i",
                                        "_2",
                                        "9^{9^9}",
                                        "10^{99999}",
                                        "\\frac{1}{0}",
                                        "\\frac{x}{0}",
                                        "\\int ",
                                        "\\ldots",
                                        "\\text{(B)} ",
                                        "A. ",
                                        " mod 7",
                                        "\\begin{pmatrix}1&2\\end{pmatrix}",
                                        "6:60",
                                        "\\sqrt{|x|}",
                                        "\\ln|x|",
                                        "(x+1)^{999}",
                                        "((5!)!)!",
                                        "\\sqrt[999]{2}",
                                        "\\arcsin 2",
                                        "\\ln(-x^2-1)",
                                        "\\sqrt{-x^2-1}",
                                        "\\frac{|\\pi|-\\pi}{|e|-e}"};

class Draws {
 public:
  explicit Draws(std::uint64_t run) : stream_(run, RandomPurpose::test, 59) {}
  std::size_t below(std::size_t n) { return std::size_t(stream_.below(next_++, n)); }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

std::string_view token(Draws& draw) { return kTokens[draw.below(std::size(kTokens))]; }

/// Tokens alone, or the reference with some put in or behind it, so that what is nearly right is
/// tried as well.
std::string random_answer(Draws& draw, std::string_view reference) {
  std::string text;
  if (draw.below(3) != 0) {
    for (std::size_t n = 1 + draw.below(7); n > 0; --n) text += token(draw);
    return text;
  }
  text = reference;
  for (std::size_t n = 1 + draw.below(3); n > 0; --n) {
    const std::size_t at = draw.below(3) == 0   ? draw.below(text.size() + 1)
                           : draw.below(2) == 0 ? text.size()
                                                : 0;
    text.insert(at, token(draw));
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: undecided_fuzz RUNS [FIRST]\n");
    return 2;
  }
  const std::uint64_t runs = std::strtoull(argv[1], nullptr, 10),
                      first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  std::array<long, 3> verdicts{};
  std::array<long, kOpenReasons.size() + 1> open{};
  long wrong = 0;
  for (std::uint64_t run = first; run < first + runs; ++run) {
    Draws draw(run);
    const Reference& reference = references()[draw.below(references().size())];
    const std::string answer = random_answer(draw, reference.text);
    const Verdict verdict = decide(reference.text, answer).verdict;
    ++verdicts[std::size_t(verdict.answer)];
    if (verdict.answer != Answer::undecided) continue;
    ++open[std::size_t(verdict.open)];
    const bool is_listed = std::find(reference.may_be.begin(), reference.may_be.end(),
                                     verdict.open) != reference.may_be.end();
    if (!is_listed && ++wrong <= 20)
      fmt::print(stderr, "run {}: {} | {}: undecided, {}\n", run, reference.text, answer,
                 verdict.reason);
  }
  fmt::print("{} runs: {} equal, {} different, {} undecided\n", runs, verdicts[0], verdicts[1],
             verdicts[2]);
  for (const OpenReason& reason : kOpenReasons)
    fmt::print("{:>7} {}: {}\n", open[std::size_t(reason.open)], reason.name, reason.says);
  fmt::print("{} undecided that the reference does not give rise to\n", wrong);
  return wrong == 0 && verdicts[0] > 0 ? 0 : 1;
}
