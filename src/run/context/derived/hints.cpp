// Cuts solutions by lines or tokens, and finds out for which tiers each prompt has help and room.
#include "run/context/derived/hints.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/text/json.hpp"
#include "run/context/question_forms.hpp"
#include "task/solutions.hpp"
#include "text/answer/fill.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace rollcall::run {
namespace {

/// The number of pieces in a share of `all`: at least one, and never all of them. `all` is at least
/// 2.
std::size_t part_of(double share, std::size_t all) {
  return std::size_t(std::clamp(std::lround(share * double(all)), 1L, long(all) - 1));
}

/// The positions after the ends of lines. A last line without a line break counts.
std::vector<std::size_t> ends_of_lines(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < text.size();) {
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
    ends.push_back(at);
  }
  return ends;
}

/// The text of the first tokens, cut to a beginning of `text` in whole characters.
std::string first_tokens(const text::Tokenizer& tokenizer, const std::string& text, double share) {
  auto tokens = tokenizer.encode(text);
  if (tokens.size() < 2) return {};
  tokens.resize(part_of(share, tokens.size()));
  const std::string said = tokenizer.decode(tokens, text::Tokenizer::Special::spelt);
  auto end = std::size_t(std::mismatch(text.begin(), text.end(), said.begin(), said.end()).first -
                         text.begin());
  const auto inside = [&](std::size_t at) {  // a byte of UTF-8 that does not begin a character
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (end > 0 && inside(end)) --end;
  return text.substr(0, end);
}

std::string first_part(const RunTexts& texts, const std::string& solution, double share) {
  const auto ends = ends_of_lines(solution);
  if (ends.size() < 2 || ends.size() < texts.hints.shares.size())
    return first_tokens(*texts.tokenizer, solution, share);
  return solution.substr(0, ends[part_of(share, ends.size()) - 1]);
}

/// The texts in the row of a prompt, beginning with the least help.
std::vector<std::string> texts_of_row(const RunTexts& texts, const Prompt& prompt) {
  const std::string& key = texts.hints.hint_key;
  const std::string row = texts.prompts.extra_of(prompt);
  const auto object = nlohmann::json::parse(row.empty() ? "{}" : row);
  const auto list = object.find(key);
  if (list == object.end()) return {};
  std::vector<std::string> help;
  const bool is_list = list->is_array();
  for (const auto& text : is_list ? *list : nlohmann::json::array())
    if (text.is_string()) help.push_back(text.get<std::string>());
  require<InputError>(
      is_list && help.size() == list->size(),
      fmt::format("hints.hint_key is {}, and in the row of \"{}\" that is no list of texts", key,
                  excerpt(prompt.text)),
      "tier j of its help is the first j texts", "write a list of texts, or leave the key out");
  return help;
}

bool goes_by_rows(const RunTexts& texts) { return texts.hints.source == "row"; }

/// Tiers of help that a prompt has, whether or not there is room for them.
std::int64_t tiers_given(const RunTexts& texts, const Prompt& prompt) {
  if (goes_by_rows(texts)) return std::int64_t(texts_of_row(texts, prompt).size());
  const bool worked = !help_of(texts, prompt, 0, 1).empty();
  return worked ? std::int64_t(texts.hints.shares.size()) : 0;
}

/// The tokens that a tier adds to a rollout.
struct Lengths {
  std::int64_t prompt = 0, given = 0;  ///< tokens, the largest over the forms
};

Lengths lengths_of(const RunTexts& texts, const Prompt& prompt, std::int32_t tier) {
  Lengths most;
  for (std::size_t form = 0; form < texts.forms.size(); ++form) {
    const auto tokens = texts.format->prompt_tokens(with_hint(texts, prompt, form, tier),
                                                    texts.forms[form]->opening);
    most.prompt = std::max(most.prompt, std::int64_t(tokens.size()));
    most.given = std::max(most.given, std::int64_t(hint_tokens(texts, prompt, form, tier).size()));
  }
  return most;
}

/// A suggestion for the case that no prompt has help, or room for it.
const char* remedy(const RunTexts& texts, bool lacks_room) {
  if (lacks_room && texts.hints.as == "beginning")
    return "raise sampling.max_new_tokens, of which the help is a part, or give less of it in "
           "hints.shares";
  if (lacks_room) return "lower sampling.max_new_tokens, or use a model with more positions";
  return goes_by_rows(texts)
             ? "name the list of texts in hints.hint_key, or choose another scheduler.policy"
             : "use a task with worked solutions, set hints.source=row if its rows hold help, or "
               "choose another scheduler.policy";
}

void check_tiers(const RunTexts& texts, std::int64_t tiers) {
  const auto shares = std::int64_t(texts.hints.shares.size());
  require<ConfigError>(
      goes_by_rows(texts) || shares == tiers,
      fmt::format("scheduler.knobs.hint_tiers is {}, and hints.shares lists {}", tiers, shares),
      "each tier of help is one of the shares",
      fmt::format("set scheduler.knobs.hint_tiers={}, list {} shares, or set hints.source=row if "
                  "the rows of the task hold help",
                  shares, tiers));
}

}  // namespace

