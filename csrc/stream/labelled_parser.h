// A stream's parser and, if requested, the labels of its tokens. They share the paths of arguments,
// which the parser writes.
#pragma once

#include <memory>
#include <utility>

#include "parser/event_parser.h"
#include "stream/token_labels.h"
#include "template/make_event_parser.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

/// A copy has its own parser, labels and paths.
class LabelledParser {
 public:
  LabelledParser(const LabelledParser& other) : labels_(other.labels_), parser_(other.parser_) {
    // The copied members still point to the original's paths, and the parser writes to them.
    if (labels_) share(std::make_shared<CallPaths>(labels_->paths()));
  }
  LabelledParser(LabelledParser&&) noexcept = default;
  LabelledParser& operator=(const LabelledParser& other) { return *this = LabelledParser(other); }
  LabelledParser& operator=(LabelledParser&&) noexcept = default;

 protected:
  LabelledParser() = default;
  ~LabelledParser() = default;

  /// `labels`: label each token.
  void make_parser(std::shared_ptr<const Format> format, ParserOptions options, bool labels) {
    if (labels) {
      options.audit = true;
      options.label_paths = std::make_shared<CallPaths>();
      labels_ = std::make_unique<TokenLabels>(options.label_paths);
    }
    parser_ = make_event_parser(std::move(format), std::move(options));
  }

  void visit(Archive& archive) {
    bool has_labels = labels_ != nullptr;
    archive(has_labels);
    archive.expect(has_labels == (labels_ != nullptr));
    if (labels_) {
      // Before the labels: they contain indices into the paths, which are checked while they are
      // read.
      auto paths = std::make_shared<CallPaths>(labels_->paths());
      archive(*paths);
      if (archive.is_reading()) share(paths);
      archive(*labels_);
    }
    archive(*parser_);
  }

  ClonedPtr<TokenLabels> labels_;
  ClonedPtr<EventParser> parser_;

 private:
  void share(const std::shared_ptr<CallPaths>& paths) {
    labels_->read_paths_from(paths);
    parser_->write_paths_to(paths);
  }
};

}  // namespace unspool
