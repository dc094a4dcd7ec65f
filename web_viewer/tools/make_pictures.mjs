// Runs the test of the screens and takes over what it drew: the pictures that the READMEs show.
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
// Where the test is skipped there is nothing to copy, and the pictures of before do not pass for new.
await rm(join(root, 'build/screens'), { recursive: true, force: true });
const run = spawnSync(process.execPath, [join(root, 'tests/run.mjs'), 'browser', 'screens'], {
  stdio: 'inherit',
});
if (run.status !== 0) process.exit(1);
await mkdir(join(root, 'pictures'), { recursive: true });
for (const screen of ['overview', 'head', 'compare', 'causal', 'lens', 'file']) {
  await copyFile(
    join(root, `build/screens/${screen}-1280.png`),
    join(root, `pictures/${screen}.png`),
  );
}
