// Pointers of Git LFS in the place of files, as its specification shows one.
#include "base/files/lfs_pointer.hpp"

#include "base/files/file.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

const std::string kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 548118077\n";

std::string refusal_of(const std::filesystem::path& file) {
  try {
    refuse_lfs_pointer(file);
    return "none";
  } catch (const LfsPointerError& error) {
    EXPECT_EQ(error.code(), ExitCode::misconfigured);
    return error.what();
  }
}

TEST(LfsPointer, IsNamedAsWhatItIs) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.write("model.safetensors", kPointer), said = refusal_of(file);
  EXPECT_EQ(
      said,
      file +
          " is a Git LFS pointer (it stands for a file of 548118077 bytes, which is not here); fetch it: git lfs pull, in the folder that was cloned");
  EXPECT_THROW(read_file(file), LfsPointerError);
}

TEST(LfsPointer, OtherFilesPass) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(refusal_of(folder.write("a", kPointer + std::string(1024, '\n'))), "none")
      << "pointers are shorter than 1024 bytes";
  EXPECT_EQ(refusal_of(folder.write("b", "about " + kPointer)), "none");
  EXPECT_EQ(refusal_of(folder.write("c", "version https://git-lfs.github.com/spec/v1\n")), "none")
      << "it points to nothing";
  EXPECT_EQ(refusal_of(folder.write("d", "")), "none");
  EXPECT_EQ(refusal_of(folder.path() / "not there"), "none");
  EXPECT_EQ(refusal_of(folder.path()), "none");
  EXPECT_EQ(read_file(folder.path() / "b"), "about " + kPointer);
}

}  // namespace
}  // namespace rollcall
