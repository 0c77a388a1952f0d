// Reads markup around text: headers that decide what follows them.
//
// Some families announce each text in a header. It decides what follows:
//
//   <|channel|>analysis<|message|>                             reasoning
//   <|channel|>final<|message|>                                content
//   <|channel|>commentary to=functions.f<|message|>{…}         a call to `f`
//
// States: none, then `State::markup` while the header is read, then the region that it announces. A
// header is whole at its closer; another marker in that place cuts it, and a message may end inside
// of it. Until then its text is `core_.raw`.
//
// Two things make a header text again. Its opener may be a mention (trial: the text before it, or a
// text that no header can have, shows it). Or nothing ends it within 1,024 bytes. The prompt's turn
// may have opened the header, as in `<|start|>assistant`: `of_turn_` says how many bytes are the
// turn's. These have their fate already.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parser/call_reader.h"
#include "parser/header.h"
#include "parser/region_reader.h"
#include "text/archive.h"

namespace unspool {

/// The state of a header's reader between letters; a copy of the parser copies all of it.
class HeaderReaderState {
 protected:
  explicit HeaderReaderState(const Format& format) : header_(format) {}

  Header header_;
  std::size_t of_turn_ = 0;  // how many bytes of the raw text come from the turn
};

class HeaderReader : RegionReader, HeaderReaderState {
 public:
  HeaderReader(ParserCore& core, Dispatcher& parser, CallReader& call)
      : RegionReader(core, parser), HeaderReaderState(core.format()), call_(call) {}
  /// A copy for a copy of the parser.
  HeaderReader(const HeaderReader& other, ParserCore& core, Dispatcher& parser, CallReader& call)
      : RegionReader(core, parser), HeaderReaderState(other), call_(call) {}

  void begin(std::size_t markup);
  /// Continues a header that the turn has opened, with the turn's `text` in it.
  void go_on(std::size_t markup, std::string text);
  void put(std::string_view text);
  /// Reads some of a header; returns how many bytes.
  std::size_t read(std::string_view text);

  void on_markup(const MarkerCursor::Found& match);
  /// Markup within text, such as a citation's; the text around it continues.
  void on_inline_markup(const MarkerCursor::Found& match);
  void on_end(const MarkerCursor::Found& match);
  /// Ends the header at the end of the output.
  void finish(bool is_cut);

  const MarkupRegion& markup() const { return header_.markup(); }
  bool fits(std::string_view text) { return header_.fits(text, false); }
  /// Keeps the header's marker if its audit waits for what it opens.
  void hold_opener(std::string_view marker) { header_.opener = marker; }
  void reset() { header_.opener.clear(); }
  void add_held(Held& out) const { out.add(HeldReason::header, header_.opener); }

  void visit(Archive& archive) {
    archive.given(core_, parser_, at_, call_);
    archive(header_, of_turn_);
  }

 private:
  bool is_prose(std::string_view header) const;
  bool opens_another(bool is_whole) const;
  void release_endless();
  void give_up(std::string_view header, std::size_t of_turn, bool is_text);
  void on_cut(const MarkerCursor::Found& match, std::string_view header, std::size_t of_turn,
              bool fits);
  void on_close(const MarkerCursor::Found& match, std::string_view header, std::size_t of_turn,
                bool fits);
  bool begin_call(std::string_view header);
  void audit_header(std::string_view header, bool of_reasoning = false);

  CallReader& call_;
};

}  // namespace unspool
