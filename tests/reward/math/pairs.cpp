// (long: a function for each category) The generator of pairs of known truth.
#include "reward/math/pairs.hpp"

#include "base/numbers/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace rollcall::reward::math::testing {
namespace {

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t number)
      : stream_(seed, RandomPurpose::test, number, 25) {}
  long in(long low, long high) {
    return low + long(stream_.below(next_++, std::uint64_t(high - low + 1)));
  }
  long other(long low, long high, long not_this) {
    const long value = in(low, high - 1);
    return value >= not_this ? value + 1 : value;
  }
  bool coin() { return in(0, 1) == 1; }
  template <class Items>
  auto pick(const Items& items) {
    return items[std::size_t(in(0, long(std::size(items)) - 1))];
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

using Texts = std::vector<std::string>;
struct Spelt {
  std::string reference, answer;
};

std::string frac(long a, long b) {
  return fmt::format("{}\\frac{{{}}}{{{}}}", a < 0 ? "-" : "", std::abs(a), b);
}
std::string grouped(long n, const std::string& separator) {
  const std::string digits = std::to_string(std::abs(n));
  std::string text = n < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i)
    text += (i > 0 && (digits.size() - i) % 3 == 0 ? separator : "") + std::string(1, digits[i]);
  return text;
}
std::string with_sign(long n) { return n < 0 ? fmt::format("- {}", -n) : fmt::format("+ {}", n); }

Spelt integers(Draws& d, bool equal) {
  const long n = d.in(-99999, 99999), m = equal ? n : d.other(-99999, 99999, n);
  const long k = d.in(1, 99);
  return {
      std::to_string(n),
      d.pick(Texts{std::to_string(m), fmt::format("{}.0", m),
                   fmt::format("\\frac{{{}}}{{{}}}", m * k, k), fmt::format("{} + {}", m - k, k),
                   fmt::format("${}$", m), fmt::format("\\left({}\\right)", m),
                   fmt::format("\\boxed{{{}}}", m), fmt::format("{} {}", m + k, with_sign(-k))})};
}

Spelt decimals(Draws& d, bool equal) {
  const long n = d.in(-99999, 99999), m = equal ? n : d.other(-99999, 99999, n);
  const auto text = [](long v) {
    return fmt::format("{}{}.{:03}", v < 0 ? "-" : "", std::abs(v) / 1000, std::abs(v) % 1000);
  };
  return {text(n), d.pick(Texts{text(m) + "0", text(m) + "00",
                                fmt::format("\\frac{{{}}}{{1000}}", m), fmt::format("{}/1000", m),
                                fmt::format("{} \\cdot 10^{{-3}}", m), fmt::format("{}e-3", m)})};
}

Spelt fractions(Draws& d, bool equal) {
  const long a = d.in(-300, 300), b = d.in(2, 300), k = d.in(2, 12);
  const long c = equal ? a : d.other(-300, 300, a);
  return {frac(a, b),
          d.pick(Texts{frac(c * k, b * k), fmt::format("{}/{}", c, b),
                       fmt::format("\\dfrac{{{}}}{{{}}}", c, b),
                       fmt::format("\\frac{{{}}}{{{}}}", -c, -b),
                       fmt::format("\\tfrac{{{}}}{{{}}} + \\tfrac{{{}}}{{{}}}", c - k, b, k, b),
                       fmt::format("{} \\div {}", c, b), fmt::format("({})/({})", c * k, b * k)})};
}

Spelt mixed_numbers(Draws& d, bool equal) {
  const long b = d.in(2, 20), a = d.in(1, b - 1), w = d.in(1, 50),
             v = equal ? w : d.other(1, 50, w);
  return {fmt::format("{}\\frac{{{}}}{{{}}}", w, a, b),
          d.pick(Texts{fmt::format("{} {}/{}", v, a, b), frac(v * b + a, b),
                       fmt::format("{}/{}", v * b + a, b), fmt::format("{} + {}/{}", v, a, b),
                       fmt::format("{}\\frac{{{}}}{{{}}}", v, a * 2, b * 2)})};
}

