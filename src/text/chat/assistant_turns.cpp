// Replaces the words of a turn with marks, and finds the turn between the parts of the text that do
// not change.
#include "text/chat/assistant_turns.hpp"

#include "base/errors/error.hpp"
#include "base/text/joined.hpp"
#include "text/answer/answer_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace rollcall::text {
namespace {

/// A mark that is not in the text. It has only letters and digits, so that templates do not strip
/// or escape it, or read it as a tag.
std::string mark_that_is_not_in(std::string_view text, std::string_view name) {
  for (int i = 0;; ++i) {
    std::string mark = fmt::format("{}{}q", name, i);
    if (text.find(mark) == std::string_view::npos) return mark;
  }
}

/// The message with marks in place of its words. Each mark is followed by the number, counted from
/// 0, of the words that it replaces.
Message marked(Message message, const std::string& mark) {
  std::size_t number = 0;
  each_said(message, [&](std::string_view, std::string& words) {
    words = fmt::format("{}{}x", mark, number++);
  });
  return message;
}

/// A mark in a rendered text: its first byte, and the number of the words that it replaces.
struct Mark {
  std::size_t at = 0, number = 0;
};

std::vector<Mark> marks_in(std::string_view text, const std::string& mark) {
  std::vector<Mark> all;
  for (std::size_t at = text.find(mark); at != std::string_view::npos;
       at = text.find(mark, at + mark.size())) {
    Mark found{at, 0};
    for (std::size_t digit = at + mark.size(); digit < text.size() && text[digit] != 'x'; ++digit)
      found.number = found.number * 10 + std::size_t(text[digit] - '0');
    all.push_back(found);
  }
  return all;
}

/// The index of a turn's last mark, among the marks of the whole conversation (`whole`) and among
/// those of the conversation that ends with the turn (`alone`; npos if there is no such text).
struct LastMark {
  std::size_t whole = 0, alone = std::string::npos;
};

/// Finds which marks belong to the turn itself. A template may repeat the name of a function where
/// it shows the result, and may show parts in the last turn that it leaves out in earlier ones, so
/// marks are compared by their words. The turn lasts for as long as the marks of the whole come in
/// the order of `alone` or, if that is empty, for as long as no mark is repeated.
LastMark last_mark(const std::vector<Mark>& whole, const std::vector<Mark>& alone) {
  LastMark last;
  std::size_t next = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto is_same = [&](const Mark& mark) { return mark.number == whole[i].number; };
    const auto found = std::find_if(alone.begin() + std::ptrdiff_t(next), alone.end(), is_same);
    const bool is_repeated = std::any_of(whole.begin(), whole.begin() + std::ptrdiff_t(i), is_same);
    if (alone.empty() ? is_repeated : found == alone.end()) break;
    last.whole = i;
    if (!alone.empty()) last.alone = std::size_t(found - alone.begin()), next = last.alone + 1;
  }
  return last;
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
  return std::size_t(
      std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(std::min(a.size(), b.size())), b.begin())
          .first -
      a.begin());
}

/// The search for the turns of one conversation.
class Search {
 public:
  Search(std::string_view text, std::span<const Message> messages, const UsualTurn& usual,
         const RenderMessages& render)
      : text_(text),
        messages_(messages),
        usual_(usual),
        render_(render),
        mark_(mark_that_is_not_in(text, "MarkedWords")),
        next_mark_(mark_that_is_not_in(text, "WordsBehind")) {}

