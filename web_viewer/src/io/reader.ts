/** HDF5 objects by path, as plain arrays. Runs in the worker (and in tests). */

import { BUILT_IN_FILTERS } from '../format/schema';
import type {
  Attributes,
  AttributeValue,
  DatasetInfo,
  Dtype,
  NodeInfo,
  NodeList,
  NumberArray,
  NumberData,
  TextData,
} from '../format/types';
import { BlockCache, type ByteSource } from './blocks';
import { IoError } from './errors';
import { halfToFloat } from './half';
import type { Hdf5Metadata, Hdf5Module } from './hdf5_module';

/** No request needs more at once; a damaged or hostile file may claim any size. */
const READ_LIMIT = 64 * 1024 * 1024;
const NAME_LIMIT = 100_000;
/** Members of a group that are described. */
const LIST_LIMIT = 10_000;
const ATTRIBUTES_LIMIT = 1000;
/** The library walks a path from the root for every question, and takes seconds below that. */
const DEPTH_LIMIT = 64;
const ATTRIBUTE_LIMIT = 1024 * 1024;
const FILTER_LIMIT = 4;
const KNOWN_LIMIT = 10_000;

const DAMAGED = 'it is damaged or cut short';

const SIGNATURE = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];

export interface Slab {
  start: number[];
  count: number[];
}

interface OpenFile {
  handle: bigint;
  path: string;
}

const join = (parent: string, name: string): string =>
  parent === '/' ? `/${name}` : `${parent}/${name}`;

function dtypeOf(meta: Hdf5Metadata): Dtype {
  if (meta.type === 3) return 'text';
  if (!meta.littleEndian && meta.size > 1) return 'other';
  if (meta.type === 1) {
    return meta.size === 2 ? 'f16' : meta.size === 4 ? 'f32' : meta.size === 8 ? 'f64' : 'other';
  }
  // Enumerations (h5py's booleans) read as the integers they are stored as.
  if (meta.type === 0 || meta.type === 8) {
    const bits = meta.size * 8;
    if (![8, 16, 32, 64].includes(bits)) return 'other';
    return `${meta.signed ? 'i' : 'u'}${bits}` as Dtype;
  }
  return 'other';
}

function numbersFrom(bytes: Uint8Array<ArrayBuffer>, dtype: Dtype): NumberArray {
  const buffer = bytes.buffer;
  switch (dtype) {
    case 'f16':
      return halfToFloat(new Uint16Array(buffer));
    case 'f32':
      return new Float32Array(buffer);
    case 'f64':
      return new Float64Array(buffer);
    case 'i8':
      return new Int8Array(buffer);
    case 'u8':
      return new Uint8Array(buffer);
    case 'i16':
      return new Int16Array(buffer);
    case 'u16':
      return new Uint16Array(buffer);
    case 'i32':
      return new Int32Array(buffer);
    case 'u32':
      return new Uint32Array(buffer);
    case 'i64':
      return Float64Array.from(new BigInt64Array(buffer), Number);
    case 'u64':
      return Float64Array.from(new BigUint64Array(buffer), Number);
    default:
      throw new IoError('unsupported', 'this type of value cannot be shown');
  }
}

/** Fixed-length text is padded with NUL; a NUL inside belongs to it. */
function textsFrom(bytes: Uint8Array, size: number): string[] {
  const decoder = new TextDecoder('utf-8');
  const texts: string[] = [];
  for (let at = 0; at + size <= bytes.length && size > 0; at += size) {
    let end = at + size;
    while (end > at && bytes[end - 1] === 0) --end;
    texts.push(decoder.decode(bytes.subarray(at, end)));
  }
  return texts;
}

/** EIO of the file system that the library is compiled with. */
const INPUT_OUTPUT_ERROR = 29;

export class Hdf5Reader {
  readonly cache = new BlockCache();
  readonly #module: Hdf5Module;
  readonly #files = new Map<number, OpenFile>();
  readonly #known = new Map<string, Hdf5Metadata>();
  /** Why the last read of bytes failed; the library itself only knows that it did. */
  #lost: unknown = null;

  constructor(module: Hdf5Module) {
    this.#module = module;
    module.activate_throwing_error_handler();
    module.FS.mkdir('/files');
  }

