// Follows a call's arguments while they stream: which values have begun, and which are final. It
// reads the JSON that deltas carry, so it serves every format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "body/json_string.h"
#include "body/value_reader.h"
#include "delta/argument_event.h"
#include "delta/delta.h"

namespace unspool {

/// Reads one answer's calls in order. A value is final when it can no longer change in a complete
/// call: a string at its closing quote, a number at the next byte, an object or array at its
/// closer, the arguments themselves at the end of a complete call.
class ArgumentReader final : private ValueListener {
 public:
  /// Appends the events of a delta. Deltas outside calls have none.
  void put(const Delta& delta, std::vector<ArgumentEvent>& out);

 private:
  using Path = std::shared_ptr<const ArgumentPath>;
  struct Frame {
    Path path;
    ArgumentKind kind;
    std::int64_t index = 0;   // of the current element
    std::uint64_t begin = 0;  // of the container, in the arguments
  };
  enum class Part : std::uint8_t { none, key, string, word };

  void begin_call(std::int32_t call);
  void read(std::string_view text);
  void end_call();

  Answer on_value(std::size_t depth, char first, std::size_t at) override;
  Answer on_value_end(std::size_t depth, std::size_t end) override;
  Answer on_key(std::size_t depth, std::size_t at) override;
  Answer on_key_end(std::size_t depth, std::size_t at) override;
  Answer on_comma(std::size_t depth, std::size_t at) override;

  Path path_here() const;
  void begin_part(Part part, std::size_t at);
  void take(std::size_t end);
  void emit(ArgumentKind kind, const Path& path, std::uint64_t begin, std::uint64_t end,
            bool is_final);

  std::vector<ArgumentEvent>* out_ = nullptr;  // of one put
  std::string_view text_;                      // the current fragment
  std::uint64_t offset_ = 0;                   // of the fragment in the arguments
  std::int32_t call_ = -1;
  ValueReader reader_{kStrictJson};
  std::vector<Frame> frames_;
  Path path_;  // of the current string or word
  ArgumentKind kind_ = ArgumentKind::null;
  Part part_ = Part::none;
  std::size_t taken_ = 0;    // how much of the fragment has been processed
  std::uint64_t begin_ = 0;  // of the unreported part of the string or word, in the arguments
  std::string taken_text_;   // the current part, decoded
  std::string key_;          // of the current member
  JsonStringDecoder decoder_;
};

}  // namespace unspool
