/** Where worker, WebAssembly and the demo come from: inside the page, or beside it on the server. */

import type { Surroundings, WorkerLike } from './client';
import { probe } from './probe';
import type { Source } from './protocol';

function inlineText(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));

async function unpack(base64: string): Promise<ArrayBuffer> {
  const stream = new Blob([fromBase64(base64)])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
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

/** A file of the demo, which both pages bring along. */
export async function demoSource(name: string): Promise<Source> {
  const inline = inlineText(name);
  if (inline === null) return probe(new URL(name, document.baseURI).href);
  return { kind: 'bytes', bytes: new Uint8Array(await unpack(inline)) };
}

/** Files that were put into the page when it was made. */
export function insideFiles(): { name: string; bytes: Uint8Array }[] {
  return [...document.querySelectorAll<HTMLScriptElement>('script[data-file]')].map((element) => ({
    name: element.dataset.file ?? 'file.h5',
    bytes: fromBase64(element.textContent ?? ''),
  }));
}
