/** Parts of a longer run that are open together, read as one file: prompts one after the other. */

import type {
  Attributes,
  DatasetInfo,
  NodeInfo,
  NodeList,
  NumberArray,
  NumberData,
  RunSummary,
} from '../format/types';
import { PROMPT_NAME, packedId, packedRow } from '../format/schema';
import type { RequestOptions } from './client';
import { IoError } from './errors';
import type { Shard } from './parts';
import type { Slab } from './reader';
import type { Origin, RunReader } from './run_file';

export interface Part {
  file: RunReader;
  shard: Shard;
  summary: RunSummary;
}

/** Datasets of the packed layout whose first axis goes over prompts, or over their tokens. */
const ROWS = /^\/(prompts\/|tokens\/|packed\/)/;
const SHARED = /^\/packed\/attention\/[^/]+\/(layers|n_heads)$/;
/** Where each prompt begins; the last entry is where the last one ends. */
const OFFSETS = /^\/(packed\/)?offsets$/;
const PROMPT = /^\/prompts\/p(\d{6})(\/.*)?$/;

/** A run of rows of one part. */
interface Piece {
  file: RunReader;
  slab: Slab;
}

function joinedNumbers(pieces: readonly NumberData[], shape: number[]): NumberData {
  const { dtype, values: first } = pieces[0]!;
  if (pieces.some((piece) => piece.dtype !== dtype)) {
    throw new IoError('unsupported', 'the parts hold values of different types');
  }
  const length = pieces.reduce((sum, { values }) => sum + values.length, 0);
  const values = new (first.constructor as new (length: number) => NumberArray)(length);
  let at = 0;
  for (const piece of pieces) {
    values.set(piece.values, at);
    at += piece.values.length;
  }
  return { dtype, shape, values };
}

export class JoinedFile implements RunReader {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly #parts: readonly Part[];
  /** Whether prompts are rows of common arrays. */
  readonly #packed: boolean;
  /** Number of the first prompt of each part, and the number of all. */
  readonly #begins: number[] = [0];
  readonly #infos = new Map<string, Promise<(DatasetInfo | null)[]>>();
  readonly #offsets = new Map<string, Promise<Float64Array>>();

  constructor(parts: readonly Part[]) {
    this.#parts = [...parts].sort((a, b) => a.shard.index - b.shard.index);
    const { file, shard } = this.#parts[0]!;
    this.id = file.id;
    this.name = file.name;
    this.size = parts.reduce((sum, part) => sum + part.file.size, 0);
    this.#packed = shard.kind === 'rows';
    for (const { summary } of this.#parts) {
      const count = this.#packed ? summary.packedPrompts : summary.promptIds.length;
      this.#begins.push(this.#begins.at(-1)! + count);
    }
  }

  get parts(): readonly Part[] {
    return this.#parts;
  }

  /** Prompts of all parts; those of a sweep are the same in every part. */
  get prompts(): number {
    return this.#split ? this.#begins.at(-1)! : (this.#begins[1] ?? 0);
  }

  /** Names of the groups of prompts, numbered through. */
  get promptIds(): string[] {
    if (!this.#split) return [...this.#parts[0]!.summary.promptIds];
    return this.#parts.flatMap(({ summary }, part) =>
      summary.promptIds.map((id, at) =>
        packedId(this.#begins[part]! + (this.#packed ? packedRow(id) : at)),
      ),
    );
  }

  origin(path: string, row?: number): Origin {
    if (row === undefined || !this.#isRows(path)) {
      const { file, path: own } = this.#find(path);
      return file.origin(own, row);
    }
    const part = this.#partOf(row);
    return this.#parts[part]!.file.origin(path, row - this.#begins[part]!);
  }

  place(path: string): { file: number; path: string } {
    const { file, path: own } = this.#find(path);
    return file.place(own);
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map(({ file }) => file.close()));
  }

  async numbers(path: string, slab?: Slab, options?: RequestOptions): Promise<NumberData> {
    if (this.#isOffsets(path)) {
      const offsets = await this.#joinedOffsets(path);
      const [begin = 0] = slab?.start ?? [];
      const [count = offsets.length] = slab?.count ?? [];
      const values = offsets.slice(begin, begin + count);
      return { dtype: 'i64', shape: [values.length], values };
    }
    if (!this.#isRows(path)) {
      const { file, path: own } = this.#find(path);
      return file.numbers(own, slab, options);
    }
    const { pieces, shape } = await this.#cut(path, slab);
    return joinedNumbers(
      await Promise.all(pieces.map((piece) => piece.file.numbers(path, piece.slab, options))),
      shape,
    );
  }

  async texts(path: string, slab?: Slab): Promise<string[]> {
    if (!this.#isRows(path)) {
      const { file, path: own } = this.#find(path);
      return file.texts(own, slab);
    }
    const { pieces } = await this.#cut(path, slab);
    return (await Promise.all(pieces.map((piece) => piece.file.texts(path, piece.slab)))).flat();
  }

  async names(path: string): Promise<string[]> {
    const { file, path: own } = this.#find(path);
    const names = await file.names(own);
    if (path !== '/prompts') return names;
    return [...this.promptIds, ...names.filter((name) => !PROMPT_NAME.test(name))];
  }

