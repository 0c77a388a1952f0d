// Frames for JSON objects: server-sent events, or one object per line.
#pragma once

#include <string>
#include <string_view>

namespace unspool {

class Framing {
 public:
  /// `sse` false: one object per line, without anything that only event streams have.
  explicit Framing(bool sse) : sse_(sse) {}

  /// Writes the text before an object: `data: `, after `event: <name>` if the protocol names
  /// events. The object must not contain a line break.
  void open(std::string_view event, std::string& out) const;
  void close(std::string& out) const { out += sse_ ? "\n\n" : "\n"; }

  /// The end mark of OpenAI's older protocols.
  void done(std::string& out) const;

  /// A comment: clients skip it, and proxies see activity.
  void comment(std::string& out) const;

  bool is_sse() const { return sse_; }

 private:
  bool sse_;
};

}  // namespace unspool
