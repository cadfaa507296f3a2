// Parses one file of a model folder.
#include "text/tokenizer/folder_file.hpp"

#include "base/files/file.hpp"

namespace rollcall::text {

namespace {
constexpr int kDeepest = 50;  // levels; real files have seven
}

FolderFile::FolderFile(const std::filesystem::path& folder, const char* name)
    : path_(folder / name), exists_(std::filesystem::exists(path_)) {
  if (!exists_) return;
  json_ = Json::parse(
      read_file(path_),
      [this](int depth, Json::parse_event_t, Json&) {
        return check(depth < kDeepest, "it is nested too deeply");
      },
      false);
  check(json_.is_object(), "it is not a JSON object");
}

const FolderFile::Json& FolderFile::at(const char* key) const {
  static const Json none;
  const auto found = json_.find(key);
  return found == json_.end() ? none : *found;
}

void FolderFile::refuse(const std::string& fault) const {
  throw InputError(error_message(fmt::format("{} cannot be used: {}", path_.string(), fault),
                                 "the model would not be used as its makers intended",
                                 "correct the file or copy it again"));
}

}  // namespace rollcall::text
