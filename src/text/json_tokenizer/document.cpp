// Reads tokenizer.json event by event: a tree of 150,000 nodes would take longer than everything
// else at start.
#include "text/json_tokenizer/document.hpp"

#include <fmt/format.h>

namespace rollcall::text::json_tokenizer {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kDeepest = 100;  // real files have seven levels

class Reader final : public Json::json_sax_t {
 public:
  explicit Reader(Document& document) : document_(&document) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool flag) override { return value(flag); }
  bool number_integer(number_integer_t number) override { return value(number); }
  bool number_float(number_float_t number, const string_t&) override { return value(number); }
  bool binary(binary_t&) override { return false; }

  bool number_unsigned(number_unsigned_t number) override {
    if (part_ != Part::vocab) return value(number);
    if (number > std::uint64_t(kLargestId))
      fail(fmt::format("model.vocab[\"{}\"] is {}, above the largest id {}", key_, number,
                       kLargestId));
    document_->vocab.emplace_back(std::move(key_), std::int32_t(number));
    return true;
  }

  bool string(string_t& text) override {
    if (part_ == Part::merges && in_pair_) {
      if (++pair_size_ == 1) document_->merges.emplace_back(std::move(text), std::string());
      else if (pair_size_ == 2) document_->merges.back().second = std::move(text);
      return true;
    }
    if (part_ == Part::merges) return text.rfind("#version", 0) == 0 || split_merge(text);
    return value(std::move(text));
  }

  bool start_object(std::size_t) override {
    if (part_ == Part::none && is_model_member("vocab")) {
      part_ = Part::vocab, document_->has_vocab = true;
      return true;
    }
    return open(Json::object());
  }

  bool start_array(std::size_t) override {
    if (part_ == Part::merges && !in_pair_) {
      in_pair_ = true, pair_size_ = 0;
      return true;
    }
    if (part_ == Part::none && is_model_member("merges")) {
      part_ = Part::merges, document_->has_merges = true;
      return true;
    }
    return open(Json::array());
  }

  bool key(string_t& name) override {
    key_ = std::move(name);
    if (part_ == Part::none && open_.back()->contains(key_))
      fail(fmt::format("\"{}\" stands twice in one object", key_));
    return true;
  }

  bool end_object() override {
    if (part_ == Part::vocab) part_ = Part::none;
    else open_.pop_back();
    return true;
  }

  bool end_array() override {
    if (part_ == Part::merges && in_pair_) {
      if (pair_size_ != 2) fail(fmt::format("model.merges[{}] is not a pair", merge_number()));
      in_pair_ = false, pair_size_ = 0;
      return true;
    }
    if (part_ == Part::merges) part_ = Part::none;
    else open_.pop_back();
    return true;
  }

  bool parse_error(std::size_t at, const std::string&, const Json::exception&) override {
    fail(fmt::format("it is not JSON (a fault at byte {})", at));
  }

 private:
  enum class Part { none, vocab, merges };

  [[noreturn]] void fail(const std::string& fault) const { refuse(document_->origin, fault); }

  bool is_model_member(const char* name) const {
    return open_.size() == 2 && key_ == name && document_->rest.contains("model") &&
           open_[1] == &document_->rest["model"];
  }

  /// Of the merge that is being read.
  std::size_t merge_number() const { return document_->merges.size() - (pair_size_ > 0 ? 1 : 0); }

  bool split_merge(const std::string& text) {
    const auto space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      fail(fmt::format("model.merges[{}] is not two tokens with a space between them",
                       document_->merges.size()));
    }
    document_->merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    return true;
  }

  /// Puts a value where the reader stands.
  Json* place(Json&& made) {
    if (part_ == Part::vocab) fail(fmt::format("model.vocab[\"{}\"] is not an id", key_));
    if (part_ == Part::merges)
      fail(fmt::format("model.merges[{}] is neither a string nor a pair of strings",
                       merge_number()));
    if (open_.empty()) return &(document_->rest = std::move(made));
    if (open_.back()->is_object()) return &((*open_.back())[key_] = std::move(made));
    open_.back()->push_back(std::move(made));
    return &open_.back()->back();
  }

  bool value(Json made) {
    place(std::move(made));
    return true;
  }

  bool open(Json made) {
    if (open_.size() >= kDeepest) fail(fmt::format("it is nested deeper than {} levels", kDeepest));
    Json* placed = place(std::move(made));
    open_.push_back(placed);  // stays where it is: only the innermost one grows
    return true;
  }

  Document* document_;
  Part part_ = Part::none;
  std::string key_;
  bool in_pair_ = false;
  int pair_size_ = 0;
  std::vector<Json*> open_;
};

}  // namespace

Document parse_document(const std::string& json, const std::string& origin) {
  Document document;
  document.origin = origin;
  Reader reader(document);
  if (!Json::sax_parse(json, &reader)) refuse(origin, "it is not JSON");
  if (!document.rest.is_object()) refuse(origin, "it is not a JSON object");
  return document;
}

}  // namespace rollcall::text::json_tokenizer