Spelt percents(Draws& d, bool equal) {
  const long n = d.in(101, 9999), m = equal ? n : d.other(101, 9999, n);  // hundredths of a percent
  const std::string percent = fmt::format("{}.{:02}", n / 100, n % 100);
  const std::string other = fmt::format("{}.{:02}", m / 100, m % 100);
  return {percent + (d.coin() ? "\\%" : "%"),
          d.pick(Texts{other + "%", other + "\\%", fmt::format("0.{:04}", m),
                       fmt::format("\\frac{{{}}}{{10000}}", m), other + " \\%"})};
}

Spelt units(Draws& d, bool equal) {
  struct Conversion {
    const char *small, *large;
    long factor;
  };
  constexpr Conversion kConversions[] = {{"cm", "m", 100},           {"m", "km", 1000},
                                         {"g", "kg", 1000},          {"minutes", "hours", 60},
                                         {"seconds", "minutes", 60}, {"inches", "feet", 12}};
  const Conversion c = d.pick(kConversions);
  const long n = d.in(1, 500), m = equal ? n : d.other(1, 500, n);
  const std::string power = d.coin() ? "^2" : "";
  switch (d.in(0, 2)) {
    case 0:
      return {fmt::format("{} \\text{{ {}}}", n, c.large),
              fmt::format("{} \\text{{ {}}}", m * c.factor, c.small)};
    case 1: return {fmt::format("{} \\text{{ {}}}{}", n, c.large, power), fmt::format("{}", m)};
    default: return {fmt::format("{}", n), fmt::format("{} \\mathrm{{{}}}{}", m, c.small, power)};
  }
}

Spelt radicals(Draws& d, bool equal) {
  const long a = d.in(2, 12), r = d.pick(std::array{2L, 3L, 5L, 6L, 7L, 10L, 11L}), b = d.in(1, 9),
             c = equal ? a : d.other(2, 12, a);
  switch (d.in(0, 5)) {
    case 0: return {fmt::format("{}\\sqrt{{{}}}", a, r), fmt::format("\\sqrt{{{}}}", c * c * r)};
    case 1:
      return {fmt::format("\\frac{{{}}}{{\\sqrt{{{}}}}}", a, r),
              fmt::format("\\frac{{{}\\sqrt{{{}}}}}{{{}}}", c, r, r)};
    case 2:
      return {
          fmt::format("\\frac{{{}}}{{{}+\\sqrt{{{}}}}}", a, b + 4, r),
          fmt::format("\\frac{{{}({}-\\sqrt{{{}}})}}{{{}}}", c, b + 4, r, (b + 4) * (b + 4) - r)};
    case 3:
      return {fmt::format("\\sqrt{{{}+{}\\sqrt{{{}}}}}", a * a + b * b * r, 2 * a * b, r),
              fmt::format("{}+{}\\sqrt{{{}}}", c, b, r)};
    case 4:
      return {fmt::format("\\sqrt[3]{{{}}}", a * a * a * r),
              fmt::format("{}\\sqrt[3]{{{}}}", c, r)};
    default:
      return {fmt::format("{}+{}\\sqrt{{{}}}", a, b, r), fmt::format("{}*sqrt({}) + {}", b, r, c)};
  }
}

