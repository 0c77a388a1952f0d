// unspool in a host of OpenVINO GenAI: a streamer that `pipeline.generate` drives, and a parser for
// hosts that have their own.
#pragma once

#include <unspool.h>

#include <openvino/genai/streamer_base.hpp>
#include <utility>

/// Give it to `generate` as the streamer; read deltas from its channel in another thread. The model
/// stops when the reader cancels the channel, or a stop string ends the text.
class OpenVinoStreamer : public ov::genai::StreamerBase {
 public:
  OpenVinoStreamer(std::shared_ptr<const unspool::Format> format,
                   unspool::TokenStreamerOptions options)
      : streamer_(std::move(format), std::move(options)) {}

  /// The prompt as the chat template wrote it, before `generate`: it shows whether the answer
  /// starts inside reasoning.
  void put_prompt(std::string_view text) { streamer_.put_prompt(text); }

  ov::genai::StreamingStatus write(std::int64_t token) override {
    return write(std::vector<std::int64_t>{token});
  }

  ov::genai::StreamingStatus write(const std::vector<std::int64_t>& tokens) override {
    try {
      streamer_.put(std::vector<unspool::TokenId>(tokens.begin(), tokens.end()));
      if (streamer_.wants_more()) return ov::genai::StreamingStatus::RUNNING;
      return streamer_.stream().is_stopped() ? ov::genai::StreamingStatus::STOP
                                             : ov::genai::StreamingStatus::CANCEL;
    } catch (...) {
      streamer_.fail(std::current_exception());
      return ov::genai::StreamingStatus::CANCEL;
    }
  }

  /// GenAI calls it twice, and does not say why it ended; a host that has the result calls `finish`
  /// instead, with the reason, and makes `ends_with_generate` false.
  void end() override {
    if (!ends_with_generate) return;
    try {
      finish(unspool::FinishReason::stop);
    } catch (...) {  // what escapes a streamer ends the process
      streamer_.fail(std::current_exception());
    }
  }

  void finish(unspool::FinishReason reason) {
    if (!streamer_.stream().is_finished()) streamer_.end(reason);
  }

  bool ends_with_generate = true;

 private:
  unspool::TokenStreamer streamer_;
};

/// For hosts that detokenize themselves and call `parseChunk` for each text: JSON of each delta, as
/// chat completions send it. There may be several for one text; what the API has no words for is
/// not among them.
class OpenVinoOutputParser {
 public:
  OpenVinoOutputParser(std::shared_ptr<const unspool::Format> format,
                       unspool::ChunkParserOptions options)
      : streamer_(std::move(format), {std::move(options), nullptr}) {}

  /// `finish_reason`: nullopt while the model goes on.
  std::vector<std::string> parseChunk(
      const std::string& text, const std::vector<std::int64_t>& tokens,
      std::optional<unspool::FinishReason> finish_reason = std::nullopt) {
    std::vector<std::string> written;
    const std::vector<unspool::TokenId> ids(tokens.begin(), tokens.end());
    for (const unspool::Delta& delta : streamer_.parse_chunk(text, ids, finish_reason)) {
      std::string json;
      unspool::append_chat_delta(delta, unspool::ReasoningField::reasoning_content, json);
      if (json != "{}") written.push_back(std::move(json));
    }
    return written;
  }

  const unspool::Message& message() const { return streamer_.message(); }

 private:
  unspool::TokenStreamer streamer_;
};