  /** What the library holds; memory of WebAssembly grows and never shrinks. */
  get heapBytes(): number {
    return this.#module.HEAPU8.length;
  }

  open(file: number, source: ByteSource): void {
    this.#checkSignature(file, source);
    const path = `/files/${file}.h5`;
    const { FS } = this.#module;
    FS.writeFile(path, new Uint8Array(0));
    const node = FS.lookupPath(path).node;
    node.usedBytes = source.size;
    node.stream_ops = {
      ...node.stream_ops,
      read: (_stream, buffer, offset, length, position) => {
        try {
          return this.cache.read(file, source, position, buffer, offset, length);
        } catch (error) {
          this.#lost = error;
          // An error of another kind would leave the library in the middle of what it does.
          throw new FS.ErrnoError(INPUT_OUTPUT_ERROR);
        }
      },
    };
    try {
      const handle = this.#guard('the file', () => this.#module.open(path, 0, false, -1, -1));
      if (handle <= 0n) throw new IoError('unreadable', 'HDF5 cannot open the file');
      this.#files.set(file, { handle, path });
    } catch (error) {
      FS.unlink(path);
      this.cache.forget(file);
      throw error;
    }
  }

  close(file: number): void {
    const open = this.#files.get(file);
    if (!open) return;
    this.#files.delete(file);
    this.#known.clear();
    this.#module.close_file(open.handle);
    this.#module.FS.unlink(open.path);
    this.cache.forget(file);
  }

  /** Members of a group in order of their names. Links are listed and not followed. */
  list(file: number, path: string): NodeList {
    this.#expect(file, path, 'group');
    const names = this.#members(file, path);
    const nodes = names.slice(0, LIST_LIMIT).map((name) => this.node(file, join(path, name), name));
    return { nodes, total: names.length };
  }

  /** Names alone, which for a group of thousands of prompts is much cheaper than `list`. */
  names(file: number, path: string): string[] {
    if (this.#kind(file, path) !== 'group') return [];
    const names = this.#members(file, path);
    if (names.length > NAME_LIMIT) {
      throw new IoError(
        'too_large',
        `${path} has ${names.length} members, more than can be listed`,
      );
    }
    return names;
  }

  #members(file: number, path: string): string[] {
    const { handle } = this.#file(file);
    return this.#guard(path, () => this.#module.get_names(handle, path, false)).sort();
  }

  node(file: number, path: string, name: string): NodeInfo {
    const kind = this.#kind(file, path);
    if (kind === 'link') return { name, kind, target: this.#linkTarget(file, path) };
    if (kind !== 'dataset') return { name, kind: kind ?? 'other' };
    return { name, kind, dataset: this.describe(file, path) };
  }

  /** Whether there is a group or dataset of this name. */
  has(file: number, path: string): boolean {
    const kind = this.#kind(file, path);
    return kind === 'group' || kind === 'dataset';
  }

  describe(file: number, path: string): DatasetInfo {
    const { handle } = this.#file(file);
    const meta = this.#guard(path, () => this.#module.get_dataset_metadata(handle, path));
    const filters = this.#guard(path, () => this.#module.get_dataset_filters(handle, path));
    return {
      dtype: dtypeOf(meta),
      shape: (meta.shape ?? []).map(Number),
      chunks: meta.chunks?.map(Number) ?? null,
      filters: filters.map(({ id, name }) => ({ id, name })),
    };
  }

  attributes(file: number, path: string): Attributes {
    const { handle } = this.#file(file);
    const out: Attributes = {};
    if (!this.has(file, path)) return out;
    const names = this.#guard(path, () => this.#module.get_attribute_names(handle, path));
    for (const name of names.slice(0, ATTRIBUTES_LIMIT)) {
      const value = this.#attribute(handle, path, name);
      if (value !== null) out[name] = value;
    }
    return out;
  }

  numbers(file: number, path: string, slab?: Slab): NumberData {
    const { meta, bytes, shape } = this.#read(file, path, slab);
    const dtype = dtypeOf(meta);
    return { shape, dtype, values: numbersFrom(bytes, dtype) };
  }

  texts(file: number, path: string, slab?: Slab): TextData {
    const meta = this.#readable(file, path);
    if (meta.type !== 3 || meta.vlen) {
      throw new IoError('unsupported', `${path}: text of fixed length expected`);
    }
    const { bytes, shape } = this.#read(file, path, slab);
    return { shape, texts: textsFrom(bytes, meta.size) };
  }

  #file(file: number): OpenFile {
    const open = this.#files.get(file);
    if (!open) throw new IoError('absent', 'the file is not open');
    return open;
  }

