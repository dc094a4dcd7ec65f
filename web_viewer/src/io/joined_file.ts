/** Parts of a longer run that are open together, read as one file: prompts one after the other. */

import type { Attributes, DatasetInfo, NodeInfo, NumberData, RunSummary } from '../format/types';
import { PROMPT_NAME } from '../format/schema';
import type { RequestOptions } from './client';
import type { Slab } from './reader';
import type { Origin, RunReader } from './run_file';

export interface Part {
  file: RunReader;
  /** Place in the whole run, counted from 0, and how many parts it has. */
  shard: readonly [index: number, total: number];
  promptIds: readonly string[];
}

const promptName = (index: number): string => `p${String(index).padStart(6, '0')}`;

export class JoinedFile implements RunReader {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly #parts: readonly Part[];
  /** Part and own name of every prompt. */
  readonly #prompts: { part: Part; id: string }[] = [];

  constructor(parts: readonly Part[]) {
    this.#parts = [...parts].sort((a, b) => a.shard[0] - b.shard[0]);
    const first = this.#parts[0]!;
    this.id = first.file.id;
    this.name = first.file.name;
    this.size = parts.reduce((sum, { file }) => sum + file.size, 0);
    for (const part of this.#parts) {
      for (const id of part.promptIds) this.#prompts.push({ part, id });
    }
  }

  get parts(): readonly Part[] {
    return this.#parts;
  }

  get promptIds(): string[] {
    return this.#prompts.map((_, index) => promptName(index));
  }

  origin(path: string): Origin {
    const { file, path: own } = this.#find(path);
    return file.origin(own);
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map(({ file }) => file.close()));
  }

  numbers(path: string, slab?: Slab, options?: RequestOptions): Promise<NumberData> {
    const { file, path: own } = this.#find(path);
    return file.numbers(own, slab, options);
  }

  texts(path: string, slab?: Slab): Promise<string[]> {
    const { file, path: own } = this.#find(path);
    return file.texts(own, slab);
  }

  async names(path: string): Promise<string[]> {
    const { file, path: own } = this.#find(path);
    const names = await file.names(own);
    if (path !== '/prompts') return names;
    return [...this.promptIds, ...names.filter((name) => !PROMPT_NAME.test(name))];
  }

  async list(path: string): Promise<NodeInfo[]> {
    const { file, path: own } = this.#find(path);
    const nodes = await file.list(own);
    if (path !== '/prompts') return nodes;
    const prompts = this.promptIds.map((name): NodeInfo => ({ name, kind: 'group' }));
    return [...prompts, ...nodes.filter(({ name }) => !PROMPT_NAME.test(name))];
  }

  describe(path: string): Promise<DatasetInfo | null> {
    const { file, path: own } = this.#find(path);
    return file.describe(own);
  }

  attributes(path: string): Promise<Attributes> {
    const { file, path: own } = this.#find(path);
    return file.attributes(own);
  }

  /** Prompts lie in their parts under names of their own; all else is alike in every part. */
  #find(path: string): { file: RunReader; path: string } {
    const match = /^\/prompts\/p(\d{6})(\/.*)?$/.exec(path);
    const prompt = match ? this.#prompts[Number(match[1])] : undefined;
    if (!match || !prompt) return { file: this.#parts[0]!.file, path };
    return { file: prompt.part.file, path: `/prompts/${prompt.id}${match[2] ?? ''}` };
  }
}

/** The place of a part in its run; null for a file that is whole, or whose parts cannot be joined. */
export function shardOf({ root }: RunSummary): readonly [number, number] | null {
  const shard = root.shard;
  if (!Array.isArray(shard) || root.kind !== 'capture' || root.layout !== 'per_prompt') return null;
  return [Number(shard[0]), Number(shard[1])];
}

/** What a joined file holds: as its first part, with the prompts of all. */
export function joinedSummary(first: RunSummary, joined: JoinedFile): RunSummary {
  return { ...first, name: joined.name, size: joined.size, promptIds: joined.promptIds };
}
