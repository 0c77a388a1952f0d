// What each token of an answer is: the region of its first byte, the call, the path of the value.
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

/// In the order of unspool.labels.REGIONS.
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

/// Joins the fate of each byte with the tokens that the bytes came from. The parser's input is
/// counted on its way in, and the audit on its way out.
class TokenLabels {
 public:
  /// Bytes with one label, up to where the next run begins.
  struct Run {
    std::uint64_t token;  // the one that its first byte stands in
    bool is_inside;       // it is not that token's first byte
    TokenLabel label;

    void visit(Archive& archive) { archive(token, is_inside, label); }
  };

  explicit TokenLabels(std::shared_ptr<const CallPaths> paths) : paths_(std::move(paths)) {}

  void read_paths_from(std::shared_ptr<const CallPaths> paths) { paths_ = std::move(paths); }

  // The way in:
  /// A token whose text begins after what was read and `held` bytes that the detokenizer holds.
  /// `is_special`: it may end the answer.
  void begin_token(std::size_t held, bool is_special) { add({read_ + held, false, is_special}); }
  /// A token that shows in nothing.
  void skip_token(bool is_special) { add({read_, true, is_special}); }
  /// The first `count` tokens of the stream have begun; so many bytes of theirs were read last.
  void begin_tokens(std::uint64_t count, bool is_special, std::size_t ahead = 0);
  /// The parser gets so many bytes.
  void read(std::size_t bytes) { read_ += bytes; }

  // The way out:
  void put(const ByteLabel& label, std::size_t bytes);
  /// Labels the tokens of which all bytes have their fate; `is_whole`: the last one has no more.
  void settle(bool is_whole);
  /// The stream has ended: labels all of its `count` tokens. `stopped`: the model ended it.
  void finish(std::uint64_t count, bool stopped);

  bool is_final() const { return is_final_; }
  std::span<const LabelRegion> regions() const { return regions_; }
  std::span<const std::int32_t> calls() const { return calls_; }
  /// 1 if a token has bytes of another region or call too.
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
  std::size_t plain_count_ = 0;  // of them, those that are not special
  std::deque<Stretch> fates_;    // of the bytes from the first of them on
  std::vector<LabelRegion> regions_;
  std::vector<std::int32_t> calls_;
  std::vector<std::uint8_t> mixed_;
  std::vector<Run> runs_;
  bool has_ended_ = false;  // with a special token
  bool is_final_ = false;
};

}  // namespace unspool
