/** What the statistics of a head mean, in one sentence each (src/kernels/README.md). */

export interface Definition {
  name: string;
  label: string;
  sentence: string;
  /** Whether values lie between 0 and 1, so that heads can be compared by bars. */
  share: boolean;
}

const define = (name: string, label: string, sentence: string, share = true): Definition => ({
  name,
  label,
  sentence,
  share,
});

export const STATISTICS: readonly Definition[] = [
  define(
    'induction',
    'induction',
    'Attention to the token that followed an earlier copy of the present token, on the rows that have one.',
  ),
  define('previous', 'previous token', 'Attention to the token just before, rows 1 and later.'),
  define(
    'duplicate',
    'duplicate token',
    'Attention to earlier copies of the present token, on the rows that have one.',
  ),
  define('sink', 'first token', 'Attention to the first token of the text, rows 1 and later.'),
  define('self', 'itself', 'Attention of a token to itself.'),
  define('next', 'next token', 'Attention to the token just after; never there in causal models.'),
  define('max', 'largest weight', 'The largest weight of a row, averaged over the rows.'),
  define(
    'entropy',
    'entropy',
    'How spread out a row is, in nats: 0 is one key only, ln(n) is n keys alike.',
    false,
  ),
  define(
    'entropy_norm',
    'relative entropy',
    'Entropy of a row over the largest that its visible keys allow: 1 is uniform.',
  ),
  define('effective_keys', 'effective keys', 'How many keys a row uses: 1 ÷ Σ weight².', false),
  define('distance', 'distance', 'How far back a row looks, in tokens, on average.', false),
  define(
    'norm_weighted',
    'norm-weighted attention',
    'How much the key adds and not only how much it is attended to: Σ weight × length of what the key’s value adds to the residual stream (Kobayashi et al. 2020).',
    false,
  ),
  define(
    'learned_sink',
    'learned sink',
    'Weight on the learned sink, which goes to no token; 0 in models without one.',
  ),
];

/** What tells a measure from the statistic of all rows that is called alike. */
const OF_ROWS = ' (answer rows)';

/** Where a heading says which rows are meant. */
export const withoutRows = (label: string): string => label.replace(OF_ROWS, '');

const MEASURES: readonly Definition[] = [
  define(
    'attention mass',
    'attention mass',
    'What the answer rows (those at which the metric reads the answer) give to keys other than the first token and themselves.',
  ),
  define(
    'largest weight',
    `largest weight${OF_ROWS}`,
    'The largest weight without the first token, over the answer rows: those at which the metric reads the answer.',
  ),
  define(
    'focus',
    `focus${OF_ROWS}`,
    'How sharply the answer rows (those at which the metric reads the answer) attend: minus the entropy in nats, so 0 is one key only, and the further below 0 the more spread out.',
    false,
  ),
  define(
    'norm-weighted attention',
    `norm-weighted attention${OF_ROWS}`,
    'Σ weight × length of what the key’s value adds, over the answer rows: those at which the metric reads the answer.',
    false,
  ),
  define(
    "attention to the answer's source",
    'to the answer’s source',
    'Attention to the tokens that the pairs name as the source of the answer, from the answer rows: those at which the metric reads the answer.',
  ),
];

const byName = new Map([...STATISTICS, ...MEASURES].map((entry) => [entry.name, entry]));

/** Statistics of later versions are shown under their own names. */
export function definitionOf(name: string): Definition {
  return byName.get(name) ?? define(name, name, 'This version has no description of it.', false);
}

/** Place in lists: what people look for first comes first, unknown names last. */
export function orderOf(name: string): number {
  const at = STATISTICS.findIndex((entry) => entry.name === name);
  return at < 0 ? STATISTICS.length : at;
}
