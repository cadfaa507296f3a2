// Added tokens, which are found in text before anything else is done with it, or after the
// normalizers.
#pragma once

#include "text/json_tokenizer/stated_tokens.hpp"
#include "text/json_tokenizer/steps/normalizer.hpp"
#include "text/json_tokenizer/vocabulary/vocabulary.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace rollcall::text::json_tokenizer {

struct AddedToken : StatedToken {
  /// The text that is searched for and that decoding starts from. It is the content, normalized if
  /// the token asks for that.
  std::string pattern;
  std::int32_t id = 0;
  bool has_row = true;  ///< whether the model has an embedding for it
};

/// Finds the leftmost place in a text where any of a set of strings occurs, and the longest string
/// that begins there.
class TokenFinder {
 public:
  void insert(const std::string& text, const AddedToken* token, const Field& field);
  bool empty() const { return nodes_.size() == 1; }
  /// The first token at or after byte `at`. `begin` receives its first byte. Null if there is none.
  const AddedToken* find(std::string_view text, std::size_t at, std::size_t& begin) const;

 private:
  struct Node {
    std::vector<std::pair<unsigned char, std::int32_t>> next;
    const AddedToken* token = nullptr;
  };
  std::vector<Node> nodes_{1};
  bool begins_[256] = {};
};

class AddedTokens {
 public:
  /// Adds the tokens of tokenizer.json, then those that other files state. If a token comes twice,
  /// its later flags count. Ids are those of the library: the id of the model's token with the same
  /// text, else the next free one. The ids in the files only repeat them.
  AddedTokens(const Field& root, const Vocabulary& vocabulary,
              const std::vector<NormalizerStep>& normalizer, const StatedTokens& stated = {});
  AddedTokens(const AddedTokens&) = delete;
  AddedTokens& operator=(const AddedTokens&) = delete;

  /// `token` is null for the text between tokens.
  using Part = std::function<void(std::string_view text, const AddedToken* token)>;
  enum class Stage { original, normalized };
  /// Cuts a text at the added tokens of a stage. Throws InputError for a token without has_row.
  void split(std::string_view text, Stage stage, const Part& part) const;
  bool is_empty(Stage stage) const { return finder(stage).empty(); }

  const AddedToken* find(std::int32_t id) const;
  std::optional<std::int32_t> find(const std::string& content) const;
  bool is_special(const std::string& text) const { return special_.contains(text); }
  std::int32_t end() const;  ///< largest id with has_row, plus 1
  /// Whether other files state a token that tokenizer.json does not have.
  bool appends() const { return appends_; }
  /// The changes by other files, as a string for fingerprints. Empty if they change nothing.
  const std::string& stated() const { return stated_; }

 private:
  using Batch = std::vector<StatedToken>;
  void add(const Batch& batch, const Vocabulary& vocabulary,
           const std::vector<NormalizerStep>& normalizer);
  void note_rows(const Vocabulary& vocabulary, const StatedTokens& stated,
                 const std::map<std::int32_t, AddedToken>& before);
  const TokenFinder& finder(Stage stage) const {
    return stage == Stage::original ? original_ : normalized_;
  }

  std::map<std::int32_t, AddedToken> tokens_;  // by id
  std::map<std::string, std::int32_t> ids_;
  std::unordered_set<std::string> special_;
  TokenFinder original_, normalized_;
  bool split_special_ = false, appends_ = false;
  std::string stated_, origin_;
};

}  // namespace rollcall::text::json_tokenizer
