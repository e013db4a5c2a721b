#pragma once

#include <git2.h>

#include <string_view>
#include <utility>

#include "base/result.h"

namespace pawl::forge {

/// Owns one object of libgit2. `out()` is for the functions that make it. Move-only.
template <class T, void (*Free)(T*)>
class GitHandle {
 public:
  GitHandle() = default;
  GitHandle(GitHandle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  GitHandle& operator=(GitHandle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~GitHandle() {
    if (raw_ != nullptr) Free(raw_);
  }
  [[nodiscard]] T* get() const { return raw_; }
  [[nodiscard]] T** out() { return &raw_; }

 private:
  T* raw_ = nullptr;
};

using GitBlob = GitHandle<git_blob, git_blob_free>;
using GitCommit = GitHandle<git_commit, git_commit_free>;
using GitDiff = GitHandle<git_diff, git_diff_free>;
using GitIndex = GitHandle<git_index, git_index_free>;
using GitPatch = GitHandle<git_patch, git_patch_free>;
using GitReference = GitHandle<git_reference, git_reference_free>;
using GitSignature = GitHandle<git_signature, git_signature_free>;
using GitTree = GitHandle<git_tree, git_tree_free>;
using GitTreeEntry = GitHandle<git_tree_entry, git_tree_entry_free>;

/// A text that libgit2 wrote.
class GitText {
 public:
  GitText() = default;
  GitText(const GitText&) = delete;
  GitText& operator=(const GitText&) = delete;
  ~GitText() { git_buf_dispose(&raw_); }
  [[nodiscard]] git_buf* out() { return &raw_; }
  [[nodiscard]] std::string_view view() const { return {raw_.ptr, raw_.size}; }

 private:
  git_buf raw_{};
};

/// Makes libgit2 usable, once a process, with everything that it writes brought to disk before it returns. Called by
/// whatever uses libgit2 first. Thread-safe.
void use_git();

/// What the last call of libgit2 on this thread complained about, as our error; `code` is its result.
[[nodiscard]] Error git_trouble(int code, std::string_view doing);

}  // namespace pawl::forge
