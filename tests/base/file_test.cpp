// Durable files: publication is all or nothing, reads name what is wrong, a folder has one holder.
#include "base/files/file.hpp"

#include "base/errors/error.hpp"
#include "base/files/nfs_visibility.hpp"
#include "base/numbers/hash.hpp"
#include "base/time/clock.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
std::atomic<int> flock_error{0};  // what flock() refuses with in this program, EINTR once; 0: what
                                  // the kernel says
}

/// In place of the C library's: no file system here is without locks.
extern "C" int flock(int fd, int operation) noexcept {
  const int error = flock_error;
  if (error == 0) return int(::syscall(SYS_flock, fd, operation));
  if (error == EINTR) flock_error = 0;
  errno = error;
  return -1;
}

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using rollcall::testing::TemporaryFolder;

std::size_t entries(const TemporaryFolder& folder) {
  return std::size_t(std::distance(fs::directory_iterator(folder.path()), {}));
}

TEST(File, ContentSurvivesReplacesAndNothingElseIsLeft) {  // few cases: each is two synced writes
  const TemporaryFolder folder;
  for (const std::string& content : {std::string("text\r\n"), std::string(),
                                     std::string("\0\xFF\0", 3), std::string(3'000'000, 'x')}) {
    write_file_atomic(folder / "a", content);
    EXPECT_TRUE(read_file(folder / "a") == content) << content.size();
    EXPECT_EQ(entries(folder), 1U);
  }
}

TEST(File, AFailedPublicationLeavesTheOldFile) {
  const TemporaryFolder folder;
  write_file_atomic(folder / "a", "old");
  EXPECT_THROW(publish_file(folder / "missing.partial", folder / "a"), StorageError);
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_THROW(write_file_atomic(folder / "no/such/folder", "x"), StorageError);
}

TEST(File, PublishMovesTheTemporaryFile) {
  const TemporaryFolder folder;
  publish_file(folder.write("a.partial", "text"), folder / "a");
  EXPECT_EQ(read_file(folder / "a"), "text");
  EXPECT_EQ(entries(folder), 1U);
}

TEST(File, UnreadableInputIsNamed) {
  const TemporaryFolder folder;
  for (const fs::path& path : {folder / "none", folder.path()}) {
    try {
      read_file(path);
      ADD_FAILURE() << "read " << path;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(path.string()), std::string::npos) << e.what();
    }
  }
}

TEST(File, WhatTheFileSystemSaysIsOneMessageToo) {
  const std::filesystem::filesystem_error refused("status", "run/x.h5",
                                                  std::make_error_code(std::errc::io_error));
  EXPECT_EQ(
      message_of(refused),
      "run/x.h5: Input/output error (the file system refuses to say what is there); check the disk, permissions and quota, then try again");
  EXPECT_EQ(message_of(InputError("a; b")), "a; b");
}

/// Another start would meet the same, so nothing may requeue it.
TEST(File, ANameThatIsRefusedIsNoFailureOfTheDisk) {
  for (const auto reason : {std::errc::permission_denied, std::errc::filename_too_long,
                            std::errc::too_many_symbolic_link_levels}) {
    const std::filesystem::filesystem_error refused("status", "model",
                                                    std::make_error_code(reason));
    EXPECT_EQ(exit_code_of(refused), ExitCode::misconfigured);
    EXPECT_NE(message_of(refused).find("model: "), std::string::npos) << message_of(refused);
  }
  EXPECT_EQ(exit_code_of(std::filesystem::filesystem_error(
                "status", "model", std::make_error_code(std::errc::io_error))),
            ExitCode::failed);
  EXPECT_EQ(exit_code_of(InputError("a")), ExitCode::misconfigured);
}

/// Whether it is damaged or missing cannot be told. The first page of a process is mapped by
/// nobody, so that reading it fails with EIO.
TEST(File, AFailingDiskIsNeitherAMissingNorADamagedFile) {
  EXPECT_THROW(read_file("/proc/self/mem"), UnreadableError);
  EXPECT_EQ(UnreadableError("").code(), ExitCode::failed);
  const auto denied = [](int error) {
    try {
      reading_failure("open", "x", error);
    } catch (const UnreadableError& e) {
      return e.code();
    }
  };
  EXPECT_EQ(denied(EACCES), ExitCode::misconfigured);
  EXPECT_EQ(denied(EIO), ExitCode::failed);
  EXPECT_THROW(file_checksum64("/proc/self/mem"), UnreadableError);
  EXPECT_THROW(file_checksum64("/proc/self/none"), InputError);
}

