// Reads the text of a custom tool's call from its arguments, while they arrive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "body/json_string.h"
#include "text/archive.h"

namespace unspool {

/// The arguments `{"input": "a\nb"}` give the two lines. Arguments without such a string give
/// nothing.
class InputReader {
 public:
  /// Appends what this fragment of the arguments adds to the text.
  void read(std::string_view json, std::string& out);

  void visit(Archive& archive) {
    archive.choice(state_, State::done);
    archive(depth_, is_escaped_, key_, decoder_);
  }

 private:
  enum class State : std::uint8_t { before_key, key, before_value, input, other, string, done };

  /// Reads in one state, and returns how many bytes it took.
  std::size_t step(std::string_view json, std::string& out);
  std::size_t skip(char byte);
  std::size_t decode(std::string_view json, std::string& out, State next);

  State state_ = State::before_key;
  std::uint32_t depth_ = 0;  // within a value that is no input
  bool is_escaped_ = false;
  std::string key_;
  JsonStringDecoder decoder_;
};

}  // namespace unspool
