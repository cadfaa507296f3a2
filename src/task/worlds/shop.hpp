// A shop with things that show only their kind until they are opened, and the policy's view of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::task {

/// A thing that is on sale, or that is wanted.
struct Ware {
  std::string colour, size, kind;
  bool operator==(const Ware&) const = default;
};

struct Shop {
  Ware wish{};
  std::vector<Ware> wares{};  ///< things on sale; the reference sets only their kinds
  std::int64_t open = 0;      ///< number of the ware that is looked at, from 1; 0: the list
  bool operator==(const Shop&) const = default;
};

inline constexpr std::int64_t kDemands = 3;  ///< number of demands in a wish: colour, size and kind
/// The number of a wish's demands that a ware meets.
std::int64_t demands_met(const Ware& wish, const Ware& ware);

/// JSON: the state with all members, the reference with `wish` and `kinds`.
std::string text_of(const Shop& shop);
std::string reference_of(const Shop& shop);
/// Nothing if the text is not a state with 1 to 64 wares.
std::optional<Shop> read_shop(std::string_view state);
std::optional<Shop> read_shop_reference(std::string_view reference);
/// Draws colours and sizes: the wish's for one ware of its kind, and others for all other wares.
/// `shop` is a reference with a ware of that kind.
void stock(Shop& shop, std::uint64_t seed);
/// The policy's view: the wish, and the list or the open ware, "red huge mug: 1 pot 2 mug>", "red
/// huge mug: 2 mug red tiny>".
std::string view_of(const Shop& shop);

}  // namespace rollcall::task
