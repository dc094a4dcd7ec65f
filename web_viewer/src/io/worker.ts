/** The only place where HDF5 runs. One request at a time; before each, newer messages are heard. */

import { BytesSource, FileSource, RangeSource, type ByteSource } from './blocks';
import { IoError } from './errors';
import { startHdf5 } from './hdf5_module';
import type { FromWorker, Operations, Request, Source, ToWorker } from './protocol';
import { linesOfText } from './lines';
import { addMaps, restSums } from './moments';
import { RequestQueue } from './queue';
import { Hdf5Reader } from './reader';

const scope = globalThis as unknown as {
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};

let reader: Hdf5Reader | null = null;
const queue = new RequestQueue();
const ticks = new MessageChannel();
let scheduled = false;

function sourceOf(source: Source): ByteSource {
  switch (source.kind) {
    case 'file':
      return new FileSource(source.file);
    case 'url':
      return new RangeSource(source.url, source.size, source.version);
    case 'bytes':
      return new BytesSource(source.bytes);
  }
}

function answer(hdf5: Hdf5Reader, request: Request): unknown {
  const { file, name } = request;
  switch (name) {
    case 'open': {
      const source = sourceOf((request.args as Operations['open']['args']).source);
      hdf5.open(file, source);
      return { size: source.size };
    }
    case 'close':
      hdf5.close(file);
      return null;
    case 'memory':
      return { heap: hdf5.heapBytes, blocks: hdf5.cache.bytes };
    case 'lines':
      return { values: linesOfText(request.args as Operations['lines']['args']) };
    case 'rests':
      return { values: restSums(hdf5, file, request.args as Operations['rests']['args']) };
    case 'moments':
      return addMaps(hdf5, request.args as Operations['moments']['args']);
    default: {
      const { path, slab } = request.args as Operations['numbers']['args'];
      if (name === 'describe') return hdf5.has(file, path) ? hdf5.describe(file, path) : null;
      return hdf5[name](file, path, slab);
    }
  }
}

/** Buffers of the answer move to the page instead of being copied. */
function transferables(value: unknown): Transferable[] {
  return Object.values(value ?? {}).flatMap((part: unknown) =>
    ArrayBuffer.isView(part) && part.buffer instanceof ArrayBuffer ? [part.buffer] : [],
  );
}

function step(): void {
  scheduled = false;
  if (!reader) return;
  const { next, stale } = queue.take();
  for (const { id } of stale) {
    scope.postMessage({ type: 'error', id, code: 'stale', message: 'no longer wanted' });
  }
  if (!next) return;
  try {
    const value = answer(reader, next);
    scope.postMessage({ type: 'result', id: next.id, value }, transferables(value));
  } catch (error) {
    const known = error instanceof IoError;
    const code = known ? error.code : 'crashed';
    const message = known ? error.message : 'the HDF5 library stopped on a fault in the file';
    scope.postMessage({ type: 'error', id: next.id, code, message });
  }
  schedule();
}

function schedule(): void {
  if (scheduled || queue.length === 0) return;
  scheduled = true;
  // A macrotask, so that messages that came meanwhile are taken in first.
  ticks.port2.postMessage(null);
}

ticks.port1.onmessage = step;

scope.onmessage = (event) => {
  const message = event.data;
  if (message.type === 'start') {
    void startHdf5(message.wasm).then((module) => {
      reader = new Hdf5Reader(module);
      reader.cache.onFetch = () => scope.postMessage({ type: 'alive' });
      scope.postMessage({ type: 'ready' });
      schedule();
    });
    return;
  }
  if (message.type === 'generation') queue.advance(message.lane, message.generation);
  else queue.push(message);
  schedule();
};
