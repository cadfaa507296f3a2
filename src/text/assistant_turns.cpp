// Turns found between what stays where a mark takes the place of the words.
#include "text/assistant_turns.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace rollcall::text {
namespace {

/// Letters and digits alone: nothing that a template strips, escapes or reads as a tag.
std::string mark_that_is_not_in(std::string_view text, std::string_view name) {
  for (int i = 0;; ++i) {
    std::string mark = fmt::format("{}{}q", name, i);
    if (text.find(mark) == std::string_view::npos) return mark;
  }
}

/// Marks in place of what a message says, each with the number of its words behind it.
Message marked(Message message, const std::string& mark) {
  std::size_t number = 0;
  each_said(message, [&](std::string_view, std::string& words) { words = fmt::format("{}{}x", mark, number++); });
  return message;
}

/// Where marks are in a rendering.
std::vector<std::size_t> places(std::string_view text, const std::string& mark) {
  std::vector<std::size_t> all;
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + mark.size())) all.push_back(at);
  return all;
}

bool has_calls(const Message& message) {
  const auto calls = message.find("tool_calls");
  return calls != message.end() && calls->is_array() && !calls->empty();
}

std::vector<std::string> words_of(Message message) {
  std::vector<std::string> all;
  each_said(message, [&](std::string_view, const std::string& words) { all.push_back(words); });
  return all;
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return std::size_t(std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(std::min(a.size(), b.size())), b.begin()).first - a.begin());
}

/// One conversation's search.
class Search {
 public:
  Search(std::string_view text, std::span<const Message> messages, const UsualTurn& usual, const RenderMessages& render)
      : text_(text),
        messages_(messages),
        usual_(usual),
        render_(render),
        mark_(mark_that_is_not_in(text, "MarkedWords")),
        next_mark_(mark_that_is_not_in(text, "WordsBehind")) {}

  /// `done`: where the turn before it ends.
  AssistantTurn turn(std::size_t i, std::size_t done) const {
    std::vector<Message> changed(messages_.begin(), messages_.end());
    changed[i] = marked(messages_[i], mark_);
    const auto words = words_of(messages_[i]);
    require(!words.empty(), told(i, "is empty", {}), "an empty answer teaches nothing", "remove it, or the line");
    const std::string quoted = fmt::format("{}", fmt::join(words, " ")), shown = render_(changed, false);
    const auto marks = places(shown, mark_);
    require(!marks.empty(), told(i, "is not in the text that the chat template makes of it", quoted), "what it leaves out cannot be learnt",
            "use another text.template, or leave out the line");
    // A template may repeat the name of a function that was called where it shows the result: those
    // marks are not the turn's own.
    const bool calls = has_calls(messages_[i]);
    const auto alone = calls ? rendered(std::span(changed).first(i + 1), false) : std::nullopt;
    const std::size_t own = alone ? std::min(places(*alone, mark_).size(), marks.size()) : marks.size();
    const Own last{own == 0 ? marks.size() - 1 : own - 1};
    const std::string behind = unmarked(behind_mark(shown, last), words);
    AssistantTurn turn{.message = i, .words = text_.size() - std::min(behind.size(), text_.size())};
    turn.begin = text_.ends_with(behind) ? begin_of(i, done, shown.substr(0, marks.front()), turn.words) : std::string::npos;
    require(turn.begin <= turn.words, told(i, "changes what the chat template shows of other messages", quoted),
            "which part of the text is its own cannot be said", "use another text.template, or leave out the line");
    turn.end = turn.words + (alone && own > 0 ? rest_of_call(unmarked(behind_mark(*alone, last), words), behind) : 0);
    const bool is_usual = !usual_.end.empty() && behind.starts_with(usual_.end);
    turn.tail = is_usual ? turn.words + usual_.end.size() : i + 1 == messages_.size() ? text_.size() : turn.words + up_to_next(i, changed, last);
    return turn;
  }

 private:
  struct Own {
    std::size_t last;  ///< index of the last mark of the turn itself
  };

  static std::string told(std::size_t i, std::string_view problem, std::string_view words) {
    const std::string quoted = words.empty() ? std::string() : fmt::format(", \"{}\",", words.substr(0, 40));
    return fmt::format("message {} of a conversation{} {}", i + 1, quoted, problem);
  }

