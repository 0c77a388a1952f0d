#include "parser/header.h"

#include <algorithm>

#include "text/has_word.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// `analysis` is a word of `<|channel|>analysis<|message|>`, and not of `analysis_tool`.
bool is_beside_word(char c) { return is_space(c) || c == '<' || c == '>'; }

}  // namespace

bool Header::fits(std::string_view text, bool is_whole) {
  const auto& pattern = format_.header(markup_);
  if (!pattern || text.empty()) return true;
  if (!search_) search_ = std::make_unique<RegexSearch>(pattern, 0, 0, false);
  search_->advance({text, 0, is_whole});
  // A pattern must match from the header's first byte on.
  return search_->is_decided() ? search_->match().begin == 0 : search_->earliest() == 0;
}

bool Header::opens_another(std::string_view text, bool is_whole) const {
  const std::vector<std::string>& openers = markup().open.texts;
  // A name that equals the opener's text is a name.
  return !markup().names_tool &&
         std::any_of(openers.begin(), openers.end(), [&](const std::string& open) {
           return is_whole ? open == trim(text) : open.starts_with(trim(text));
         });
}

bool Header::is_without_text(std::string_view text, bool fits) const {
  return markup().is_header_between_markers() &&
         (fits || last_part(text).find_first_of(" \t\r\n") == std::string_view::npos);
}

bool Header::names_stranger(std::string_view text, const ToolSchemas* tools, bool has_calls) const {
  if (!markup().names_tool) return false;
  const std::string_view name = recipient(text);
  // Nobody is named, and the header has nothing else to say.
  if (name.empty()) return true;
  // After a first call, further names are taken as they are: a wrong tool is then a fault of a call
  // and not a text.
  return tools != nullptr && !has_calls && tools->find(name) == nullptr &&
         !contains(markup().not_tools, name);
}

std::string_view Header::tool(std::string_view text) const {
  const std::string_view name = recipient(text);
  return contains(markup().not_tools, name) ? std::string_view{} : name;
}

std::string_view Header::recipient(std::string_view text) const {
  if (markup().names_tool) {
    for (const std::string& open : markup().open.texts) {
      if (text.starts_with(open)) text.remove_prefix(open.size());
    }
    return trim(text);
  }
  // A second recipient corrects the first.
  const std::size_t at = markup().recipient.empty() ? text.npos : text.rfind(markup().recipient);
  if (at == text.npos) return {};
  const std::string_view name = text.substr(at + markup().recipient.size());
  // The recipient is one word; other words of the header follow in any order.
  return name.substr(0, name.find_first_of(" \t\r\n<"));
}

std::string_view Header::last_part(std::string_view text) const {
  std::size_t begin = 0;
  for (const std::string& open : markup().open.texts) {
    for (std::size_t at = text.find(open); at != text.npos; at = text.find(open, at + 1)) {
      if (!is_blank(text.substr(at + open.size()))) begin = std::max(begin, at + open.size());
    }
  }
  return text.substr(begin);
}

bool Header::says(std::string_view text, std::string_view word) const {
  const std::string_view to = trim(markup().recipient);
  const bool names_recipient = !to.empty() && word.starts_with(to);
  return names_recipient ? recipient(text) == word.substr(to.size())
                         : has_word(last_part(text), word, is_beside_word);
}

bool Header::announces_reasoning(std::string_view text) const {
  const std::vector<std::string>& words = markup().reasoning;
  return format_.program().reasoning &&
         std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return says(text, word); });
}

bool Header::announces_calls(std::string_view text) const {
  return contains(markup().calls, trim(text));
}

bool Header::announces_text(std::string_view text) const {
  const std::vector<std::string>& words = markup().texts;
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return says(text, word); });
}

int Header::call() const {
  const auto& calls = format_.program().calls;
  const auto call = std::find_if(calls.begin(), calls.end(), [](const CallRegion& region) {
    return region.start.after_header;
  });
  return call == calls.end() ? -1 : static_cast<int>(call - calls.begin());
}

void Header::visit(Archive& archive) {
  archive(opener);
  const std::size_t count = format_.program().markup.size();
  archive.index(markup_, std::max<std::size_t>(count, 1));
  bool has_search = search_ != nullptr;
  archive(has_search);
  if (archive.is_reading()) search_.reset();
  if (!has_search) return;
  archive.expect(markup_ < count && format_.header(markup_) != nullptr);
  // The search is restored with its threads, which refer to the pattern.
  if (!search_) search_ = std::make_unique<RegexSearch>(format_.header(markup_), 0, 0, false);
  archive(*search_);
}

}  // namespace unspool
