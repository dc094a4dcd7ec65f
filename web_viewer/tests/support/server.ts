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
  json: 'application/json',
  h5: 'application/x-hdf5',
};

export interface ServerOptions {
  /** Data files by name. */
  files: Record<string, string>;
  /** Lists the files, with reasons for those that cannot be had, as attnscope view does. */
  listed?: boolean;
  faulty?: Record<string, string>;
  /** Answers whole files only. */
  withoutRanges?: boolean;
  delayMs?: number;
  /** Answers the first request for data only, and keeps silent after. */
  stalls?: boolean;
  /** Where another one listened before. */
  port?: number;
  /** Lets nobody in, as one that was started anew does. */
  locked?: boolean;
}

function listing({ files, faulty = {} }: ServerOptions): string {
  const good = Object.entries(files).map(([name, path], at) => ({
    name,
    url: `files/${at}`,
    size: statSync(path).size,
    path,
  }));
  const bad = Object.entries(faulty).map(([name, error]) => ({ name, error }));
  return JSON.stringify({ files: [...good, ...bad] });
}

/** The path behind `run.h5` or, in a list, behind `files/0`. */
function dataOf({ files }: ServerOptions, pathname: string): string | undefined {
  const number = /^\/files\/(\d+)$/.exec(pathname)?.[1];
  return number === undefined ? files[basename(pathname)] : Object.values(files)[Number(number)];
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

/** Serves while `use` runs; a test that fails leaves no server behind. */
export async function withServer(
  options: ServerOptions,
  use: (server: RunningServer) => Promise<void>,
): Promise<void> {
  const server = await serve(options);
  try {
    await use(server);
  } finally {
    await server.close();
  }
}

export function serve(options: ServerOptions): Promise<RunningServer> {
  const requests: string[] = [];
  let asked = 0;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    const name = basename(pathname) || 'index.html';
    requests.push(`${name} ${request.headers.range ?? ''}`.trim());
    const type = TYPES[name.split('.').pop() ?? ''] ?? 'application/octet-stream';
    response.setHeader('Content-Type', type);
    response.setHeader('Content-Security-Policy', POLICY);
    const data = dataOf(options, pathname);
    if (data !== undefined && options.stalls && (asked += 1) > 1) return;
    if (options.locked) {
      response.writeHead(401).end();
      return;
    }
    setTimeout(
      () => {
        try {
          if (name === 'files.json' && options.listed) response.end(listing(options));
          else if (data === undefined)
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
    // A test that fails must not keep its process from ending.
    server.unref();
    server.listen(options.port ?? 0, '127.0.0.1', () => {
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
