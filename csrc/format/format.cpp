#include "format/format.h"

#include <algorithm>
#include <iterator>

#include "format/check_program.h"
#include "format/marker_adder.h"
#include "format/other_families.h"
#include "text/archive.h"
#include "text/error.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A model that should write bare Python calls may write one as JSON.
void add_slips(Program& program) {
  const auto is_bare = [](const CallRegion& call, BodyKind body) {
    return call.is_bare() && call.is(body);
  };
  const auto python =
      std::find_if(program.calls.begin(), program.calls.end(),
                   [&](const auto& call) { return is_bare(call, BodyKind::pythonic); });
  const bool has_json =
      std::any_of(program.calls.begin(), program.calls.end(),
                  [&](const auto& call) { return is_bare(call, BodyKind::json_call); });
  if (python == program.calls.end() || has_json) return;
  CallRegion slip;
  slip.start.place = python->start.place;
  slip.start.letters = std::string(1, '{');
  slip.start.known_tools = KnownTools::required;
  slip.start.is_slip = true;
  program.calls.push_back(std::move(slip));
}

// The tokens in markers.
// A vocabulary may have thousands of added tokens. Each one that no marker holds would only make
// the automata's alphabet larger.
std::vector<MarkerToken> used_tokens(const Program& program,
                                     const std::vector<MarkerToken>& tokens) {
  const std::vector<std::string_view> markers = marker_texts(program);
  std::vector<MarkerToken> used;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(used),
               [&](const MarkerToken& token) {
                 return token.text.size() > 1 && !is_blank(token.text) &&
                        std::any_of(markers.begin(), markers.end(), [&](std::string_view text) {
                          return text.find(token.text) != std::string_view::npos;
                        });
               });
  return used;
}

}  // namespace

std::shared_ptr<const Format> Format::compile(Program program,
                                              const std::vector<MarkerToken>& tokens,
                                              MarkerTrust trust,
                                              std::shared_ptr<const OtherFamilies> others) {
  add_slips(program);
  try {
    check_program(program);
  } catch (const FormatError& error) {
    throw FormatError("format '" + program.name + "': " + error.what());
  }
  std::shared_ptr<Format> format(new Format());
  format->openers_ = CallOpeners(program);
  for (const CallRegion& call : program.calls) {
    const bool is_sections = call.start.place == BarePlace::section && call.is(BodyKind::json_call);
    format->has_section_calls_ |= is_sections;
    format->has_bare_calls_ |= call.is_bare() && !is_sections;
  }
  format->program_ = std::move(program);
  format->program_.fingerprint += static_cast<std::uint64_t>(trust);
  if (others) format->program_.fingerprint ^= others->fingerprint();
  format->others_ = std::move(others);
  for (const MarkupRegion& markup : format->program_.markup) {
    format->headers_.push_back(
        markup.header.empty() ? nullptr : Regex::compile("\\A(?:" + markup.header + ")\\Z"));
  }
  std::vector<MarkerToken> used = used_tokens(format->program_, tokens);
  // The spelling counts, whichever tokens write it: then a marker's own token is read as its text.
  if (trust == MarkerTrust::by_text) {
    for (const MarkerToken& token : used) format->spelled_.push_back(token.id);
    std::sort(format->spelled_.begin(), format->spelled_.end());
    used.clear();
  }
  format->set_symbols(std::move(used),
                      "the format's markers hold more tokens than a format can tell apart");
  format->is_strict_ = trust == MarkerTrust::strict;
  if (format->is_strict_) format->check_strict();
  format->tables_ = format->build_tables(trust, false);
  const std::vector<std::string_view> markers = marker_texts(format->program_);
  const bool has_slips = std::any_of(markers.begin(), markers.end(),
                                     [](std::string_view text) { return in_ascii(text) != text; });
  // The second set of tables costs memory, so only a format that has such letters gets it.
  if (has_slips) format->mended_ = std::make_unique<Tables>(format->build_tables(trust, true));
  // Last: it asks the finished tables.
  format->find_quiet_bytes();
  return format;
}

