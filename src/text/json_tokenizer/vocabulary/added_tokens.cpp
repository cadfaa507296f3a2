// Added tokens as in Hugging Face's tokenizers (tokenizer/added_vocabulary).
#include "text/json_tokenizer/vocabulary/added_tokens.hpp"

#include "base/errors/error.hpp"
#include "text/json_tokenizer/steps/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::json_tokenizer {

void TokenFinder::insert(const std::string& text, const AddedToken* token, const Field& field) {
  field.require(
      !text.empty(),
      fmt::format("has a token, \"{}\", of which normalizing leaves nothing", token->content));
  std::size_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    auto& next = nodes_[node].next;
    const auto known = std::find_if(next.begin(), next.end(),
                                    [byte](const auto& edge) { return edge.first == byte; });
    if (known != next.end()) {
      node = std::size_t(known->second);
      continue;
    }
    next.emplace_back(byte, std::int32_t(nodes_.size()));
    node = nodes_.size();
    nodes_.emplace_back();
  }
  if (nodes_[node].token != nullptr)
    field.refuse(fmt::format(
        "has the tokens \"{}\" (id {}) and \"{}\" (id {}), those of the files beside it included, and a normalized text spells both \"{}\": which is meant cannot be said",
        nodes_[node].token->content, nodes_[node].token->id, token->content, token->id, text));
  nodes_[node].token = token;
  begins_[static_cast<unsigned char>(text[0])] = true;
}

const AddedToken* TokenFinder::find(std::string_view text, std::size_t at,
                                    std::size_t& begin) const {
  for (; at < text.size(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) continue;
    const AddedToken* longest = nullptr;
    std::size_t node = 0;
    for (std::size_t end = at; end < text.size(); ++end) {
      const auto& next = nodes_[node].next;
      const auto edge = std::find_if(next.begin(), next.end(), [&](const auto& e) {
        return e.first == static_cast<unsigned char>(text[end]);
      });
      if (edge == next.end()) break;
      node = std::size_t(edge->second);
      if (nodes_[node].token != nullptr) longest = nodes_[node].token;
    }
    if (longest == nullptr) continue;
    begin = at;
    return longest;
  }
  return nullptr;
}