std::string help_of(const RunTexts& texts, const Prompt& prompt, std::size_t form,
                    std::int32_t tier) {
  expect(goes_by_rows(texts) || std::size_t(tier) <= texts.hints.shares.size(),
         "a tier of help is one of the shares");
  if (!goes_by_rows(texts))
    return first_part(texts, asked(texts, prompt, form).solution,
                      texts.hints.shares.at(std::size_t(tier - 1)));
  const auto all = texts_of_row(texts, prompt);
  std::string help;
  for (std::size_t i = 0; i < std::min(all.size(), std::size_t(tier)); ++i) help += all[i] + "\n";
  return help;
}

Prompt with_hint(const RunTexts& texts, const Prompt& prompt, std::size_t form, std::int32_t tier) {
  std::string help;
  if (tier > 0 && texts.hints.as == "prompt") help = help_of(texts, prompt, form, tier);
  if (help.empty()) return asked(texts, prompt, form);
  help.erase(help.find_last_not_of('\n') + 1);
  const auto add = [&](std::string_view said) {
    return text::filled(texts.hints.text,
                        std::array{text::Place{"{prompt}", said}, text::Place{"{hint}", help}});
  };
  Prompt helped = prompt;
  helped.text = add(prompt.text);
  if (!prompt.conversation.empty())
    helped.conversation = text::asked_last(prompt.conversation, add);
  return asked(texts, helped, form);
}

std::vector<std::int32_t> hint_tokens(const RunTexts& texts, const Prompt& prompt, std::size_t form,
                                      std::int32_t tier) {
  if (tier == 0 || texts.hints.as != "beginning") return {};
  return texts.tokenizer->encode(help_of(texts, prompt, form, tier));
}

void fill_help(RunTexts& texts, const RunConfig& config, WorkerPool& pool, std::int64_t positions,
               std::int64_t tiers) {
  check_tiers(texts, tiers);
  const auto& prompts = texts.prompts.train;
  if (prompts.empty()) return;  // an evaluation of a file draws none
  const std::int64_t answer = config.sampling.max_new_tokens, room = positions - answer;
  std::vector<std::int64_t> longest(prompts.size(), 0), given(prompts.size(), 0);
  texts.tiers.assign(prompts.size(), 0);
  pool.run(std::int64_t(prompts.size()), [&](std::int64_t at, int) {
    const auto i = std::size_t(at);
    given[i] = std::min(tiers, tiers_given(texts, prompts[i]));
    for (std::int64_t tier = given[i]; tier > 0 && texts.tiers[i] == 0; --tier) {
      const Lengths lengths = lengths_of(texts, prompts[i], std::int32_t(tier));
      if (lengths.prompt > room || lengths.given >= answer) continue;
      texts.tiers[i] = std::uint8_t(tier), longest[i] = lengths.prompt;
    }
  });
  for (const std::int64_t length : longest)
    texts.longest_with_help = std::max(texts.longest_with_help, length);
  std::size_t helped = 0, cut = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    helped += texts.tiers[i] > 0 ? 1 : 0, cut += texts.tiers[i] < given[i] ? 1 : 0;
  require<ConfigError>(helped > 0,
                       cut > 0 ? "there is no room for the help of any training prompt"
                               : "no training prompt has help",
                       "the scheduler asks prompts again with help", remedy(texts, cut > 0));
  if (helped < prompts.size())
    log_info("{} of {} training prompts have no help and are not asked again",
             prompts.size() - helped, prompts.size());
  if (cut > 0)
    log_warning("{} training prompts get less help than they have: there is no room for more", cut);
}

}  // namespace rollcall::run
