// Adds a marker to a set in each way in which the model may write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/marker_table.h"

namespace unspool {

class MarkerAdder {
 public:
  /// `tokens`: those that are known by their ids. `adds_slips`: a marker that counts by its text
  /// counts with ASCII letters in place of their look-alikes too.
  MarkerAdder(const std::vector<MarkerToken>& tokens, MarkerTrust trust, bool adds_slips)
      : tokens_(tokens),
        adds_spelled_(!tokens.empty() && trust == MarkerTrust::either),
        adds_slips_(adds_slips) {}

  /// Adds markers that hold a token, and no others, until it is set back.
  void need_tokens(bool needs_tokens) { needs_tokens_ = needs_tokens; }

  /// `before`: the white space that may stand before it; each of its suffixes may.
  void add(MarkerSet& set, std::string_view text, std::string_view before, Role role,
           std::size_t value = 0) const;
  void add(MarkerSet& set, const MarkerTexts& marker, Role role, std::size_t value = 0) const {
    for (const std::string& text : marker.texts) add(set, text, marker.before, role, value);
  }

 private:
  MarkerPattern with_tokens(std::string_view before, std::string_view text) const;

  const std::vector<MarkerToken>& tokens_;
  bool adds_spelled_;
  bool adds_slips_;
  bool needs_tokens_ = false;
};

/// The text with ASCII letters in place of their look-alikes, as models slip: `｜` and `▁`.
std::string in_ascii(std::string_view text);

}  // namespace unspool
