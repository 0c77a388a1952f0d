// The automata over a format's markers, one per region.
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
  bare_tag,  // a parameter's tag without its name: its closer is written like a parameter's
};

/// The automata for one kind of call: its header and body.
struct CallMarkers {
  MarkerSet header;     // the end of a name outside the body
  MarkerSet parameter;  // between parameters: the next one, the end, or what follows the call
  MarkerSet key;        // the end of a parameter's name
  MarkerSet value;      // the end of a parameter's value
  MarkerSet element;    // the tags of nested elements
  MarkerSet quote;      // around a string
  MarkerSet quoted;     // inside it, where it may quote a call
};

/// One way to recognize a format: by text only, or with tokens matched by id.
struct MarkerTable {
  MarkerSet content;               // outside all regions
  MarkerSet inside;                // within a section, or after a call that still lacks its closer
  MarkerSet after_call;            // directly after a call: its closer may be repeated
  MarkerSet inside_cut_reasoning;  // like inside, after a call ended the reasoning, whose closer
  MarkerSet after_cut_reasoning;   // may still come; and the same after that call
  MarkerSet after_reasoning;       // directly after reasoning: its closer may be repeated
  MarkerSet for_user;              // in a message for the user: nothing opens a call
  MarkerSet reasoning;
  MarkerSet rehearsal;             // like inside, while reasoning may continue and close
  MarkerSet rehearsed_section;     // the same within a section; only for strict trust
  MarkerSet malformed;             // in a call that cannot be parsed
  MarkerSet openers;               // after a call's opener: another opener replaces it
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

/// The texts that open calls, and for each text the calls that may begin with it.
struct CallOpeners {
  std::vector<std::string> texts;
  std::vector<std::vector<std::uint8_t>> calls;

  /// Throws FormatError if there are too many.
  explicit CallOpeners(const Program& program);
  CallOpeners() = default;
};

/// All texts of the format that a token may be part of.
std::vector<std::string_view> marker_texts(const Program& program);

/// `tokens`: the tokens that the format matches by id, in the order of their symbols. `adds_slips`:
/// also match misspelled markers. Throws FormatError if the markers are too many or too long.
MarkerTable build_marker_table(const Program& program, const CallOpeners& openers,
                               const std::vector<MarkerToken>& tokens, MarkerTrust trust,
                               bool adds_slips);

}  // namespace unspool
