// Inputs made to hang or crash a checker of mathematics: each must get a verdict within the counted
// limits. Prints counts and times; the times decide nothing.
#include "reward/math/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace rollcall::reward::math;

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t n = 0; n < times; ++n) all += text;
  return all;
}

struct Input {
  const char* name;
  std::string reference, answer;
};

std::vector<Input> inputs() {
  std::string binomials, terms, radicals, symbols;
  for (int n = 1; n <= 60; ++n) binomials += fmt::format("(x_{{{}}}+y_{{{}}})", n, n);
  for (int n = 1; n <= 1500; ++n) terms += fmt::format("+{}x^{{{}}}", n, n);
  for (int n = 2; n <= 60; ++n) radicals += fmt::format("+\\sqrt{{{}}}", n * n + 1);
  for (int n = 1; n <= 1200; ++n) symbols += fmt::format("+z_{{{}}}", n);
  const std::string logarithms = "\\log_{2^5}(\\log_{2^4}(\\log_{2^3}(\\log_{2^2}(\\log_{2^1}(";
  const std::string matrix =
      "\\begin{pmatrix}" + repeated(repeated("1&", 30) + "2\\\\", 30) + "\\end{pmatrix}";
  return {
      {"nested parentheses", "1", repeated("(", 5000) + "1" + repeated(")", 5000)},
      {"nested fractions", "1", repeated("\\frac{1}{1+", 1000) + "1" + repeated("}", 1000)},
      {"nested roots", "1", repeated("\\sqrt{1+", 60) + "1" + repeated("}", 60)},
      {"nested roots of two kinds", repeated("\\sqrt{2+", 12) + "x" + repeated("}", 12),
       repeated("\\sqrt[3]{2+", 12) + "x" + repeated("}", 12)},
      {"unbalanced braces", "1", repeated("{", 8000)},
      {"unbalanced closing braces", "1", repeated("}", 8000)},
      {"tower of powers", "1", "9^{9^{9^9}}"},
      {"tower of powers, and one more", "9^{9^9}", "9^{9^9}+1"},
      {"tall tower", "2^{2^{2^{2^{2^{2^{2^{2}}}}}}}", "2^{2^{2^{2^{2^{2^{2^{3}}}}}}}"},
      {"tower of variables", "x^{x^{x^x}}", "x^{x^{x^{x+1}}}"},
      {"huge factorial", "1", "1000000000!"},
      {"factorials of factorials", "1", "((5!)!)!"},
      {"equal huge factorials", "100000!", "100000 \\cdot 99999!"},
      {"huge binomial", "1", "\\binom{1000000000}{500000000}"},
      {"number of a million digits", "1", repeated("7", 1000000)},
      {"numbers of 16,000 digits", repeated("7", 16000), repeated("7", 15999) + "8"},
      {"quotient of long numbers", repeated("7", 8000) + "/" + repeated("3", 8000),
       repeated("7", 7999) + "8/" + repeated("3", 8000)},
      {"product of sixty binomials", "1", binomials},
      {"products of binomials", "(x+1)^{60}(x-1)^{60}", "(x^2-1)^{60}"},
      {"power of a sum of many", "(a+b+c+d+f+g)^{40}", "(a+b+c+d+f+h)^{40}"},
      {"power of a power", "((x+1)^{100})^{100}", "(x+1)^{9999}"},
      {"1,500 terms", "1" + terms, "2" + terms},
      {"1,500 terms squared", "1", "(1" + terms.substr(0, 7500) + ")^2"},
      {"1,200 variables", "1" + symbols, "2" + symbols},
      {"1,200 variables squared", "1", "(1" + symbols + ")^2"},
      {"sum of sixty roots", "1" + radicals, "1.0000001" + radicals},
      {"quotient of sums of roots", "\\frac{1}{1" + radicals + "}", "\\frac{2}{1" + radicals + "}"},
      {"nearly equal roots", "\\sqrt{10^{400}+1}", "10^{200}"},
      {"nearly equal transcendentals", "1+e^{-1000}", "1"},
      {"nearly equal, beyond the limits", "1+e^{-10^{6}}", "1"},
      {"angle of a huge number", "\\sin(10^{4000})", "\\sin(10^{4000}+1)"},
      {"angle of a tower", "\\sin(9^{9^9})", "0"},
      {"functions within functions", "1", repeated("\\sin(\\cos(", 30) + "x" + repeated("))", 30)},
      {"exponentials within exponentials", "1", repeated("e^{", 60) + "x" + repeated("}", 60)},
      {"root of huge degree", "1", "\\sqrt[1000000007]{2}"},
      {"root of a long number", "1", "\\sqrt{" + repeated("7", 9001) + "}"},
      {"thousand-th root", "\\sqrt[999]{2}+\\sqrt[997]{3}", "\\sqrt[999]{2}+\\sqrt[991]{3}"},
      {"exponent of ten beyond all", "1", "1e999999999"},
      {"decimal logarithms", "1", repeated("\\log(", 60) + "x" + repeated(")", 60)},
      {"sets of many items", "\\{" + repeated("1,2,3,", 2000) + "4\\}",
       "\\{" + repeated("1,2,3,", 2000) + "5\\}"},
      {"sets of functions", "\\{" + repeated("\\sin 2x,", 63) + "x\\}",
       "\\{" + repeated("2\\sin x\\cos x,", 63) + "x\\}"},
      {"nested sets", repeated("\\{1,", 62) + "2" + repeated("\\}", 62),
       repeated("\\{1,", 62) + "3" + repeated("\\}", 62)},
      {"large matrix", matrix, matrix + "^2"},
      {"matrix without end", "1", "\\begin{pmatrix}" + repeated("1&", 4000)},
      {"many signs", "1", repeated("-", 15001) + "1"},
      {"many plus-minus", "1", repeated("\\pm 1", 3000)},
      {"many relations", "x<1", repeated("1<", 4000) + "2"},
      {"many bars", "1", repeated("|", 15000)},
      {"many exponents", "1", "2" + repeated("^2", 5000)},
      {"many factorials", "1", "3" + repeated("!", 5000)},
      {"many percents", "1", "3" + repeated("%", 5000)},
      {"many primes", "1", "f" + repeated("'", 10000)},
      {"polynomial with long coefficients", "(" + repeated("9", 300) + "x+1)^{64}",
       "(" + repeated("9", 300) + "x+2)^{64}"},
      {"zero in disguise below", "\\frac{1}{\\sqrt{3+2\\sqrt2}-1-\\sqrt2}", "0"},
      {"zero bytes", "1", std::string(4000, '\0')},
      {"one value many times", "1" + repeated("+\\sqrt{2}", 200), repeated("1, ", 250) + "1"},
      {"many formulas with a parameter", "n, n\\in\\mathbb{Z}",
       repeated("2n, ", 150) + "3n, n\\in\\mathbb{Z}"},
      {"formulas with a long parameter", "\\sin n, n\\in\\mathbb{Z}",
       "\\sin(2n+10^{300}), n\\in\\mathbb{Z}"},
      {"many solutions", "x^9=1", repeated("1, ", 250) + "1"},
      {"numbers in nested words", "1",
       repeated("\\text{one or ", 1100) + "1" + repeated("}", 1100)},
      {"units behind units", "1", "1" + repeated("\\text{ m}/\\text{s}", 900)},
      {"units in fractions", "1", repeated("1\\frac{\\text{m}}{", 800) + "1" + repeated("}", 800)},
      {"announcements", "1", repeated("about ", 2700) + "1"},
      {"choices of choices", "1", repeated("\\text{A}. \\", 1300) + "1"},
      // Published ones, by the issue that tells of them.
      {"Math-Verify issue 65", "1",
       "\\dfrac{5^{\\left(5^{\\left(5^{\\left(5^5\\right)}\\right)} - 4\\right)} - 5}{16}"},
      {"Math-Verify issue 63", logarithms + "x" + repeated(")", 5),
       logarithms + "y" + repeated(")", 5)},
      {"Math-Verify issue 14", "\\frac{1}{2004!}", "\\frac{1}{2006!}"},
      {"sympy issue 24187, base 3", "1", "3^{20^6}"},
      {"sympy issue 24187, base 2", "1", "2^{30^5}"},
      {"sympy issue 24279", "0", "\\sin(\\sin(\\exp(\\exp(\\exp(3)))+3))"},
      {"sympy issue 21579", "1", "10.0^{10.0^{10.0}}"},
      {"sympy issue 20956", "0",
       "5(-\\frac{103394997431911}{10^{12}})^{y+\\frac{153096909707543}{10^{13}}}(y+\\frac{163096909707543}{10^{13}})"},
  };
}

}  // namespace

int main() {
  constexpr std::int64_t kWatched = 3 * (kMostWork + kMostEvaluation);  // as in math_fuzz
  constexpr const char* kNames[] = {"equal", "different", "undecided"};
  std::int64_t most = 0;
  double slowest = 0;
  for (const Input& input : inputs()) {
    const auto start = std::chrono::steady_clock::now();
    const Decision decision = decide(input.reference, input.answer);
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{:36} {:10} {:9} operations {:8.2f} ms  {}\n", input.name,
               kNames[int(decision.verdict.answer)], decision.work, ms, decision.verdict.reason);
    most = std::max(most, decision.work), slowest = std::max(slowest, ms);
  }
  fmt::print("worst: {} operations, {:.2f} ms\n", most, slowest);
  return most <= kWatched ? 0 : 1;
}