TEST(File, AFolderIsListedByNameAndAMissingOneHoldsNothing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(list_folder(folder / "none").empty());
  EXPECT_TRUE(list_folder(folder.path()).empty());
  folder.write("b", ""), folder.write("a", "");
  const auto found = list_folder(folder.path());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path(), folder / "a");
  EXPECT_EQ(found[1].path(), folder / "b");
  EXPECT_THROW(list_folder(folder / "a"), InputError);  // a file
}

TEST(File, FoldersAreMadeWithTheirParents) {
  const TemporaryFolder folder;
  make_folder(folder / "a/b/c");
  make_folder(folder / "a/b/c");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
}

/// Only a folder that another rank has made and that shows late is waited for.
TEST(File, WhatCannotBecomeAFolderIsRefusedAtOnce) {
  const TemporaryFolder folder;
  folder.write("plain", "");
  fs::create_symlink("nowhere", folder / "dangling");
  const Stopwatch clock;
  for (const char* name : {"plain", "plain/x", "dangling"})
    EXPECT_THROW(make_folder(folder / name), StorageError) << name;
  EXPECT_LT(clock.seconds(), kLateName_s / 4);
}

TEST(LateNames, WhatIsNoMatterOfTimeIsRefusedAtOnce) {
  const TemporaryFolder folder;
  EXPECT_THROW(file_seen_in_time(folder / std::string(300, 'x')), InputError);  // ENAMETOOLONG
}

TEST(LateNames, AreLookedForUntilTheyComeOrTheTimeIsOver) {
  const TemporaryFolder folder;
  EXPECT_FALSE(file_seen_in_time(folder / "a", 0.01));
  const std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    folder.write("a", "");
  });
  EXPECT_TRUE(file_seen_in_time(folder / "a"));
  EXPECT_TRUE(file_seen_in_time(folder / "a", 0.0));
}

TEST(File, ALinkIsTheFileAndACopyIsOne) {
  const TemporaryFolder folder;
  write_file_synced(folder / "a", "text");
  link_or_copy(folder / "a", folder / "b");
  EXPECT_EQ(fs::hard_link_count(folder / "a"), 2U);
  EXPECT_EQ(read_file(folder / "b"), "text");
  EXPECT_THROW(link_or_copy(folder / "a", folder / "b"), StorageError);  // it is there already
  EXPECT_THROW(link_or_copy(folder / "none", folder / "c"), StorageError);
  const fs::path memory = "/dev/shm";  // another file system than that of most temporary folders:
                                       // links do not cross
  if (!fs::is_directory(memory)) return;
  const fs::path far = memory / ("rollcall_link_" + std::to_string(::getpid()));
  link_or_copy(folder / "a", far);
  EXPECT_EQ(read_file(far), "text");
  fs::remove(far);
}

TEST(File, WhatNeverEndsHasALimit) {
  const auto refusal = [](const std::filesystem::path& path) {
    try {
      return std::to_string(read_file(path).size());
    } catch (const InputError& e) {
      return std::string(e.what());
    }
  };
  EXPECT_NE(refusal("/dev/zero").find("/dev/zero gives more than 134217728 bytes"),
            std::string::npos)
      << refusal("/dev/zero");
  const TemporaryFolder folder;
  const auto holes = folder.path() / "holes";
  std::ofstream(holes).close();
  std::filesystem::resize_file(holes, std::uintmax_t{1} << 42);
  EXPECT_NE(refusal(holes).find("more than this machine's memory"), std::string::npos)
      << refusal(holes);
  EXPECT_NE(message_of(std::bad_alloc()).find("no more memory ("), std::string::npos);
}