Spelt powers(Draws& d, bool equal) {
  const long b = d.in(2, 9), n = d.in(2, 12), k = d.in(1, 5), m = equal ? n : d.other(2, 12, n);
  switch (d.in(0, 4)) {
    case 0:
      return {fmt::format("{}^{{{}}}", b, n + k),
              fmt::format("{}^{{{}}} \\cdot {}^{}", b, m, b, k)};
    case 1: return {fmt::format("{}^{{-{}}}", b, n), fmt::format("\\frac{{1}}{{{}^{{{}}}}}", b, m)};
    case 2:
      return {fmt::format("{}^{{{}/2}}", b, 2 * n + 1),
              fmt::format("{}^{{{}}} \\sqrt{{{}}}", b, m, b)};
    case 3: return {fmt::format("x^{{{}}}", n * k), fmt::format("(x^{{{}}})^{{{}}}", m, k)};
    default: return {fmt::format("{}^x", b * b), fmt::format("{}^{{{}}}", b, equal ? "2x" : "3x")};
  }
}

Spelt logarithms(Draws& d, bool equal) {
  const long a = d.in(2, 20), b = d.in(2, 20), n = d.in(2, 6), c = equal ? b : d.other(2, 20, b);
  switch (d.in(0, 4)) {
    case 0: return {fmt::format("\\ln {}", a * b), fmt::format("\\ln {} + \\ln {}", a, c)};
    case 1:
      return {fmt::format("\\log_{{{}}} {}", a, b),
              fmt::format("\\frac{{\\ln {}}}{{\\ln {}}}", c, a)};
    case 2: return {fmt::format("{} \\ln {}", n, b), fmt::format("\\ln({}^{})", c, n)};
    case 3: return {fmt::format("\\log_{{{}}}({}^{{{}}})", a, a, b), fmt::format("{}", c)};
    default: return {fmt::format("e^{{\\ln {}}}", b), fmt::format("{}", c)};
  }
}

Spelt trigonometry(Draws& d, bool equal) {
  const long n = d.in(2, 9), m = equal ? n : d.other(2, 9, n), k = d.in(1, 40);
  const Spelt known[] = {{"\\sin\\frac{\\pi}{3}", "\\frac{\\sqrt{3}}{2}"},
                         {"\\cos 60^\\circ", "1/2"},
                         {"\\tan\\frac{\\pi}{6}", "\\frac{1}{\\sqrt{3}}"},
                         {"\\cos\\frac{\\pi}{12}", "\\frac{\\sqrt6+\\sqrt2}{4}"},
                         {"\\sin^2 x", "1-\\cos^2 x"},
                         {"\\sin 2x", "2\\sin x\\cos x"},
                         {"\\arctan 1", "\\frac{\\pi}{4}"},
                         {"\\cos 2\\theta", "1-2\\sin^2\\theta"},
                         {"\\sec x", "\\frac{1}{\\cos x}"}};
  if (d.in(0, 2) > 0) {
    const Spelt s = d.pick(known);
    return {fmt::format("{}{}", n, s.reference), fmt::format("{} \\cdot ({})", m, s.answer)};
  }
  return {fmt::format("\\sin({}x) + {}", n, k), fmt::format("{} - \\sin(-{}x)", k, m)};
}

Spelt constants(Draws& d, bool equal) {
  const long a = d.in(1, 60), b = d.in(1, 30), c = equal ? a : d.other(1, 60, a);
  const std::string name = d.coin() ? "\\pi" : "e";
  return {fmt::format("\\frac{{{}{}}}{{{}}}", a, name, b),
          d.pick(Texts{fmt::format("\\frac{{{}}}{{{}}} {}", c, b, name),
                       fmt::format("{} \\cdot {}/{}", c, name, b),
                       fmt::format("{}*{}/{}", c, name == "e" ? "e" : "pi", b),
                       fmt::format("\\frac{{{}{}}}{{{}}} + \\frac{{{}}}{{{}}}{}", c - 1, name, b, 1,
                                   b, name)})};
}

