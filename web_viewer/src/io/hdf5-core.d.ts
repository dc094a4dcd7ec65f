/** h5wasm's module without its wrapper; build.mjs says which file that is. */
declare module 'hdf5-core' {
  const createModule: (options: object) => Promise<unknown>;
  export default createModule;
}