  /// Adds the turn of a message. It has several stretches if others speak in between.
  void add(std::size_t i, std::vector<AssistantTurn>& turns) const {
    std::vector<Message> changed(messages_.begin(), messages_.end());
    changed[i] = marked(messages_[i], mark_);
    const auto words = words_of(messages_[i]);
    require(!words.empty(), about_message(i, "is empty", {}), "an empty answer teaches nothing",
            "remove it, or the line");
    const std::string quoted = fmt::format("{}", joined(words, " ")),
                      shown = render_(changed, false);
    const auto marks = marks_in(shown, mark_);
    require(!marks.empty(),
            about_message(i, "is not in the text that the chat template makes of it", quoted),
            "what it leaves out cannot be learnt",
            "use another text.template, or leave out the line");
    const auto alone =
        has_calls(messages_[i]) ? rendered(std::span(changed).first(i + 1), false) : std::nullopt;
    const LastMark last = has_calls(messages_[i])
                              ? last_mark(marks, marks_in(alone.value_or(""), mark_))
                              : LastMark{marks.size() - 1};
    const std::string after = unmarked(after_mark(shown, last.whole), words);
    AssistantTurn turn{.message = i, .words = text_.size() - std::min(after.size(), text_.size())};
    turn.begin = text_.ends_with(after) ? begin_of(i, turns.empty() ? 0 : turns.back().end,
                                                   shown.substr(0, marks.front().at), turn.words)
                                        : std::string::npos;
    require(turn.begin <= turn.words,
            about_message(i, "changes what the chat template shows of other messages", quoted),
            "which part of the text is its own cannot be said",
            "use another text.template, or leave out the line");
    turn.end =
        turn.words + (last.alone != std::string::npos
                          ? rest_of_call(unmarked(after_mark(*alone, last.alone), words), after)
                          : 0);
    set_close(turn, changed, last.whole, after);
    turns.push_back(turn);
    if (last.alone != std::string::npos) add_later(i, changed, shown, last.whole + 1, turns);
  }

 private:
  static std::string about_message(std::size_t i, std::string_view problem,
                                   std::string_view words) {
    const std::string quoted =
        words.empty() ? std::string() : fmt::format(", \"{}\",", words.substr(0, 40));
    return fmt::format("message {} of a conversation{} {}", i + 1, quoted, problem);
  }

  /// Adds the speaker's words after the words of others, from mark `from` on. For example, gemma4
  /// shows a message's content after the result of the call in the same message.
  void add_later(std::size_t i, const std::vector<Message>& changed, std::string_view shown,
                 std::size_t from, std::vector<AssistantTurn>& turns) const {
    const auto marks = marks_in(shown, mark_);
    const auto words = words_of(messages_[i]);
    for (std::size_t k = from; k < marks.size(); ++k) {
      const auto is_same = [&](const Mark& mark) { return mark.number == marks[k].number; };
      if (std::any_of(marks.begin(), marks.begin() + std::ptrdiff_t(k), is_same)) continue;
      const std::string_view said = trim(words.at(marks[k].number));
      const std::string after = unmarked(after_mark(shown, k), words);
      const std::size_t end = text_.size() - std::min(after.size(), text_.size());
      if (!text_.ends_with(after) || !text_.substr(0, end).ends_with(said) ||
          end < turns.back().end + said.size())
        continue;
      AssistantTurn more{.message = i, .begin = end - said.size(), .words = end, .end = end};
      set_close(more, changed, k, after);
      turns.push_back(more);
    }
  }

  /// The beginning of the speaker's words; npos if it cannot be found. `before` is the rendered
  /// text before the first mark, `words` the end of the turn's words, and `done` the end of the
  /// previous turn.
  std::size_t begin_of(std::size_t i, std::size_t done, const std::string& before,
                       std::size_t words) const {
    const auto given = rendered(messages_.first(i), true);
    const std::size_t same = std::min(common_prefix(text_, before), words);
    if (given && given->size() >= done && given->size() <= words && text_.starts_with(*given))
      return after_head(given->size(), same);
    // The text before differs from the text with which the assistant was asked. So the head of the
    // turn is looked for after the end of the previous turn.
    if (same < done) return std::string::npos;
    const std::string head = head_of(i, given.has_value());
    const std::string_view said = text_.substr(done, words - done);
    if (const std::size_t at = head.empty() ? std::string::npos : said.rfind(head, same - done);
        at != std::string::npos)
      return after_head(done + at + head.size(), same);
    // The head is not the usual one. The text after it is trained on; for a call, that is
    // everything that the template shows of the call.
    const bool calls = has_calls(messages_[i]);
    if (same == before.size() && !calls) return same;
    if (const auto at = calls && same == before.size() ? before_call(i, done, same) : std::nullopt)
      return *at;
    // The words change the text that the template puts before them, as a thought may. The head is
    // the part of it before that change.
    for (std::size_t length = head.size(); length > 0; length = whole_tags(head, length - 1)) {
      const std::size_t at =
          said.substr(0, same - done).rfind(std::string_view(head).substr(0, length));
      if (at != std::string_view::npos) return done + at + length;
    }
    return same == before.size() ? same : std::string::npos;
  }

