// Determines where the output starts: the prompt's last turn is read like output, but is not
// emitted.
//
//   <|im_start|>assistant\nI look.\n<tool_call>\n{"name": "f", "argu     the prompt
//                                                                ments": {}}\n</tool_call>
//
// All of the state stays: half a marker, half a name, an opener on trial. Its bytes have a fate
// only when the output has decided it, so the core counts them (`ParserCore::of_output`). A call
// that the turn opens and does not close is announced with the output, with the arguments so far.
#pragma once

#include <string_view>

#include "format/turn.h"
#include "parser/call_reader.h"
#include "parser/header_reader.h"
#include "parser/region_reader.h"

namespace unspool {

class TurnReader : RegionReader {
 public:
  TurnReader(ParserCore& core, Dispatcher& parser, HeaderReader& header, CallReader& call)
      : RegionReader(core, parser), header_(header), call_(call) {}

  /// Starts at the position given by the format's own turn and the options.
  void begin();
  /// Starts at the end of the prompt. Call only before the first input.
  void read_prompt(std::string_view prompt);
  /// Reads the turn again, now that its markers are tokens.
  void expect_ids();

 private:
  void read(const PromptTurn& turn);
  void put(std::string_view text);
  bool is_open() const;
  bool lacks_closer() const;
  void try_header(const PromptTurn& turn);
  void forget(State state);

  HeaderReader& header_;
  CallReader& call_;
};

}  // namespace unspool
