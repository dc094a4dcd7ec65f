// File: commit.h
// How a written file becomes permanent: fsync of the file, its final name, fsync of the folder.
// Everything that the program leaves behind goes this way.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/support/file.h"

namespace attnscope {

// The end of an ErrorDetail::next after which a run with finished shards goes on with --resume.
inline constexpr std::string_view kRunItAgain = "run it again";

// `temporary` lies in the same folder as `path` and is gone afterwards, also after an error (exit
// 3). A failed sync removes the file: its pages may already be dropped, so that a second try would
// succeed without the data being there.
void commit_file(const std::string& temporary, const std::string& path, WriteMode mode);

// Writes `content` to `temporary`, replacing what a killed process left there, and commits it.
void write_and_commit(const std::string& temporary, const std::string& path,
                      std::string_view content, WriteMode mode);

void sync_folder(const std::string& folder);
std::string folder_of(const std::string& path);

}  // namespace attnscope
