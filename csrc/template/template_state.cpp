// Serializes the template parser's state with an Archive.
#include "template/template_parser.h"

namespace unspool {

void TemplateParser::visit(Archive& archive) {
  archive.same("choice of options", kTemplateParser, audits_, labels_);
  know_tools(archive, tools_.get());
  archive.given(format_, template_, tools_, audits_, labels_);
  archive.scratch(out_, token_end_, reason_, is_muted_);
  const auto fields = static_cast<int>(template_->fields.size());
  archive(by_id_, text_, begin_, place_, prompt_end_, before_, empty_at_, is_watching_);
  archive(current_, is_open_, opener_, captures_, body_, muted_body_, has_text_, space_);
  archive.literal(problem_);
  archive(has_tried_, has_failed_, outside_, outside_begin_, outside_space_, has_outside_, tokens_);
  archive(counts_, extra_, calls_);
  archive.expect(current_ >= -1 && current_ < fields && counts_.size() == template_->fields.size());
  // All slices of the text rely on it.
  archive.expect(place_ >= begin_ && place_ <= end() && muted_body_ <= body_.size());
  visit_watches(archive);
  visit_anchor(archive);
  visit_call(archive);
}

// The active searches at the current position.
void TemplateParser::visit_watches(Archive& archive) {
  std::size_t count = watches_.size();
  archive(count);
  // An opener and a closer per field; more would be forged.
  archive.expect(count <= 2 * template_->fields.size());
  if (archive.is_reading()) watches_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    int field = archive.is_reading() ? 0 : watches_[i].field;
    bool opens = !archive.is_reading() && watches_[i].opens;
    archive.index(field, template_->fields.size());
    archive(opens);
    if (archive.is_reading()) {
      archive.expect(field >= 0);
      const TemplateField& watched = template_->fields[static_cast<std::size_t>(field)];
      const auto& marker = opens ? watched.open : watched.close;
      archive.expect(marker != nullptr);
      // Made anew, because a search refers to its pattern; its threads are read into it.
      watches_.push_back({field, opens, RegexSearch(marker, 0, 0, false)});
    }
    archive(watches_[i].search);
  }
}

void TemplateParser::visit_anchor(Archive& archive) {
  bool has_anchor = anchor_.has_value();
  archive(has_anchor);
  if (archive.is_reading()) {
    anchor_.reset();
    archive.expect(!has_anchor || template_->start_anchor != nullptr);
    if (has_anchor) anchor_.emplace(template_->start_anchor, 0, 0, false);
  }
  if (has_anchor) archive(*anchor_);
}

void TemplateParser::visit_call(Archive& archive) {
  bool has_call = call_ != nullptr;
  archive(has_call);
  if (archive.is_reading()) {
    call_.reset();
    // The same class as before: it follows from the field and the captures, which were read
    // already.
    if (has_call && current_ >= 0) call_ = make_template_call(field(), captures_, tools_.get());
    archive.expect(has_call == (call_ != nullptr) &&
                   (has_call || has_failed_ || !calls_.is_open()));
  }
  if (has_call) archive(*call_);
}

}  // namespace unspool