  /// The byte after the usual head if that head is at byte `given`, else `given`. A template may
  /// ask for a turn without a head and show the turn with one, for example after the result of a
  /// call. The text up to byte `same` does not depend on the turn's words.
  std::size_t after_head(std::size_t given, std::size_t same) const {
    const std::size_t end = given + usual_.head.size();
    return !trim(usual_.head).empty() && end <= same && text_.substr(given).starts_with(usual_.head)
               ? end
               : given;
  }

  /// The largest length, at most `length`, that does not cut a tag in two.
  static std::size_t whole_tags(std::string_view text, std::size_t length) {
    const std::size_t edge = text.substr(0, length).find_last_of("<>");
    return edge != std::string_view::npos && text[edge] == '<' ? edge : length;
  }

  /// The beginning of a call that has its function's name at byte `words`. It is the byte at which
  /// an answer in place of the call would begin. The thought is left out if the template does not
  /// accept it next to an answer.
  std::optional<std::size_t> before_call(std::size_t i, std::size_t done, std::size_t words) const {
    std::vector<Message> changed(messages_.begin(), messages_.end());
    for (const bool keeps_thought : {true, false}) {
      if (!keeps_thought)
        for (const char* key : kThoughtKeys) changed[i].erase(key);
      changed[i]["content"] = mark_;
      const auto shown = rendered(changed, false);
      const std::size_t place = shown ? shown->find(mark_) : std::string::npos;
      if (place != std::string::npos && place >= done && place <= words &&
          text_.starts_with(shown->substr(0, place)))
        return place;
    }
    return std::nullopt;
  }

  /// The head of the turn of message `i`: the text that the template puts between the previous
  /// message and the turn's words.
  std::string head_of(std::size_t i, bool can_be_asked) const {
    if (i == 0 || !can_be_asked) return usual_.head;
    std::vector<Message> changed(messages_.begin(), messages_.begin() + std::ptrdiff_t(i));
    changed.back() = marked(changed.back(), mark_);
    const auto asked = rendered(changed, true);
    const auto marks = asked ? marks_in(*asked, mark_) : std::vector<Mark>();
    return marks.empty() ? usual_.head : std::string(after_mark(*asked, marks.size() - 1));
  }

  std::string_view after_mark(std::string_view shown, std::size_t index) const {
    const std::size_t at = marks_in(shown, mark_).at(index).at;
    return shown.substr(shown.find('x', at + mark_.size()) + 1);
  }

  /// The text with marks replaced by their words from `words`.
  std::string unmarked(std::string_view shown, const std::vector<std::string>& words) const {
    std::string text(shown);
    for (std::size_t number = 0; number < words.size(); ++number) {
      const std::string mark = fmt::format("{}{}x", mark_, number);
      for (std::size_t at = text.find(mark); at != std::string::npos;
           at = text.find(mark, at + words[number].size()))
        text.replace(at, mark.size(), words[number]);
    }
    return text;
  }

  /// The length of the part of a call after its function's name. It is the text that is the same
  /// whether or not others speak afterwards.
  static std::size_t rest_of_call(std::string_view alone, std::string_view after) {
    const std::size_t same = whole_tags(after, common_prefix(after, alone));
    return after.substr(0, same).find_last_not_of(" \t\r\n") + 1;  // npos + 1 is 0
  }

