#include "model_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "unsupported_formats.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRefBytes = 256;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

// A name that may be part of a path: letters, digits, '.', '_' and '-', not starting with a dot.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-');
         });
}

std::string base_name(const std::string& path) {
  fs::path p(path);
  if (!p.has_filename()) p = p.parent_path();
  std::error_code error;
  const std::string name = p.filename().string();
  if (name == "." || name == "..") return fs::canonical(p, error).filename().string();
  return name;
}

// models--org--name → org/name
std::string repository_name(std::string_view folder) {
  std::string name(folder.substr(8));
  const std::size_t at = name.find("--");
  if (at != std::string::npos) name.replace(at, 2, "/");
  return name;
}

std::string snapshot_folder(const std::string& cache_folder, Warnings& warnings) {
  const std::string snapshots = cache_folder + "/snapshots";
  const std::string where = escape_untrusted(cache_folder, 4096);
  const std::string ref = cache_folder + "/refs/main";
  if (exists(ref)) {
    const std::string revision(trim(read_text_file(ref, "CK03", kRefBytes)));
    if (!is_plain_name(revision) || !is_folder(snapshots + "/" + revision)) {
      throw Error(
          ErrorKind::input, "CK03",
          {.where = where,
           .what = "refs/main names " + quote(revision) + ", which is not among the snapshots",
           .next = "download the model again"});
    }
    return snapshots + "/" + revision;
  }
  std::vector<std::string> found;
  if (is_folder(snapshots)) found = entries_of(snapshots);
  if (found.size() == 1 && is_folder(snapshots + "/" + found.front())) {
    warnings.add(where + ": has no refs/main; its only snapshot is used");
    return snapshots + "/" + found.front();
  }
  throw Error(ErrorKind::input, "CK03",
              {.where = where,
               .what = "the cache folder has no refs/main",
               .got = count_of(found.size(), "snapshot"),
               .next = "name one: " + where + "/snapshots/REVISION"});
}

ModelPlace place_in_cache(const std::string& cache_folder, Warnings& warnings) {
  return {.folder = snapshot_folder(cache_folder, warnings),
          .custom_json = "",
          .name = repository_name(base_name(cache_folder))};
}

// org/name or name, as the hub writes it.
bool is_hub_name(const std::string& model) {
  const std::vector<std::string> parts = split(model, '/');
  return parts.size() <= 2 && std::all_of(parts.begin(), parts.end(),
                                          [](const std::string& p) { return is_plain_name(p); });
}

std::vector<std::string> cached_models(const std::string& cache) {
  std::vector<std::string> names;
  if (!is_folder(cache)) return names;
  for (const std::string& entry : entries_of(cache)) {
    if (entry.starts_with("models--")) names.push_back(repository_name(entry));
  }
  return names;
}

[[noreturn]] void not_found(const std::string& model) {
  const std::string cache = hub_cache_folder();
  const std::vector<std::string> near = nearest(model, cached_models(cache));
  std::string next = "nothing is downloaded: fetch the model first";
  if (!near.empty()) next = "nearest in the cache: " + escape_untrusted(join(near, ", "));
  throw Error(ErrorKind::input, "CK01",
              {.where = escape_untrusted(model, 4096),
               .what = "no such model: neither a folder nor a file, and not in " +
                       escape_untrusted(cache, 4096),
               .next = next});
}

ModelPlace place_of_file(const std::string& path) {
  const std::string name = base_name(path);
  if (name.ends_with(".json")) {
    const std::string folder =
        fs::path(path).has_parent_path() ? fs::path(path).parent_path().string() : std::string(".");
    return {.folder = folder, .custom_json = path, .name = name.substr(0, name.size() - 5)};
  }
  refuse_weight_file(path);
  throw Error(ErrorKind::input, "CK02",
              {.where = escape_untrusted(path, 4096),
               .what = "is not a model",
               .expected = "a model folder with config.json and model.safetensors, or a custom "
                           "model's FILE.json"});
}

bool is_under(const fs::path& path, const fs::path& folder) {
  const auto [in_folder, in_path] =
      std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return in_folder == folder.end() && in_path != path.end();
}

}  // namespace

std::string hub_cache_folder() {
  if (const std::string cache = environment("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return home + "/hub";
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return xdg + "/huggingface/hub";
  }
  return environment("HOME") + "/.cache/huggingface/hub";
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) {
    throw Error(ErrorKind::input, "CK04",
                {.where = escape_untrusted(folder, 4096),
                 .what = "cannot list the folder: " + error.message()});
  }
  std::sort(names.begin(), names.end());
  return names;
}

ModelPlace find_model(const std::string& model, Warnings& warnings) {
  if (model.empty() || model.find('\0') != std::string::npos) {
    throw Error(ErrorKind::input, "CK01",
                {.where = quote(model), .what = "is not the name of a model"});
  }
  if (is_folder(model)) {
    const std::string name = base_name(model);
    if (name.starts_with("models--") && is_folder(model + "/snapshots")) {
      return place_in_cache(model, warnings);
    }
    return {.folder = model, .custom_json = "", .name = name};
  }
  if (exists(model)) return place_of_file(model);
  if (is_hub_name(model)) {
    std::string folder = "models--" + model;
    if (const std::size_t slash = folder.find('/'); slash != std::string::npos) {
      folder.replace(slash, 1, "--");
    }
    const std::string path = hub_cache_folder() + "/" + folder;
    if (is_folder(path)) return place_in_cache(path, warnings);
  }
  not_found(model);
}

std::optional<std::string> file_in_folder(const std::string& folder, const std::string& name,
                                          const std::string& code) {
  const std::string path = folder + "/" + name;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  if (!S_ISLNK(info.st_mode)) return path;

  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::input, code,
                {.where = escape_untrusted(path, 4096),
                 .what = what,
                 .next = "put the file itself into the folder"});
  };
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (error) refuse("is a symbolic link to nothing");
  const fs::path root = fs::canonical(folder, error);
  // A snapshot of the cache lies at REPOSITORY/snapshots/REVISION; its files are in blobs/.
  const fs::path repository = root.parent_path().parent_path();
  const bool in_blobs = root.parent_path().filename() == "snapshots" &&
                        repository.filename().string().starts_with("models--") &&
                        is_under(target, repository / "blobs");
  if (!in_blobs && !is_under(target, root)) {
    refuse("is a symbolic link out of the model folder");
  }
  if (!fs::is_regular_file(target, error)) refuse("is not a regular file");
  return target.string();
}

}  // namespace attnscope
