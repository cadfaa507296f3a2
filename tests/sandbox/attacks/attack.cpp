// What attacks have in common.
#include "attacks/attack.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

namespace rollcall::sandbox::attacks {

std::string Bait::text() const {
  return folder + " " + std::to_string(host) + " " + std::to_string(port) + " " +
         std::to_string(descriptor);
}

Bait Bait::parse(std::string_view text) {
  Bait bait;
  std::istringstream(std::string(text)) >> bait.folder >> bait.host >> bait.port >> bait.descriptor;
  return bait;
}

// up to 15 letters
std::string left_behind_by(pid_t host) { return "left-" + std::to_string(host); }

int got(bool success) { return success ? 0 : 1; }

int reached(long result) {
  return got(result >= 0 || (errno != ENOSYS && errno != EPERM && errno != EACCES));
}

bool reads(const std::string& path, std::string_view content) {
  const int file = ::open(path.c_str(), O_RDONLY);
  char buffer[256];
  const ssize_t size = file < 0 ? -1 : ::read(file, buffer, sizeof buffer);
  if (file >= 0) ::close(file);
  return size >= 0 && std::string_view(buffer, std::size_t(size)) == content;
}

bool names_in(const std::string& folder, std::string_view part) {
  DIR* open = ::opendir(folder.c_str());
  bool found = false;
  while (open != nullptr) {
    const dirent* entry = ::readdir(open);
    if (entry == nullptr) break;
    found = found || (std::string_view(entry->d_name).starts_with(part) && entry->d_name[0] != '.');
  }
  if (open != nullptr) ::closedir(open);
  return found;
}

}  // namespace rollcall::sandbox::attacks
