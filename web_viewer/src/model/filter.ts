/** The filter of the overview: `entropy<1.5 & layer>8`, `verdict=causal | induction>0.4`. */

import type { HeadTable } from './heads';

export type FilterResult =
  { ok: true; keep: (head: number) => boolean } | { ok: false; message: string; at: number };

interface Token {
  kind: 'name' | 'number' | 'operator' | 'end';
  text: string;
  at: number;
}

type Test = (head: number) => boolean;

class FilterError extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const PATTERN =
  /\s*(?:([A-Za-z_][A-Za-z_0-9-]*)|([-−]?\d*\.?\d+(?:e[-+]?\d+)?)|(<=|>=|!=|&&|\|\||[<>=&|()!]))/y;

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  PATTERN.lastIndex = 0;
  while (PATTERN.lastIndex < text.trimEnd().length) {
    const from = PATTERN.lastIndex;
    const match = PATTERN.exec(text);
    if (!match) {
      const rest = text.slice(from).trimStart();
      throw new FilterError(`“${rest[0]}” is not understood`, text.length - rest.length);
    }
    const [whole, name, number, operator] = match;
    const at = from + whole.length - whole.trimStart().length;
    if (name !== undefined) tokens.push({ kind: 'name', text: name, at });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number, at });
    else tokens.push({ kind: 'operator', text: operator!, at });
  }
  tokens.push({ kind: 'end', text: '', at: text.length });
  return tokens;
}

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
};

const VERDICT_WORDS: Record<string, string[]> = {
  causal: ['causal'],
  none: ['no effect'],
  undetermined: ['undetermined', 'backed up'],
  backed_up: ['backed up'],
};

/** Single-letter changes between two words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j) {
      const changed = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/** The known name that was probably meant; null if none is near. */
function nearest(text: string, known: readonly string[]): string | null {
  const ranked = known
    .map((name) => ({ name, far: distance(text.toLowerCase(), name) }))
    .sort((a, b) => a.far - b.far);
  const [best] = ranked;
  return best && best.far <= Math.max(1, Math.floor(text.length / 3)) ? best.name : null;
}

class Parser {
  readonly #table: HeadTable;
  readonly #tokens: Token[];
  #next = 0;

  constructor(table: HeadTable, text: string) {
    this.#table = table;
    this.#tokens = tokenize(text);
  }

  parse(): Test {
    const test = this.#either();
    const rest = this.#peek();
    if (rest.kind !== 'end') throw new FilterError(`“${rest.text}” is not expected here`, rest.at);
    return test;
  }

  #peek(): Token {
    return this.#tokens[this.#next]!;
  }

  #accept(...texts: string[]): boolean {
    if (!texts.includes(this.#peek().text)) return false;
    ++this.#next;
    return true;
  }

  #either(): Test {
    let left = this.#both();
    while (this.#accept('|', '||', 'or')) {
      const [a, b] = [left, this.#both()];
      left = (head) => a(head) || b(head);
    }
    return left;
  }

  #both(): Test {
    let left = this.#one();
    while (this.#accept('&', '&&', 'and')) {
      const [a, b] = [left, this.#one()];
      left = (head) => a(head) && b(head);
    }
    return left;
  }

  #one(): Test {
    if (this.#accept('!', 'not')) {
      const inner = this.#one();
      return (head) => !inner(head);
    }
    if (this.#accept('(')) {
      const inner = this.#either();
      if (!this.#accept(')')) throw new FilterError('a “)” is missing', this.#peek().at);
      return inner;
    }
    return this.#comparison();
  }

  #comparison(): Test {
    const name = this.#peek();
    if (name.kind !== 'name') {
      throw new FilterError('a name is expected, such as layer or induction', name.at);
    }
    ++this.#next;
    const operator = this.#peek();
    const compare = COMPARE[operator.text];
    if (!compare) {
      throw new FilterError(`after ${name.text} one of < > <= >= = != is expected`, operator.at);
    }
    ++this.#next;
    const value = this.#peek();
    ++this.#next;
    if (name.text === 'verdict') return this.#verdict(operator, value);
    const of = this.#values(name);
    if (value.kind !== 'number') {
      throw new FilterError(`after ${operator.text} a number is expected`, value.at);
    }
    const bound = Number(value.text.replace('−', '-'));
    return (head) => compare(of(head), bound);
  }

  #verdict(operator: Token, value: Token): Test {
    const wanted = VERDICT_WORDS[value.text];
    if (!wanted || !['=', '!='].includes(operator.text)) {
      throw new FilterError(
        'verdict = causal, none, undetermined or backed_up is expected',
        value.at,
      );
    }
    const { effects } = this.#table;
    if (effects.every((effect) => !effect?.verdict)) {
      throw new FilterError('no verdicts are open', operator.at);
    }
    const equal = operator.text === '=';
    return (head) => {
      const verdict = effects[head]?.verdict;
      return verdict ? wanted.includes(verdict) === equal : false;
    };
  }

  #values(name: Token): (head: number) => number {
    const { heads, columns } = this.#table;
    if (name.text === 'layer') return (head) => heads[head]!.layer;
    if (name.text === 'head') return (head) => heads[head]!.head;
    const column = columns.get(name.text);
    if (column) return (head) => column.values[head]!;
    const known = ['layer', 'head', ...columns.keys(), 'verdict'];
    const near = nearest(name.text, known);
    const list = `here are ${known.join(', ')}`;
    throw new FilterError(
      `“${name.text}” is not known${near ? `, did you mean ${near}? T` : '; t'}${list}`,
      name.at,
    );
  }
}

/** Reads a filter; an empty one keeps every head. NaN fulfils no comparison but `!=`. */
export function parseFilter(table: HeadTable, text: string): FilterResult {
  if (text.trim() === '') return { ok: true, keep: () => true };
  try {
    return { ok: true, keep: new Parser(table, text).parse() };
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return { ok: false, message: error.message, at: error.at };
  }
}
