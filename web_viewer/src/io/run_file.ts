/** One open file of ours (or any HDF5 file): what it holds, read piece by piece. */

import { ROOT_NAMES, PROMPT_NAME, STACKS, judgeSchema, type SchemaAnswer } from '../format/schema';
import type { Attributes, DatasetInfo, NodeList, NumberData, RunSummary } from '../format/types';
import type { Client, RequestOptions } from './client';
import { IoError } from './errors';
import type { Source } from './protocol';
import type { Slab } from './reader';

/** How a number of texts or numbers is asked for. */
export interface Reading {
  numbers(path: string, slab?: Slab, options?: RequestOptions): Promise<NumberData>;
  texts(path: string, slab?: Slab): Promise<string[]>;
  names(path: string): Promise<string[]>;
  describe(path: string): Promise<DatasetInfo | null>;
  attributes(path: string): Promise<Attributes>;
}

/** Where something is stored: a file on disk and the path inside. */
export interface Origin {
  file: string;
  path: string;
  /** Where a row of the packed layout lies. */
  row?: number;
}

/** An open file, or several that are read as one. */
export interface RunReader extends Reading {
  /** Tells open files apart. */
  readonly id: number;
  readonly name: string;
  readonly size: number;
  list(path: string): Promise<NodeList>;
  origin(path: string, row?: number): Origin;
  /** The file at the worker that holds a path, and what it is called there. */
  place(path: string): { file: number; path: string };
  close(): Promise<void>;
}

export class RunFile implements RunReader {
  readonly name: string;
  readonly size: number;
  readonly #client: Client;
  /** Number of the file at the worker; it survives a restart. */
  readonly id: number;

  private constructor(client: Client, file: number, name: string, size: number) {
    this.#client = client;
    this.id = file;
    this.name = name;
    this.size = size;
  }

  static async open(client: Client, source: Source, name: string): Promise<RunFile> {
    const { file, size } = await client.open(source);
    return new RunFile(client, file, name, size);
  }

  origin(path: string, row?: number): Origin {
    return row === undefined ? { file: this.name, path } : { file: this.name, path, row };
  }

  place(path: string): { file: number; path: string } {
    return { file: this.id, path };
  }

  close(): Promise<void> {
    return this.#client.close(this.id);
  }

  numbers(path: string, slab?: Slab, options?: RequestOptions): Promise<NumberData> {
    return this.#client.ask('numbers', this.id, slab ? { path, slab } : { path }, options);
  }

  async texts(path: string, slab?: Slab): Promise<string[]> {
    return (await this.#client.ask('texts', this.id, slab ? { path, slab } : { path })).texts;
  }

  list(path: string): Promise<NodeList> {
    return this.#client.ask('list', this.id, { path });
  }

  names(path: string): Promise<string[]> {
    return this.#client.ask('names', this.id, { path });
  }

  describe(path: string): Promise<DatasetInfo | null> {
    return this.#client.ask('describe', this.id, { path });
  }

  attributes(path: string): Promise<Attributes> {
    return this.#client.ask('attributes', this.id, { path });
  }
}

export interface OpenedRun {
  schema: SchemaAnswer;
  summary: RunSummary;
}

/** What the root of a file says; the first thing that is read. */
export async function readSummary(file: RunReader): Promise<OpenedRun> {
  const root = await file.attributes('/');
  const schema = judgeSchema(root.schema, root.schema_version);
  const ours = schema.kind === 'ours';
  const [names, model, run, promptNames, experiments, packed, offsets] = await Promise.all([
    ours ? file.names('/') : ([] as string[]),
    file.attributes('/model'),
    file.attributes('/run'),
    ours ? file.names('/prompts') : [],
    ours ? file.names('/experiments') : [],
    ours ? file.names('/packed/attention') : [],
    ours ? file.describe('/offsets') : null,
  ]);
  const summary: RunSummary = {
    name: file.name,
    size: file.size,
    root,
    model,
    run,
    unknown: names.filter((name) => !ROOT_NAMES.includes(name)),
    promptIds: promptNames.filter((name) => PROMPT_NAME.test(name)),
    packedPrompts: Math.max(0, (offsets?.shape[0] ?? 1) - 1),
    experiments,
    packedStacks: STACKS.filter((stack) => (packed as string[]).includes(stack)),
    hasDifferences: names.includes('differences'),
  };
  return { schema, summary };
}

/** The value, or null where the file does not have it. Every other failure stays one. */
export async function orAbsent<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof IoError && error.code === 'absent') return null;
    throw error;
  }
}

/** Rows of a long column are read in parts, for one request has a limit. */
const ROWS_AT_ONCE = 2000;

export async function readColumn(file: Reading, path: string, count: number): Promise<string[]> {
  const out: string[] = [];
  for (let begin = 0; begin < count; begin += ROWS_AT_ONCE) {
    const part = { start: [begin], count: [Math.min(ROWS_AT_ONCE, count - begin)] };
    out.push(...(await file.texts(path, part)));
  }
  return out;
}

/** The value, or null where it is absent or more than can be read at once. */
export async function orTooLarge<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof IoError && ['absent', 'too_large'].includes(error.code)) return null;
    throw error;
  }
}