// A format whose markers are no tokens could never open anything: say so before any output.
void Format::check_strict() const {
  const auto has_token = [this](const MarkerTexts& marker) {
    return std::any_of(marker.texts.begin(), marker.texts.end(), [this](const std::string& text) {
      return std::any_of(symbols_.begin(), symbols_.end(), [&](const MarkerToken& token) {
        return text.find(token.text) != std::string::npos;
      });
    });
  };
  const bool has_header =
      std::any_of(program_.markup.begin(), program_.markup.end(), [&](const MarkupRegion& markup) {
        return markup.says_what_follows() && has_token(markup.open);
      });
  const bool opens_call =
      has_token(program_.section.open) ||
      std::any_of(program_.calls.begin(), program_.calls.end(), [&](const CallRegion& call) {
        return has_token(call.open) || (call.start.after_header && has_header);
      });
  if (opens_call) return;
  if (program_.calls.empty()) {
    const auto& reasoning = program_.reasoning;
    const bool has_reasoning = reasoning || program_.has_reasoning_headers();
    if (!has_reasoning || has_header) return;
    if (has_token(reasoning->open) || has_token(reasoning->close)) return;
  }
  throw ArgumentError("strict_markers: no marker of format '" + program_.name +
                      (program_.calls.empty() ? "' around reasoning" : "' that opens a call") +
                      " is a token of this vocabulary, so none could count; leave strict_markers "
                      "out, or pass the tokenizer that the model was trained with");
}

// Letters, digits, the space and punctuation close neither JSON nor Python nor a line.
void Format::find_quiet_bytes() {
  if (has_bare_calls_ || others_) return;  // any letter may begin a call
  const auto may_begin = [](const Tables& tables, unsigned char byte) {
    return tables.by_text.may_begin(byte) || (tables.by_id && tables.by_id->may_begin(byte));
  };
  for (std::size_t i = 0; i < quiet_bytes_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i);
    const bool is_letter = byte >= 0x80 || (byte >= '0' && byte <= '9') ||
                           (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    if (!is_letter &&
        std::string_view(" ,.!?;").find(static_cast<char>(byte)) == std::string_view::npos)
      continue;
    quiet_bytes_[i] = !may_begin(tables_, byte) && !(mended_ && may_begin(*mended_, byte));
  }
}

// A stream may get text for one part of its output and ids for another.
Format::Tables Format::build_tables(MarkerTrust trust, bool adds_slips) const {
  Tables tables;
  // The prompt is read by text, and what it opens is open.
  const MarkerTrust of_text = is_strict_ ? MarkerTrust::by_id : trust;
  tables.by_text = build_marker_table(program_, openers_, {}, of_text, adds_slips);
  if (!symbols_.empty() || is_strict_) {
    tables.by_id = std::make_unique<MarkerTable>(
        build_marker_table(program_, openers_, symbols_, trust, adds_slips));
  }
  return tables;
}

std::shared_ptr<const Format> Format::from_template(
    std::shared_ptr<const ResponseTemplate> response_template, std::uint64_t fingerprint,
    std::string name, const std::vector<MarkerToken>& tokens) {
  std::shared_ptr<Format> format(new Format());
  format->program_.name = std::move(name);
  format->program_.fingerprint = fingerprint;
  format->response_template_ = std::move(response_template);
  // Any of them may be matched by a pattern: hosts must not strip them.
  format->set_symbols(tokens, "the vocabulary has more added tokens than a format can hold");
  return format;
}

bool Format::is_marker(std::string_view text) const {
  const std::vector<std::string_view> markers = marker_texts(program_);
  return std::find(markers.begin(), markers.end(), trim(text)) != markers.end();
}

Symbol Format::symbol_at(std::string_view text) const {
  std::size_t longest = 0, found = 0;
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    const std::string& token = symbols_[i].text;
    if (token.size() <= longest || !text.starts_with(token)) continue;
    longest = token.size();
    found = kFirstTokenSymbol + i;
  }
  return static_cast<Symbol>(found);
}

void Format::set_symbols(std::vector<MarkerToken> tokens, const char* too_many) {
  if (tokens.size() > 0xFFFFU - kFirstTokenSymbol) throw FormatError(too_many);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    symbol_of_.emplace_back(tokens[i].id, static_cast<Symbol>(kFirstTokenSymbol + i));
  std::sort(symbol_of_.begin(), symbol_of_.end());
  for (const MarkerToken& token : tokens)
    program_.fingerprint = fingerprint_of(token.text, program_.fingerprint + token.id);
  symbols_ = std::move(tokens);
}

// A sorted list is smaller than a map, and a format has few symbols.
std::optional<Symbol> Format::symbol(TokenId id) const {
  const auto it =
      std::lower_bound(symbol_of_.begin(), symbol_of_.end(), std::pair<TokenId, Symbol>{id, 0});
  if (it == symbol_of_.end() || it->first != id) return std::nullopt;
  return it->second;
}

bool Format::is_spelled(TokenId id) const {
  return std::binary_search(spelled_.begin(), spelled_.end(), id);
}

}  // namespace unspool
