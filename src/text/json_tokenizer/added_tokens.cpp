// Added tokens as in Hugging Face's tokenizers (tokenizer/added_vocabulary).
#include "text/json_tokenizer/added_tokens.hpp"

#include "text/json_tokenizer/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::json_tokenizer {

void TokenFinder::insert(const std::string& text, const AddedToken* token, const Field& field) {
  field.require(!text.empty(), fmt::format("has a token, \"{}\", of which normalizing leaves nothing", token->content));
  std::size_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    auto& next = nodes_[node].next;
    const auto known = std::find_if(next.begin(), next.end(), [byte](const auto& edge) { return edge.first == byte; });
    if (known != next.end()) {
      node = std::size_t(known->second);
      continue;
    }
    next.emplace_back(byte, std::int32_t(nodes_.size()));
    node = nodes_.size();
    nodes_.emplace_back();
  }
  field.require(nodes_[node].token == nullptr, fmt::format("has two tokens that are looked for as \"{}\"", text));
  nodes_[node].token = token;
  begins_[static_cast<unsigned char>(text[0])] = true;
}

const AddedToken* TokenFinder::find(std::string_view text, std::size_t at, std::size_t& begin) const {
  for (; at < text.size(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) continue;
    const AddedToken* longest = nullptr;
    std::size_t node = 0;
    for (std::size_t end = at; end < text.size(); ++end) {
      const auto& next = nodes_[node].next;
      const auto edge = std::find_if(next.begin(), next.end(), [&](const auto& e) { return e.first == static_cast<unsigned char>(text[end]); });
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

AddedTokens::AddedTokens(const Field& root, const Vocabulary& vocabulary, const std::vector<NormalizerStep>& normalizer) {
  const auto list = root.find("added_tokens");
  if (!list) return;
  std::int32_t next_id = vocabulary.size();
  for (const Field& item : list->items()) {
    AddedToken token;
    token.content = token.pattern = item.at("content").text();
    item.at("id").count();
    token.single_word = item.at("single_word").flag(), token.lstrip = item.at("lstrip").flag(), token.rstrip = item.at("rstrip").flag();
    token.normalized = item.at("normalized").flag(), token.special = item.at("special").flag();
    if (token.content.empty()) continue;
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
    if (token.special) special_.insert(token.content);
    tokens_[token.id] = std::move(token);
  }
  for (const auto& [id, token] : tokens_) (token.normalized ? normalized_ : original_).insert(token.pattern, &token, *list);
}

void AddedTokens::split(std::string_view text, Stage stage, const Part& part) const {
  std::size_t done = 0, at = 0, begin = 0;
  while (const AddedToken* token = finder(stage).find(text, at, begin)) {
    std::size_t end = begin + token->pattern.size();
    at = end;
    const auto is_word = [](Decoded c) { return has_trait(c.code, kWord); };
    if (token->single_word && ((begin > 0 && is_word(decode_before(text, begin))) || (end < text.size() && is_word(decode(text, end))))) continue;
    while (token->lstrip && begin > done && is_space(decode_before(text, begin).code)) begin -= decode_before(text, begin).length;
    if (token->rstrip) end = std::max(end, done);  // the white space up to there was taken by the token before
    while (token->rstrip && end < text.size() && is_space(decode(text, end).code)) end += decode(text, end).length;
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