  /// Sets the place at which the turn is closed. `mark` is the index of the stretch's last mark,
  /// and `after` the text after it.
  void set_close(AssistantTurn& turn, const std::vector<Message>& changed, std::size_t mark,
                 std::string_view after) const {
    const bool is_last = turn.message + 1 == messages_.size();
    turn.tail = turn.next = is_last ? text_.size() : turn.words;
    if (!usual_.end.empty() && after.starts_with(usual_.end)) {
      turn.tail = turn.next = turn.words + usual_.end.size();
    } else if (const auto next = next_speaker(turn.message, changed, mark)) {
      // After a call in the last message, a head is shown only if the template already begins the
      // result.
      const bool is_shown = after.starts_with(
          std::string_view(next->before).substr(0, next->head + (is_last ? 1 : 0)));
      if (!is_last)
        turn.tail = turn.next = std::min(turn.words + next->before.size(), text_.size());
      if (is_shown) turn.next = turn.words + next->head;
      turn.end = std::min(turn.end, std::max(turn.next, turn.words));
    }
  }

  /// The text between a turn's words and the words of the next message.
  struct Next {
    std::string before;
    std::size_t head = 0;  ///< byte of `before` at which the next speaker's part begins; its size
                           ///< if that is not known
  };

  /// The message that follows, or the result that would follow a call.
  std::optional<Message> message_after(std::size_t i) const {
    if (i + 1 < messages_.size()) return messages_[i + 1];
    if (!has_calls(messages_[i])) return std::nullopt;
    const auto call = messages_[i].at("tool_calls").front();
    Message result = message("tool", "result");
    if (call.is_object() && call.contains("id")) result["tool_call_id"] = call["id"];
    return result;
  }

  /// The text between a turn and the words of the next message; nothing if the template does not
  /// show those words after the turn. `mark` is the index of the turn's last mark.
  std::optional<Next> next_speaker(std::size_t i, std::vector<Message> changed,
                                   std::size_t mark) const {
    const auto said = message_after(i);
    if (!said) return std::nullopt;
    changed.resize(std::max(changed.size(), i + 2));
    changed[i + 1] = marked(*said, next_mark_);
    const auto shown = rendered(changed, false);
    if (!shown || marks_in(*shown, mark_).size() <= mark) return std::nullopt;
    const std::string_view after = after_mark(*shown, mark);
    const std::size_t at = after.find(next_mark_);
    if (at == std::string_view::npos) return std::nullopt;
    const auto words = words_of(messages_[i]);
    Next next{.before = unmarked(after.substr(0, at), words)};
    changed.resize(i + 2);
    const std::string head = is_said_by(*said, "assistant")
                                 ? std::string()
                                 : unmarked(head_of_second(std::move(changed)), words);
    next.head = next.before.size() - (next.before.ends_with(head) ? head.size() : 0);
    return next;
  }

  /// The text that the template puts before the second of two equal messages. The text that it puts
  /// after every message is left out. `twice` has the message once, at its end.
  std::string head_of_second(std::vector<Message> twice) const {
    twice.push_back(twice.back());
    const auto shown = rendered(twice, false);
    const auto marks = shown ? marks_in(*shown, next_mark_) : std::vector<Mark>();
    if (marks.size() < 2 || marks.size() % 2 != 0) return {};
    const auto after = [&](const Mark& mark) {
      return std::string_view(*shown).substr(shown->find('x', mark.at + next_mark_.size()) + 1);
    };
    const std::size_t half = marks.size() / 2;
    const std::string_view last = after(marks.back()), first = after(marks[half - 1]);
    const std::string_view between =
        first.substr(0, marks[half].at - std::size_t(first.data() - shown->data()));
    return std::string(between.substr(whole_tags(between, common_prefix(between, last))));
  }

  std::optional<std::string> rendered(std::span<const Message> messages, bool open) const {
    try {
      return render_(messages, open);
    } catch (const InputError&) {
      // A template may accept a conversation and refuse its beginning by itself.
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

std::vector<AssistantTurn> assistant_turns(std::string_view text, std::span<const Message> messages,
                                           const UsualTurn& usual, const RenderMessages& render) {
  const Search search(text, messages, usual, render);
  std::vector<AssistantTurn> turns;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (is_said_by(messages[i], "assistant")) search.add(i, turns);
  return turns;
}

}  // namespace rollcall::text
