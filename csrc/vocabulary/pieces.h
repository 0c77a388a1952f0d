// Maps each piece of text to the token ids that it came from.
//
// A piece may have several ids (a character of three byte tokens) and an id may have no piece of
// its own yet (the first of those three).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/archive.h"
#include "vocabulary/token_id.h"

namespace unspool {

struct Piece {
  std::string text;
  std::vector<TokenId> ids;
};

class Pieces {
 public:
  /// Adds an id and the text that became certain with it: a piece, unless the text is empty.
  void add(TokenId id, std::string_view text) {
    ids_.push_back(id);
    if (!text.empty()) end_piece(text);
  }

  /// Adds the last text: it came from the ids that have produced none yet.
  void end(std::string_view text) {
    const std::size_t ended = ends_.empty() ? 0 : ends_.back().id;
    if (!text.empty() || ids_.size() > ended) end_piece(text);
  }

  /// The pieces since the last call, at most the last 4,096. Ids that have produced no text yet
  /// stay for the next piece.
  std::vector<Piece> take();

  void visit(Archive& archive);

 private:
  struct End {
    std::size_t text = 0;
    std::size_t id = 0;

    void visit(Archive& archive) { archive(text, id); }
  };
  void end_piece(std::string_view text);

  // One string for all: a piece of its own would be an allocation per token.
  std::string text_;  // of all pieces, concatenated
  std::vector<TokenId> ids_;
  std::vector<End> ends_;
};

}  // namespace unspool