Spelt complex_numbers(Draws& d, bool equal) {
  const long a = d.in(-9, 9), b = d.in(1, 9), c = d.in(1, 5), e = d.in(1, 5),
             a2 = equal ? a : d.other(-9, 9, a);
  switch (d.in(0, 2)) {
    case 0: return {fmt::format("{} + {}i", a, b), fmt::format("{}i {}", b, with_sign(a2))};
    case 1:
      return {fmt::format("({} + {}i)({} + {}i)", a, b, c, e),
              fmt::format("{} {}i", a2 * c - b * e, with_sign(a2 * e + b * c))};
    default:
      return {fmt::format("\\frac{{{} + {}i}}{{{} - {}i}}", a, b, c, e),
              fmt::format("\\frac{{({} + {}i)({} + {}i)}}{{{}}}", a2, b, c, e, c * c + e * e)};
  }
}

Spelt intervals(Draws& d, bool equal) {
  const long a = d.in(-20, 20), b = a + d.in(1, 20), c = b + d.in(1, 20);
  const std::string open = d.coin() ? "(" : "[", close = d.coin() ? ")" : "]";
  const std::string other_close = close == ")" ? "]" : ")";
  switch (d.in(0, 3)) {
    case 0:
      return {
          fmt::format("{}{}, {}{}", open, a, b, close),
          fmt::format("\\left{}{}, {}\\right{}", open, equal ? a : a - 1, frac(b * 2, 2), close)};
    case 1:
      return {fmt::format("(-\\infty, {}{}", a, close),
              fmt::format("(-\\infty, {}{}", a, equal ? close : other_close)};
    case 2:
      return {fmt::format("(-\\infty, {}) \\cup ({}, \\infty)", a, b),
              fmt::format("({}, \\infty) \\cup (-\\infty, {})", b,
                          equal        ? a
                          : a + 1 == b ? a - 1
                                       : a + 1)};
    default:
      return {fmt::format("[{}, {}]", a, c),
              equal ? fmt::format("[{}, {}] \\cup [{}, {}]", a, b, b, c)
                    : fmt::format("[{}, {}) \\cup ({}, {}]", a, b, b, c)};
  }
}

Texts distinct(Draws& d, std::size_t count) {
  std::vector<long> numbers(60);
  std::iota(numbers.begin(), numbers.end(), -20);
  Texts texts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = std::size_t(d.in(0, long(numbers.size()) - 1));
    texts.push_back(std::to_string(numbers[at]));
    numbers.erase(numbers.begin() + long(at));
  }
  return texts;
}

std::string joined(const Texts& texts, const std::string& separator) {
  std::string all;
  for (const auto& text : texts) all += (all.empty() ? "" : separator) + text;
  return all;
}

Spelt sets(Draws& d, bool equal) {
  const Texts items = distinct(d, std::size_t(d.in(2, 6)));
  Texts others = items;
  std::rotate(others.begin(), others.begin() + d.in(1, long(others.size()) - 1), others.end());
  if (!equal && d.coin()) others.pop_back();
  else if (!equal) others[0] = "77";
  const bool braces = d.coin();
  return {
      braces ? fmt::format("\\{{{}\\}}", joined(items, ", ")) : joined(items, ", "),
      braces ? fmt::format("\\left\\{{{}\\right\\}}", joined(others, ",")) : joined(others, " , ")};
}

Spelt tuples(Draws& d, bool equal) {
  const Texts items = distinct(d, std::size_t(d.in(2, 5)));
  Texts others = items;
  if (!equal) std::swap(others[0], others[1]);
  if (d.coin()) others.back() = fmt::format("\\frac{{{}}}{{2}}", 2 * std::stol(others.back()));
  return {fmt::format("({})", joined(items, ", ")),
          d.coin() ? fmt::format("\\left({}\\right)", joined(others, ", "))
                   : fmt::format("({})", joined(others, " , \\, "))};
}

