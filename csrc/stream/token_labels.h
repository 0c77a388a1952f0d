// The label of each token of an answer: the region of its first byte, the call, the value's path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "parser/call_paths.h"
#include "parser/events.h"
#include "text/archive.h"

namespace unspool {

/// In the order of unspool.core.stream.labels.REGIONS.
enum class LabelRegion : std::uint8_t {
  content,
  reasoning,
  markup,
  name,
  arguments,
  end,
  skipped,
};

struct TokenLabel {
  LabelRegion region = LabelRegion::skipped;
  std::int32_t call = -1;
  CallPaths::Id path = CallPaths::kRoot;

  bool operator==(const TokenLabel&) const = default;

  void visit(Archive& archive) {
    archive.choice(region, LabelRegion::skipped);
    archive(call);
    archive.index(path, archive.path_end);
    archive.expect(path >= 0 && call >= -1);
  }
};

/// Maps the fate of each byte to the tokens that produced it. It counts the parser's input on the
/// way in, and the audit on the way out.
class TokenLabels {
 public:
  /// Bytes with one label, up to the beginning of the next run.
  struct Run {
    std::uint64_t token;  // the token that contains its first byte
    bool is_inside;       // the first byte is not the token's first
    TokenLabel label;

    void visit(Archive& archive) { archive(token, is_inside, label); }
  };

  explicit TokenLabels(std::shared_ptr<const CallPaths> paths) : paths_(std::move(paths)) {}

  void read_paths_from(std::shared_ptr<const CallPaths> paths) { paths_ = std::move(paths); }

  // The way in:
  /// A token whose text begins after the text read so far and `held` bytes in the detokenizer.
  /// `is_special`: it may end the answer.
  void begin_token(std::size_t held, bool is_special) { add({read_ + held, false, is_special}); }
  /// A token that produces no text.
  void skip_token(bool is_special) { add({read_, true, is_special}); }
  /// The first `count` tokens of the stream have begun; `ahead` bytes of theirs have been read.
  void begin_tokens(std::uint64_t count, bool is_special, std::size_t ahead = 0);
  /// The parser has received this many bytes.
  void read(std::size_t bytes) { read_ += bytes; }

  // The way out:
  void put(const ByteLabel& label, std::size_t bytes);
  /// Labels the tokens whose bytes all have their fate; `is_whole`: the last one has no more bytes.
  void settle(bool is_whole);
  /// The stream has ended: labels all of its `count` tokens. `stopped`: the model ended it.
  void finish(std::uint64_t count, bool stopped);

  bool is_final() const { return is_final_; }
  std::span<const LabelRegion> regions() const { return regions_; }
  std::span<const std::int32_t> calls() const { return calls_; }
  /// 1 if a token also has bytes of another region or call.
  std::span<const std::uint8_t> mixed() const { return mixed_; }
  std::span<const Run> runs() const { return runs_; }
  const CallPaths& paths() const { return *paths_; }

  void visit(Archive& archive);

 private:
  struct Token {
    std::uint64_t begin;
    bool is_skipped;
    bool is_special;

    void visit(Archive& archive) { archive(begin, is_skipped, is_special); }
  };
  struct Stretch {
    std::uint64_t begin;
    TokenLabel label;

    void visit(Archive& archive) { archive(begin, label); }
  };

  void add(const Token& token) {
    pending_.push_back(token);
    if (!token.is_special) ++plain_count_;
  }
  void add_token(const Token& token, std::uint64_t end,
                 LabelRegion left_out = LabelRegion::skipped);
  void finish_token(std::size_t i, bool stopped);
  void add_run(const TokenLabel& label, bool is_inside);

  std::shared_ptr<const CallPaths> paths_;
  std::uint64_t read_ = 0;       // bytes in
  std::uint64_t fated_ = 0;      // bytes out
  std::deque<Token> pending_;    // tokens without a label
  std::size_t plain_count_ = 0;  // how many of them are not special
  std::deque<Stretch> fates_;    // of the bytes from the first pending token on
  std::vector<LabelRegion> regions_;
  std::vector<std::int32_t> calls_;
  std::vector<std::uint8_t> mixed_;
  std::vector<Run> runs_;
  bool has_ended_ = false;  // with a special token
  bool is_final_ = false;
};

}  // namespace unspool
