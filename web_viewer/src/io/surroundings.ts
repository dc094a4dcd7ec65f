/** Where worker and WebAssembly come from: inside the page, or beside it on the server. */

import type { Surroundings, WorkerLike } from './client';

function inlineText(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}

async function unpack(base64: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

async function compile(): Promise<WebAssembly.Module> {
  const inline = inlineText('hdf5-wasm');
  if (inline !== null) return WebAssembly.compile(await unpack(inline));
  const reply = await fetch(new URL('hdf5.wasm', document.baseURI));
  return WebAssembly.compile(await reply.arrayBuffer());
}

function createWorker(): WorkerLike {
  const source = inlineText('worker-source');
  if (source === null) {
    return new Worker(new URL('worker.js', document.baseURI));
  }
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  return new Worker(url);
}

export function browserSurroundings(): Surroundings {
  let compiled: Promise<WebAssembly.Module> | null = null;
  return {
    createWorker,
    wasm: () => (compiled ??= compile()),
  };
}
