/** Requests in order of priority, without those of an earlier generation of their lane. */

import type { Request } from './protocol';

export class RequestQueue {
  readonly #generations = new Map<string, number>();
  #pending: Request[] = [];

  get length(): number {
    return this.#pending.length;
  }

  push(request: Request): void {
    this.#pending.push(request);
  }

  advance(lane: string, generation: number): void {
    this.#generations.set(lane, generation);
  }

  /** The next request to answer, and those that nobody waits for any more. */
  take(): { next: Request | null; stale: Request[] } {
    const stale: Request[] = [];
    this.#pending = this.#pending.filter((request) => {
      const fresh = request.generation >= (this.#generations.get(request.lane) ?? 0);
      if (!fresh) stale.push(request);
      return fresh;
    });
    let best = 0;
    for (let i = 1; i < this.#pending.length; ++i) {
      if (this.#pending[i]!.priority > this.#pending[best]!.priority) best = i;
    }
    const [next] = this.#pending.splice(best, 1);
    return { next: next ?? null, stale };
  }
}
