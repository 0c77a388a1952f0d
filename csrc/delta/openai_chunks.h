// Common parts of OpenAI's two older protocols: the chunks' head, the usage chunk, the end mark,
// the error.
#pragma once

#include <string>
#include <string_view>

#include "delta/wire_writer.h"

namespace unspool {

class OpenaiChunks : public WireWriter {
 protected:
  /// `object`: the protocol's name for a chunk.
  OpenaiChunks(WireOptions options, std::string_view id_prefix, std::string_view object);

  /// `{"id":…,"object":…,"created":…,"model":…` and the members of `extra`.
  void append_head(std::string_view object, std::string& out) const;
  const std::string& chunk_head() const { return chunk_head_; }

  void visit_own(Archive& archive) override { archive.given(chunk_head_); }

  void do_end(const Ending& ending, std::string& out) override;
  void do_fail(const WireError& error, std::string& out) override;

 private:
  std::string chunk_head_;
};

}  // namespace unspool
