/** Where the bytes of a file come from, and a bounded cache of blocks of them. */

import { IoError, noAnswer, refusal } from './errors';

export const BLOCK_BYTES = 256 * 1024;
export const CACHE_BYTES = 64 * 1024 * 1024;

/** Reads are synchronous, for HDF5 asks for bytes in the middle of a call. Worker only. */
export interface ByteSource {
  readonly size: number;
  read(offset: number, length: number): Uint8Array;
}

export class BytesSource implements ByteSource {
  readonly size: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.size = bytes.length;
  }

  read(offset: number, length: number): Uint8Array {
    return this.#bytes.subarray(offset, offset + length);
  }
}

declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** A file that was picked or dropped. */
export class FileSource implements ByteSource {
  readonly size: number;
  readonly #file: File;
  readonly #reader = new FileReaderSync();

  constructor(file: File) {
    this.#file = file;
    this.size = file.size;
  }

  read(offset: number, length: number): Uint8Array {
    try {
      return new Uint8Array(
        this.#reader.readAsArrayBuffer(this.#file.slice(offset, offset + length)),
      );
    } catch {
      // Browsers refuse a File whose size or date on disk is no longer what it was when picked.
      throw new IoError('changed', 'the file changed on disk since it was opened');
    }
  }
}

/** What the headers of a partial answer say of the whole file. */
export function partOf(header: (name: string) => string | null): {
  size: number | null;
  version: string | null;
} {
  const length = /\/(\d+)$/.exec(header('Content-Range') ?? '')?.[1];
  return {
    size: length === undefined ? null : Number(length),
    version: header('ETag') ?? header('Last-Modified'),
  };
}

/** A file behind a server that answers Range requests. Another version of it is told by its tag:
 *  the condition If-Range would bring the whole of the other version, however long. */
export class RangeSource implements ByteSource {
  readonly size: number;
  readonly #url: string;
  readonly #version: string | null;

  constructor(url: string, size: number, version: string | null) {
    this.#url = url;
    this.size = size;
    this.#version = version;
  }

  read(offset: number, length: number): Uint8Array {
    const end = Math.min(offset + length, this.size);
    if (end <= offset) return new Uint8Array(0);
    const reply = this.#request(offset, end - offset);
    const part = partOf((name) => reply.getResponseHeader(name));
    const bytes = new Uint8Array(reply.response as ArrayBuffer);
    const same = part.size === this.size && part.version === this.#version;
    if (!same || bytes.length !== end - offset) throw RangeSource.#changed();
    return bytes;
  }

  static #changed(): IoError {
    return new IoError('changed', 'the file changed on the server since it was opened');
  }

  #request(offset: number, length: number): XMLHttpRequest {
    const request = new XMLHttpRequest();
    request.open('GET', this.#url, false);
    request.responseType = 'arraybuffer';
    // The browser's own cache would go on giving parts of the old version.
    request.setRequestHeader('Cache-Control', 'no-cache');
    request.setRequestHeader('Range', `bytes=${offset}-${offset + length - 1}`);
    try {
      request.send();
    } catch {
      throw noAnswer();
    }
    // A shorter file has no such part.
    if (request.status === 416) throw RangeSource.#changed();
    if (request.status !== 206) throw refusal(request.status);
    return request;
  }
}

/** Least recently used blocks of all open files, within one budget. */
export class BlockCache {
  /** Called after each block that had to be fetched. */
  onFetch: (() => void) | null = null;
  readonly #blocks = new Map<string, Uint8Array>();
  readonly #budget: number;
  #bytes = 0;

  constructor(budget = CACHE_BYTES) {
    this.#budget = budget;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Copies bytes of a source to `target` and returns how many there were. */
  read(
    file: number,
    source: ByteSource,
    offset: number,
    target: Uint8Array | Int8Array,
    at: number,
    length: number,
  ): number {
    const end = Math.min(offset + length, source.size);
    let done = 0;
    while (offset + done < end) {
      const position = offset + done;
      const index = Math.floor(position / BLOCK_BYTES);
      const block = this.#block(file, source, index);
      const within = position - index * BLOCK_BYTES;
      const part = block.subarray(within, Math.min(block.length, within + end - position));
      if (part.length === 0) break;
      target.set(part, at + done);
      done += part.length;
    }
    return done;
  }

  forget(file: number): void {
    for (const [key, block] of this.#blocks) {
      if (!key.startsWith(`${file}:`)) continue;
      this.#blocks.delete(key);
      this.#bytes -= block.length;
    }
  }

  #block(file: number, source: ByteSource, index: number): Uint8Array {
    const key = `${file}:${index}`;
    const known = this.#blocks.get(key);
    if (known) {
      // A Map iterates in order of insertion: put back at the end, the block is the newest.
      this.#blocks.delete(key);
      this.#blocks.set(key, known);
      return known;
    }
    const block = source.read(index * BLOCK_BYTES, BLOCK_BYTES);
    this.onFetch?.();
    this.#blocks.set(key, block);
    this.#bytes += block.length;
    for (const [oldest, bytes] of this.#blocks) {
      if (this.#bytes <= this.#budget) break;
      this.#blocks.delete(oldest);
      this.#bytes -= bytes.length;
    }
    return block;
  }
}