  /// `before`: what stands before the mark; `words`: where the words end that it stands for. npos:
  /// it cannot be said.
  std::size_t begin_of(std::size_t i, std::size_t done, const std::string& before, std::size_t words) const {
    const auto given = rendered(messages_.first(i), true);
    if (given && given->size() >= done && given->size() <= words && text_.starts_with(*given)) return given->size();
    // What came before is shown otherwise than when the assistant was asked. So the head of the
    // turn is looked for behind the turn before it.
    const std::size_t same = std::min(common_prefix(text_, before), words);
    if (same < done) return std::string::npos;
    const std::string head = head_of(i, given.has_value());
    const std::string_view said = text_.substr(done, words - done);
    if (const std::size_t at = head.empty() ? std::string::npos : said.rfind(head, same - done); at != std::string::npos) return done + at + head.size();
    // Another head than the usual one: what stands behind it is learnt.
    if (same == before.size()) return before_call(i, done, same);
    // The words change what the template puts before them, for example a thought: the head is what
    // of it stands before the change.
    for (std::size_t length = head.size(); length > 0; --length) {
      const std::size_t at = said.substr(0, same - done).rfind(std::string_view(head).substr(0, length));
      if (at != std::string::npos) return done + at + length;
    }
    return std::string::npos;
  }

  /// Of a turn that is nothing but a call, more of the call stands before the name of the function,
  /// which is at `words`: what the template would show behind an answer's place.
  std::size_t before_call(std::size_t i, std::size_t done, std::size_t words) const {
    std::vector<Message> changed(messages_.begin(), messages_.end());
    if (!has_calls(changed[i]) || (changed[i].contains("content") && !changed[i]["content"].empty() && changed[i]["content"] != "")) return words;
    changed[i]["content"] = mark_;
    const auto shown = rendered(changed, false);
    const std::size_t place = shown ? shown->find(mark_) : std::string::npos;
    const bool is_there = place != std::string::npos && place >= done && place <= words && text_.starts_with(shown->substr(0, place));
    return is_there ? place : words;
  }

  /// What the template puts behind the message before where the assistant is to speak next.
  std::string head_of(std::size_t i, bool can_be_asked) const {
    if (i == 0 || !can_be_asked) return usual_.head;
    std::vector<Message> changed(messages_.begin(), messages_.begin() + std::ptrdiff_t(i));
    changed.back() = marked(changed.back(), mark_);
    const auto asked = rendered(changed, true);
    const auto marks = asked ? places(*asked, mark_) : std::vector<std::size_t>();
    return marks.empty() ? usual_.head : std::string(behind_mark(*asked, {marks.size() - 1}));
  }

  std::string_view behind_mark(std::string_view shown, Own own) const {
    const std::size_t at = places(shown, mark_).at(own.last);
    return shown.substr(shown.find('x', at + mark_.size()) + 1);
  }

  /// With the words again in place of their marks.
  std::string unmarked(std::string_view shown, const std::vector<std::string>& words) const {
    std::string text(shown);
    for (std::size_t number = 0; number < words.size(); ++number) {
      const std::string mark = fmt::format("{}{}x", mark_, number);
      for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + words[number].size()))
        text.replace(at, mark.size(), words[number]);
    }
    return text;
  }

  /// Length of what belongs to a call behind the name of its function: what stands there whether or
  /// not others speak afterwards.
  static std::size_t rest_of_call(std::string_view alone, std::string_view behind) {
    const std::size_t last = behind.substr(0, common_prefix(behind, alone)).find_last_not_of(" \t\r\n");
    return last == std::string_view::npos ? 0 : last + 1;
  }

  /// Length of what stands between the turn's words and those of the next message; 0 where the
  /// template does not show these.
  std::size_t up_to_next(std::size_t i, std::vector<Message> changed, Own own) const {
    changed[i + 1] = marked(changed[i + 1], next_mark_);
    const auto shown = rendered(changed, false);
    if (!shown || places(*shown, mark_).size() <= own.last) return 0;
    const std::size_t next = behind_mark(*shown, own).find(next_mark_);
    return next == std::string_view::npos ? 0 : next;
  }

  std::optional<std::string> rendered(std::span<const Message> messages, bool open) const {
    try {
      return render_(messages, open);
    } catch (const InputError&) {
      // A template may refuse a part of a conversation that it takes as a whole.
      return std::nullopt;
    }
  }

  std::string_view text_;
  std::span<const Message> messages_;
  const UsualTurn& usual_;
  const RenderMessages& render_;
  std::string mark_, next_mark_;
};

}  // namespace

std::vector<AssistantTurn> assistant_turns(std::string_view text, std::span<const Message> messages, const UsualTurn& usual, const RenderMessages& render) {
  const Search search(text, messages, usual, render);
  std::vector<AssistantTurn> turns;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (is_said_by(messages[i], "assistant")) turns.push_back(search.turn(i, turns.empty() ? 0 : turns.back().end));
  return turns;
}

}  // namespace rollcall::text
