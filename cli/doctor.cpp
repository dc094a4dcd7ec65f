// attnscope doctor: options → DoctorSpec → this machine, then the checks of attnscope-run.
#include <hdf5.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "attnscope/spec/model_specs.h"
#include "attnscope/storage/h5.h"
#include "attnscope/support/build_info.h"
#include "attnscope/support/json.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "command.h"
#include "console/output.h"
#include "console/table.h"
#include "launch.h"
#include "shared_options.h"

namespace attnscope::cli {
namespace {

using Json = nlohmann::ordered_json;

// The value after "key : " in a file of /proc; empty when there is none.
std::string proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) return std::string(trim(line.substr(colon + 1)));
  }
  return "";
}

std::string memory_text(const std::string& key) {
  const std::string value = proc_value("/proc/meminfo", key);
  const auto kib = parse_integer(value.substr(0, value.find(' ')));
  return kib ? format_bytes(static_cast<std::uint64_t>(*kib) * 1024) : "unknown";
}

std::string hdf5_text() {
  hbool_t threadsafe = false;
  const bool known = H5is_library_threadsafe(&threadsafe) >= 0;
  return h5::library_version() + (known && threadsafe ? ", thread-safe" : ", not thread-safe");
}

Json machine_json() {
  const BuildInfo& build = build_info();
  return {{"attnscope", build.version + ", commit " + build.git_commit + ", " + build.build_type +
                            ", " + build.compiler},
          {"hdf5", hdf5_text()},
          {"processor", proc_value("/proc/cpuinfo", "model name")},
          {"cores", std::thread::hardware_concurrency()},
          {"memory", memory_text("MemTotal") + ", " + memory_text("MemAvailable") + " free"}};
}

std::string value_text(const Json& value) {
  return escape_untrusted(value.is_string() ? value.get<std::string>() : value.dump(), 200);
}

std::string number_text(const Json& check, const char* key) {
  if (!check.contains(key)) return "";
  return check[key].is_number() ? format_number(check[key].get<double>(), 3) : "nan";
}

std::string as_text(const Json& report) {
  std::string text;
  for (const auto& [key, value] : report.items()) {
    if (key == "checks" || key == "passed") continue;
    text += pad_to_width(key, 14, Align::left) + value_text(value) + "\n";
  }
  if (!report.contains("checks")) return text;
  console::Table table({{"check"},
                        {"result"},
                        {"error", Align::right},
                        {"allowed", Align::right},
                        {"layer", Align::right},
                        {"note"}});
  for (const Json& check : report["checks"]) {
    table.add({value_text(check["check"]), value_text(check["result"]),
               number_text(check, "measured"), number_text(check, "allowed"),
               check.contains("layer") ? check["layer"].dump() : "",
               check.contains("note") ? value_text(check["note"]) : ""});
  }
  return text + "\n" + table.text();
}

}  // namespace

int run_doctor(const Command& command, const CommandLine& line) {
  DoctorSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.group("Model");
  add_model_option(options, "default: a small model made in memory", spec.model);
  options.flag({"--strict", "", "warnings about the model are errors"}, spec.strict);
  options.group("How to compute");
  add_device_option(options, spec.device);
  add_threads_option(options, spec.threads);
  options.group("Output");
  add_json_option(options, spec.json);
  if (!verb.parse(line)) return 0;
  validate(spec);

  const bool defaults = spec == DoctorSpec{.json = spec.json};
  const Envelope envelope{.spec = spec, .command_line = line.all};
  const ChildResult child =
      defaults ? run_child({"--self-check"}, nullptr) : run_child({}, &envelope);
  Json report = machine_json();
  if (child.exit_code != 0) {
    if (!spec.json) console::print(as_text(report));
    // attnscope-run has said on standard error what was wrong, unless a signal ended it.
    if (child.exit_code < 128) return child.exit_code;
    throw Error(ErrorKind::output, "DR01",
                {.where = "attnscope-run",
                 .what = "ended by signal " + std::to_string(child.exit_code - 128),
                 .next = "LibTorch may not fit this processor; see `ldd` of attnscope-run"});
  }
  report.update(Json::parse(child.output));
  console::print(spec.json ? report.dump(2) + "\n" : as_text(report));
  if (report["passed"] == true) return 0;
  throw Error(ErrorKind::input, "DR02",
              {.where = spec.model.empty() ? "self-check" : escape_untrusted(spec.model),
               .what = "a check failed",
               .next = "see the table"});
}

}  // namespace attnscope::cli
