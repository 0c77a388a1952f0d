#include "body/slips.h"

#include <utility>

#include "text/common_prefix.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A shorter marker is met by chance.
constexpr std::size_t kMinBytes = 4;

bool ends_alike(std::string_view text, std::string_view variant) {
  if (variant.size() > TextEnd::kSize) variant.remove_prefix(variant.size() - TextEnd::kSize);
  return text.ends_with(variant);
}

}  // namespace

void TextEnd::put_bytes(std::string_view piece) {
  for (const char byte : piece) {
    if (byte == first_ || size_ == kSize) size_ = 0;  // that is too long for a tag
    if ((size_ > 0 && !is_space(byte)) || byte == first_) bytes_[size_++] = byte;
  }
}

void TextEnd::visit(Archive& archive) {
  archive(bytes_, size_, first_, begins_pieces_);
  archive.expect(size_ <= kSize);
}

bool ends_with_slip(std::string_view text, std::string_view marker) {
  if (marker.size() < kMinBytes) return false;
  if (ends_alike(text, marker)) return true;
  for (std::size_t i = 0; i < marker.size(); ++i) {
    std::string variant(marker);
    variant.erase(i, 1);
    if (ends_alike(text, variant)) return true;
    variant.assign(marker);
    variant.insert(i, 1, marker[i]);
    if (ends_alike(text, variant)) return true;
    if (i + 1 == marker.size() || marker[i] == marker[i + 1]) continue;
    variant.assign(marker);
    std::swap(variant[i], variant[i + 1]);
    if (ends_alike(text, variant)) return true;
  }
  return false;
}

bool lacks_letter(std::string_view text, std::string_view marker) {
  return text.size() + 1 == marker.size() && may_lack_letter(text, marker);
}

bool may_lack_letter(std::string_view text, std::string_view marker) {
  if (marker.size() < kMinBytes || text.size() >= marker.size()) return false;
  const std::size_t same = common_prefix(text, marker);
  if (same == 0) return false;
  return same == text.size() || marker.substr(same + 1).starts_with(text.substr(same));
}

}  // namespace unspool
