// Reading by columns: no rollout is made of any row.
#include "io/mapped_shard.hpp"

#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/published.hpp"

#include <tuple>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

using Address = std::tuple<Purpose, std::uint64_t, std::uint64_t, std::uint64_t>;

/// Columns with a value for every token or byte: nearly all of a file.
bool is_large(const Column& column) {
  switch (column.rows) {
    case Dim::token:
    case Dim::prompt_byte:
    case Dim::reference_byte:
    case Dim::completion_byte:
    case Dim::extracted_byte: return true;
    case Dim::group:
    case Dim::rollout:
    case Dim::turn:
    case Dim::component: return false;
  }
  throw FileFault("unknown dimension");
}

/// Checked before HDF5 sees it.
std::unique_ptr<MappedFile> map_published(const fs::path& run_dir, const PublishedFile& file) {
  auto mapped = std::make_unique<MappedFile>(run_dir / file.path);
  check_bytes(file, mapped->bytes());
  return mapped;
}

/// The shard or its scores.
class Half {
 public:
  Half(const fs::path& run_dir, const PublishedFile& file, const char* kind) : mapped_(map_published(run_dir, file)), reader_(run_dir / file.path) {
    check_schema(reader_, kind);
  }
  /// Adds the columns of a set to `columns`; the large ones stay where they are.
  template <class Set>
  void read(Set& set, std::vector<ColumnView>& columns) {
    Set::each(set, [&]<class T>(const Column& column, std::vector<T>& values) {
      if (is_large(column)) {
        const auto bytes = reader_.in_place<T>(column, mapped_->bytes());
        columns.push_back({column, type_of<T>(), bytes, bytes.size() / sizeof(T)});
      } else {
        reader_.read_column(column, values);
        columns.push_back({column, type_of<T>(), std::as_bytes(std::span(values)), values.size()});
      }
    });
  }
  /// After all reads.
  Address address() const {
    reader_.check_counts();
    return {purpose_of(reader_), reader_.number<std::uint64_t>("step"), reader_.number<std::uint64_t>("round"), reader_.number<std::uint64_t>("producer")};
  }
  std::vector<std::string> component_names() const { return reader_.component_names(); }
  std::unique_ptr<MappedFile> release() { return std::move(mapped_); }

 private:
  std::unique_ptr<MappedFile> mapped_;
  TableReader reader_;
};

bool same_keys(const KeyColumns& a, const KeyColumns& b) {
  return a.step == b.step && a.prompt_id == b.prompt_id && a.draw == b.draw && a.rollout_count == b.rollout_count && a.group == b.group && a.sample == b.sample;
}

}  // namespace

MappedShard map_shard(const fs::path& run_dir, const PackInput& input) {
  MappedShard shard;
  const Address address = reading(run_dir / input.shard.path, [&] {
    Half half(run_dir, input.shard, "shard");
    half.read(shard.keys, shard.columns);
    half.read(shard.rollouts, shard.columns);
    const Address found = half.address();
    check_group_rows(shard.keys);
    shard.shard_file = half.release();
    return found;
  });
  const fs::path path = run_dir / input.scores.path;
  reading(path, [&] {
    Half half(run_dir, input.scores, "scores");
    KeyColumns keys;
    std::vector<ColumnView> again;  // the keys, which are the shard's
    half.read(keys, again);
    half.read(shard.scores, shard.columns);
    if (half.address() != address) throw FileFault(fmt::format("it does not belong to {}", input.shard.path));
    if (!same_keys(shard.keys, keys)) throw FileFault(fmt::format("it has other groups or rollouts than {}", input.shard.path));
    shard.component_names = half.component_names();
    shard.scores_file = half.release();
  });
  return shard;
}

}  // namespace rollcall::io
