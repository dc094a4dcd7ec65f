// File: sidecar.h
// OUT.json beside a result file: what must not stand in the file itself.
#pragma once

#include <string>
#include <vector>

#include "attnscope/storage/output.h"

namespace attnscope::cli {

// Writes it for `path`, whose SHA-256 is `sha256`: hash, version, time and command line.
void write_sidecar(const std::string& path, const std::string& sha256,
                   const std::vector<std::string>& command_line);

// What --force says about a file that exists.
IfExists if_exists(bool force);

}  // namespace attnscope::cli
