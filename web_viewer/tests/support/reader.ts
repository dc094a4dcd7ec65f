/** The reader of the worker, run under node. */

import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BytesSource } from '../../src/io/blocks';
import { startHdf5 } from '../../src/io/hdf5_module';
import { Hdf5Reader } from '../../src/io/reader';
import type { RunReader } from '../../src/io/run_file';

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

let nextId = 1;

/** A file as the page has it, without a worker between. */
export async function openedRun(path: string): Promise<RunReader> {
  const reader = await opened(path);
  const name = basename(path);
  const ask = <T>(answer: () => T): Promise<T> => Promise.resolve().then(answer);
  return {
    id: nextId++,
    name,
    size: readFileSync(path).length,
    origin: (at, row) =>
      row === undefined ? { file: name, path: at } : { file: name, path: at, row },
    place: (at) => ({ file: 1, path: at }),
    close: () => Promise.resolve(),
    numbers: (at, slab) => ask(() => reader.numbers(1, at, slab)),
    texts: (at, slab) => ask(() => reader.texts(1, at, slab).texts),
    names: (at) => ask(() => reader.names(1, at)),
    list: (at) => ask(() => reader.list(1, at)),
    describe: (at) => ask(() => (reader.has(1, at) ? reader.describe(1, at) : null)),
    attributes: (at) => ask(() => reader.attributes(1, at)),
  };
}
