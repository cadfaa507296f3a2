// Each token is decoded only once, on its own and after another token. The few tokens that are not
// whole characters are decoded together.
#include "view/token_pieces.hpp"

#include "text/tokenizer/text_stream.hpp"
#include "view/script_text.hpp"

#include <fmt/format.h>

namespace rollcall::view {
namespace {

constexpr std::string_view kReplaced = "\xEF\xBF\xBD";  // U+FFFD, which a decoder may put in place
                                                        // of bytes that are no character

bool is_whole(std::string_view text) {
  return is_utf8(text) && text.find(kReplaced) == std::string_view::npos;
}

std::string joined(std::span<const Piece> pieces, bool with_special) {
  std::string text;
  for (const Piece& piece : pieces)
    if (with_special || !piece.special) text += piece.text;
  return text;
}

Piece by_number(std::int32_t token) { return {fmt::format("[{}]", token), true}; }

}  // namespace

TokenPieces::TokenPieces(std::shared_ptr<const text::Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)) {
  if (tokenizer_) before_ = tokenizer_->encode("a");
}

std::string TokenPieces::decoded_after(std::span<const std::int32_t> tokens,
                                       text::Tokenizer::Special special) const {
  std::vector<std::int32_t> all = before_;
  all.insert(all.end(), tokens.begin(), tokens.end());
  const std::string start = tokenizer_->decode(before_, special),
                    text = tokenizer_->decode(all, special);
  return text.starts_with(start) ? text.substr(start.size()) : tokenizer_->decode(tokens, special);
}

TokenPieces::Known TokenPieces::learn(std::int32_t token) const {
  if (!tokenizer_ || token < 0) return {by_number(token), by_number(token)};
  using Special = text::Tokenizer::Special;
  const std::span alone(&token, 1);
  Known k{{tokenizer_->decode(alone)}, {decoded_after(alone, Special::skip)}};
  if (k.later.text.empty()) {
    const std::string name = decoded_after(alone, Special::keep);
    k.first = k.later = name.empty() ? by_number(token) : Piece{name, true};
  }
  k.whole = is_whole(k.first.text) && is_whole(k.later.text);
  return k;
}

const TokenPieces::Known& TokenPieces::known(std::int32_t token) {
  const auto found = known_.find(token);
  return found != known_.end() ? found->second : known_.emplace(token, learn(token)).first->second;
}

/// Joins the fewest tokens that make whole characters. Tokens at the end that do not complete one
/// show their bytes.
void TokenPieces::join(std::span<const std::int32_t> tokens, std::span<Piece> pieces) {
  for (std::size_t first = 0; first < tokens.size();) {
    std::size_t count = 1;
    std::string text = decoded_after(tokens.subspan(first, count), text::Tokenizer::Special::skip);
    while (!is_whole(text) && first + count < tokens.size() && count < 8)
      text = decoded_after(tokens.subspan(first, ++count), text::Tokenizer::Special::skip);
    if (!is_whole(text))
      count = 1, text = decoded_after(tokens.subspan(first, count), text::Tokenizer::Special::skip);
    pieces[first].text = text;
    first += count;
  }
}

std::vector<Piece> TokenPieces::of(std::span<const std::int32_t> tokens) {
  std::vector<Piece> pieces(tokens.size());
  for (std::size_t i = 0; i < tokens.size();) {
    const Known& k = known(tokens[i]);
    std::size_t end = i + 1;
    if (k.whole) {
      pieces[i] = i == 0 ? k.first : k.later;
    } else {
      while (end < tokens.size() && !known(tokens[end]).whole) ++end;
      join(tokens.subspan(i, end - i), std::span(pieces).subspan(i, end - i));
    }
    i = end;
  }
  return pieces;
}

std::vector<Piece> TokenPieces::of(std::span<const std::int32_t> tokens, std::string_view text) {
  auto pieces = of(tokens);
  // The end of an answer may be missing from its text. Text in archives from older builds has no
  // special tokens.
  const auto reads = [&](bool with_special) {
    const std::string read = joined(pieces, with_special);
    return read.starts_with(text) || text.starts_with(read);
  };
  return !tokenizer_ || reads(true) || reads(false) ? pieces : decoded_again(tokens);
}

std::vector<Piece> TokenPieces::decoded_again(std::span<const std::int32_t> tokens) {
  std::vector<Piece> pieces(tokens.size());
  text::TextStream stream(*tokenizer_);
  std::size_t open = 0;  // the first token whose text has not come yet
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (known(tokens[i]).later.special) {
      pieces[i] = known(tokens[i]).later;
      continue;
    }
    const std::string text = stream.more(tokens.first(i + 1));
    if (text.empty()) continue;
    while (open < i && pieces[open].special) ++open;
    pieces[open].text = text, open = i + 1;
  }
  while (open < pieces.size() && pieces[open].special) ++open;
  if (open < pieces.size()) pieces[open].text = stream.rest(tokens);
  return pieces;
}

}  // namespace rollcall::view
