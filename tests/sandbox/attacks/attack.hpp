// An attack: code that tries to get at something outside, and says itself whether it did. The same
// code runs unconfined first, where it should succeed.
#pragma once

#include "attacks/needs.hpp"
#include "sandbox/sandbox.hpp"

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::sandbox::attacks {

/// What lies outside for attacks to reach. Travels as the attack's input.
struct Bait {
  std::string folder;  ///< holds "secret" (readable by all, content kSecret), "open" (writable by
                       ///< all), "socket"; anybody may write in it
  pid_t host = 0;      ///< the process that started the sandbox
  int port = 0;        ///< listens on 127.0.0.1
  int descriptor = 0;  ///< open in the host, not closed on exec

  std::string text() const;
  static Bait parse(std::string_view text);
  std::string secret() const { return folder + "/secret"; }
  std::string open() const { return folder + "/open"; }
};
constexpr const char* kSecret = "what nobody inside may know";

/// Exit status 0: it got what it wanted.
struct Attack {
  const char* name;
  Function run;
  std::vector<Need> needs = {};  ///< where one is absent it may fail outside too
};

int got(bool success);
int reached(long result);  ///< a system call was carried out, or at least judged by its arguments:
                           ///< not ENOSYS, EPERM or EACCES
bool reads(const std::string& path, std::string_view content);
bool names_in(const std::string& folder, std::string_view part);  ///< an entry whose name begins so

std::vector<Attack> on_files();
std::vector<Attack> on_mounts();
std::vector<Attack> on_network();
std::vector<Attack> on_processes();
std::vector<Attack> on_kernel();
std::vector<Attack> on_resources();

/// Those that leave a process behind, so named. Status says nothing: the host looks for the name,
/// which is its own.
std::string left_behind_by(pid_t host);
std::vector<Attack> outliving();

}  // namespace rollcall::sandbox::attacks
