// attnscope view: options → ViewSpec → a server for the browser, or one page with the files inside.
#include "attnscope/serve/page.h"
#include "attnscope/serve/server.h"
#include "attnscope/spec/file_specs.h"
#include "attnscope/support/file.h"
#include "attnscope/support/utf8.h"
#include "browser.h"
#include "command.h"
#include "console/output.h"
#include "shared_options.h"
#include "view_files.h"

namespace attnscope::cli {
namespace {

serve::Loopback loopback_of(const ViewSpec& spec) {
  if (const auto loopback = serve::parse_loopback(spec.host)) return *loopback;
  fail_argument("VI01",
                {.where = "--host",
                 .what = "other machines could reach this address",
                 .expected = "127.0.0.1, localhost or ::1",
                 .got = quote(spec.host),
                 .next = "from another machine, forward a port: ssh -L 8765:localhost:8765"});
}

void write_page(const ViewSpec& spec, const ViewFiles& files) {
  const WriteMode mode = spec.force ? WriteMode::replace : WriteMode::create;
  check_can_write(spec.html, mode);
  const std::string page =
      serve::page_with_files(serve::one_file_page(), serve::read_embedded(files.paths));
  write_file_atomically(spec.html, page, mode);
  console::print("Wrote " + escape_untrusted(spec.html, 4096) + " (" + format_bytes(page.size()) +
                 "), which opens in any browser without attnscope.\n");
}

void serve_files(const ViewSpec& spec, serve::Loopback loopback, const ViewFiles& files) {
  serve::Server server({.loopback = loopback,
                        .port = spec.port < 0 ? std::nullopt : std::optional(spec.port),
                        .files = files.paths});
  console::print("Showing " + count_of(files.paths.size(), "file") + " at\n  " + server.address() +
                 "\nCtrl-C stops it.\n");
  if (spec.open) {
    const std::string reason = why_no_browser();
    if (reason.empty()) {
      open_browser(server.launch_address());
    } else {
      console::note("No browser was opened: " + reason + ". Open the address yourself.\n");
    }
  }
  server.run();
}

}  // namespace

int run_view(const Command& command, const CommandLine& line) {
  ViewSpec spec;
  Verb verb(command);
  Options& options = verb.options();
  options.arguments({"FILE", "",
                     "captures and results of experiments; those of the same model and prompts are "
                     "shown together. The name of a run that is not finished shows the parts that "
                     "are"},
                    spec.files);
  options.group("Server");
  options.integer({"--port", "N", "port (default: 8765, or the next that is free; 0: any)"},
                  {0, 65535}, spec.port);
  options.text({"--host", "ADDRESS", "address of this machine: 127.0.0.1, localhost or ::1"},
               spec.host);
  options.off_flag({"--no-open", "", "print the address and open no browser"}, spec.open);
  options.group("Output");
  options.text({"--html", "FILE",
                "write a page that has the files inside, at most 8 MiB, and serve none (default: "
                "serve)"},
               spec.html);
  add_force_option(options, spec.force);
  verb.note(
      "Who can see it",
      "You: the server listens on this machine only, and lets in who has the address that it\n"
      "prints. Nothing leaves the machine. Ctrl-C ends it, with exit code 0.");
  if (!verb.parse(line)) return 0;
  validate(spec);
  const serve::Loopback loopback = loopback_of(spec);
  const ViewFiles files = find_view_files(spec.files);
  serve::require_page(serve::page_assets());
  console::print_warnings(files.warnings);
  for (const std::string& partial : files.partial) console::note(partial + ".\n");
  if (spec.html.empty()) {
    serve_files(spec, loopback, files);
  } else {
    write_page(spec, files);
  }
  return 0;
}

}  // namespace attnscope::cli
