/** The reader of the worker, run under node. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BytesSource } from '../../src/io/blocks';
import { startHdf5 } from '../../src/io/hdf5_module';
import { Hdf5Reader } from '../../src/io/reader';

let compiled: Promise<WebAssembly.Module> | null = null;

export async function newReader(): Promise<Hdf5Reader> {
  const wasm = join(VIEWER_ROOT, 'build/tests/unit/hdf5.wasm');
  compiled ??= WebAssembly.compile(readFileSync(wasm));
  return new Hdf5Reader(await startHdf5(await compiled));
}

export async function opened(path: string): Promise<Hdf5Reader> {
  const reader = await newReader();
  reader.open(1, new BytesSource(readFileSync(path)));
  return reader;
}
