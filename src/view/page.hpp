// The page itself, as it was when the program was built: page/ holds the files.
#pragma once

#include <span>
#include <string_view>

namespace rollcall::view {

struct PageFile {
  std::string_view name, content;
};
std::span<const PageFile> page_files();

}  // namespace rollcall::view
