// Reads tokenizer.json event by event. A JSON tree of its 150,000 nodes would take longer to build
// than everything else at program start.
#include "text/json_tokenizer/document.hpp"

#include <fmt/format.h>

namespace rollcall::text::json_tokenizer {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kDeepest = 100;  // levels of nesting; real files have seven

/// Fills a document's merges from the elements of the list model.merges, each of which is a string
/// "a b" or a list of two strings.
class MergeReader {
 public:
  explicit MergeReader(Document& document) : document_(&document) {}

  bool is_in_pair() const { return in_pair_; }
  void begin_pair() {
    in_pair_ = true;
    pair_size_ = 0;
  }
  void add(const std::string& text) {
    if (!in_pair_) return add_line(text);
    if (++pair_size_ == 1) document_->merges.emplace_back(text, std::string());
    else if (pair_size_ == 2) document_->merges.back().second = text;
  }
  void end_pair() {
    if (pair_size_ != 2)
      refuse(document_->origin, fmt::format("model.merges[{}] is not a pair", number()));
    in_pair_ = false;
    pair_size_ = 0;
  }
  /// The index of the merge that is being read.
  std::size_t number() const { return document_->merges.size() - (pair_size_ > 0 ? 1 : 0); }

 private:
  void add_line(const std::string& text) {
    if (text.starts_with("#version")) return;  // the first line of files with merges
    const auto space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      refuse(document_->origin,
             fmt::format("model.merges[{}] is not two tokens with a space between them",
                         document_->merges.size()));
    }
    document_->merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }

  Document* document_;
  bool in_pair_ = false;
  int pair_size_ = 0;  // number of the pair's strings that have been read
};

class Reader final : public Json::json_sax_t {
 public:
  explicit Reader(Document& document) : document_(&document), merges_(document) {}

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
    if (part_ != Part::merges) return value(std::move(text));
    merges_.add(text);
    return true;
  }

  bool start_object(std::size_t) override {
    if (part_ == Part::none && is_model_member("vocab")) {
      part_ = Part::vocab, document_->has_vocab = true;
      return true;
    }
    return open(Json::object());
  }

  bool start_array(std::size_t) override {
    if (part_ == Part::merges && !merges_.is_in_pair()) {
      merges_.begin_pair();
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
    if (part_ == Part::merges && merges_.is_in_pair()) {
      merges_.end_pair();
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

  /// Adds a value to the innermost open object (under the last key) or list.
  Json* place(Json&& made) {
    if (part_ == Part::vocab) fail(fmt::format("model.vocab[\"{}\"] is not an id", key_));
    if (part_ == Part::merges)
      fail(fmt::format("model.merges[{}] is neither a string nor a pair of strings",
                       merges_.number()));
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
    open_.push_back(placed);  // the pointer stays valid, since only the innermost one grows
    return true;
  }

  Document* document_;
  Part part_ = Part::none;
  std::string key_;
  MergeReader merges_;
  std::vector<Json*> open_;  // objects and lists around the next value, the outermost one first
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
