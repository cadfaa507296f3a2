// Added tokens: found in a text before anything else happens to it, or after the normalizers.
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
  std::string pattern;  ///< what is looked for and what decoding starts from: the content,
                        ///< normalized where the token says so
  std::int32_t id = 0;
  bool has_row = true;  ///< false: the model has no embedding for it
};

/// Finds the leftmost, then longest, of a set of texts.
class TokenFinder {
 public:
  void insert(const std::string& text, const AddedToken* token, const Field& field);
  bool empty() const { return nodes_.size() == 1; }
  /// The token found first from `at` on, and where it begins; null: none.
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
  /// The tokens of tokenizer.json, then those that are stated beside it, of which the later one's
  /// flags count. Ids are given as the library gives them: that of the model's token with the same
  /// text, else the next free one; the ids in the files only repeat them.
  AddedTokens(const Field& root, const Vocabulary& vocabulary,
              const std::vector<NormalizerStep>& normalizer, const StatedTokens& stated = {});
  AddedTokens(const AddedTokens&) = delete;
  AddedTokens& operator=(const AddedTokens&) = delete;

  /// token: null for what lies between
  using Part = std::function<void(std::string_view text, const AddedToken* token)>;
  enum class Stage { original, normalized };
  /// Cuts a text at the added tokens of a stage. Throws InputError at one that has no row.
  void split(std::string_view text, Stage stage, const Part& part) const;
  bool is_empty(Stage stage) const { return finder(stage).empty(); }

  const AddedToken* find(std::int32_t id) const;
  std::optional<std::int32_t> find(const std::string& content) const;
  bool is_special(const std::string& text) const { return special_.contains(text); }
  std::int32_t end() const;  ///< largest id + 1, of those that have a row
  bool appends() const {
    return appends_;
  }  ///< a token is stated that tokenizer.json does not
     ///< have
  const std::string& stated() const {
    return stated_;
  }  ///< what the files beside tokenizer.json
     ///< change, for fingerprints; empty:
     ///< nothing

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
