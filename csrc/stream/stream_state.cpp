// Serializes the state of a live stream with an Archive.
#include <string>
#include <utility>

#include "format/format.h"
#include "stream/token_streamer.h"
#include "text/error.h"

namespace unspool {

void ChunkParser::visit(Archive& archive) {
  leave_rest();  // a restored stream finds its rest after its first token
  // Checked first: states of another format would be read as nonsense.
  archive.same("format", format_->program().fingerprint,
               kept_reasoning_ ? kept_reasoning_->program().fingerprint : 0);
  archive.same("vocabulary", has_vocabulary());
  archive.same("choice of options", stop_in_, content_stop_ != nullptr, labels_ != nullptr);
  archive.given(skip_special_tokens_, start_is_given_, texts_, text_count_, reasons_, tools_);
  archive.scratch(text_, rest_, is_rare_, has_passed_, last_byte_, line_);
  // A symbol is an index into the format's tables, and the bytes may be forged.
  archive.symbol_end = static_cast<std::uint32_t>(kFirstTokenSymbol + format_->symbols().size());
  LabelledParser::visit(archive);
  if (detokenizer_) archive(*detokenizer_);
  if (content_stop_) archive(*content_stop_);
  archive(repeats_tag_, special_, special_end_, builder_, aligner_, utf8_, is_finished_);
  archive.choice(input_, Input::both);
  archive(has_prompt_, ids_, ids_begin_, token_count_, told_, counts_, undecided_, calls_seen_);
  archive(counted_);
  archive.expect(!repeats_tag_ || kept_reasoning_ != nullptr);
  archive.expect(input_ != Input::ids || detokenizer_);
  // Events point to reasons, which are literals in a live stream; a restored one owns them.
  if (archive.is_reading()) reasons_ = archive.texts();
}

void TokenStreamer::visit(Archive& archive) {
  archive.same("choice of options", audits_, keeps_audit_, whole_calls_ != nullptr);
  // Of the stream that continues: it may deliver elsewhere.
  archive.given(channel_, choice_, closes_channel_, makes_deltas_, passes_plain_, window_);
  archive.scratch(was_long_, deltas_, is_plain_delta_, sent_count_);
  archive.choice(first_put_, FirstPut::row_is_prompt);
  archive(parser_, audit_);
  if (whole_calls_) archive(*whole_calls_);
  if (!archive.is_reading()) events_.pass_over(parser_.told());
  events_.visit_place(archive);
}

std::string TokenStreamer::snapshot() const {
  if (has_unsent()) {
    throw StreamError(
        "deltas of this stream wait for their channel; send them before the snapshot");
  }
  if (window_) {
    throw ArgumentError("a stream with a rollback_window has no snapshot; make it without one");
  }
  std::string state;
  Archive archive(state);
  const_cast<TokenStreamer*>(this)->visit(archive);  // writing changes nothing
  return state;
}

void TokenStreamer::restore(std::string_view state) {
  if (window_) {
    throw ArgumentError("a stream with a rollback_window has no snapshot; make it without one");
  }
  Archive archive(state);
  visit(archive);
  archive.end();
}

}  // namespace unspool
