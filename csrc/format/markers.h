// Builds the markers of regions out of edges.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "format/edge.h"
#include "format/program.h"

namespace unspool {

/// Appends a text, unless it is empty or already in the list.
inline void add_new(std::vector<std::string>& list, std::string_view text) {
  if (!text.empty() && !contains(list, text)) list.emplace_back(text);
}

inline void add_new(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const std::string& text : more) add_new(list, text);
}

/// Which white space around a literal's text belongs to its marker.
enum class KeepSpace : std::uint8_t { both, before, after, none };

/// Adds a literal to a marker, each side of which has the longest white space of any of them.
inline void add_marker(MarkerTexts& marker, const Edge& edge, KeepSpace keep = KeepSpace::both) {
  if (edge.is_blank()) return;
  add_new(marker.texts, edge.text());
  const bool keeps_before = keep == KeepSpace::both || keep == KeepSpace::before;
  const bool keeps_after = keep == KeepSpace::both || keep == KeepSpace::after;
  if (keeps_before && edge.before().size() > marker.before.size()) marker.before = edge.before();
  if (keeps_after && edge.after().size() > marker.after.size()) marker.after = edge.after();
}

/// Markup that is dropped wherever it occurs.
inline MarkupRegion to_markup(const Edge& edge) {
  MarkupRegion markup;
  add_marker(markup.open, edge);
  return markup;
}

}  // namespace unspool
