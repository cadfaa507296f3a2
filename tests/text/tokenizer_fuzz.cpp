// Damages the tokenizers of the fixtures, and the files beside them in folders, and lets what still
// loads tokenize damaged texts: either an InputError or tokens, never anything else.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "support/temporary_folder.hpp"
#include "text/chat/folder_template.hpp"
#include "text/tokenizer/text_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace rollcall;
using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return std::size_t(random() % end); }

/// Pieces that mean something to the reader, and some that mean too much.
const std::vector<std::string> kPieces = {"null",
                                          "true",
                                          "-1",
                                          "1e400",
                                          "4294967296",
                                          "16777215",
                                          "\"\"",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          ",",
                                          ":",
                                          "\"type\"",
                                          "\"BPE\"",
                                          "\"Sequence\"",
                                          "\"ByteLevel\"",
                                          "\"Split\"",
                                          "\"Regex\"",
                                          "\"(a+)+b\"",
                                          "\"[\\\\p{L}\"",
                                          "\"\\\\\"",
                                          "\"Metaspace\"",
                                          "\"Replace\"",
                                          "\"NFKC\"",
                                          "\"Strip\"",
                                          "\\ud800",
                                          "\"__type\"",
                                          "\"content\"",
                                          "\"lstrip\"",
                                          "\"eos_token\"",
                                          "\"additional_special_tokens\"",
                                          "\"added_tokens_decoder\"",
                                          "\"chat_template\"",
                                          "-7",
                                          "\xff",
                                          "[[[[[[[[",
                                          "\"prepend\""};

std::string damage(std::string bytes, Random& random, const std::vector<std::string>& others) {
  for (std::size_t i = 1 + below(random, 4); i-- > 0 && !bytes.empty();) {
    const std::size_t at = below(random, bytes.size());
    switch (below(random, 6)) {
      case 0: bytes[at] = char(random()); break;
      case 1: bytes.erase(at, 1 + below(random, 20)); break;
      case 2: bytes.insert(at, kPieces[below(random, kPieces.size())]); break;
      case 3: {
        const auto& other = others[below(random, others.size())];
        const std::size_t from = below(random, other.size());
        bytes.replace(at, below(random, 60), other, from, below(random, 200));
        break;
      }
      case 4:
        bytes.insert(at, bytes.substr(below(random, bytes.size()), below(random, 300)));
        break;
      default: bytes[at] = "0123456789\"[]{},:tfn\\"[below(random, 21)];
    }
  }
  return bytes;
}

/// A value somewhere in the tree replaced by another of the tree, so that the file stays JSON.
std::string swap_values(const nlohmann::json& whole, Random& random) {
  const auto flat = whole.flatten();
  auto changed = flat;
  auto target = changed.begin();
  std::advance(target, std::ptrdiff_t(below(random, flat.size())));
  auto source = flat.begin();
  std::advance(source, std::ptrdiff_t(below(random, flat.size())));
  *target = below(random, 3) == 0 ? nlohmann::json::parse(below(random, 2) == 0 ? "null" : "77")
                                  : *source;
  return changed.unflatten().dump();
}

/// Without the vocabulary the parts are a few hundred bytes, and damage finds them.
nlohmann::json slim(nlohmann::json whole) {
  auto& model = whole["model"];
  nlohmann::json vocab, merges = nlohmann::json::array();
  std::int32_t id = 0;
  for (const char* token : {"a", "b", "ab", "Ġ", "Ġa", "<unk>", "<s>", "</s>", "<0x0A>", "▁"})
    vocab[token] = id++;
  merges.push_back({"a", "b"}), merges.push_back({"Ġ", "a"});
  model["vocab"] = vocab, model["merges"] = merges;
  return whole;
}

/// Folders of files as transformers reads them; one file of each is damaged.
class Folders {
 public:
  explicit Folders(const std::filesystem::path& fixture) {
    const auto json = nlohmann::json::parse(read_file(fixture));
    for (const auto& folder : json.at("folders")) {
      folders_.push_back(folder.at("files"));
      for (const auto& [name, content] : folders_.back().items())
        contents_.push_back(text_of(content));
    }
  }

  /// Writes one, and gives the path.
  std::filesystem::path write(Random& random) const {
    const auto& files = folders_[below(random, folders_.size())];
    std::filesystem::remove_all(scratch_.path() / "f");
    std::size_t damaged = below(random, files.size());
    for (const auto& [name, content] : files.items()) {
      const auto path = scratch_.path() / "f" / name;
      std::filesystem::create_directories(path.parent_path());
      // the others are what is tried here
      const bool spare_tokenizer = name == "tokenizer.json" && below(random, 4) != 0;
      std::ofstream(path) << (damaged-- == 0 && !spare_tokenizer ? changed(content, random)
                                                                 : text_of(content));
    }
    return scratch_.path() / "f";
  }

 private:
  static std::string text_of(const nlohmann::json& content) {
    return content.is_string() ? content.get<std::string>() : content.dump();
  }
  std::string changed(const nlohmann::json& content, Random& random) const {
    if (content.is_object() && !content.empty() && below(random, 2) == 0)
      return swap_values(content, random);
    return damage(text_of(content), random, contents_);
  }

  std::vector<nlohmann::json> folders_;
  std::vector<std::string> contents_;
  rollcall::testing::TemporaryFolder scratch_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: tokenizer_fuzz FIXTURES RUNS [SEED]\n");
    return int(ExitCode::misconfigured);
  }
  std::vector<std::string> files, texts;
  std::vector<nlohmann::json> trees;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const auto& folder : folders) {
    trees.push_back(slim(nlohmann::json::parse(read_file(folder / "tokenizer.json"))));
    files.push_back(trees.back().dump());
  }
  texts = nlohmann::json::parse(read_file(std::filesystem::path(argv[1]) / "texts.json"))
              .get<std::vector<std::string>>();
  texts.erase(std::remove(texts.begin(), texts.end(), ""), texts.end());
  Random random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  const auto runs = std::atoll(argv[2]);
  std::int64_t loaded = 0, tokens = 0;
  const Folders beside(std::filesystem::path(argv[1]) / "folders.json");
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::size_t i = below(random, files.size());
    try {
      std::shared_ptr<const text::Tokenizer> tokenizer;
      if (below(random, 4) == 0) {
        const auto folder = beside.write(random);
        text::read_folder_template(folder);
        tokenizer = below(random, 2) == 0 ? text::read_text_files(folder).tokenizer
                                          : text::read_folder_tokenizer(folder);
      } else {
        tokenizer = text::parse_tokenizer_json(
            below(random, 3) == 0 ? swap_values(trees[i], random) : damage(files[i], random, files),
            "damaged");
      }
      ++loaded;
      const std::string given = damage(texts[below(random, texts.size())], random, texts);
      const auto ids = tokenizer->encode_sequence(given);
      tokens += std::int64_t(ids.size());
      for (const std::int32_t id : ids) {
        if (id < 0) return 1;
      }
      tokenizer->decode(ids, text::Tokenizer::Special::keep);
    } catch (const InputError&) {
    }
  }
  fmt::print("{} runs: {} files loaded, {} refused; {} tokens\n", runs, loaded, runs - loaded,
             tokens);
  return loaded > 0 && loaded < runs && tokens > 0 ? 0 : 1;
}
