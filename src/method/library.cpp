// Finds and loads the shared library. Its path relative to the program is the same in a build tree
// and in an installation; other programs find it where the system looks for libraries.
#include "base/errors/error.hpp"
#include "method/build.hpp"
#include "method/method.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

namespace rollcall::method {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "librollcall_objective.so";
constexpr const char* kWhy =
    "it holds the objectives and LibTorch, which training, evaluation and plans need";

fs::path beside_program() {
  return (fs::read_symlink("/proc/self/exe").parent_path() / ROLLCALL_LIBRARY_FROM_BIN / kName)
      .lexically_normal();
}

/// Loads locally, so that its symbols do not mix with others, and lazily, because most functions of
/// LibTorch are never called.
const Library& load() {
  const fs::path path = beside_program();
  const bool is_there = fs::exists(path);
  void* handle = ::dlopen(is_there ? path.c_str() : kName, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string said = ::dlerror();
    throw EnvironmentError(
        is_there
            ? error_message(
                  fmt::format("cannot load {}: {}", path.string(), said), kWhy,
                  "put LibTorch back where it was when Rollcall was built, name its folder in LD_LIBRARY_PATH, or build again")
            : error_message(
                  fmt::format("{} is missing", path.string()), kWhy,
                  "build all of Rollcall, or install it with cmake --install: a copy of the program alone is not enough"));
  }
  const auto build = reinterpret_cast<const char* (*)()>(::dlsym(handle, kBuildSymbol));
  const auto entry = reinterpret_cast<const Library* (*)()>(::dlsym(handle, kEntrySymbol));
  const std::string found = build == nullptr ? "unknown" : build();
  require<EnvironmentError>(entry != nullptr && found == kBuild,
                            fmt::format("{} is of another build ({}) than the program ({})",
                                        path.string(), found, kBuild),
                            "the two exchange data as laid out by one compiler",
                            "build or install both together");
  return *entry();
}

}  // namespace

const Library& library() {
  static const Library& loaded = load();
  return loaded;
}

}  // namespace rollcall::method
