// Makes the steps of each type of pre-tokenizer. They emit pieces as soon as they are cut, so that
// no list of pieces is kept.
#include "text/json_tokenizer/steps/pre_tokenizer.hpp"

#include "base/errors/nearest.hpp"
#include "text/json_tokenizer/steps/pattern.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"
#include "text/json_tokenizer/vocabulary/byte_alphabet.hpp"

#include <fmt/format.h>

namespace rollcall::text::json_tokenizer {
namespace {

using Steps = std::vector<PreTokenizerStep>;

/// The treatment of stretches that match (the library's SplitDelimiterBehavior).
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct BehaviorName {
  const char* name;
  Behavior behavior;
};
constexpr BehaviorName kBehaviors[] = {{"Removed", Behavior::removed},
                                       {"Isolated", Behavior::isolated},
                                       {"MergedWithPrevious", Behavior::merged_with_previous},
                                       {"MergedWithNext", Behavior::merged_with_next},
                                       {"Contiguous", Behavior::contiguous}};

Behavior behavior_of(const Field& field) {
  const std::string name = field.text();
  std::vector<std::string> names;
  for (const auto& row : kBehaviors) {
    if (name == row.name) return row.behavior;
    names.emplace_back(row.name);
  }
  field.refuse(fmt::format("is \"{}\"; {}", name, suggest_name(name, names)));
}

/// Cuts one text. Its stretches come in order and without gaps, so that two are joined by making a
/// view longer.
class Cutter {
 public:
  Cutter(Piece whole, Behavior behavior, const Emit& emit)
      : whole_(whole), behavior_(behavior), emit_(&emit) {}

  void take(std::string_view stretch, bool matches) {
    switch (behavior_) {
      case Behavior::removed:
        if (!matches) pass(stretch);
        break;
      case Behavior::isolated: pass(stretch); break;
      case Behavior::merged_with_previous:
        matches && !matched_ && has_held_ ? widen(stretch) : hold(stretch);
        break;
      case Behavior::merged_with_next:
        !matches&& matched_&& has_held_ ? widen(stretch) : hold(stretch);
        break;
      case Behavior::contiguous:
        matches == matched_&& has_held_ ? widen(stretch) : hold(stretch);
        break;
    }
    matched_ = matches;
  }

  void end() {
    if (has_held_) pass(held_);
  }

 private:
  void pass(std::string_view part) const {
    if (!part.empty())
      (*emit_)({part, whole_.starts_original && part.data() == whole_.text.data()});
  }
  void hold(std::string_view stretch) {
    end();
    held_ = stretch, has_held_ = true;
  }
  void widen(std::string_view stretch) { held_ = {held_.data(), held_.size() + stretch.size()}; }

