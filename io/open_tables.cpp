// Inspects every link and data set, in a child process first where files may come from others.
#include "io/open_tables.hpp"

#include "base/files/lfs_pointer.hpp"
#include "base/files/plain_file.hpp"
#include "base/process/uninterrupted.hpp"
#include "io/fault.hpp"
#include "io/origin.hpp"
#include "io/table_file.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

Origin origin = Origin::own;

constexpr int kOpenings = 4;  // a command opens a file at least this many times
constexpr int kDeepest = 2;   // levels: the root, its tables, their columns

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  check(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add, &names),
        "list the names of the file");
  return names;
}

void check_data_set(hid_t dataset, const std::string& name) {
  const Handle made(H5Dget_create_plist(dataset), "look at", name);
  const auto layout = H5Pget_layout(made);
  const int external = H5Pget_external_count(made);
  check(layout < 0 || external < 0 ? -1 : 0, "look at", name);
  if (external > 0) throw FileFault(fmt::format("{} keeps its values in another file", name));
  if (layout == H5D_VIRTUAL)
    throw FileFault(fmt::format("{} takes its values from other files", name));
  if (layout == H5D_CHUNKED)
    throw FileFault(fmt::format("{} is stored in chunks, which no file of a run is", name));
}

/// Refuses objects that Rollcall never writes, at any depth. `visit` is called for the data sets.
template <class Visit>
void check_objects(hid_t group, const std::string& within, int depth, const Visit& visit) {
  if (depth > kDeepest) throw FileFault(fmt::format("{} holds tables within tables", within));
  for (const std::string& name : names_in(group)) {
    const std::string path = within.empty() ? name : within + "/" + name;
    H5L_info_t link;
    check(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT), "look at", path);
    if (link.type != H5L_TYPE_HARD)
      throw FileFault(fmt::format("{} leads to another place or file", path));
    const Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), "open", path);
    switch (H5Iget_type(object)) {
      case H5I_GROUP: check_objects(object, path, depth + 1, visit); break;
      case H5I_DATASET:
        check_data_set(object, path);
        visit(object);
        break;
      default: throw FileFault(fmt::format("{} is neither a table nor a column", path));
    }
  }
}

void require_plain(const fs::path& path) {
  const std::string kind = what_else(path);
  if (!kind.empty()) throw FileFault(fmt::format("it is {}, where a plain file is needed", kind));
  refuse_lfs_pointer(path);
}

Handle open_file(const fs::path& path) {
  require_plain(path);
  return Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, file_properties()), "open");
}

/// Reads an attribute as TableReader does. Lists of references are never read in either place.
void read_attribute(hid_t holder, const char* name) {
  const Handle attribute(H5Aopen(holder, name, H5P_DEFAULT), "open attribute", name);
  const Handle type(H5Aget_type(attribute), "get type of", name),
      space(H5Aget_space(attribute), "get space of", name);
  const auto values = H5Sget_simple_extent_npoints(space);
  const bool texts = H5Tis_variable_str(type) > 0;
  if (H5Tget_class(type) == H5T_VLEN || values < 0 || (texts && values != 1)) return;
  std::vector<char> room(std::size_t(values) * H5Tget_size(type));
  check(H5Aread(attribute, type, room.data()), "read attribute", name);
  if (texts) H5Dvlen_reclaim(type, space, H5P_DEFAULT, room.data());
}

/// Faults of an attribute are ignored here, because the reader finds them as well and reports them.
void read_attributes(hid_t object) {
  const auto read = [](hid_t holder, const char* name, const H5A_info_t*, void*) -> herr_t {
    try {
      read_attribute(holder, name);
    } catch (const std::exception&) {  // no exception may leave a C callback
    }
    return 0;
  };
  (void)H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, read, nullptr);
}

/// Makes the calls that the reader makes for a data set; the reader takes values from the file
/// itself.
void read_values(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), "get type"), space(H5Dget_space(dataset), "get space");
  (void)H5Dget_offset(dataset), (void)H5Dget_storage_size(dataset);
  read_attributes(dataset);
  const auto values = H5Sget_simple_extent_npoints(space);
  constexpr hssize_t kMostNames = 1 << 20;
  if (H5Tis_variable_str(type) <= 0 || values <= 0 || values > kMostNames) return;
  std::vector<char*> words(std::size_t(values), nullptr);
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()), "read names");
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, words.data());
}

void set_limit(decltype(RLIMIT_CPU) what, rlim_t most) {
  const rlimit both{most, most};
  (void)::setrlimit(what, &both);
}

/// The child ignores faults, because the parent finds them as well and reports them.
[[noreturn]] void look_in_child(const fs::path& path) {
  constexpr rlim_t kProcessor_s = 5;
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(number, SIG_DFL);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, kProcessor_s);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers map terabytes
  set_limit(RLIMIT_AS, rlim_t{64} << 30);
  set_limit(RLIMIT_DATA, rlim_t{4} << 30);
#endif
  try {
    // Several times, as readers do, because the effect of a damaged heap depends on what HDF5's
    // memory held before.
    for (int opening = 0; opening < kOpenings; ++opening) {
      const Handle file = open_file(path);
      read_attributes(file);
      check_objects(file, "", 0, [](hid_t dataset) { read_values(dataset); });
    }
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);
}

std::string end_of_child(const fs::path& path) {
  const pid_t child = ::fork();
  if (child == 0) look_in_child(path);
  if (child < 0)
    throw UnreadableFault(
        fmt::format("no process can be started to look through it: {}", std::strerror(errno)));
  int status = 0;
  uninterrupted([&] { return ::waitpid(child, &status, 0); });
  if (!WIFSIGNALED(status)) return {};
  const int number = WTERMSIG(status);
  return number == SIGXCPU || number == SIGKILL
             ? "its structure is damaged: reading it does not end"
             : fmt::format("its structure is damaged: reading it ends in a crash ({})",
                           ::strsignal(number));
}

/// Each state of a file is inspected only once, because a file on which HDF5 loops takes seconds
/// each time.
void look_first(const fs::path& path) {
  using Version = std::array<std::int64_t, 5>;
  static std::map<Version, std::string> faults;
  struct stat facts {};
  const bool known = ::stat(path.c_str(), &facts) == 0;
  const Version version{std::int64_t(facts.st_dev), std::int64_t(facts.st_ino), facts.st_size,
                        facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
  if (!known || !what_else(path).empty()) return;
  if (!faults.contains(version)) faults[version] = end_of_child(path);
  if (const std::string& fault = faults[version]; !fault.empty()) throw FileFault(fault);
}

}  // namespace

void read_files_of(Origin whose) { origin = whose; }

void look_through(const fs::path& file) {
  reading(file, [&] { look_first(file); });
}

std::uintmax_t plain_size(const fs::path& path) {
  require_plain(path);
  return fs::file_size(path);
}

Handle open_tables(const fs::path& path) {
  if (origin == Origin::others) look_first(path);
  Handle file = open_file(path);
  check_objects(file, "", 0, [](hid_t) {});
  return file;
}

}  // namespace rollcall::io
