// The streams of an engine's running requests, fed together: one call per engine step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "delta/wire_writer.h"
#include "stream/batch_result.h"
#include "stream/stream_recipe.h"

namespace unspool {

/// Options of a new stream.
struct SlotOptions {
  std::shared_ptr<WireWriter> writer;  // null: only deltas
  std::int32_t choice = 0;             // index of the writer's answer
  bool keeps_deltas = false;           // in addition to the writer's bytes
  std::vector<TokenId> end_ids;        // ids that end the answer, in addition to the format's
};

/// Only one caller at a time. Model output never throws; caller errors throw before anything
/// changes.
class StreamBatch {
 public:
  /// Creates a stream and returns the lowest free slot. A writer may serve several slots, one for
  /// each of its answers; nothing else may write deltas with it.
  Slot add(const StreamRecipe& recipe, SlotOptions options);

  /// Copies a slot's stream into a new slot that continues independently. `options` determine the
  /// copy's writer; its end ids are those of the slot.
  Slot fork(Slot slot, SlotOptions options);

  /// Feeds each slot its ids: `ids[i]` to `slots[i]` or, with `offsets`, those from `offsets[i]` to
  /// `offsets[i + 1]`. A slot may occur only once per step.
  std::shared_ptr<BatchResult> step(std::span<const Slot> slots, std::span<const TokenId> ids,
                                    std::optional<std::span<const std::int64_t>> offsets = {});

  /// Ends an answer: its last deltas and bytes. To end the response, call the writer's `end` or
  /// `fail`.
  std::shared_ptr<BatchResult> finish(Slot slot, FinishReason reason);

  /// Undoes the slot's last ids, as `TokenStreamer::rollback` does; a result with this slot only.
  /// Throws ArgumentError if a writer has written them.
  std::shared_ptr<BatchResult> rollback(Slot slot, std::size_t count);

  /// Frees the slot, finished or not.
  void remove(Slot slot);

  /// Throws ArgumentError if the slot is free.
  const TokenStreamer& stream(Slot slot) const;

  std::size_t size() const { return size_; }

 private:
  struct Stream {
    std::shared_ptr<WireWriter> writer;
    std::uint64_t last_step = 0;
    bool keeps_deltas = false;
    bool feeds_plain = false;  // only bytes are wanted, and no end id can be plain
    bool is_plain = false;     // its id of this step
    TokenStreamer streamer;
    std::vector<TokenId> end_ids = {};  // sorted
  };
  struct Step;

  Slot place(TokenStreamer streamer, SlotOptions options);
  Stream& at(Slot slot) const;
  void check_writer(const SlotOptions& options) const;
  void check(const Step& step);
  void check_one(Slot slot, const Stream& stream) const;
  std::shared_ptr<BatchResult> new_result();
  std::shared_ptr<BatchResult> result_of(Slot slot, Stream& stream);
  void run(const Step& step, BatchResult& result);
  static void prefetch(const Stream& stream);
  static bool feed(Stream& stream, std::span<const TokenId> ids, BatchResult& result);
  static void feed_plain(Stream& stream, TokenId id, BatchResult& result);
  static void write(Stream& stream, const TextFragment& fragment, BatchResult& result);
  static void deliver(Stream& stream, BatchResult& result);

  std::vector<std::unique_ptr<Stream>> streams_;  // by slot; null: free
  std::size_t size_ = 0;
  std::uint64_t step_count_ = 0;
  std::array<std::shared_ptr<BatchResult>, 2> results_;  // reused if nothing else holds them
};

}  // namespace unspool
