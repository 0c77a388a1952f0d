// A compiled format: the markers to look for in each region. Immutable; shared by all streams of a
// model.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/marker_table.h"
#include "format/program.h"
#include "text/regex.h"
#include "vocabulary/token_id.h"

namespace unspool {

struct ResponseTemplate;  // in template/
class OtherFamilies;

class Format {
 public:
  /// Throws FormatError. `tokens`: the vocabulary's added tokens, if the input will have ids.
  /// Throws ArgumentError if trust is strict and none of them opens a call (or, without calls,
  /// reasoning).
  static std::shared_ptr<const Format> compile(Program program,
                                               const std::vector<MarkerToken>& tokens = {},
                                               MarkerTrust trust = MarkerTrust::by_id,
                                               std::shared_ptr<const OtherFamilies> others = {});

  /// For `make_format` of a response template: no program and no markers.
  static std::shared_ptr<const Format> from_template(
      std::shared_ptr<const ResponseTemplate> response_template, std::uint64_t fingerprint,
      std::string name, const std::vector<MarkerToken>& tokens);

  /// The response template; null for a format with markers of its own.
  const std::shared_ptr<const ResponseTemplate>& response_template() const {
    return response_template_;
  }

  /// The other families whose calls count too; null: none.
  const std::shared_ptr<const OtherFamilies>& others() const { return others_; }

  const Program& program() const { return program_; }
  /// `by_id`: match markers that are tokens by id. `mends`: also match misspelled markers.
  const MarkerTable& markers(bool by_id, bool mends) const {
    const Tables& tables = mends && mended_ ? *mended_ : tables_;
    return by_id && tables.by_id ? *tables.by_id : tables.by_text;
  }

  /// Whether a marker without a token counts only inside what a token has opened.
  bool is_strict() const { return is_strict_; }

  /// The letter of a token that this format matches by id.
  std::optional<Symbol> symbol(TokenId id) const;
  std::string_view symbol_text(Symbol symbol) const {
    return symbols_[symbol - kFirstTokenSymbol].text;
  }
  /// Whether the token's text is (part of) a marker that is matched by its text.
  bool is_spelled(TokenId id) const;
  /// All tokens that serving stacks must not strip.
  const std::vector<MarkerToken>& symbols() const { return symbols_; }
  /// Whether the text is a whole marker, not a part of some.
  bool is_marker(std::string_view text) const;
  /// The longest marker token that a text begins with; 0: none.
  Symbol symbol_at(std::string_view text) const;

  /// The pattern of a header's text, by the markup's index; null: any text.
  const std::shared_ptr<const Regex>& header(std::size_t markup) const { return headers_[markup]; }

  /// For each opener, the calls that may begin with it.
  const std::vector<std::vector<std::uint8_t>>& openers() const { return openers_.calls; }
  /// Whether calls may begin without an opener, other than as JSON in a section.
  bool has_bare_calls() const { return has_bare_calls_; }
  bool has_section_calls() const { return has_section_calls_; }

  /// By byte: whether it never changes the region when it follows another such byte.
  const std::array<bool, 256>& quiet_bytes() const { return quiet_bytes_; }

 private:
  struct Tables {
    MarkerTable by_text;
    std::unique_ptr<MarkerTable> by_id;  // null: no marker contains a token, trust is not strict
  };

  Format() = default;
  Tables build_tables(MarkerTrust trust, bool adds_slips) const;
  void check_strict() const;
  void find_quiet_bytes();
  void set_symbols(std::vector<MarkerToken> tokens, const char* too_many);

  Program program_;
  std::shared_ptr<const ResponseTemplate> response_template_;
  std::shared_ptr<const OtherFamilies> others_;
  Tables tables_;
  std::unique_ptr<Tables> mended_;  // null: no marker has a misspelling
  std::vector<MarkerToken> symbols_;
  std::vector<std::pair<TokenId, Symbol>> symbol_of_;  // sorted by id
  std::vector<TokenId> spelled_;                       // sorted
  CallOpeners openers_;
  std::vector<std::shared_ptr<const Regex>> headers_;
  bool has_bare_calls_ = false;
  bool has_section_calls_ = false;
  bool is_strict_ = false;
  std::array<bool, 256> quiet_bytes_{};  // all false if a call may begin with any byte
};

}  // namespace unspool