  async list(path: string): Promise<NodeList> {
    const { file, path: own } = this.#find(path);
    const { nodes, total } = await file.list(own);
    const joined = await Promise.all(
      nodes.map(async (node) => {
        const info =
          node.dataset && (await this.describe(`${path === '/' ? '' : path}/${node.name}`));
        return info ? { ...node, dataset: info } : node;
      }),
    );
    if (path !== '/prompts') return { nodes: joined, total };
    const prompts = this.promptIds.map((name): NodeInfo => ({ name, kind: 'group' }));
    const all = [...prompts, ...joined.filter(({ name }) => !PROMPT_NAME.test(name))];
    return { nodes: all, total: all.length };
  }

  async describe(path: string): Promise<DatasetInfo | null> {
    if (!this.#isRows(path) && !this.#isOffsets(path)) {
      const { file, path: own } = this.#find(path);
      return file.describe(own);
    }
    const infos = await this.#describeAll(path);
    const [first] = infos;
    if (!first || infos.some((info) => info === null)) return null;
    const lengths = infos.map((info) => info!.shape[0] ?? 0);
    const shared = this.#isOffsets(path) ? infos.length - 1 : 0;
    const length = lengths.reduce((sum, count) => sum + count, 0) - shared;
    return { ...first, shape: [length, ...first.shape.slice(1)] };
  }

  attributes(path: string): Promise<Attributes> {
    const { file, path: own } = this.#find(path);
    return file.attributes(own);
  }

  /** Whether each part has prompts of its own. */
  get #split(): boolean {
    return ['prompts', 'rows'].includes(this.#parts[0]!.shard.kind);
  }

  #isRows(path: string): boolean {
    return (
      this.#packed &&
      ROWS.test(path) &&
      !PROMPT.test(path) &&
      !SHARED.test(path) &&
      !this.#isOffsets(path)
    );
  }

  #isOffsets(path: string): boolean {
    return this.#packed && OFFSETS.test(path);
  }

  #partOf(prompt: number): number {
    const part = this.#begins.findIndex((begin) => begin > prompt) - 1;
    return part < 0 ? this.#parts.length - 1 : part;
  }

  /** Prompts lie in their parts under numbers of their own; all else is alike in every part. */
  #find(path: string): { file: RunReader; path: string } {
    const match = PROMPT.exec(path);
    if (!match || !this.#split) return { file: this.#parts[0]!.file, path };
    const number = Number(match[1]);
    const part = this.#partOf(number);
    const { file, summary } = this.#parts[part]!;
    const own = number - this.#begins[part]!;
    const id = this.#packed ? packedId(own) : (summary.promptIds[own] ?? packedId(own));
    return { file, path: `/prompts/${id}${match[2] ?? ''}` };
  }

  #describeAll(path: string): Promise<(DatasetInfo | null)[]> {
    const known = this.#infos.get(path);
    if (known) return known;
    const asked = Promise.all(this.#parts.map(({ file }) => file.describe(path)));
    this.#infos.set(path, asked);
    return asked;
  }

  /** The rows of a slab, part by part. */
  async #cut(path: string, slab?: Slab): Promise<{ pieces: Piece[]; shape: number[] }> {
    const info = await this.describe(path);
    if (!info) throw new IoError('absent', `${path} is not in all parts`);
    const wanted = slab ?? { start: info.shape.map(() => 0), count: info.shape };
    const [begin = 0] = wanted.start;
    const end = begin + (wanted.count[0] ?? 0);
    if (end > (info.shape[0] ?? 0)) {
      throw new IoError('unsupported', `${path} is smaller than asked for`);
    }
    const pieces: Piece[] = [];
    let first = 0;
    for (const [part, own] of (await this.#describeAll(path)).entries()) {
      const length = own!.shape[0] ?? 0;
      const from = Math.max(begin, first);
      const count = Math.min(end, first + length) - from;
      if (count > 0) {
        pieces.push({
          file: this.#parts[part]!.file,
          slab: {
            start: [from - first, ...wanted.start.slice(1)],
            count: [count, ...wanted.count.slice(1)],
          },
        });
      }
      first += length;
    }
    // Nothing is asked for: the first part gives an empty answer of the right type.
    if (pieces.length === 0) {
      const none = { start: wanted.start.map(() => 0), count: wanted.count };
      pieces.push({ file: this.#parts[0]!.file, slab: none });
    }
    return { pieces, shape: wanted.count };
  }

  #joinedOffsets(path: string): Promise<Float64Array> {
    const known = this.#offsets.get(path);
    if (known) return known;
    const asked = Promise.all(this.#parts.map(({ file }) => file.numbers(path))).then((all) => {
      const out = [0];
      for (const { values } of all) {
        const begin = out.at(-1)!;
        for (const value of values.subarray(1)) out.push(begin + value);
      }
      return Float64Array.from(out);
    });
    this.#offsets.set(path, asked);
    return asked;
  }
}

/** What a joined file holds: as its first part, with the prompts of all. */
export function joinedSummary(joined: JoinedFile): RunSummary {
  const { summary } = joined.parts[0]!;
  return {
    ...summary,
    size: joined.size,
    promptIds: joined.promptIds,
    packedPrompts: summary.packedPrompts > 0 ? joined.prompts : 0,
  };
}
