// Determines where the output starts: the prompt's last turn is read like output, but emits
// nothing.
#pragma once

#include <string_view>

#include "parser/call_reader.h"
#include "parser/header_reader.h"
#include "parser/region_reader.h"
#include "parser/trial_reader.h"

namespace unspool {

class TurnReader : RegionReader {
 public:
  TurnReader(ParserCore& core, Dispatcher& parser, HeaderReader& header, CallReader& call,
             TrialReader& trial)
      : RegionReader(core, parser), header_(header), call_(call), trial_(trial) {}

  /// Starts at the position given by the format's own turn and the options.
  void begin();
  /// Starts at the end of `turn`. Call only before the first input.
  void read(std::string_view turn);

 private:
  void read_quietly(std::string_view turn);
  void keep_what_is_open();
  void try_header();
  void forget(State state, bool keeps_body = false);

  HeaderReader& header_;
  CallReader& call_;
  TrialReader& trial_;
};

}  // namespace unspool