  Piece whole_;
  Behavior behavior_;
  const Emit* emit_;
  std::string_view held_;
  bool has_held_ = false, matched_ = false;
};

void cut(Piece piece, const Pattern& pattern, Behavior behavior, bool invert, const Emit& emit) {
  Cutter cutter(piece, behavior, emit);
  pattern.each(piece.text, [&](std::string_view stretch, bool matches) {
    cutter.take(stretch, matches != invert);
  });
  cutter.end();
}

PreTokenizerStep cut_step(Pattern pattern, Behavior behavior, bool invert = false) {
  return [pattern = std::move(pattern), behavior, invert](Piece piece, const Emit& emit) {
    cut(piece, pattern, behavior, invert, emit);
  };
}

Steps read_split(const Field& field) {
  return {cut_step(Pattern::read(field.at("pattern")), behavior_of(field.at("behavior")),
                   field.at("invert").flag())};
}

Steps read_digits(const Field& field) {
  return {cut_step(Pattern::character(is_numeric), field.at("individual_digits").flag()
                                                       ? Behavior::isolated
                                                       : Behavior::contiguous)};
}

Steps read_punctuation(const Field& field) {
  const auto behavior = field.find("behavior");
  return {cut_step(Pattern::character(is_punctuation),
                   behavior ? behavior_of(*behavior) : Behavior::isolated)};
}

/// Emits the matches of \w+|[^\w\s]+.
void split_words(Piece piece, const Emit& emit) {
  const auto kind = [](char32_t c) { return has_trait(c, kWord) ? 1 : is_space(c) ? 0 : 2; };
  std::size_t begin = 0;
  int open = 0;
  for (std::size_t at = 0; at <= piece.text.size();) {
    const auto [c, length] = at < piece.text.size() ? decode(piece.text, at) : Decoded{' ', 1};
    if (kind(c) != open) {
      if (open != 0)
        emit({piece.text.substr(begin, at - begin), piece.starts_original && begin == 0});
      begin = at, open = kind(c);
    }
    at += length;
  }
}

Steps read_fixed_length(const Field& field) {
  const auto length = field.find("length");
  const std::int64_t limit = length ? length->count() : 5;
  field.require(limit > 0, "has the length 0");
  return {[limit](Piece piece, const Emit& emit) {
    std::size_t begin = 0, at = 0;
    std::int64_t held = 0;
    while (at < piece.text.size()) {
      at += decode(piece.text, at).length;
      if (++held < limit && at < piece.text.size()) continue;
      emit({piece.text.substr(begin, at - begin), piece.starts_original && begin == 0});
      begin = at, held = 0;
    }
  }};
}

enum class Prepend { first, never, always };

Prepend prepend_scheme(const Field& field) {
  const auto scheme = field.find("prepend_scheme");
  const std::string name = scheme ? scheme->text() : "always";
  field.require(name == "first" || name == "never" || name == "always",
                fmt::format("has the prepend_scheme \"{}\"; valid are first, never, always", name));
  const Prepend stated = name == "first"   ? Prepend::first
                         : name == "never" ? Prepend::never
                                           : Prepend::always;
  if (field.flag("add_prefix_space", true)) return stated;
  field.require(stated == Prepend::never,
                "has add_prefix_space false and another prepend_scheme than never");
  return Prepend::never;
}

Steps read_metaspace(const Field& field) {
  const char32_t mark = field.at("replacement").character();
  std::string spelt;
  append_utf8(mark, spelt);
  const Prepend prepend = prepend_scheme(field);
  const bool split = field.flag("split", true);
  const auto marks = Pattern::literal(spelt);
  return {[=](Piece piece, const Emit& emit) {
    std::string text;
    text.reserve(piece.text.size() + 8);
    const bool leads = piece.text[0] == ' ' || piece.text.substr(0, spelt.size()) == spelt;
    if (!leads &&
        (prepend == Prepend::always || (prepend == Prepend::first && piece.starts_original)))
      text = spelt;
    for (const char c : piece.text) c == ' ' ? text += spelt : text += c;
    const Piece changed{text, piece.starts_original};
    split ? cut(changed, marks, Behavior::merged_with_next, false, emit) : emit(changed);
  }};
}

/// Puts a space before a text that does not begin with one, and cuts by GPT-2's pattern.
PreTokenizerStep byte_level_cut(bool add_prefix_space, bool use_regex) {
  return [=, scan = kKnownPatterns[0].scan](Piece piece, const Emit& emit) {
    std::string prefixed;
    if (add_prefix_space && piece.text[0] != ' ') {
      prefixed.append(1, ' ').append(piece.text);
      piece.text = prefixed;
    }
    if (!use_regex) return emit(piece);
    for (std::size_t at = 0; at < piece.text.size();) {
      const std::size_t end = scan(piece.text, at);
      emit({piece.text.substr(at, end - at), piece.starts_original && at == 0});
      at = end;
    }
  };
}

Steps read_byte_level(const Field& field) {
  const auto to_characters = [](Piece piece, const Emit& emit) {
    std::string text;
    append_as_characters(piece.text, text);
    emit({text, piece.starts_original});
  };
  return {byte_level_cut(field.at("add_prefix_space").flag(), field.flag("use_regex", true)),
          to_characters};
}

Steps read_steps(const Field& field);

Steps read_sequence(const Field& field) {
  Steps all;
  for (const Field& item : field.at("pretokenizers").items()) {
    for (auto& step : read_steps(item)) all.push_back(std::move(step));
  }
  return all;
}

struct Row {
  const char* type;
  Steps (*read)(const Field&);
};
constexpr Row kRows[] = {
    {"ByteLevel", read_byte_level},
    {"Split", read_split},
    {"Digits", read_digits},
    {"Metaspace", read_metaspace},
    {"Whitespace", [](const Field&) -> Steps { return {split_words}; }},
    {"WhitespaceSplit",
     [](const Field&) -> Steps {
       return {cut_step(Pattern::character(is_space), Behavior::removed)};
     }},
    {"Punctuation", read_punctuation},
    {"BertPreTokenizer",
     [](const Field&) -> Steps {
       return {cut_step(Pattern::character(is_space), Behavior::removed),
               cut_step(Pattern::character(is_punctuation), Behavior::isolated)};
     }},
    {"FixedLength", read_fixed_length},
    {"Sequence", read_sequence},
};

Steps read_steps(const Field& field) { return row_of_type(field, kRows).read(field); }

bool ends_in_byte_level(const Field& field) {
  const std::string type = field.at("type").text();
  if (type != "Sequence") return type == "ByteLevel";
  const auto items = field.at("pretokenizers").items();
  return !items.empty() && ends_in_byte_level(items.back());
}

void run(const PreTokenizer& tokenizer, std::size_t step, Piece piece, const Emit& emit) {
  if (step == tokenizer.steps.size()) return emit(piece);
  if (step + 1 == tokenizer.steps.size()) return tokenizer.steps[step](piece, emit);
  tokenizer.steps[step](piece, [&](Piece part) { run(tokenizer, step + 1, part, emit); });
}

}  // namespace

PreTokenizer read_pre_tokenizer(const Field& field, bool allow_bytes) {
  PreTokenizer tokenizer{read_steps(field), false};
  if (allow_bytes && ends_in_byte_level(field))
    tokenizer.steps.pop_back(), tokenizer.ends_in_bytes = true;
  return tokenizer;
}

void pre_tokenize(const PreTokenizer& tokenizer, Piece piece, const Emit& emit) {
  run(tokenizer, 0, piece, emit);
}

}  // namespace rollcall::text::json_tokenizer
