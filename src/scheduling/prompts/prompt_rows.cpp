// Rows to bytes and back, with every length checked.
#include "scheduling/prompts/prompt_rows.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace rollcall::scheduling {
namespace {

static_assert(std::endian::native == std::endian::little,
              "rows are written as they lie in memory, and the format is little-endian");

constexpr char kMagic[8] = {'r', 'o', 'l', 'l', 'r', 'o', 'w', 's'};
constexpr std::uint32_t kFormat = 2;

struct Table {
  std::uint32_t width = 0, zero = 0;
  std::uint64_t rows = 0;
};
struct Header {
  char magic[8] = {};
  std::uint32_t format = kFormat, count = 2;
  Table history{}, success{};
};

void require_rows(bool ok, const std::string& problem) {
  require<StorageError>(ok, "rows of prompts: " + problem,
                        "the scheduler could not continue where it stopped",
                        "resume from an older checkpoint");
}

template <class Row>
std::vector<Row> take(const Table& table, std::string_view& bytes) {
  require_rows(table.width == sizeof(Row),
               fmt::format("rows of {} bytes, this build reads {}", table.width, sizeof(Row)));
  require_rows(table.rows <= bytes.size() / sizeof(Row), "the file ends before its rows do");
  std::vector<Row> rows(table.rows);
  std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(Row));
  bytes.remove_prefix(rows.size() * sizeof(Row));
  return rows;
}

template <class Row>
void update(std::vector<Row>& rows, const std::vector<Row>& newer) {
  std::vector<Row> merged;
  merged.reserve(rows.size() + newer.size());
  auto old = rows.begin();
  for (const Row& row : newer) {
    for (; old != rows.end() && old->prompt < row.prompt; ++old) merged.push_back(*old);
    if (old != rows.end() && old->prompt == row.prompt) ++old;
    merged.push_back(row);
  }
  merged.insert(merged.end(), old, rows.end());
  rows = std::move(merged);
}

template <class Row>
bool ascending(const std::vector<Row>& rows) {
  return std::adjacent_find(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
           return a.prompt >= b.prompt;
         }) == rows.end();
}

std::uint32_t prompt_of(const nlohmann::json& row) {
  const auto prompt = row.at(0).get<std::uint64_t>();
  require_rows(prompt <= std::numeric_limits<std::uint32_t>::max(),
               fmt::format("prompt {}, where prompts are numbered with 32 bits", prompt));
  return std::uint32_t(prompt);
}

}  // namespace

std::string to_bytes(const PromptRows& rows) {
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.history = {sizeof(HistoryRow), 0, rows.history.size()};
  header.success = {sizeof(SuccessRow), 0, rows.success.size()};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(rows.history.data()),
               rows.history.size() * sizeof(HistoryRow));
  return bytes.append(reinterpret_cast<const char*>(rows.success.data()),
                      rows.success.size() * sizeof(SuccessRow));
}

PromptRows rows_from_bytes(std::string_view bytes) {
  Header header;
  require_rows(
      bytes.size() >= sizeof header && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0,
      "this is a file of another kind");
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  require_rows(header.format == kFormat && header.count == 2,
               fmt::format("format {} with {} tables, this build reads format {} with 2",
                           header.format, header.count, kFormat));
  PromptRows rows{take<HistoryRow>(header.history, bytes), {}};
  rows.success = take<SuccessRow>(header.success, bytes);
  require_rows(bytes.empty(), fmt::format("{} bytes too many", bytes.size()));
  require_rows(ascending(rows.history) && ascending(rows.success), "the prompts do not ascend");
  return rows;
}

void update(PromptRows& rows, const PromptRows& newer) {
  update(rows.history, newer.history);
  update(rows.success, newer.success);
}

nlohmann::json to_json(const std::vector<HistoryRow>& rows) {
  auto list = nlohmann::json::array();
  for (const auto& [p, e, slot] : rows)
    list.push_back({p, e.low, e.middle, e.upper, e.high, e.length, e.bin, slot});
  return list;
}

nlohmann::json to_json(const std::vector<SuccessRow>& rows) {
  auto list = nlohmann::json::array();
  for (const auto& row : rows) list.push_back({row.prompt, row.right, row.wrong, row.step});
  return list;
}

std::vector<HistoryRow> history_rows(const nlohmann::json& rows) {
  std::vector<HistoryRow> read;
  for (const auto& row : rows) {
    read.push_back({prompt_of(row),
                    {row.at(1).get<std::uint32_t>(), row.at(2).get<std::uint32_t>(),
                     row.at(3).get<std::uint32_t>(), row.at(4).get<std::uint16_t>(),
                     row.at(5).get<std::uint8_t>(), row.at(6).get<std::uint8_t>()},
                    row.at(7).get<std::uint32_t>()});
  }
  return read;
}

std::vector<SuccessRow> success_rows(const nlohmann::json& rows) {
  std::vector<SuccessRow> read;
  for (const auto& row : rows)
    read.push_back({row.at(1).get<double>(), row.at(2).get<double>(), prompt_of(row),
                    row.at(3).get<std::uint32_t>()});
  return read;
}

}  // namespace rollcall::scheduling
