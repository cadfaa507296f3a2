// Unwraps environments that align a derivation: \begin{aligned} n &= 6 \cdot 7 \\ &= 42
// \end{aligned}.
#include "reward/math/parser/spelling.hpp"
#include "text/answer/answer_text.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::reward::math {
namespace {

using text::trim;

constexpr std::string_view kBegin = "\\begin{", kEnd = "\\end{";
constexpr std::string_view kAlignments[] = {
    "align", "align*",   "aligned",   "alignat",  "gather",    "gather*",  "gathered",
    "split", "eqnarray", "eqnarray*", "equation", "equation*", "multline", "multline*"};
constexpr std::string_view kRelations[] = {"=", "\\approx", "\\le", "\\ge", "<", ">", "\\equiv"};
constexpr std::string_view kConclusions[] = {"\\Rightarrow", "\\implies", "\\Longrightarrow",
                                             "\\therefore",  "\\iff",     "\\Leftrightarrow",
                                             "\\to"};

constexpr std::size_t kMostValues = 8;  // named values that may make up one answer

std::string_view without_stop(std::string_view text) {
  text = trim(text);
  while (text.ends_with('.') || text.ends_with(',') || text.ends_with("\\\\"))
    text = trim(text.substr(0, text.size() - (text.ends_with('\\') ? 2 : 1)));
  return text;
}

/// An environment's rows without alignment marks and numbers. Rows of a nested environment stay
/// together.
std::vector<std::string> rows_of(std::string_view text) {
  std::vector<std::string> rows(1);
  int depth = 0;
  while (!text.empty()) {
    const bool is_row = depth == 0 && text.starts_with("\\\\");
    std::size_t size = text[0] == '\\' && text.size() > 1 ? 2 : 1;
    for (const std::string_view mark : {"\\nonumber", "\\notag"})
      if (text.starts_with(mark))
        size = mark.size(), rows.back() += ' ', text.remove_prefix(size), size = 0;
    depth += text.starts_with(kBegin) || (size == 1 && text[0] == '{') ? 1 : 0;
    depth -= text.starts_with(kEnd) || (size == 1 && text[0] == '}') ? 1 : 0;
    if (is_row) rows.emplace_back();
    else if (size > 0 && !(depth == 0 && text[0] == '&')) rows.back() += text.substr(0, size);
    text.remove_prefix(std::min(size, text.size()));
  }
  return rows;
}

template <class List>
std::size_t beginning(std::string_view row, const List& list) {
  const auto found = std::find_if(std::begin(list), std::end(list),
                                  [&](std::string_view one) { return row.starts_with(one); });
  return found == std::end(list) ? 0 : found->size();
}

/// Whether a row gives a value to a name, as in "x = 1".
bool names_value(std::string_view row) {
  const std::string_view name = trim(row.substr(0, std::min(row.find('='), row.size())));
  return name.size() < row.size() &&
         (name.size() == 1 || (name.size() <= 4 && name.substr(1, 1) == "_"));
}

/// The rows as one string. With `all_named`, the string is empty unless every row gives a value to
/// a name.
std::string joined(const std::vector<std::string>& rows, bool all_named = false) {
  std::vector<std::string> lines;  // each with the rows that continue it
  for (const std::string& given : rows) {
    std::string_view row = without_stop(given);
    if (row.empty()) continue;
    if (const std::size_t arrow = beginning(row, kConclusions); arrow > 0)
      lines.clear(), row = trim(row.substr(arrow));
    if (!lines.empty() && beginning(row, kRelations) > 0) lines.back().append(" ").append(row);
    else lines.emplace_back(row);
  }
  if (lines.empty()) return {};
  const auto name = [](const std::string& line) { return line.substr(0, line.find('=')); };
  bool are_named = lines.size() <= kMostValues;
  for (std::size_t n = 0; are_named && n < lines.size(); ++n)
    for (std::size_t m = 0; m <= n; ++m)
      are_named =
          are_named && names_value(lines[n]) && (m == n || name(lines[m]) != name(lines[n]));
  if (!are_named) return all_named ? std::string() : lines.back();
  std::string all = lines.front();
  for (std::size_t n = 1; n < lines.size(); ++n) all += ", " + lines[n];
  return all;
}

/// A system of equations after a brace as a list: \begin{cases} x = 2 \\ y = -1 \end{cases}. Empty
/// for any other text.
std::string unbraced(std::string_view text) {
  // the period of "\right." was removed with other periods at the end
  constexpr std::string_view kLeft = "\\left\\{", kRight = "\\right";
  const bool is_braced = text.starts_with(kLeft) && text.ends_with(kRight);
  if (is_braced) text = trim(text.substr(kLeft.size(), text.size() - kLeft.size() - kRight.size()));
  const std::string_view name = text.starts_with("\\begin{cases}")                  ? "cases"
                                : is_braced && text.starts_with("\\begin{array}")   ? "array"
                                : is_braced && text.starts_with("\\begin{aligned}") ? "aligned"
                                : is_braced && text.starts_with("\\begin{matrix}")  ? "matrix"
                                                                                    : "";
  const std::string end = std::string(kEnd).append(name).append("}");
  if (name.empty() || !text.ends_with(end)) return {};
  text = trim(text.substr(kBegin.size() + name.size() + 1,
                          text.size() - kBegin.size() - name.size() - 1 - end.size()));
  if (name == "array" && text.starts_with('{'))
    text = text.substr(std::min(text.find('}') + 1, text.size()));
  return joined(rows_of(text), true);
}

}  // namespace

std::string unaligned(std::string_view whole) {
  std::string_view text = without_stop(whole);
  if (const std::string system = unbraced(text); !system.empty()) return system;
  if (!text.starts_with(kBegin) || !text.ends_with('}')) return std::string(whole);
  const std::size_t close = text.find('}'), end = text.rfind(kEnd);
  const std::string_view name = text.substr(kBegin.size(), close - kBegin.size());
  const bool is_alignment =
      std::find(std::begin(kAlignments), std::end(kAlignments), name) != std::end(kAlignments);
  if (!is_alignment || end == std::string_view::npos || end < close ||
      text.substr(end + kEnd.size()) != std::string(name) + "}")
    return std::string(whole);
  std::string_view inner = text.substr(close + 1, end - close - 1);
  if (name == "alignat" && trim(inner).starts_with('{'))
    inner = inner.substr(std::min(inner.find('}') + 1, inner.size()));
  std::string rows = joined(rows_of(inner));
  return rows.empty() ? std::string(whole) : unaligned(rows);
}

}  // namespace rollcall::reward::math