Spelt matrices(Draws& d, bool equal) {
  const long rows = d.in(1, 3), columns = d.in(2, 3);
  std::string a, b;
  const long changed = equal ? -1 : d.in(0, rows * columns - 1);
  for (long n = 0; n < rows * columns; ++n) {
    const long v = d.in(-20, 20);
    const std::string next = n % columns == columns - 1 ? " \\\\ " : " & ";
    a += std::to_string(v) + next;
    b += (n == changed ? std::to_string(v + 1)
          : d.coin()   ? fmt::format("\\frac{{{}}}{{3}}", 3 * v)
                       : std::to_string(v)) +
         next;
  }
  const std::string kind = d.coin() ? "bmatrix" : "pmatrix";
  return {fmt::format("\\begin{{pmatrix}} {}\\end{{pmatrix}}", a),
          fmt::format("\\begin{{{}}} {}\\end{{{}}}", kind, b, kind)};
}

Spelt equations(Draws& d, bool equal) {
  const long m = d.in(2, 9), b = d.in(1, 20), k = d.in(2, 5), b2 = equal ? b : d.other(1, 20, b);
  switch (d.in(0, 4)) {
    case 0: return {fmt::format("y = {}x + {}", m, b), fmt::format("{}x - y + {} = 0", m, b2)};
    case 1:
      return {fmt::format("y = {}x + {}", m, b), fmt::format("{}y = {}x + {}", k, k * m, k * b2)};
    case 2: return {fmt::format("x = {}", b), fmt::format("{}", b2)};
    case 3: return {fmt::format("{}", b), fmt::format("x = {}", b2)};
    default:
      return {fmt::format("x^2 + y^2 = {}", b),
              fmt::format("\\frac{{x^2}}{{{}}} + \\frac{{y^2}}{{{}}} = 1", b2, b2)};
  }
}

Spelt inequalities(Draws& d, bool equal) {
  const long a = d.in(-20, 20), b = a + d.in(1, 20), k = d.in(2, 6),
             a2 = equal ? a : a - d.in(1, 9);
  switch (d.in(0, 4)) {
    case 0: return {fmt::format("x > {}", a), fmt::format("({}, \\infty)", a2)};
    case 1: return {fmt::format("{} < x \\le {}", a, b), fmt::format("({}, {}]", a2, b)};
    case 2:
      return {fmt::format("x \\geq {}", a),
              equal ? fmt::format("{} \\leq x", a) : fmt::format("{} \\geq x", a)};
    case 3:
      return {fmt::format("x < {}", a), fmt::format("{}x {} < {}", k, with_sign(b), k * a2 + b)};
    default: return {fmt::format("x \\in [{}, {}]", a, b), fmt::format("{} \\le x \\le {}", a2, b)};
  }
}

Spelt polynomials(Draws& d, bool equal) {
  const long a = d.in(-9, 9), b = d.in(-9, 9), c = d.in(1, 5), b2 = equal ? b : d.other(-9, 9, b);
  switch (d.in(0, 4)) {
    case 0:
      return {fmt::format("x^2 {}x {}", with_sign(a + b), with_sign(a * b)),
              fmt::format("(x {})(x {})", with_sign(a), with_sign(b2))};
    case 1:
      return {fmt::format("(x {})^3", with_sign(b)),
              fmt::format("x^3 {}x^2 {}x {}", with_sign(3 * b2), with_sign(3 * b2 * b2),
                          with_sign(b2 * b2 * b2))};
    case 2:
      return {fmt::format("{}x^2y {}xy^2", c, with_sign(b)),
              fmt::format("xy({}x {}y)", c, with_sign(b2))};
    case 3:
      return {fmt::format("\\frac{{x^2-{}}}{{x+{}}} {}", c * c, c, with_sign(b)),
              fmt::format("x {}", with_sign(b2 - c))};
    default:
      return {fmt::format("\\frac{{1}}{{x}} + \\frac{{{}}}{{x+1}}", b),
              fmt::format("\\frac{{x + 1 {}x}}{{x(x+1)}}", with_sign(b2))};
  }
}

