import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { h5py, without } from '../support/fixtures';

const committed = join(VIEWER_ROOT, 'demo');
const names = readdirSync(committed).filter((name) => name.endsWith('.h5'));

/** Paths at which two files differ; numbers may differ by the rounding of another machine. */
const DIFFERENCES = `import re
def everything(f):
    out = {}
    def note(name, item):
        if isinstance(item, h5py.Dataset): out[name] = item[()]
        out.update({f"{name}@{k}": v for k, v in item.attrs.items() if k not in ("sha256", "DIMENSION_LABELS")})
    f.visititems(note)
    out.update({f"@{k}": v for k, v in f.attrs.items() if k not in ("git_commit", "tool_version", "run_id")})
    return out
def words(texts): return [re.sub(rb"[0-9.]+", b"#", text) for text in texts.ravel().tolist()]
def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    # Of texts the words: numbers in them are rounded, and may round otherwise elsewhere.
    if a.dtype.kind == "S": return words(a) == words(b)
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind: return False
    if a.dtype.kind == "f": return np.allclose(a, b, rtol=2e-3, atol=1e-3, equal_nan=True)
    return bool((a == b).all())
with h5py.File(sys.argv[1]) as f, h5py.File(sys.argv[2]) as g:
    a, b = everything(f), everything(g)
    bad = sorted(set(a) ^ set(b)) + [k for k in a if k in b and not same(a[k], b[k])]
    print(json.dumps([k for k in bad if not k.startswith("run@lib_")]))
`;

test('the demo is small', () => {
  assert.deepEqual(names.sort(), ['demo-capture.h5', 'demo-verdict.h5']);
  const size = names.reduce((sum, name) => sum + statSync(join(committed, name)).size, 0);
  assert.ok(size <= 300_000, `${size} bytes`);
});

test('the demo is what the command writes', { skip: without('command', 'python') }, () => {
  const made = mkdtempSync(join(tmpdir(), 'attnscope-demo-'));
  try {
    execFileSync(process.execPath, [join(committed, 'make.mjs'), made], { stdio: 'pipe' });
    for (const name of names) {
      assert.deepEqual(
        h5py<string[]>(DIFFERENCES, join(committed, name), join(made, name)),
        [],
        name,
      );
    }
  } finally {
    rmSync(made, { recursive: true });
  }
});