  #checkSignature(file: number, source: ByteSource): void {
    // A user block of 512, 1024 … bytes may come first.
    const probe = new Uint8Array(8);
    for (let at = 0; at + 8 <= source.size; at = at === 0 ? 512 : at * 2) {
      this.cache.read(file, source, at, probe, 0, 8);
      if (SIGNATURE.every((byte, i) => probe[i] === byte)) return;
    }
    const first = new Uint8Array(Math.min(8, source.size));
    this.cache.read(file, source, 0, first, 0, first.length);
    const seen = [...first].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    throw new IoError(
      'not_hdf5',
      source.size === 0 ? 'the file is empty' : `it begins with ${seen}`,
    );
  }

  #kind(file: number, path: string): 'group' | 'dataset' | 'link' | 'other' | null {
    const { handle } = this.#file(file);
    const module = this.#module;
    if (path === '/') return 'group';
    if (path.split('/').length > DEPTH_LIMIT) {
      throw new IoError('unsupported', `what lies deeper than ${DEPTH_LIMIT} groups is not read`);
    }
    let type: number;
    try {
      // The type of a soft link is that of its target, so links are asked for first.
      if (this.#withBytes(() => module.get_symbolic_link(handle, path)) !== null) return 'link';
      type = this.#withBytes(() => module.get_type(handle, path));
    } catch (error) {
      if (error instanceof IoError || error instanceof WebAssembly.RuntimeError) throw error;
      return null;
    }
    if (type === module.H5G_GROUP) return 'group';
    if (type === module.H5G_DATASET) return 'dataset';
    if (type === module.H5G_UDLINK) return 'link';
    return type < 0 ? null : 'other';
  }

  #linkTarget(file: number, path: string): string {
    const { handle } = this.#file(file);
    const module = this.#module;
    const soft = this.#guard(path, () => module.get_symbolic_link(handle, path));
    if (soft !== null) return soft;
    const external = this.#guard(path, () => module.get_external_link(handle, path));
    return `${external.filename}:${external.obj_path}`;
  }

  #expect(file: number, path: string, kind: 'group' | 'dataset'): void {
    const found = this.#kind(file, path);
    if (found === null) throw new IoError('absent', `${path} is not in the file`);
    if (found === 'link')
      throw new IoError('unsupported', `${path} is a link; links are not followed`);
    if (found !== kind) throw new IoError('unsupported', `${path} is no ${kind}`);
  }

  #attribute(handle: bigint, path: string, name: string): AttributeValue | null {
    const module = this.#module;
    const meta = this.#guard(path, () => module.get_attribute_metadata(handle, path, name));
    const dtype = dtypeOf(meta);
    const bytesTotal = meta.size * meta.total_size;
    if (!meta.shape || dtype === 'other' || bytesTotal > ATTRIBUTE_LIMIT) return null;
    return this.#withMemory(bytesTotal, (pointer) => {
      this.#guard(path, () => module.get_attribute_data(handle, path, name, BigInt(pointer)));
      const bytes = module.HEAPU8.slice(pointer, pointer + bytesTotal) as Uint8Array<ArrayBuffer>;
      let values: string[] | number[];
      if (dtype !== 'text') values = Array.from(numbersFrom(bytes, dtype));
      else if (meta.vlen) {
        values = Array.from(new Uint32Array(bytes.buffer), (at) => module.UTF8ToString(at));
        module.reclaim_vlen_memory(handle, path, name, BigInt(pointer));
      } else values = textsFrom(bytes, meta.size);
      return meta.shape?.length === 0 ? (values[0] ?? null) : values;
    });
  }

  #read(file: number, path: string, slab: Slab | undefined) {
    const { handle } = this.#file(file);
    const module = this.#module;
    const meta = this.#readable(file, path);
    const whole = (meta.shape ?? []).map(Number);
    const shape = slab ? slab.count : whole;
    const inside = slab?.start.every(
      (start, i) => start >= 0 && start + (slab.count[i] ?? 0) <= (whole[i] ?? 0),
    );
    if (inside === false) throw new IoError('unsupported', `${path} is smaller than asked for`);
    const bytesTotal = shape.reduce((product, extent) => product * extent, meta.size);
    if (!(bytesTotal <= READ_LIMIT)) {
      throw new IoError('too_large', `${path} would need more than 64 MiB at once`);
    }
    if (bytesTotal === 0) return { meta, shape, bytes: new Uint8Array(0) };
    const big = (numbers: number[] | undefined) => numbers?.map(BigInt) ?? null;
    const strides = slab ? slab.count.map(() => 1n) : null;
    const bytes = this.#withMemory(bytesTotal, (pointer) => {
      this.#guard(
        path,
        () =>
          module.get_dataset_data(
            handle,
            path,
            big(slab?.count),
            big(slab?.start),
            strides,
            BigInt(pointer),
          ),
        meta.chunks ? DAMAGED : 'it is damaged or cut short, or its values are in another file',
      );
      return module.HEAPU8.slice(pointer, pointer + bytesTotal) as Uint8Array<ArrayBuffer>;
    });
    return { meta, shape, bytes };
  }

  /** What a dataset is, once it is known that reading it is safe; tiles ask again and again. */
  #readable(file: number, path: string): Hdf5Metadata {
    const key = `${file}:${path}`;
    const known = this.#known.get(key);
    if (known) return known;
    const { handle } = this.#file(file);
    this.#expect(file, path, 'dataset');
    const meta = this.#guard(path, () => this.#module.get_dataset_metadata(handle, path));
    if (meta.shape === null) throw new IoError('unsupported', `${path} has no data space`);
    if (meta.virtual_sources && meta.virtual_sources.length > 0) {
      throw new IoError(
        'unsupported',
        `${path} is a virtual dataset: its values are in other files`,
      );
    }
    const chunk = meta.chunks?.map(Number).reduce((product, n) => product * n, meta.size) ?? 0;
    if (!(chunk <= READ_LIMIT)) {
      throw new IoError('too_large', `${path} is stored in chunks of more than 64 MiB`);
    }
    this.#checkFilters(file, path);
    if (this.#known.size >= KNOWN_LIMIT) this.#known.clear();
    this.#known.set(key, meta);
    return meta;
  }

  #checkFilters(file: number, path: string): void {
    const { filters } = this.describe(file, path);
    const foreign = filters.find(({ id }) => !BUILT_IN_FILTERS.has(id));
    if (foreign) {
      throw new IoError(
        'filter',
        `${path} is compressed by “${foreign.name || 'unnamed'}” (filter ${foreign.id})`,
      );
    }
    if (filters.length > FILTER_LIMIT) {
      throw new IoError('unsupported', `${path} passes ${filters.length} filters`);
    }
  }

  #withMemory<T>(bytes: number, use: (pointer: number) => T): T {
    const pointer = this.#module._malloc(Math.max(bytes, 8));
    if (pointer === 0) throw new IoError('too_large', 'there is not enough memory for this');
    try {
      return use(pointer);
    } finally {
      this.#module._free(pointer);
    }
  }

  /** What the call could not read is why it failed, or why its answer is not to be trusted. */
  #withBytes<T>(call: () => T): T {
    this.#lost = null;
    let value: T;
    try {
      value = call();
    } catch (error) {
      throw this.#lost ?? error;
    }
    if (this.#lost !== null) throw this.#lost;
    return value;
  }

  /** HDF5's own errors become ours; a trap of WebAssembly leaves the worker unusable. */
  #guard<T>(what: string, call: () => T, why = DAMAGED): T {
    try {
      return this.#withBytes(call);
    } catch (error) {
      if (error instanceof IoError || error instanceof WebAssembly.RuntimeError) throw error;
      throw new IoError('unreadable', `${what} cannot be read: ${why}`);
    }
  }
}
