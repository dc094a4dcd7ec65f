// The demo that both pages bring along: node demo/make.mjs [FOLDER] writes its files with the
// built command (ATTNSCOPE_BIN), by default over those that are committed.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, '../../probes/demo');
const target = resolve(process.argv[2] ?? here);
const model = join(source, 'tiny-english');
const pairs = join(source, 'pairs/indirect_object.jsonl');
const [first] = readFileSync(pairs, 'utf8').split('\n');

const files = {
  'demo-capture.h5': ['capture', '-m', model, '--prompt', JSON.parse(first).clean],
  'demo-verdict.h5': ['verdict', '-m', model, '--pairs', pairs, '--limit', '120'],
};
for (const [name, args] of Object.entries(files)) {
  const out = join(target, name);
  // What the file says of its run must not depend on the machine.
  const fixed = ['--threads', '2', '--force', '-o', out];
  execFileSync(process.env.ATTNSCOPE_BIN ?? 'attnscope', [...args, ...fixed]);
  // Reports beside the file are not shown here.
  for (const extension of ['json', 'html']) {
    rmSync(out.replace(/h5$/, extension), { force: true });
  }
}
