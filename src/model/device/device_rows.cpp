// Sends all tables of pages as one piece. Neighbouring rows of one sequence share their table.
#include "model/device/device_rows.hpp"

#include <numeric>
#include <utility>

namespace rollcall::model {

std::vector<kernels::AttentionRow> with_device_tables(Device& device,
                                                      std::vector<kernels::AttentionRow> places) {
  std::vector<const void*> tables;
  std::vector<std::size_t> offsets;  // [places] where each place's table begins in `tables`
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto needed = std::size_t(kernels::pages_of(places[i].keys));
    if (i == 0 || places[i].pages != places[i - 1].pages) offsets.push_back(tables.size());
    else offsets.push_back(offsets.back());
    for (std::size_t p = tables.size() - offsets.back(); p < needed; ++p)
      tables.push_back(places[i].pages[p]);
  }
  const void* const* on_device = device.upload(std::span<const void* const>(tables));
  for (std::size_t i = 0; i < places.size(); ++i) places[i].pages = on_device + offsets[i];
  return places;
}

PassRows upload_rows(Device& device, std::span<const std::int32_t> tokens,
                     std::span<const std::int32_t> positions, const KeyValues& memory) {
  const auto rows = memory.rows();
  std::vector<kernels::AttentionRow> places(rows.begin(), rows.end());
  std::vector<std::int32_t> source(tokens.size());
  std::iota(source.begin(), source.end(), 0);
  for (const auto& [row, place] : memory.again()) {
    places.push_back(place);
    source.push_back(row);
  }
  places = with_device_tables(device, std::move(places));
  return {std::int64_t(tokens.size()),
          std::int64_t(places.size()),
          device.upload(tokens),
          device.upload(positions),
          device.upload(std::span<const std::int32_t>(source)),
          device.upload(std::span<const kernels::AttentionRow>(places)),
          &memory};
}

}  // namespace rollcall::model
