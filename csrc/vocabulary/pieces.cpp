#include "vocabulary/pieces.h"

#include "text/scratch.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxPieces = 4096;

}  // namespace

void Pieces::end_piece(std::string_view text) {
  if (ends_.size() == kMaxPieces) {  // not being read: drop the older half
    const End cut = ends_[kMaxPieces / 2 - 1];
    text_.erase(0, cut.text);
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(cut.id));
    ends_.erase(ends_.begin(), ends_.begin() + kMaxPieces / 2);
    for (End& end : ends_) end = {end.text - cut.text, end.id - cut.id};
  }
  text_ += text;
  ends_.push_back({text_.size(), ids_.size()});
}

std::vector<Piece> Pieces::take() {
  std::vector<Piece> pieces;
  End begin;
  for (const End& end : ends_) {
    pieces.push_back({text_.substr(begin.text, end.text - begin.text),
                      std::vector<TokenId>(ids_.begin() + static_cast<std::ptrdiff_t>(begin.id),
                                           ids_.begin() + static_cast<std::ptrdiff_t>(end.id))});
    begin = end;
  }
  text_.clear();
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(begin.id));
  ends_.clear();
  shrink_scratch(text_, ids_, ends_);
  return pieces;
}

void Pieces::visit(Archive& archive) {
  archive(text_, ids_, ends_);
  End before;
  for (const End& end : ends_) {
    archive.expect(end.text >= before.text && end.id >= before.id);
    before = end;
  }
  archive.expect(before.text <= text_.size() && before.id <= ids_.size());
  archive.expect(ends_.size() <= kMaxPieces);
}

}  // namespace unspool
