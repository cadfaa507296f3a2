// Reads containers and fences line by line, nested as in CommonMark.
#include "reward/code_blocks.hpp"

#include "text/answer/answer_text.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace rollcall::reward {
namespace {

/// A block quote, or a list item whose content begins `offset` columns after the container around
/// it.
struct Container {
  bool is_quote = false;
  std::size_t offset = 0;
};

/// A line without its line break, and how far it has been read. A tab counts up to the next column
/// that four divides.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}
  std::size_t indent() const {
    std::size_t column = column_ + left_, at = at_;
    for (; at < text_.size() && (text_[at] == ' ' || text_[at] == '\t'); ++at)
      column += text_[at] == ' ' ? 1 : 4 - column % 4;
    return column - column_;
  }
  /// The rest of the line after its indentation.
  std::string_view words() const {
    return text_.substr(std::min(text_.find_first_not_of(" \t", at_), text_.size()));
  }
  bool is_blank() const { return text::trim(words()).empty(); }
  std::string rest() const { return std::string(left_, ' ').append(text_.substr(at_)); }
  void skip(std::size_t columns) {
    for (; columns > 0 && (left_ > 0 || at_ < text_.size()); --columns, ++column_) {
      if (left_ == 0) left_ = text_[at_] == '\t' ? 4 - column_ % 4 : 1, ++at_;
      --left_;
    }
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0, column_ = 0;
  std::size_t left_ = 0;  // columns left over from a tab that was partly read
};

bool enter_quote(Line& line) {
  const std::size_t indent = line.indent();
  if (indent > 3 || !line.words().starts_with('>')) return false;
  line.skip(indent + 1);
  line.skip(line.indent() > 0 ? 1 : 0);
  return true;
}

/// Width of a list item's marker (`-`, `+`, `*`, `12.`, `12)`); 0 if none begins here.
std::size_t marker_width(std::string_view text) {
  const std::size_t digits = std::size_t(
      std::find_if_not(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); }) -
      text.begin());
  const bool is_marker =
      text.size() > digits &&
      (digits == 0 ? std::string_view("-+*") : std::string_view(digits < 10 ? ".)" : ""))
              .find(text[digits]) != std::string_view::npos;
  return is_marker ? digits + 1 : 0;
}

bool enter_item(Line& line, std::size_t& offset) {
  const std::size_t indent = line.indent(), width = indent > 3 ? 0 : marker_width(line.words());
  if (width == 0) return false;
  Line content = line;
  content.skip(indent + width);
  const std::size_t spaces = content.indent();
  if (spaces == 0 && !content.is_blank()) return false;
  offset = indent + width + (content.is_blank() || spaces > 4 ? 1 : spaces);
  line.skip(offset);
  return true;
}

/// Returns the number of open containers that the line continues, and reads the line up to their
/// content. A list item with an open code block also continues over lines with less indentation.
std::size_t go_on(Line& line, const std::vector<Container>& open, bool in_block) {
  std::size_t at = 0;
  for (; at < open.size(); ++at) {
    if (open[at].is_quote && !enter_quote(line)) break;
    if (open[at].is_quote) continue;
    if (!in_block && !line.is_blank() && line.indent() < open[at].offset) break;
    line.skip(std::min(line.indent(), open[at].offset));
  }
  return at;
}

void enter_all(Line& line, std::vector<Container>& open) {
  for (std::size_t offset = 0;;) {
    if (enter_quote(line)) open.push_back({true, 0});
    else if (enter_item(line, offset)) open.push_back({false, offset});
    else return;
  }
}

struct Fence {
  char mark = '`';
  std::size_t length = 0, indent = 0;
  std::string_view info;
};

/// A fence: at least three ` or ~ after at most three spaces. A backtick fence has no backtick in
/// the text after it, because that would be inline code.
std::optional<Fence> fence_of(const Line& line) {
  const std::size_t indent = line.indent();
  const std::string_view text = line.words();
  if (indent > 3 || text.empty() || (text[0] != '`' && text[0] != '~')) return std::nullopt;
  const std::size_t length = std::min(text.find_first_not_of(text[0]), text.size());
  const std::string_view info = text::trim(text.substr(length));
  if (length < 3 || (text[0] == '`' && info.find('`') != std::string_view::npos))
    return std::nullopt;
  return Fence{text[0], length, indent, info};
}

std::string language_of(std::string_view info) {
  std::string word(info.substr(0, std::min(info.find_first_of(" \t,:;"), info.size())));
  std::erase_if(word, [](char c) { return c == '{' || c == '}'; });
  word.erase(0, word.find_first_not_of('.') == std::string::npos ? word.size()
                                                                 : word.find_first_not_of('.'));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return word;
}

}  // namespace

std::vector<CodeBlock> code_blocks(std::string_view text) {
  std::vector<CodeBlock> blocks;
  std::vector<Container> open;
  std::optional<Fence> fence;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    Line line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t matched = go_on(line, open, fence.has_value());
    if (fence && matched == open.size()) {
      const auto closing = fence_of(line);
      if (closing && closing->mark == fence->mark && closing->length >= fence->length &&
          closing->info.empty()) {
        blocks.back().closed = true;
        fence.reset();
        continue;
      }
      line.skip(std::min(line.indent(), fence->indent));
      blocks.back().code.append(line.rest()).append(end == std::string_view::npos ? "" : "\n");
      continue;
    }
    fence.reset();  // the end of a block quote ends the code block in it
    open.resize(matched);
    enter_all(line, open);
    fence = fence_of(line);
    if (fence) blocks.push_back({language_of(fence->info), {}, false});
  }
  return blocks;
}

}  // namespace rollcall::reward
