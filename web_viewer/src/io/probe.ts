/** What a server says of a file before it is opened: how long it is, and whether it sends parts. */

import { partOf } from './blocks';
import { IoError, noAnswer, refusal } from './errors';
import type { Source } from './protocol';

/** A file that comes whole or not at all has to fit into memory. */
export const WHOLE_LIMIT = 64 * 1024 * 1024;

/** Reads the one byte of a part: an answer that is dropped looks like a fault in a network log. A
 *  server that sends more under this status is not heard to the end. */
async function endBody(reply: Response): Promise<void> {
  if (reply.headers.get('Content-Length') === '1') await reply.arrayBuffer();
  else await reply.body?.cancel();
}

/** The body of an answer, or null as soon as it is longer than what may be held. */
async function wholeBody(reply: Response): Promise<Uint8Array | null> {
  const announced = Number(reply.headers.get('Content-Length') ?? 0);
  const stream = reply.body?.getReader();
  if (!stream) return new Uint8Array(0);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    if (Math.max(announced, length) > WHOLE_LIMIT) {
      await stream.cancel();
      return null;
    }
    const { done, value } = await stream.read();
    if (done) break;
    pieces.push(value);
    length += value.length;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Asks for the first byte: a server that sends parts is read by parts, another one at once. */
export async function probe(url: string): Promise<Source> {
  const reply = await fetch(url, { headers: { Range: 'bytes=0-0' }, cache: 'no-store' }).catch(
    () => {
      throw noAnswer();
    },
  );
  const { size, version } = partOf((name) => reply.headers.get(name));
  if (reply.status === 416 && size === 0) return { kind: 'bytes', bytes: new Uint8Array(0) };
  if (reply.status === 206) {
    if (size === null) throw new IoError('no_range', 'the server does not tell the size');
    await endBody(reply);
    return { kind: 'url', url, size, version };
  }
  if (reply.status !== 200) throw refusal(reply.status);
  const bytes = await wholeBody(reply);
  if (bytes) return { kind: 'bytes', bytes };
  throw new IoError(
    'no_range',
    'the server sends whole files only (status 200 for a range), and this one has more than 64 MiB',
  );
}
