// Builds the tables of tokens by text and by id.
#include "text/json_tokenizer/vocabulary/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace rollcall::text::json_tokenizer {

TextTable::TextTable(std::size_t count) : slots_(std::bit_ceil(2 * count + 2)) {}

std::size_t TextTable::slot_of(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_bytes(text) & mask;
  while (slots_[slot].id >= 0 && slots_[slot].text != text) slot = (slot + 1) & mask;
  return slot;
}

std::int32_t TextTable::find(std::string_view text) const { return slots_[slot_of(text)].id; }

bool TextTable::insert(std::string_view text, std::int32_t id) {
  Slot& slot = slots_[slot_of(text)];
  if (slot.id >= 0) return false;
  slot = {text, id};
  return true;
}

Vocabulary::Vocabulary(Document& document)
    : tokens_(std::move(document.vocab)), table_(tokens_.size()) {
  std::int32_t end = 0;
  for (const auto& [text, id] : tokens_) end = std::max(end, id + 1);
  token_of_id_.assign(std::size_t(end), -1);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto& [text, id] = tokens_[i];
    if (!table_.insert(text, id))
      refuse(document.origin, fmt::format("\"{}\" stands twice in model.vocab", text));
    auto& place = token_of_id_[std::size_t(id)];
    if (place >= 0)
      refuse(document.origin,
             fmt::format("the tokens \"{}\" and \"{}\" of model.vocab have one id, {}",
                         tokens_[std::size_t(place)].first, text, id));
    place = std::int32_t(i);
  }
}

const std::string* Vocabulary::text(std::int32_t id) const {
  if (id < 0 || id >= end() || token_of_id_[std::size_t(id)] < 0) return nullptr;
  return &tokens_[std::size_t(token_of_id_[std::size_t(id)])].first;
}

}  // namespace rollcall::text::json_tokenizer
