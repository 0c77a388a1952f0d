// Frames around JSON objects: server-sent events, or one object a line.
#pragma once

#include <string>
#include <string_view>

namespace unspool {

class Framing {
 public:
  /// `sse` false: each object is a line, without what only an event stream has.
  explicit Framing(bool sse) : sse_(sse) {}

  /// What stands before an object: `data: `, with `event: <name>` above it where the protocol has
  /// names. The object must hold no line break.
  void open(std::string_view event, std::string& out) const;
  void close(std::string& out) const { out += sse_ ? "\n\n" : "\n"; }

  /// The end mark of OpenAI's older protocols.
  void done(std::string& out) const;

  /// What clients skip and proxies count as life.
  void comment(std::string& out) const;

  bool is_sse() const { return sse_; }

 private:
  bool sse_;
};

}  // namespace unspool
