// The page's files, which are compiled into the program from page/.
#pragma once

#include <span>
#include <string_view>

namespace rollcall::view {

struct PageFile {
  std::string_view name, content;
};
std::span<const PageFile> page_files();

}  // namespace rollcall::view