Spelt words(Draws& d, bool equal) {
  const Texts all = {"yes",      "no",     "odd",         "even",    "Evelyn",
                     "parabola", "Monday", "no solution", "ellipse", "neither"};
  const long n = d.in(0, long(all.size()) - 1), m = equal ? n : d.other(0, long(all.size()) - 1, n);
  const std::string& word = all[std::size_t(m)];
  if (d.coin()) {
    const char letter = char('A' + n % 5), other = char('A' + (equal ? n % 5 : (n + 1) % 5));
    return {
        std::string(1, letter),
        d.pick(Texts{fmt::format("\\text{{({})}}", other), fmt::format("({})", other),
                     fmt::format("\\textbf{{{}}}", other), fmt::format("\\mathrm{{{}}}", other)})};
  }
  return {all[std::size_t(n)], d.pick(Texts{fmt::format("\\text{{{}}}", word), word,
                                            fmt::format("\\mathrm{{ {} }}", word),
                                            fmt::format("\\boxed{{\\text{{{}}}}}", word)})};
}

Spelt thousands(Draws& d, bool equal) {
  const long n = d.in(1000, 99999999), m = equal ? n : d.other(1000, 99999999, n);
  return {std::to_string(n), d.pick(Texts{grouped(m, ","), grouped(m, "{,}"), grouped(m, ",\\!"),
                                          grouped(m, "\\,"), fmt::format("\\${}", grouped(m, ",")),
                                          fmt::format("{}.00", grouped(m, ","))})};
}

Spelt scientific(Draws& d, bool equal) {
  const long m = d.in(11, 99), e = d.in(2, 12), m2 = equal ? m : d.other(11, 99, m);
  std::string zeros(std::size_t(e), '0');
  return {fmt::format("{}.{} \\times 10^{{{}}}", m / 10, m % 10, e),
          d.pick(Texts{fmt::format("{}.{}e{}", m2 / 10, m2 % 10, e),
                       fmt::format("{}{}", m2, zeros.substr(1)),
                       fmt::format("{} \\cdot 10^{{{}}}", m2, e - 1),
                       fmt::format("{}.{}E+{}", m2 / 10, m2 % 10, e)})};
}

Spelt repeating_decimals(Draws& d, bool equal) {
  const std::size_t size = std::size_t(d.in(1, 3)), places = std::size_t(d.in(0, 2));
  const long nines = size == 1   ? 9
                     : size == 2 ? 99
                                 : 999,
             tens = places == 0   ? 1
                    : places == 1 ? 10
                                  : 100;
  const long whole = d.in(0, 12), shown = d.in(0, tens - 1), period = d.in(1, nines - 1),
             other = equal ? period : d.other(1, nines - 1, period);
  const std::string head = fmt::format("{}.{}", whole,
                                       places == 0 ? "" : fmt::format("{:0{}}", shown, places)),
                    digits = fmt::format("{:0{}}", other, size);
  const std::string dots = size == 1 ? fmt::format("\\dot{{{}}}", digits)
                                     : fmt::format("\\dot{{{}}}{}\\dot{{{}}}", digits[0],
                                                   digits.substr(1, size - 2), digits.back());
  return {
      frac((whole * tens + shown) * nines + period, tens * nines),
      d.pick(Texts{fmt::format("{}\\overline{{{}}}", head, digits),
                   fmt::format("{}({})", head, digits), fmt::format("{}\\bar{{{}}}", head, digits),
                   head + dots, fmt::format("{}{}{}{}...", head, digits, digits, digits)})};
}

