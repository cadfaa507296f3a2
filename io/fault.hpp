// Adds the name of the file to a FileFault, which becomes a StorageError that people read. Private
// to io.
#pragma once

#include "base/files/file.hpp"
#include "io/handle.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace rollcall::io {

[[noreturn]] inline void refuse(const std::filesystem::path& path, std::string_view fault) {
  throw StorageError(error_message(
      fmt::format("{}: {}", path.string(), fault), "the file is not what the run published",
      "restore it from a copy, or set it aside with rollcall archive repair and resume without it"));
}

[[noreturn]] inline void refuse_unreadable(const std::filesystem::path& path,
                                           std::string_view fault) {
  throw UnreadableError(error_message(
      fmt::format("{}: {}", path.string(), fault),
      "the file system does not let it be read, so its state is unknown",
      "check the disk, then try again; if the error persists, move the file out of the run and repair the run"));
}

/// Runs `read` as the only user of HDF5; its faults are reported as faults in the file `path`.
template <class F>
auto reading(const std::filesystem::path& path, const F& read) {
  try {
    const auto inside = enter_hdf5();
    return read();
  } catch (const NewerSchema& fault) {
    throw EnvironmentError(error_message(fmt::format("{}: {}", path.string(), fault.what()),
                                         "a newer rollcall wrote the file", "use that version"));
  } catch (const UnreadableFault& fault) {
    refuse_unreadable(path, fault.what());
  } catch (const FileFault& fault) {
    refuse(path, fault.what());
  } catch (const std::filesystem::filesystem_error& fault) {
    if (fault.code() != std::errc::no_such_file_or_directory)
      refuse_unreadable(path, fault.code().message());
    refuse(path, fault.code().message());
  } catch (const InputError& fault) {  // base/hash and base/file name the file as the user's input
    refuse(path, fault.what());
  }
}

template <class F>
auto writing(const std::filesystem::path& path, const F& write) {
  try {
    const auto inside = enter_hdf5();
    return write();
  } catch (const FileFault& fault) {
    throw StorageError(error_message(
        fmt::format("cannot write {}: {}", path.string(), fault.what()),
        "the run would lose what it reports as saved", "check free space, quota and permissions"));
  }
}

}  // namespace rollcall::io