TEST(File, FilesThatDoNotKnowTheirSizeAreReadWhole) {
  EXPECT_GT(read_file("/proc/self/maps").size(), 4096U);
}

TEST(FolderLock, ASecondHolderIsRefusedAndToldByWhom) {
  const TemporaryFolder folder;
  std::optional<FolderLock> lock(std::in_place, folder.path(), "job 17 on n1");
  try {
    const FolderLock second(folder.path(), "job 18");
    FAIL() << "two holders";
  } catch (const EnvironmentError& e) {
    EXPECT_NE(std::string(e.what()).find("in use by job 17 on n1"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(FolderLock::is_held(folder.path()));
  lock.reset();
  EXPECT_FALSE(FolderLock::is_held(folder.path()));
  EXPECT_NO_THROW(FolderLock(folder.path(), "job 18"));
}

TEST(FolderLock, AFileSystemWithoutLocksIsNoOtherHolder) {
  const TemporaryFolder folder;
  folder.write(".lock", "job 17 on n1");
  const std::vector<std::function<void()>> questions{
      [&] { const FolderLock lock(folder.path(), "job 18"); }};
  for (const int error : {ENOSYS, ENOLCK, EOPNOTSUPP}) {
    for (const auto& ask : questions) {
      flock_error = error;
      try {
        ask();
        ADD_FAILURE() << "no error from " << error;
      } catch (const EnvironmentError& e) {
        EXPECT_NE(std::string(e.what()).find("has no file locks"), std::string::npos) << e.what();
      }
    }
  }
  for (const int error : {EIO, ESTALE}) {  // of a file system that has them, and trouble
    flock_error = error;
    EXPECT_THROW(FolderLock(folder.path(), "job 18"), StorageError);
    EXPECT_THROW(FolderLock::is_held(folder.path()), UnreadableError)
        << "whether somebody holds it is not known";
  }
  flock_error = EINTR;
  EXPECT_NO_THROW(FolderLock(folder.path(), "job 18")) << "an interrupted call is made again";
  EXPECT_EQ(flock_error.load(), 0);
}

/// `rollcall status` looks at a folder that a job is about to take.
TEST(FolderLock, ALookAtItRefusesNobody) {
  const TemporaryFolder folder;
  { const FolderLock lock(folder.path(), "first"); }
  const std::jthread looking([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) FolderLock::is_held(folder.path());
  });
  for (int i = 0; i < 300; ++i) EXPECT_NO_THROW(FolderLock(folder.path(), "job"));
}

TEST(FolderLock, DiesWithItsProcess) {
  const TemporaryFolder folder;
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder.path(), "child");
    const bool told = ::write(gate[1], "x", 1) == 1;
    ::pause();  // until killed
    ::_exit(told ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(gate[0], &byte, 1), 1);
  EXPECT_THROW(FolderLock(folder.path(), "parent"), EnvironmentError);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_NO_THROW(FolderLock(folder.path(), "parent"));
  ::close(gate[0]), ::close(gate[1]);
}

TEST(FolderLock, AMissingFolderIsAStorageError) {
  const TemporaryFolder folder;
  EXPECT_THROW(FolderLock(folder / "none", "x"), StorageError);
}

TEST(Hash, KnownAnswers) {
  // XXH3-64 of nothing, as published with the library
  EXPECT_EQ(checksum64(std::string_view()), 0x2D06800538D394C2U);
  // FIPS 180-4
  EXPECT_EQ(Sha256().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256().add("ab").add("c").hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex64(0xAB), "00000000000000ab");
}

TEST(Hash, AFileHasTheChecksumOfItsBytes) {
  const TemporaryFolder folder;
  // the last two: exactly one piece, several
  for (const std::size_t size : {0, 1, 240, 1 << 20, 3'000'001}) {
    std::string content(size, 'x');
    for (std::size_t i = 0; i < size; ++i) content[i] = char(i * 31);
    EXPECT_EQ(file_checksum64(folder.write("a", content)), checksum64(content)) << size;
    EXPECT_NE(checksum64(content, 1), checksum64(content)) << size;
  }
  EXPECT_THROW(file_checksum64(folder / "none"), InputError);
}

}  // namespace
}  // namespace rollcall
