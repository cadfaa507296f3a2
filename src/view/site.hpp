// The pages of one or two runs as a list of files, each of which can be made alone.
#pragma once

#include "view/viewed_run.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::view {

/// The files are index.html, page.css, page-*.js, data/runs.js and data/<run>/*.js, which hold the
/// list of steps, the prompts in pages, and every step with its tokens in parts.
class Site {
 public:
  /// Throws InputError if a folder is not a run, StorageError for damaged files.
  explicit Site(const std::vector<std::filesystem::path>& runs);
  std::vector<std::string> files();
  void refresh();  ///< reads what the runs have written since the last call
  /// The content of the file with this name; nothing if there is none. Several threads may call it.
  std::optional<std::string> make(const std::string& name);

 private:
  std::string runs_script();
  std::vector<std::unique_ptr<ViewedRun>> runs_;
};

}  // namespace rollcall::view
