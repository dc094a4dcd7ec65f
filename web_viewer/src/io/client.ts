/** The page's side of the worker: promises, generations, and a new worker after a crash. */

import { IoError } from './errors';
import type { FromWorker, OperationName, Operations, Request, Source, ToWorker } from './protocol';

export interface WorkerLike {
  postMessage(message: ToWorker): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

export interface Surroundings {
  createWorker(): WorkerLike;
  wasm(): Promise<WebAssembly.Module>;
}

export interface RequestOptions {
  priority?: number;
  /** Requests without a lane never become stale. */
  lane?: string;
}

/** Longest silence; a damaged file can send the library round in circles. */
const PATIENCE_MS = 10_000;

interface Waiting {
  request: Request;
  resolve: (value: never) => void;
  reject: (error: Error) => void;
}

export class Client {
  /** Called with the files that were open when a worker died and a new one was started. */
  onRestart: (() => void) | null = null;

  readonly #surroundings: Surroundings;
  readonly #patience: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #generations = new Map<string, number>();
  readonly #sources = new Map<number, Source>();
  #worker: WorkerLike | null = null;
  #watch: ReturnType<typeof setTimeout> | null = null;
  #nextId = 1;
  #nextFile = 1;

  constructor(surroundings: Surroundings, patience = PATIENCE_MS) {
    this.#surroundings = surroundings;
    this.#patience = patience;
  }

  /** Starts the worker before the first file, so that opening one need not wait for it. */
  warmUp(): void {
    this.#ensureWorker();
  }

  /** Requests without an answer. */
  get unanswered(): number {
    return this.#waiting.size;
  }

  /** Opens a file and returns its number, which stays valid after a restart. */
  async open(source: Source): Promise<{ file: number; size: number }> {
    const file = this.#nextFile++;
    const { size } = await this.ask('open', file, { source });
    this.#sources.set(file, source);
    return { file, size };
  }

  async close(file: number): Promise<void> {
    if (!this.#sources.delete(file)) return;
    await this.ask('close', file, {});
  }

  ask<Name extends OperationName>(
    name: Name,
    file: number,
    args: Operations[Name]['args'],
    options: RequestOptions = {},
  ): Promise<Operations[Name]['result']> {
    const lane = options.lane ?? '';
    const request: Request<Name> = {
      type: 'request',
      id: this.#nextId++,
      file,
      name,
      args,
      priority: options.priority ?? 0,
      lane,
      generation: this.#generations.get(lane) ?? 0,
    };
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { request: request as Request, resolve, reject });
      this.#ensureWorker().postMessage(request as Request);
      // Only answers buy more time: asking again does not show that the worker lives.
      if (this.#watch === null) this.#watchOver();
    });
  }

  /** From now on, older requests of this lane are not worth answering. */
  advance(lane: string): void {
    const generation = (this.#generations.get(lane) ?? 0) + 1;
    this.#generations.set(lane, generation);
    this.#worker?.postMessage({ type: 'generation', lane, generation });
  }

  #ensureWorker(): WorkerLike {
    if (this.#worker) return this.#worker;
    const worker = this.#surroundings.createWorker();
    this.#worker = worker;
    worker.onmessage = (event) => this.#hear(event.data);
    worker.onerror = () => this.#restart('crashed', 'the reading worker stopped');
    void this.#surroundings.wasm().then(
      (wasm) => worker.postMessage({ type: 'start', wasm }),
      () => this.#restart('crashed', 'the HDF5 library could not be loaded'),
    );
    return worker;
  }

  #hear(message: FromWorker): void {
    this.#watchOver();
    if (message.type === 'ready' || message.type === 'alive') return;
    const waiting = this.#waiting.get(message.id);
    if (!waiting) return;
    this.#waiting.delete(message.id);
    const { lane, generation } = waiting.request;
    if (message.type === 'error') {
      waiting.reject(new IoError(message.code, message.message));
      if (message.code === 'crashed') this.#restart('crashed', message.message);
    } else if (generation < (this.#generations.get(lane) ?? 0)) {
      waiting.reject(new IoError('stale', 'no longer wanted'));
    } else {
      waiting.resolve(message.value as never);
    }
    this.#watchOver();
  }

  #watchOver(): void {
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = null;
    if (this.#waiting.size === 0) return;
    this.#watch = setTimeout(
      () => this.#restart('timeout', 'reading took too long and was given up'),
      this.#patience,
    );
  }

  #restart(code: 'crashed' | 'timeout', message: string): void {
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = null;
    this.#worker?.terminate();
    this.#worker = null;
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of lost) reject(new IoError(code, message));
    // A file that was open stays open under its number, and is so before anything is read of it.
    for (const [file, source] of this.#sources) {
      this.ask('open', file, { source }, { priority: Infinity }).catch(() =>
        this.#sources.delete(file),
      );
    }
    this.onRestart?.();
  }
}
