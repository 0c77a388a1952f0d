// Adds a marker to a set, in each form in which the model may write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/marker_table.h"

namespace unspool {

class MarkerAdder {
 public:
  /// `tokens`: the tokens that are matched by id. `adds_slips`: for a marker that is matched by its
  /// text, also add the form with ASCII letters in place of their look-alikes and the one with
  /// double bars. With and without a space after a bar between two words, a marker always counts.
  MarkerAdder(const std::vector<MarkerToken>& tokens, MarkerTrust trust, bool adds_slips)
      : tokens_(tokens),
        adds_spelled_(!tokens.empty() && trust == MarkerTrust::either),
        adds_slips_(adds_slips) {}

  /// Adds only markers that contain a token, until it is called with false.
  void need_tokens(bool needs_tokens) { needs_tokens_ = needs_tokens; }

  /// `before`: white space that may precede the marker; any suffix of it is accepted.
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

/// The text with ASCII letters in place of the look-alikes `｜` and `▁`, a common model mistake.
std::string in_ascii(std::string_view text);

}  // namespace unspool
