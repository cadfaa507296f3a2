// Files of others: what leads elsewhere is refused, and what crashes or busies HDF5 costs a child
// process.
#include "io/open_tables.hpp"

#include "base/files/file.hpp"
#include "io/fault.hpp"
#include "io/origin.hpp"
#include "io/sample_run.hpp"
#include "io/source.hpp"
#include "io/table_file.hpp"
#include "io/verify.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

/// Reads files as commands do, for one test.
struct OfOthers {
  OfOthers() { read_files_of(Origin::others); }
  ~OfOthers() { read_files_of(Origin::own); }
  OfOthers(const OfOthers&) = delete;
  OfOthers& operator=(const OfOthers&) = delete;
};

/// A packed file of a small run, as somebody may send it: alone in a folder.
fs::path packed(const fs::path& run) {
  const auto entry =
      pack(*comm::alone(), run, "train_000002", {write(run, sample(1, 2, 3))}, identity());
  fs::copy_file(run / entry.file.path, run / "sent.h5");
  return run / "sent.h5";
}

/// The file with one column replaced by `make(file, path, type, space)`.
using Make = std::function<void(hid_t file, const char* path, hid_t type, hid_t space)>;
void replace_column(const fs::path& file, const Make& make) {
  const auto inside = enter_hdf5();
  const char* const path = "tokens/logprob";
  const Handle newest(H5Pcreate(H5P_FILE_ACCESS), "make file properties");
  check(H5Pset_libver_bounds(newest, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST),
        "allow virtual data sets");
  Handle open(H5Fopen(file.c_str(), H5F_ACC_RDWR, newest), "open");
  {
    const Handle column(H5Dopen2(open, path, H5P_DEFAULT), "open column");
    const Handle type(H5Dget_type(column), "get type"), space(H5Dget_space(column), "get space");
    check(H5Ldelete(open, path, H5P_DEFAULT), "delete column");
    make(open, path, type, space);
  }
  open.close("close");
}

std::string fault_of(const fs::path& file) {
  try {
    const ArchiveEntry entry = describe(file.parent_path(), file.filename());
    const auto faults = verify_archive(file.parent_path(), entry);
    return faults.empty() ? "" : faults.front().problem;
  } catch (const std::exception& fault) {
    return fault.what();
  }
}

TEST(OpenTables, ReadsWhatARunHasPacked) {
  const OfOthers others;
  const RunFolder run;
  EXPECT_EQ(fault_of(packed(run)), "");
}

TEST(OpenTables, ValuesOfOtherFilesAreRefused) {
  const std::vector<std::pair<std::string, Make>> tricks{
      {"keeps its values in another file",
       [](hid_t file, const char* path, hid_t type, hid_t space) {
         const Handle made(H5Pcreate(H5P_DATASET_CREATE), "make properties");
         check(H5Pset_external(made, "/etc/passwd", 0, H5F_UNLIMITED), "name the file");
         const Handle column(H5Dcreate2(file, path, type, space, H5P_DEFAULT, made, H5P_DEFAULT),
                             "create");
       }},
      {"takes its values from other files",
       [](hid_t file, const char* path, hid_t type, hid_t space) {
         const Handle made(H5Pcreate(H5P_DATASET_CREATE), "make properties");
         check(H5Pset_virtual(made, space, "/tmp/other.h5", "x", space), "name the source");
         const Handle column(H5Dcreate2(file, path, type, space, H5P_DEFAULT, made, H5P_DEFAULT),
                             "create");
       }},
      {"leads to another place or file",
       [](hid_t file, const char* path, hid_t, hid_t) {
         check(H5Lcreate_external("/tmp/other.h5", "/x", file, path, H5P_DEFAULT, H5P_DEFAULT),
               "link");
       }},
      {"leads to another place or file",
       [](hid_t file, const char* path, hid_t, hid_t) {
         check(H5Lcreate_soft("/tokens/id", file, path, H5P_DEFAULT, H5P_DEFAULT), "link");
       }},
      {"is stored in chunks",
       [](hid_t file, const char* path, hid_t type, hid_t space) {
         const Handle made(H5Pcreate(H5P_DATASET_CREATE), "make properties");
         const hsize_t chunk = 1;
         check(H5Pset_chunk(made, 1, &chunk), "set chunks");
         const Handle column(H5Dcreate2(file, path, type, space, H5P_DEFAULT, made, H5P_DEFAULT),
                             "create");
       }},
      {"holds tables within tables", [](hid_t file, const char* path, hid_t, hid_t) {
         const Handle tokens(H5Gopen2(file, "tokens", H5P_DEFAULT), "open");
         check(H5Lcreate_hard(tokens, ".", file, path, H5P_DEFAULT, H5P_DEFAULT),
               "link the table into itself");
       }}};
  for (const auto& [words, make] : tricks) {
    const RunFolder run;
    const fs::path file = packed(run);
    replace_column(file, make);
    const std::string fault = fault_of(file);
    EXPECT_NE(fault.find("tokens/logprob"), std::string::npos) << fault;
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  }
}

TEST(OpenTables, APipeIsNotWaitedFor) {
  const RunFolder run;
  const fs::path pipe = run.path() / "pipe.h5", link = run.path() / "link.h5";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, link);
  ::alarm(20);
  for (const fs::path& file : std::vector<fs::path>{pipe, link})
    EXPECT_NE(fault_of(file).find("is a pipe"), std::string::npos) << fault_of(file);
  ::alarm(0);
}

/// As in every file of others: crashes and loops of HDF5 (its global heap holds our texts) happen
/// in the child.
TEST(OpenTables, DamagedStructuresNeverEndTheReader) {
  const OfOthers others;
  const RunFolder run;
  const fs::path file = packed(run);
  const std::string good = content(file);
  const std::size_t heap = good.find("GCOL");
  ASSERT_NE(heap, std::string::npos);
  Dice dice(3);
  int refused = 0;
  constexpr int kTrials = 300;
  for (int i = 0; i < kTrials; ++i) {
    std::string bad = good;
    // Sizes and indices of the heap's objects, or anything.
    const std::size_t begin = i % 2 == 0 ? heap : 0,
                      length =
                          i % 2 == 0 ? std::min<std::size_t>(512, good.size() - heap) : good.size();
    for (auto n = 1 + dice.below(3); n > 0; --n)
      bad[begin + dice.below(length)] = char(dice.below(3) == 0 ? 0xff : dice.below(256));
    put(file, bad);
    refused += fault_of(file).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, kTrials / 4);
}

}  // namespace
}  // namespace rollcall::io::test
