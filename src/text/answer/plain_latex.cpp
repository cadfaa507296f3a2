// Replaces commands by means of a table. The braces around their arguments are removed with them.
#include "text/answer/plain_latex.hpp"

#include "text/answer/answer_text.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::text {
namespace {

struct Row {
  std::string_view name, becomes;
  bool holds;  ///< the command has an argument in braces, and its content is kept
};

constexpr Row kCommands[] = {
    {"text", "", true},
    {"textbf", "", true},
    {"textit", "", true},
    {"textrm", "", true},
    {"textsf", "", true},
    {"texttt", "", true},
    {"textnormal", "", true},
    {"emph", "", true},
    {"mathrm", "", true},
    {"mathbf", "", true},
    {"mathsf", "", true},
    {"mathit", "", true},
    {"mathtt", "", true},
    {"mathcal", "", true},
    {"boldsymbol", "", true},
    {"bm", "", true},
    {"bf", "", false},
    {"rm", "", false},
    {"mbox", "", true},
    {"hbox", "", true},
    {"boxed", "", true},
    {"fbox", "", true},
    {"underline", "", true},
    {"operatorname", "", true},
    {"left", "", false},
    {"right", "", false},
    {"big", "", false},
    {"Big", "", false},
    {"displaystyle", "", false},
    {"textstyle", "", false},
    {"Large", "", false},
    {"large", "", false},
    {"huge", "", false},
    {"small", "", false},
    {"quad", " ", false},
    {"qquad", " ", false},
    {"space", " ", false},
    {"to", "->", false},
    {"rightarrow", "->", false},
    {"Rightarrow", "->", false},
    {"longrightarrow", "->", false},
    {"implies", "->", false},
    {"times", "*", false},
    {"cdot", "*", false},
    {"lbrack", "[", false},
    {"rbrack", "]", false},
    {"ldots", "...", false},
    {"degree", "°", false},
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::string plain_latex(std::string_view s) {
  std::string out;
  std::vector<bool> dropped;  // [open brace] whether it is left out, since it encloses an argument
  bool holds = false;         // whether the next brace encloses an argument
  for (std::size_t at = 0; at < s.size(); ++at) {
    const char c = s[at], next = at + 1 < s.size() ? s[at + 1] : '\0';
    if (c == '{') {
      dropped.push_back(holds);
      if (!holds) out += c;
      holds = false;
    } else if (c == '}') {
      const bool drop = !dropped.empty() && dropped.back();
      if (!dropped.empty()) dropped.pop_back();
      if (!drop) out += c;
    } else if (c == '$') {
      continue;
    } else if (c == '~') {
      out += ' ';
    } else if (c != '\\') {
      out += c;
    } else if (!is_letter(next)) {
      ++at;
      if (std::string_view("{}$%#&_").find(next) != std::string_view::npos && next != '\0')
        out += next;
      else if (std::string_view("()[]").find(next) == std::string_view::npos) out += ' ';
    } else {
      std::size_t end = at + 1;
      while (end < s.size() && is_letter(s[end])) ++end;
      const std::string_view name = s.substr(at + 1, end - at - 1);
      const Row* row = std::find_if(std::begin(kCommands), std::end(kCommands),
                                    [&](const Row& r) { return r.name == name; });
      if (row == std::end(kCommands)) out += '\\' + std::string(name);
      else out += row->becomes, holds = row->holds && end < s.size() && s[end] == '{';
      at = end - 1;
    }
  }
  return std::string(trim(out));
}

}  // namespace rollcall::text