Spelt choices(Draws& d, bool equal) {
  const long n = d.in(4, 24), k = d.in(2, n / 2), chosen = equal ? k : k - 1;
  long count = 1;
  for (long j = 1; j <= k; ++j) count = count * (n - j + 1) / j;
  const Texts spellings = {fmt::format("\\binom{{{}}}{{{}}}", n, chosen),
                           fmt::format("\\dbinom{{{}}}{{{}}}", n, n - chosen),
                           fmt::format("{{{} \\choose {}}}", n, chosen),
                           fmt::format("C({}, {})", n, chosen),
                           fmt::format("C_{{{}}}^{{{}}}", n, chosen),
                           fmt::format("{{}}_{{{}}}C_{{{}}}", n, chosen),
                           fmt::format("\\frac{{{}!}}{{{}!{}!}}", n, chosen, n - chosen)};
  return {d.coin() ? std::to_string(count)
                   : d.pick(Texts{fmt::format("\\binom{{{}}}{{{}}}", n, k),
                                  fmt::format("{{{} \\choose {}}}", n, k)}),
          d.pick(spellings)};
}

Spelt outward_intervals(Draws& d, bool equal) {
  const long a = d.in(-20, 20), b = a + d.in(1, 20), c = equal ? a : a - d.in(1, 9);
  switch (d.in(0, 3)) {
    case 0: return {fmt::format("({}, {})", a, b), fmt::format("]{}, {}[", c, b)};
    case 1: return {fmt::format("[{}, {})", a, b), fmt::format("\\left[{}; {}\\right[", c, b)};
    case 2: return {fmt::format("x > {}", a), fmt::format("]{}, +\\infty[", c)};
    default:
      return {fmt::format("(-\\infty, {}) \\cup ({}, \\infty)", a, b),
              fmt::format("]-\\infty, {}[ \\cup ]{}, \\infty[", c, b)};
  }
}

Spelt transposed(Draws& d, bool equal) {
  const long a = d.in(-20, 20), b = d.in(-20, 20), c = d.in(-20, 20), e = d.in(-20, 20),
             a2 = equal ? a : a + 1;
  const std::string power = d.pick(Texts{"^T", "^{\\top}", "^{\\mathrm{T}}"});
  if (d.coin())
    return {fmt::format("\\begin{{pmatrix}}{}\\\\{}\\\\{}\\end{{pmatrix}}", a, b, c),
            fmt::format("[{}, {}, {}]{}", a2, b, c, power)};
  return {fmt::format("\\begin{{pmatrix}}{}&{}\\\\{}&{}\\end{{pmatrix}}", a, b, c, e),
          fmt::format("\\begin{{bmatrix}}{}&{}\\\\{}&{}\\end{{bmatrix}}{}", a2, c, b, e, power)};
}

struct Category {
  const char* name;
  Spelt (*make)(Draws& d, bool equal);
};

constexpr Category kCategories[] = {
    {"integers", integers},
    {"decimals", decimals},
    {"fractions", fractions},
    {"mixed numbers", mixed_numbers},
    {"percents", percents},
    {"units", units},
    {"radicals", radicals},
    {"powers", powers},
    {"logarithms", logarithms},
    {"trigonometry", trigonometry},
    {"constants", constants},
    {"complex numbers", complex_numbers},
    {"intervals", intervals},
    {"sets", sets},
    {"tuples", tuples},
    {"matrices", matrices},
    {"equations", equations},
    {"inequalities", inequalities},
    {"polynomials", polynomials},
    {"words", words},
    {"thousands separators", thousands},
    {"scientific notation", scientific},
    {"repeating decimals", repeating_decimals},
    {"numbers of choices", choices},
    {"outward intervals", outward_intervals},
    {"transposed", transposed},
};

}  // namespace

Pair make_pair(std::uint64_t seed, std::uint64_t number) {
  Draws draws(seed, number);
  const Category& category = kCategories[number % std::size(kCategories)];
  const bool equal = draws.coin();
  Spelt spelt = category.make(draws, equal);
  return {category.name, std::move(spelt.reference), std::move(spelt.answer), equal};
}

std::vector<std::string> categories() {
  std::vector<std::string> names;
  for (const Category& category : kCategories) names.emplace_back(category.name);
  return names;
}

}  // namespace rollcall::reward::math::testing
