/** A small file server that answers Range requests as attnscope view does; tests only. */

import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';

const POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; " +
  "img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  wasm: 'application/wasm',
  h5: 'application/x-hdf5',
};

export interface ServerOptions {
  /** Data files by name. */
  files: Record<string, string>;
  /** Answers whole files only. */
  withoutRanges?: boolean;
  delayMs?: number;
}

export interface RunningServer {
  url: string;
  requests: string[];
  close(): Promise<void>;
}

function sendPart(request: IncomingMessage, response: ServerResponse, path: string): void {
  const { size, mtimeMs } = statSync(path);
  const tag = `"${size}-${mtimeMs}"`;
  const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const stale = request.headers['if-range'] !== undefined && request.headers['if-range'] !== tag;
  if (!match || stale) {
    response.writeHead(200, { 'Content-Length': size, ETag: tag, 'Accept-Ranges': 'bytes' });
    createReadStream(path).pipe(response);
    return;
  }
  const first = Number(match[1]);
  const last = Math.min(size - 1, match[2] === '' ? size - 1 : Number(match[2]));
  if (first > last) {
    response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end();
    return;
  }
  response.writeHead(206, {
    'Content-Length': last - first + 1,
    'Content-Range': `bytes ${first}-${last}/${size}`,
    ETag: tag,
  });
  createReadStream(path, { start: first, end: last }).pipe(response);
}

export function serve(options: ServerOptions): Promise<RunningServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const name = basename(new URL(request.url ?? '/', 'http://x').pathname) || 'index.html';
    requests.push(`${name} ${request.headers.range ?? ''}`.trim());
    const type = TYPES[name.split('.').pop() ?? ''] ?? 'application/octet-stream';
    response.setHeader('Content-Type', type);
    response.setHeader('Content-Security-Policy', POLICY);
    const data = options.files[name];
    setTimeout(
      () => {
        try {
          if (data === undefined)
            response.end(readFileSync(join(VIEWER_ROOT, 'dist/served', name)));
          else if (options.withoutRanges) createReadStream(data).pipe(response);
          else sendPart(request, response, data);
        } catch {
          response.writeHead(404).end();
        }
      },
      data === undefined ? 0 : (options.delayMs ?? 0),
    );
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      resolve({
        url: `http://127.0.0.1:${port}/`,
        requests,
        close: () =>
          new Promise((done) => {
            server.closeAllConnections();
            server.close(() => done());
          }),
      });
    });
  });
}
