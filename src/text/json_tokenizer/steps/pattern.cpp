// Searches for patterns, with PCRE2, within limits on time and memory.
#include "text/json_tokenizer/steps/pattern.hpp"

#include "base/errors/error.hpp"
#include "text/json_tokenizer/dialect.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <stdexcept>

namespace rollcall::text::json_tokenizer {
namespace {

// PCRE2's default, which takes a few tenths of a second to reach.
constexpr std::uint32_t kMatchLimit = 10'000'000;
// For the interpreter, which is used if a match needs more stack than compiled code has.
constexpr std::uint32_t kHeapLimit_KiB = 256 * 1024;
constexpr std::size_t kSmallStack = 32 * 1024, kLargeStack = std::size_t(64) << 20;
constexpr std::size_t kLongestExpression = 64 * 1024;
constexpr std::size_t kMostReplaced = std::size_t(64) << 20;

/// A thread's resources for a search: memory for one match, and a stack that grows.
struct Search {
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kSmallStack, kLargeStack, nullptr);
  Search() {
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimit_KiB);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Search() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
};

std::string message_of_pcre2(int code) {
  char text[256] = {};
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return text;
}

}  // namespace

struct Pattern::Compiled {
  std::string source;
  pcre2_code* code = nullptr;
  explicit Compiled(std::string from) : source(std::move(from)) {}
  ~Compiled() { pcre2_code_free(code); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

Pattern Pattern::literal(std::string text) {
  Pattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

Pattern Pattern::character(bool (*is_in)(char32_t)) {
  Pattern pattern;
  pattern.is_in_ = is_in;
  return pattern;
}

Pattern Pattern::expression(const std::string& source, const Field& field, Scanners scanners) {
  Pattern pattern;
  if (scanners == Scanners::by_hand) pattern.scanner_ = scanner_of(source);
  if (pattern.scanner_ != nullptr) return pattern;
  field.require(source.size() <= kLongestExpression,
                fmt::format("is longer than {} bytes", kLongestExpression));
  std::string translated;
  try {
    translated = to_pcre2(source);
  } catch (const std::invalid_argument& e) {
    field.refuse(fmt::format("has a regular expression with {}, which is not supported", e.what()));
  }
  auto compiled = std::make_shared<Compiled>(source);
  auto* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE at = 0;
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                 &error, &at, context);
  pcre2_compile_context_free(context);
  field.require(
      compiled->code != nullptr,
      fmt::format("has a regular expression that does not compile: {}", message_of_pcre2(error)));
  // If this fails, the interpreter is used.
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

Pattern Pattern::read(const Field& field) {
  const auto text = field.find("String"), source = field.find("Regex");
  field.require(text.has_value() != source.has_value(),
                "is neither {\"String\": ...} nor {\"Regex\": ...}");
  return text ? literal(text->text()) : expression(source->text(), *source);
}

bool Pattern::find(std::string_view text, std::size_t from, Found& found) const {
  if (compiled_ == nullptr) {
    found.begin = text.find(literal_, from), found.end = found.begin + literal_.size();
    return found.begin != std::string_view::npos;
  }
  thread_local Search search;
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                       from, PCRE2_NO_UTF_CHECK | options, search.match, search.context);
  };
  int code = run(0);
  if (code == PCRE2_ERROR_JIT_STACKLIMIT) code = run(PCRE2_NO_JIT);
  if (code == PCRE2_ERROR_NOMATCH) return false;
  require(code >= 0,
          fmt::format("the regular expression \"{}\" gives up on a text of {} bytes: {}",
                      compiled_->source, text.size(), message_of_pcre2(code)),
          "it backtracks too much to be used on any text",
          "take a tokenizer whose expression does not repeat a repetition");
  const auto* bounds = pcre2_get_ovector_pointer(search.match);
  found = {bounds[0], bounds[1]};
  require(found.begin <= found.end,
          fmt::format("the regular expression \"{}\" matches backwards", compiled_->source),
          "a text cannot be split there", "do not use \\K in a lookaround");
  return true;
}

void Pattern::each_character(std::string_view text, const Stretch& stretch) const {
  std::size_t last = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = decode(text, at);
    if (is_in_(c)) {
      if (last < at) stretch(text.substr(last, at - last), false);
      stretch(text.substr(at, length), true);
      last = at + length;
    }
    at += length;
  }
  if (last < text.size()) stretch(text.substr(last), false);
}

void Pattern::each(std::string_view text, const Stretch& stretch) const {
  if (text.empty()) return;
  if (is_in_ != nullptr) return each_character(text, stretch);
  if (scanner_ != nullptr) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = scanner_(text, at);
      stretch(text.substr(at, end - at), true);
      at = end;
    }
    return;
  }
  constexpr std::size_t kNowhere = std::string_view::npos;
  std::size_t from = 0, covered = 0, last_end = kNowhere;
  for (Found found{}; from <= text.size() && find(text, from, found);) {
    if (found.begin == found.end && found.end == last_end) {
      from += from < text.size() ? decode(text, from).length : 1;
      continue;
    }
    if (covered < found.begin) stretch(text.substr(covered, found.begin - covered), false);
    stretch(text.substr(found.begin, found.end - found.begin), true);
    from = last_end = covered = found.end;
  }
  if (covered < text.size()) stretch(text.substr(covered), false);
}

bool Pattern::begins(std::string_view text) const {
  if (text.empty() || scanner_ != nullptr) return !text.empty();
  if (is_in_ != nullptr) return is_in_(decode(text, 0).code);
  Found found{};
  return find(text, 0, found) && found.begin == 0 && found.end > 0;
}

std::string Pattern::replace(std::string_view text, std::string_view content) const {
  const std::size_t longest = std::max(kMostReplaced, 4 * text.size());
  std::string changed;
  each(text, [&](std::string_view stretch, bool matches) {
    const std::string_view part = matches ? content : stretch;
    if (part.size() > longest - changed.size())
      throw InputError(
          error_message(fmt::format("a Replace step makes more than {} bytes of a text of {}",
                                    longest, text.size()),
                        "a tokenizer.json is foreign data and is bounded",
                        "take one whose steps replace by less"));
    changed += part;
  });
  return changed;
}

}  // namespace rollcall::text::json_tokenizer
