// What the template writes around text: headers that say what follows them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "parser/call_reader.h"
#include "parser/header.h"
#include "parser/region_reader.h"

namespace unspool {

class HeaderReader : RegionReader {
 public:
  HeaderReader(ParserCore& core, Dispatcher& parser, CallReader& call)
      : RegionReader(core, parser), header_(core.format()), call_(call) {}

  /// Begins a header; `is_begun`: the prompt has begun it.
  void begin(std::size_t markup, bool is_begun);
  /// Reads a byte at the output's start, which may go on with a header that the prompt has opened.
  std::size_t read_beginning(char byte);
  /// Reads some of a header: how many bytes.
  std::size_t read(std::string_view text);

  void on_markup(const MarkerCursor::Found& found);
  /// Markup within text, such as a citation's: the text around it goes on.
  void on_inline_markup(const MarkerCursor::Found& found);
  void on_end(const MarkerCursor::Found& found);
  /// Ends the header, with the output.
  void finish(bool is_cut);

  bool fits(std::string_view text) { return header_.fits(text, false); }
  /// The header's marker, where its audit waits for what it opens.
  void hold_opener(std::string_view marker) { header_.opener = marker; }
  void reset() { header_.opener.clear(); }
  void add_held(Held& out) const { out.add(HeldReason::header, header_.opener); }

 private:
  bool is_prose() const;
  void release_begun();
  void release_endless();
  void give_up(std::string_view header);
  void on_cut(const MarkerCursor::Found& found, const std::string& header, bool fits);
  void on_close(const MarkerCursor::Found& found, const std::string& header, bool fits);
  bool begin_call(std::string_view header);
  void audit_header(std::string_view header, bool of_reasoning = false);

  Header header_;
  CallReader& call_;
};

}  // namespace unspool
