// Reads a call's body and closer that the model repeats directly after the call.
#pragma once

#include "parser/region_reader.h"

namespace unspool {

class EchoReader : RegionReader {
 public:
  EchoReader(ParserCore& core, Dispatcher& parser) : RegionReader(core, parser) {}

  /// Whether the letter belongs to the last call's echo. White space before an echo is read as
  /// usual.
  bool read(const Letter& letter);
  /// No echo follows: reads the held text again.
  void give_up() {
    if (core_.echo.is_expected()) parser_.read_again(core_.echo.give_up());
  }

 private:
  bool may_begin() const;
  void drop();
};

}  // namespace unspool
