// Judges sections in tags: <think>...</think><answer>...</answer>, each once, in order, with
// nothing around them.
#include "reward/reference.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::reward {
namespace {

struct Tag {
  std::string open, close;
  std::optional<std::string> content;  ///< nothing if any content that is not empty is right
};

std::vector<Tag> read_tags(const Json& reference) {
  std::vector<Tag> tags;
  for (const Json& tag : reference.at("tags")) {
    const auto name = tag.at(0).get<std::string>();
    check_reference(!name.empty(), "a tag has no name");
    tags.push_back(
        {"<" + name + ">", "</" + name + ">",
         tag.at(1).is_null() ? std::nullopt : std::optional(tag.at(1).get<std::string>())});
  }
  check_reference(!tags.empty(), "no tag is asked for");
  return tags;
}

bool stands_once(std::string_view text, std::string_view part) {
  const std::size_t at = text.find(part);
  return at != std::string_view::npos && text.find(part, at + 1) == std::string_view::npos;
}

/// The content of a tag, trimmed; nothing unless the tag is opened once, closed once after that,
/// and not empty.
std::optional<std::string_view> section(std::string_view text, const Tag& tag) {
  if (!stands_once(text, tag.open) || !stands_once(text, tag.close)) return std::nullopt;
  const std::size_t begin = text.find(tag.open) + tag.open.size(), end = text.find(tag.close);
  if (end < begin) return std::nullopt;
  const auto content = text::trim(text.substr(begin, end - begin));
  return content.empty() ? std::nullopt : std::optional(content);
}

/// Whether the text is these sections in order, not nested, and nothing else.
bool is_in_form(std::string_view text, const std::vector<Tag>& tags) {
  for (const Tag& tag : tags) {
    text = text::trim(text);
    if (!text.starts_with(tag.open)) return false;
    text.remove_prefix(tag.open.size());
    const std::size_t end = text.find(tag.close);
    if (end == std::string_view::npos) return false;
    const auto within = text.substr(0, end);
    const auto holds = [&](const Tag& other) {
      return within.find(other.open) != std::string_view::npos ||
             within.find(other.close) != std::string_view::npos;
    };
    if (std::any_of(tags.begin(), tags.end(), holds)) return false;
    text.remove_prefix(end + tag.close.size());
  }
  return text::trim(text).empty();
}

}  // namespace

Score judge_tag_structure(const Prompt& prompt, const Response& response) {
  const auto tags =
      read_reference(prompt, R"({"tags": [["think", null], ["answer", "42"]]})", read_tags);
  const auto text = complete_answer(response);
  if (!text) return no_answer(4);
  std::size_t standing = 0, given = 0, right = 0;
  std::string answer, reason;
  for (const Tag& tag : tags) {
    const auto held = section(*text, tag);
    const bool as_asked = held && (!tag.content || *held == *tag.content);
    standing += held ? 1 : 0;
    given += tag.content ? 1 : 0;
    right += tag.content && as_asked ? 1 : 0;
    if (!as_asked && reason.empty())
      reason = fmt::format(
          "{} {}", tag.open,
          held ? "holds something else" : "does not stand once and closed with something in it");
    if (held) answer = std::string(*held);
  }
  const bool format = is_in_form(*text, tags);
  if (reason.empty()) reason = "the sections are out of order, or something stands around them";
  const bool correct = format && standing == tags.size() && right == given;
  const double contents = given > 0 ? share(right, given) : share(standing, tags.size());
  return score_of({double(correct), double(format), share(standing, tags.size()), contents},
                  std::move(answer), std::move(reason));
}

}  // namespace rollcall::reward
