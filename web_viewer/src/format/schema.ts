/** Names of attnscope/1 (src/storage/SCHEMA.md of the repository). Nothing here reads a file. */

const SCHEMA_MAJOR = 1;

export type StackName = 'self' | 'encoder' | 'decoder' | 'cross';
export const STACKS: readonly StackName[] = ['self', 'encoder', 'decoder', 'cross'];

/** Groups that version 1.0 puts below the root. */
export const ROOT_NAMES: readonly string[] = [
  'model',
  'run',
  'prompts',
  'tokens',
  'offsets',
  'packed',
  'experiments',
  'differences',
];

export const PROMPT_NAME = /^p\d{6}$/;

/** Name of a prompt by its number; prompts of the packed layout have no groups but are called alike. */
export const packedId = (index: number): string => `p${String(index).padStart(6, '0')}`;

/** The number of a prompt, which is its row in the packed layout. */
export const packedRow = (id: string): number => Number(id.slice(1));

export type SchemaAnswer =
  | { kind: 'ours'; major: number; minor: number }
  | { kind: 'newer'; version: string }
  | { kind: 'foreign' };

/** What the root attributes `schema` and `schema_version` say. */
export function judgeSchema(schema: unknown, version: unknown): SchemaAnswer {
  const match = typeof schema === 'string' ? /^attnscope\/(\d+)$/.exec(schema) : null;
  if (!match) return { kind: 'foreign' };
  const major = Number(match[1]);
  const minor = Array.isArray(version) ? Number(version[1] ?? 0) : 0;
  if (major !== SCHEMA_MAJOR) return { kind: 'newer', version: `${major}.${minor}` };
  return { kind: 'ours', major, minor };
}

/** Stack and layer of a pattern's hook name; null for every other site. */
export function parsePatternName(name: string): { stack: StackName; layer: number } | null {
  const match = /^(blocks|encoder|decoder)\.(\d+)\.(attn|cross_attn)\.hook_pattern$/.exec(name);
  if (!match) return null;
  const layer = Number(match[2]);
  if (match[3] === 'cross_attn') return { stack: 'cross', layer };
  const stack = match[1] === 'blocks' ? 'self' : (match[1] as StackName);
  return { stack, layer };
}

/** deflate, shuffle, fletcher32, szip, nbit, scale-offset: what this build of HDF5 has. */
export const BUILT_IN_FILTERS = new Set([1, 2, 3, 4, 5, 6]);
