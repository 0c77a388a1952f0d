// Reads content in which a call may begin without an opener: at the start of the message, of a
// line, or of a fenced block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parser/call_reader.h"
#include "parser/echo_reader.h"
#include "parser/region_reader.h"

namespace unspool {

class ContentReader : RegionReader {
 public:
  ContentReader(ParserCore& core, Dispatcher& parser, CallReader& call, EchoReader& echo)
      : RegionReader(core, parser),
        has_bare_calls_(core.format().has_bare_calls()),
        has_section_calls_(core.format().has_section_calls()),
        call_(call),
        echo_(echo) {}

  /// Reads some of the text; returns how many bytes.
  std::size_t read(std::string_view text);
  /// Reads a byte of a possible opening line of a fenced block, or of its end.
  std::size_t read_fence(char byte);

 private:
  std::size_t put(std::string_view text);
  std::size_t read_bare(std::string_view text);
  void follow_lines(std::string_view read);
  bool begins_bare(char byte);
  bool begins_candidate(char byte);
  std::size_t read_candidate(std::string_view text);
  int bare_call_at(char byte) const;
  bool may_begin(const CallRegion& call) const;
  bool fence_goes_on(char byte) const;
  bool begin_fenced(char byte);
  bool may_be_example(std::string_view begun, bool is_fenced);

  /// Whether calls of a section may follow here.
  bool is_in_gap() const { return at_.in_section && at_.boundary == Boundary::after_markup; }

  const bool has_bare_calls_;
  const bool has_section_calls_;
  CallReader& call_;
  EchoReader& echo_;
};

}  // namespace unspool
