// What a format looks for, region by region: automata over its markers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/program.h"
#include "text/marker_set.h"
#include "vocabulary/token_id.h"

namespace unspool {

enum class Role : std::uint8_t {
  reasoning_open,
  reasoning_close,
  section_open,
  section_close,
  call_open,   // value: index into Format::openers()
  call_close,  // value: index of the call
  ignore,
  markup_open,  // value: index into Program::markup
  header_close,
  call_text,  // ends a header, and is content
  name_close,
  parameter_open,
  key_end,
  value_begin,
  value_close,
  json_open,
  json_close,
  body_close,
  quote,
  tag_open,
};

/// What one call's header and body look for.
struct CallMarkers {
  MarkerSet header;     // the end of a name outside the body
  MarkerSet parameter;  // between parameters: the next one, or the end, or what follows the call
  MarkerSet key;        // the end of a parameter's name
  MarkerSet value;      // the end of a parameter's value
  MarkerSet element;    // the tags of nested elements
  MarkerSet quote;      // around a string
};

/// One way to recognise a format: by text alone, or with tokens known by their ids.
struct MarkerTable {
  MarkerSet content;     // outside of everything
  MarkerSet inside;      // within a section, or after a call whose closer has yet to come
  MarkerSet after_call;  // right after one: its closer may be written once more
  MarkerSet reasoning;
  MarkerSet rehearsal;             // inside, while reasoning may go on and close
  MarkerSet rehearsed_section;     // the same within a section; only for strict trust
  MarkerSet malformed;             // in a call that cannot be read
  MarkerSet openers;               // after a call's opener: another takes its place
  std::vector<MarkerSet> headers;  // the end of each markup's header
  std::vector<CallMarkers> calls;

  /// Whether a marker of any region may begin with this byte of text.
  bool may_begin(unsigned char byte) const;
};

/// A token of the vocabulary that may be (part of) a marker.
struct MarkerToken {
  TokenId id;
  std::string text;
};

/// The texts that open calls, and for each the calls that may begin with it.
struct CallOpeners {
  std::vector<std::string> texts;
  std::vector<std::vector<std::uint8_t>> calls;

  /// Throws FormatError: they are too many.
  explicit CallOpeners(const Program& program);
  CallOpeners() = default;
};

/// All texts of the format that a token may be part of.
std::vector<std::string_view> marker_texts(const Program& program);

/// `tokens`: those that the format knows by their ids, in the order of their symbols.
/// `adds_slips`: markers count where a model misspells them too. Throws FormatError: the markers
/// are too many or too long.
MarkerTable build_marker_table(const Program& program, const CallOpeners& openers,
                               const std::vector<MarkerToken>& tokens, MarkerTrust trust,
                               bool adds_slips);

}  // namespace unspool
