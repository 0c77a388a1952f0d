// Values of elements in which `<` may be text, since one letter opens a tag:
//
//   <code>if (a<b) {}</code>          a name goes on with no such letter: `<b` is text
//   <code>a < b, x<y</code>           neither a space nor another `<` can follow
//   <code>vector<int> x</code>        a tag that nothing closes, and that text precedes, is text
//   <where><city>Paris</where>        none precedes: a closing tag is missing
//
// What cannot go on as a tag is text at once, and what follows its `<` is read again.
#include <algorithm>

#include "body/names.h"
#include "body/xml_elements.h"
#include "text/white_space.h"

namespace unspool {

namespace {

bool is_letter_of_tag(char byte) {
  return continues_name(byte) || byte == '-' || byte == '.' || byte == ':';
}

bool begins_one_of(const MarkerTexts& marker, std::string_view text) {
  return std::any_of(marker.texts.begin(), marker.texts.end(),
                     [&](const std::string& each) { return each.starts_with(text); });
}

}  // namespace

std::size_t XmlElements::read_tag_in_value(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!goes_on_as_tag(text[i])) {
      take_opener_as_text();
      return i;
    }
    tag_.put(text.substr(i, 1));
    pass(1);
    if (text[i] != '>') continue;
    state_ = State::text;
    on_tag();
    return i + 1;
  }
  return text.size();
}

// `<name`, with anything after it on its line, or `</name`. The call's own tags, and those of open
// elements, may have other letters in them.
bool XmlElements::goes_on_as_tag(char byte) {
  const std::string_view read = tag_.text().substr(opener_);
  if (byte == '<' || read.size() == kMaxNameBytes) return false;
  const bool is_closing = read.starts_with('/');
  switch (tag_part_) {
    case TagPart::opener:
      if (byte == '/' && read.empty()) return true;
      if (!continues_name(byte)) break;
      tag_part_ = TagPart::name;
      return true;
    case TagPart::name:
      if (is_letter_of_tag(byte) || byte == '>') return true;
      if (!(is_closing ? is_space(byte) : byte == ' ' || byte == '\t' || byte == '/')) break;
      tag_part_ = TagPart::after_name;
      return true;
    case TagPart::after_name:
      if (byte == '>' || (is_closing ? is_space(byte) : byte != '\n')) return true;
      break;
  }
  return begins_own_markup(std::string(tag_.text()) + byte);
}

bool XmlElements::begins_own_markup(const std::string& text) const {
  const std::string_view name = std::string_view(text).substr(opener_);
  const auto is_closer = [&](const XmlElement& element) {
    return name.starts_with('/') && (element.name + '>').starts_with(name.substr(1));
  };
  return begins_one_of(call_.open, text) || begins_one_of(call_.close, text) ||
         (section_close_ != nullptr && begins_one_of(*section_close_, text)) ||
         std::any_of(open_.begin(), open_.end(), is_closer);
}

// Whether the tag is the call's own, or the section's.
bool XmlElements::is_own_markup() const {
  return is_closer_of(call_.close) || opens_call() ||
         (section_close_ != nullptr && is_closer_of(*section_close_));
}

// Half a closing tag may be the value's own, so that only a whole one can end it then.
void XmlElements::take_opener_as_text() {
  const Letters again = std::exchange(tag_, {});
  holds_tag_ = holds_tag_ || again.text().substr(opener_).starts_with('/');
  state_ = State::text;
  read_text(again.text().substr(0, opener_));
  read_again(again.from(opener_));
}

// Whether a tag without a meaning is text in the open value. An object's members follow each other
// without text: there it shows that the output is damaged.
bool XmlElements::may_be_text() const {
  return is_weak_ && !open_.empty() && !is_blank(open_.back().text);
}

// Closes the elements that are open in the one of this name, for their tags were text.
bool XmlElements::take_closer_of_outer(std::string_view name) {
  std::size_t outer = open_.size();
  while (outer > 0 && open_[outer - 1].name != name) --outer;
  if (outer == 0 || outer == open_.size() || !open_[outer].may_be_text) return false;
  const XmlElement& first = open_[outer];
  const std::size_t tag = raw_.rfind('<', first.begin - 1);
  open_[outer - 1].text += raw_.substr(tag);
  open_.resize(outer);
  holds_tag_ = true;
  return true;
}

}  // namespace unspool
