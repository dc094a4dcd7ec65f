/** The few calls of h5wasm 0.10.3 that the reader uses, and how it is started. */

import createModule from 'hdf5-core';

export interface Hdf5Metadata {
  type: number;
  size: number;
  signed: boolean;
  littleEndian: boolean;
  vlen: boolean;
  cset?: number;
  shape: number[] | null;
  chunks: number[] | null;
  total_size: number;
  virtual_sources?: { file_name: string; dset_name: string }[];
}

export interface FsStream {
  node: FsNode;
  position: number;
}

export interface FsNode {
  usedBytes: number;
  stream_ops: Record<string, unknown> & {
    read?: (
      stream: FsStream,
      buffer: Uint8Array | Int8Array,
      offset: number,
      length: number,
      position: number,
    ) => number;
  };
}

export interface Hdf5Module {
  HEAPU8: Uint8Array;
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  UTF8ToString(pointer: number): string;
  /** −1 for the versions leaves the choice to the library. */
  open(
    path: string,
    mode: number,
    trackOrder: boolean,
    lowVersion: number,
    highVersion: number,
  ): bigint;
  close_file(id: bigint): number;
  get_type(id: bigint, path: string): number;
  get_names(id: bigint, path: string, recursive: boolean): string[];
  /** null for what is no soft link. */
  get_symbolic_link(id: bigint, path: string): string | null;
  get_external_link(id: bigint, path: string): { filename: string; obj_path: string };
  get_attribute_names(id: bigint, path: string): string[];
  get_attribute_metadata(id: bigint, path: string, name: string): Hdf5Metadata;
  get_attribute_data(id: bigint, path: string, name: string, pointer: bigint): number;
  get_dataset_metadata(id: bigint, path: string): Hdf5Metadata;
  get_dataset_filters(id: bigint, path: string): { id: number; name: string }[];
  get_dataset_data(
    id: bigint,
    path: string,
    count: bigint[] | null,
    offset: bigint[] | null,
    strides: bigint[] | null,
    pointer: bigint,
  ): number;
  reclaim_vlen_memory(id: bigint, path: string, attribute: string, pointer: bigint): number;
  activate_throwing_error_handler(): number;
  H5G_GROUP: number;
  H5G_DATASET: number;
  H5G_UDLINK: number;
  FS: {
    mkdir(path: string): void;
    writeFile(path: string, data: Uint8Array): void;
    unlink(path: string): void;
    lookupPath(path: string): { node: FsNode };
    ErrnoError: new (errno: number) => Error;
  };
}

interface Hdf5ModuleOptions {
  noInitialRun: boolean;
  printErr: (text: string) => void;
  instantiateWasm: (
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ) => object;
}

/** A stream that inflates to more than its chunk may not take the memory of the whole machine. */
const HEAP_LIMIT = 320 * 1024 * 1024;

function boundHeap(imports: WebAssembly.Imports): void {
  const functions = imports.env as Record<string, (size: number) => boolean>;
  const grow = functions.emscripten_resize_heap!;
  functions.emscripten_resize_heap = (size) => size >>> 0 <= HEAP_LIMIT && grow(size);
}

/** Starts HDF5 from a module compiled elsewhere, so that a restart compiles nothing. */
export async function startHdf5(wasm: WebAssembly.Module): Promise<Hdf5Module> {
  const options: Hdf5ModuleOptions = {
    noInitialRun: true,
    // HDF5 prints its error stack; what went wrong is said by the errors that are thrown.
    printErr: () => {},
    instantiateWasm: (imports, done) => {
      boundHeap(imports);
      void WebAssembly.instantiate(wasm, imports).then((instance) => done(instance, wasm));
      return {};
    },
  };
  return (await createModule(options)) as Hdf5Module;
}
