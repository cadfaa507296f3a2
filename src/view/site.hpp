// The pages of one or two runs as a list of files, any of which can be made by itself.
#pragma once

#include "view/viewed_run.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::view {

/// index.html, page.css, page-*.js, data/runs.js and data/<run>/*.js: steps, prompts in pages, and
/// every step with its tokens in parts.
class Site {
 public:
  /// Throws InputError when one is no run, StorageError for damaged files.
  explicit Site(const std::vector<std::filesystem::path>& runs);
  std::vector<std::string> files();
  void refresh();  ///< looks for what the runs have written since
  /// The content of one of them; nothing when there is no such file. May be called by several
  /// threads.
  std::optional<std::string> make(const std::string& name);

 private:
  std::string runs_script();
  std::vector<std::unique_ptr<ViewedRun>> runs_;
};

}  // namespace rollcall::view
