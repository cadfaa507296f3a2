// Recognises a pointer by its first line and its length, which the specification fixes.
#include "base/files/lfs_pointer.hpp"

#include "base/files/file.hpp"
#include "base/files/plain_file.hpp"
#include "base/process/uninterrupted.hpp"

#include <fmt/format.h>

#include <array>

namespace rollcall {
namespace {

constexpr std::size_t kShorterThan = 1024;  // bytes
constexpr std::string_view kBegins = "version https://git-lfs.github.com/spec/", kSize = "\nsize ";

}  // namespace

void refuse_lfs_pointer(std::string_view content, const std::filesystem::path& path) {
  if (content.size() >= kShorterThan || !content.starts_with(kBegins) ||
      content.find("\noid ") == std::string_view::npos)
    return;
  const std::size_t at = content.find(kSize);
  const std::string_view rest =
      at == std::string_view::npos ? std::string_view() : content.substr(at + kSize.size());
  const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
  throw LfsPointerError(
      error_message(fmt::format("{} is a Git LFS pointer", path.string()),
                    fmt::format("it stands for a file{}, which is not here",
                                digits.empty() ? "" : fmt::format(" of {} bytes", digits)),
                    "fetch it: git lfs pull, in the folder that was cloned"));
}

void refuse_lfs_pointer(const std::filesystem::path& path) {
  std::error_code unknown;
  const auto bytes = std::filesystem::is_regular_file(path, unknown)
                         ? std::filesystem::file_size(path, unknown)
                         : 0;
  if (unknown || bytes < kBegins.size() || bytes >= kShorterThan) return;
  const Descriptor file(path, kOpenToRead);
  std::array<char, kShorterThan> content;
  const ssize_t n =
      file < 0 ? 0 : uninterrupted([&] { return ::read(file, content.data(), content.size()); });
  if (n > 0) refuse_lfs_pointer({content.data(), std::size_t(n)}, path);
}

}  // namespace rollcall