namespace {

using ByFileId = std::map<std::int64_t, StatedToken>;

std::vector<StatedToken> read_list(const Field& root, ByFileId& by_id) {
  std::vector<StatedToken> tokens;
  const auto list = root.find("added_tokens");
  if (!list) return tokens;
  for (const Field& item : list->items()) {
    StatedToken token{.content = item.at("content").text()};
    token.single_word = item.at("single_word").flag(), token.lstrip = item.at("lstrip").flag(),
    token.rstrip = item.at("rstrip").flag();
    token.normalized = item.at("normalized").flag(), token.special = item.at("special").flag();
    by_id[item.at("id").count()] = token;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

/// The tokens that transformers adds to the tokens of tokenizer.json: the listed ones by id, then
/// the named and the extra ones that are not known yet. With plain_special, all named and extra
/// ones follow again without flags.
std::vector<StatedToken> stated_batch(const StatedTokens& stated,
                                      const std::vector<StatedToken>& of_json,
                                      const ByFileId& by_id) {
  ByFileId listed = stated.listed;
  if (!stated.has_decoder)
    for (const auto& [id, token] : by_id) listed[id] = token;
  std::unordered_set<std::string> named, known;
  for (const auto& [name, token] : stated.named) named.insert(token.content);
  for (const auto& token : of_json) known.insert(token.content);
  for (const auto& [id, token] : listed) known.insert(token.content);
  std::vector<StatedToken> batch;
  const auto push = [&](StatedToken token) {
    token.special = token.special || named.contains(token.content);
    if (token.follows_special) token.normalized = !token.special, token.follows_special = false;
    batch.push_back(std::move(token));
  };
  for (const auto& [id, token] : listed) push(token);
  std::vector<StatedToken> once;  // tokens with equal flags are added only once
  const auto push_once = [&](const StatedToken& token) {
    if (known.contains(token.content) || std::find(once.begin(), once.end(), token) != once.end())
      return;
    once.push_back(token), push(token);
  };
  for (const auto& [name, token] : stated.named) push_once(token);
  for (const auto& token : stated.extra) push_once(token);
  if (!stated.plain_special) return batch;
  for (const auto& [name, token] : stated.named)
    batch.push_back({.content = token.content, .special = true});
  for (const auto& token : stated.extra)
    batch.push_back({.content = token.content, .special = true});
  return batch;
}

std::string described(const AddedToken& token) {
  return fmt::format("{} {}:{} {:d}{:d}{:d}{:d}{:d};", token.id, token.content.size(),
                     token.content, token.single_word, token.lstrip, token.rstrip, token.normalized,
                     token.special);
}

}  // namespace

AddedTokens::AddedTokens(const Field& root, const Vocabulary& vocabulary,
                         const std::vector<NormalizerStep>& normalizer, const StatedTokens& stated)
    : split_special_(stated.split_special), origin_(root.origin()) {
  ByFileId by_id;
  const Batch of_json = read_list(root, by_id);
  add(of_json, vocabulary, normalizer);
  const auto before = tokens_;
  add(stated_batch(stated, of_json, by_id), vocabulary, normalizer);
  note_rows(vocabulary, stated, before);
  const Field list(nlohmann::json(), "added_tokens", origin_);
  for (const auto& [id, token] : tokens_)
    (token.normalized ? normalized_ : original_).insert(token.pattern, &token, list);
}

void AddedTokens::add(const Batch& batch, const Vocabulary& vocabulary,
                      const std::vector<NormalizerStep>& normalizer) {
  const std::int32_t last = tokens_.empty() ? -1 : tokens_.rbegin()->first;
  std::int32_t next_id = last >= vocabulary.size() ? last + 1 : vocabulary.size();
  for (const StatedToken& given : batch) {
    if (given.content.empty()) continue;
    AddedToken token{given, given.content};
    if (token.normalized) {
      Normalized changed{token.content};
      for (const auto& step : normalizer) {
        if (!changed.text.empty()) step(changed);
      }
      token.pattern = changed.text;
    }
    const auto known = ids_.find(token.content);
    const std::int32_t of_model = vocabulary.find(token.content);
    token.id = known != ids_.end() ? known->second : of_model >= 0 ? of_model : next_id++;
    ids_[token.content] = token.id;
    // As in the library, a token that was special once stays special.
    if (token.special) special_.insert(token.content);
    tokens_[token.id] = std::move(token);
  }
}

void AddedTokens::note_rows(const Vocabulary& vocabulary, const StatedTokens& stated,
                            const std::map<std::int32_t, AddedToken>& before) {
  if (split_special_) stated_ += "split;";
  for (auto& [id, token] : tokens_) {
    const auto known = before.find(id);
    if (known != before.end() && static_cast<const StatedToken&>(known->second) == token) continue;
    stated_ += described(token);
    if (known != before.end() || vocabulary.find(token.content) >= 0) continue;
    appends_ = true, token.has_row = id < stated.rows.value_or(INT64_MAX);
  }
}

std::int32_t AddedTokens::end() const {
  for (auto token = tokens_.rbegin(); token != tokens_.rend(); ++token)
    if (token->second.has_row) return token->first + 1;
  return 0;
}

void AddedTokens::split(std::string_view text, Stage stage, const Part& part) const {
  std::size_t done = 0, at = 0, begin = 0;
  while (const AddedToken* token = finder(stage).find(text, at, begin)) {
    std::size_t end = begin + token->pattern.size();
    at = end;
    if (split_special_ && is_special(token->content)) continue;
    const auto is_word = [](Decoded c) { return has_trait(c.code, kWord); };
    if (token->single_word && ((begin > 0 && is_word(decode_before(text, begin))) ||
                               (end < text.size() && is_word(decode(text, end)))))
      continue;
    while (token->lstrip && begin > done && is_space(decode_before(text, begin).code))
      begin -= decode_before(text, begin).length;
    require(
        token->has_row,
        fmt::format("a text holds \"{}\", a token that {} does not have", token->content, origin_),
        fmt::format(
            "the files beside it name the token, and the model has no embedding for its id {}",
            token->id),
        "take the token out of the text, or use the model's own tokenizer files");
    // The previous token may have taken the white space up to `done`.
    if (token->rstrip) end = std::max(end, done);
    while (token->rstrip && end < text.size() && is_space(decode(text, end).code))
      end += decode(text, end).length;
    if (done < begin) part(text.substr(done, begin - done), nullptr);
    part(text.substr(begin, end - begin), token);
    done = end;
  }
  if (done < text.size()) part(text.substr(done), nullptr);
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? nullptr : &found->second;
}

std::optional<std::int32_t> AddedTokens::find(const std::string& content) const {
  const auto found = ids_.find(content);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace rollcall::text::json_tokenizer
