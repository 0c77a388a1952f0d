// A format compiled: what to look for in each region. Immutable, shared by all streams of a model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/format_spec.h"
#include "text/marker_set.h"
#include "text/regex.h"
#include "vocabulary/token_id.h"

namespace unspool {

struct ResponseTemplate;

enum class Role : std::uint8_t {
  reasoning_open,
  reasoning_close,
  section_open,
  section_close,
  call_open,   // value: index into Format::openers()
  call_close,  // value: index of the call
  ignore,
  markup_open,  // value: index into FormatSpec::markup
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
  MarkerSet content;  // outside of everything
  MarkerSet inside;   // within a section, or behind a call whose closer has yet to come
  MarkerSet reasoning;
  MarkerSet rehearsal;             // inside, while reasoning may go on and close
  MarkerSet malformed;             // in a call that cannot be read
  MarkerSet openers;               // behind a call's opener: another takes its place
  std::vector<MarkerSet> headers;  // the end of each markup's header
  std::vector<CallMarkers> calls;
};

/// A token of the vocabulary that may be (part of) a marker.
struct MarkerToken {
  TokenId id;
  std::string text;
};

class Format {
 public:
  /// Throws FormatError. `tokens`: the vocabulary's added tokens, if ids will be known.
  static std::shared_ptr<const Format> compile(FormatSpec spec,
                                               const std::vector<MarkerToken>& tokens = {},
                                               MarkerTrust trust = MarkerTrust::by_id);

  /// A format that stands for a response template. `tokens`: the vocabulary's added tokens.
  static std::shared_ptr<const Format> from_template(std::shared_ptr<const ResponseTemplate> made,
                                                     std::string name,
                                                     const std::vector<MarkerToken>& tokens);

  /// The response template that this stands for; null where it has markers of its own.
  const std::shared_ptr<const ResponseTemplate>& response_template() const {
    return response_template_;
  }

  const FormatSpec& spec() const { return spec_; }
  const MarkerTable& by_text() const { return by_text_; }
  const MarkerTable& by_id() const { return by_id_ ? *by_id_ : by_text_; }

  /// The letter for a token that this format knows by its id.
  std::optional<Symbol> symbol(TokenId id) const;
  std::string_view symbol_text(Symbol symbol) const {
    return symbols_[symbol - kFirstTokenSymbol].text;
  }
  /// Whether the token's text is (part of) a marker that is known by its text alone.
  bool is_spelled(TokenId id) const;
  /// All tokens that serving stacks must not strip before this format sees them.
  const std::vector<MarkerToken>& symbols() const { return symbols_; }

  /// The pattern of what a header may say, by the markup's index; null: anything.
  const std::shared_ptr<const Regex>& header(std::size_t markup) const { return headers_[markup]; }

  /// The calls that may begin with an opener, by the opener's index.
  const std::vector<std::vector<std::uint8_t>>& openers() const { return openers_; }
  bool has_bare_calls() const { return has_bare_calls_; }

  /// Whether output that follows this prompt starts inside reasoning, and how much of the white
  /// space behind the opening tag the prompt has written already.
  struct Start {
    bool in_reasoning = false;
    std::string_view skip;  // a suffix of the opener's `after`
    int markup = -1;        // the header that the prompt has opened
    int opener = -1;        // the call that it has opened: index into `openers`
    bool in_section = false;
  };
  Start start_after(std::string_view prompt) const;
  Start start_without_prompt() const;

  /// Where the reasoning of the text's last turn ended, as far as its tags tell: behind the closing
  /// one, or behind a call's opener that ends it. npos: nowhere, or it was opened again.
  std::size_t reasoning_end(std::string_view text) const;

 private:
  bool opens_call(std::string_view prompt, Start& start) const;
  Format() = default;
  MarkerTable build(bool by_id, MarkerTrust trust);
  void check() const;

  FormatSpec spec_;
  std::shared_ptr<const ResponseTemplate> response_template_;
  MarkerTable by_text_;
  std::unique_ptr<MarkerTable> by_id_;
  std::vector<MarkerToken> symbols_;
  std::vector<std::pair<TokenId, Symbol>> symbol_of_;  // sorted by id
  std::vector<TokenId> spelled_;                       // sorted
  std::vector<std::vector<std::uint8_t>> openers_;
  std::vector<std::string> opener_texts_;
  std::vector<std::shared_ptr<const Regex>> headers_;
  bool has_bare_calls_ = false;
};

}  // namespace unspool
