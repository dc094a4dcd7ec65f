/** The text itself: point at a token, and what it attends to is shaded; select some for sums. */

import { computed, signal, useSignalEffect } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isStale } from '../io/errors';
import { placeOf } from '../draw/scale';
import { transformed, type Transform } from '../draw/transform';
import { short } from '../model/numbers';
import { indexOf, positionOf } from '../model/positions';
import { tokenText } from '../model/tokens';
import { wordTexts } from '../model/words';
import { transform, wordsOfSides } from '../state/cells';
import { mapScale } from '../state/colors';
import { headMap, type HeadMap } from '../state/map';
import { keyMeans } from '../state/margins';
import { currentRows } from '../state/rows';
import { adjust, choose, view } from '../state/view';
import { client, failWith, mainRun, prompt, stack, type OpenRun } from '../state/workspace';

/** More tokens than this as elements of the page would make it slow. */
const MAX_TOKENS = 3000;
const MAX_QUERIES = 64;
const LANE = 'text';

/** Queries of a map, and what its weights are changed by. */
interface Shaded {
  queries: readonly number[];
  run: OpenRun | null;
  at: HeadMap | null;
  change: Transform;
}

/** Mean weights of some queries on every key, from the stored map. */
async function meanRow({ queries, run, at, change }: Shaded): Promise<Float32Array | null> {
  client.advance(LANE);
  if (!at || !run || queries.length === 0) return null;
  const stored = at.map.shape[2];
  const { keyPositions, queryPositions } = at.map;
  const length = keyPositions ? Math.max(...keyPositions) + 1 : stored;
  const mean = new Float32Array(length);
  // Queries whose rows are not stored, or of which nothing is left, have nothing to show.
  const used = queries
    .map((query) => indexOf(queryPositions, query))
    .filter((row) => row >= 0 && row < at.map.shape[1])
    .filter((row) => !Number.isNaN(change.rowFactor?.[row] ?? 1))
    .slice(0, MAX_QUERIES);
  const rows = await Promise.all(
    used.map((row) =>
      run.file.numbers(
        at.map.path,
        { start: [at.index, row, 0], count: [1, 1, stored] },
        { lane: LANE, priority: 4 },
      ),
    ),
  );
  rows.forEach(({ values }, i) => {
    for (let k = 0; k < stored; ++k) {
      const weight = transformed(change, values[k]!, used[i]!, k);
      mean[positionOf(keyPositions, k)]! += weight / used.length;
    }
  });
  return mean;
}

/** Tokens that are shown as one: each by itself, or the pieces of a word. */
function groupsOf(count: number, words: Int32Array | null): number[][] {
  const groups: number[][] = [];
  for (let at = 0; at < count; ++at) {
    if (at > 0 && words && words[at] === words[at - 1]) groups.at(-1)!.push(at);
    else groups.push([at]);
  }
  return groups;
}

/** Characters of a token on the page, and in its tooltip. */
export const SHOWN = 400;
const WHOLE = 2000;

export const textOf = (pieces: readonly string[], limit: number): string =>
  tokenText(pieces.map((piece) => piece.slice(0, limit + 1)).join(''), limit);

type Kind = 'queries' | 'keys';

/** Choosing by click, shift (up to here), ctrl (one more, one less) and by dragging. */
function useTokenSelection(groups: Record<Kind, number[][]>) {
  const anchor = useRef(-1);
  const dragged = useRef<Kind | null>(null);
  const set = (kind: Kind, positions: number[], change = choose) =>
    change(kind === 'queries' ? { queries: positions } : { keys: positions });
  const upTo = (kind: Kind, at: number, change = choose) => {
    const [low, high] = [Math.min(anchor.current, at), Math.max(anchor.current, at)];
    set(kind, groups[kind].slice(low, high + 1).flat(), change);
  };
  return {
    press(
      kind: Kind,
      at: number,
      event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean },
    ) {
      const own = groups[kind][at]!;
      const now = view[kind].peek();
      const more = event.ctrlKey || event.metaKey || kind === 'keys';
      if (event.shiftKey && anchor.current >= 0) upTo(kind, at);
      else if (more && now.includes(own[0]!))
        set(
          kind,
          now.filter((one) => !own.includes(one)),
        );
      else set(kind, more ? [...now, ...own] : own);
      if (!event.shiftKey) anchor.current = at;
      dragged.current = kind;
    },
    enter(kind: Kind, at: number, event: PointerEvent) {
      if (event.buttons === 0) dragged.current = null;
      if (dragged.current === kind && anchor.current >= 0) upTo(kind, at, adjust);
    },
  };
}

/** Queries under the pointer. */
const pointed = signal<readonly number[]>([]);
/** Weights that have been read, and of what; null where there are none. */
const weights = signal<{ of: Shaded; row: Float32Array | null } | null>(null);

/** Queries whose attention is shaded: those pointed at, else those chosen. */
export const shadedQueries = computed<readonly number[]>(() =>
  pointed.value.length > 0 ? pointed.value : view.queries.value,
);

const wantedWeights = computed<Shaded>(() => ({
  queries: shadedQueries.value,
  run: mainRun.value,
  at: headMap.value,
  change: transform.value,
}));

/** What the shades of keys stand for, by position: weights of some queries, else means over all.
 *  The last ones stay until those of other queries or of another head have been read. */
export const shades = computed<Float32Array | null>(() =>
  shadedQueries.value.length > 0 ? (weights.value?.row ?? null) : keyMeans.value,
);

/** Whether the shades are not yet those of the head and the queries on screen. */
export const shadesPending = computed<boolean>(() =>
  shadedQueries.value.length > 0
    ? weights.value?.of !== wantedWeights.value
    : currentRows.value === null,
);

/** Tokens of either side as they are shown, each with its positions. */
export function textTokens(kind: Kind): { positions: number[]; texts: string[] }[] {
  const name = stack.value?.stack;
  const data = prompt.value;
  const tokens = name && (kind === 'keys' ? data?.keyTokens[name] : data?.queryTokens[name]);
  if (!tokens) return [];
  const { queries, keys } = wordsOfSides.value;
  const words = kind === 'keys' ? keys : queries;
  const texts = wordTexts(tokens, words ? (data?.text ?? '') : '');
  const count = Math.min(MAX_TOKENS, tokens.texts.length);
  return groupsOf(count, words).map((positions) => ({ positions, texts: texts(positions) }));
}

/** Whether queries and keys are tokens of one text. */
export function isOneText(): boolean {
  const name = stack.value?.stack;
  const data = prompt.value;
  return !name || data?.keyTokens[name] === data?.queryTokens[name];
}

export function HeadText() {
  useLayoutEffect(() => () => void (pointed.value = []), []);
  useSignalEffect(() => {
    const wanted = wantedWeights.value;
    let current = true;
    meanRow(wanted).then(
      (row) => {
        if (current) weights.value = { of: wanted, row };
      },
      (error: unknown) => {
        if (!isStale(error)) failWith(mainRun.peek()?.summary.name ?? '', error);
      },
    );
    return () => {
      current = false;
    };
  });

  const name = stack.value?.stack;
  const data = prompt.value;
  const keyTexts = (name && data?.keyTokens[name]?.texts) || [];
  const queryTexts = (name && data?.queryTokens[name]?.texts) || [];
  const sameText = isOneText();
  const sides = { queries: textTokens('queries'), keys: textTokens('keys') };
  const groups = {
    queries: sides.queries.map(({ positions }) => positions),
    keys: sides.keys.map(({ positions }) => positions),
  };
  const selection = useTokenSelection(groups);
  if (!name || !data) return null;

  const chosenQueries = new Set(shadedQueries.value);
  const chosenKeys = new Set(view.keys.value);
  const pointing = shadedQueries.value.length > 0;
  const shaded = shades.value;
  const sumOf = (positions: Iterable<number>) => {
    let sum = 0;
    for (const at of positions) sum += shaded?.[at] ?? 0;
    return sum;
  };
  const shade = (weight: number) => {
    // At most this much of the accent, so that text stays readable on it.
    const share = 55 * placeOf(mapScale.value, weight);
    return { background: `color-mix(in srgb, var(--accent) ${share.toFixed(1)}%, transparent)` };
  };

  const token = (positions: number[], at: number, asKey: boolean, asQuery: boolean) => {
    const first = positions[0]!;
    const { texts } = (asKey ? sides.keys : sides.queries)[at]!;
    const weight = asKey && shaded ? sumOf(positions) : null;
    const kindOf = (event: { altKey: boolean }): Kind =>
      event.altKey || !asQuery ? 'keys' : 'queries';
    const marks = [
      'token',
      asQuery && positions.some((one) => chosenQueries.has(one)) ? 'query' : '',
      asKey && positions.some((one) => chosenKeys.has(one)) ? 'key' : '',
    ];
    const place = positions.length > 1 ? `${first}–${positions.at(-1)}` : `${first}`;
    return (
      <button
        key={first}
        type="button"
        class={marks.filter(Boolean).join(' ')}
        style={weight === null ? undefined : shade(weight)}
        title={`${place}${weight === null ? '' : `: ${short(weight)}${pointing ? '' : ' on average'}`}\n${textOf(texts, WHOLE)}`}
        onPointerEnter={(event) => {
          if (asQuery) pointed.value = positions;
          selection.enter(kindOf(event), at, event);
        }}
        onFocus={() => {
          if (asQuery) pointed.value = positions;
        }}
        onPointerDown={(event) => {
          // Else the next tokens would not hear of the drag.
          event.currentTarget.releasePointerCapture(event.pointerId);
          selection.press(kindOf(event), at, event);
        }}
        onClick={(event) => {
          // A press of a key, for those of the pointer were heard already.
          if (event.detail === 0) selection.press(kindOf(event), at, event);
        }}
      >
        {textOf(texts, SHOWN)}
      </button>
    );
  };
  const leave = () => (pointed.value = []);
  const long = Math.max(keyTexts.length, queryTexts.length);
  const several = shadedQueries.value.length;
  return (
    <div class="text-view">
      <p class="small">
        {!pointing &&
          shaded &&
          'Shaded by what each token gets on average from those that see it. '}
        Point at a token to shade what it attends to. Click to keep it, drag or shift-click for a
        range, ctrl-click to add one, alt-click to choose keys and sum them.
        {long > MAX_TOKENS && ` The first ${MAX_TOKENS} of ${long} tokens.`}
        {view.queries.value.length > MAX_QUERIES &&
          ` The first ${MAX_QUERIES} queries are averaged.`}
      </p>
      {!sameText && (
        <div class="flow" aria-label="Queries" onPointerLeave={leave}>
          {groups.queries.map((positions, at) => token(positions, at, false, true))}
        </div>
      )}
      <div class="flow" aria-label={sameText ? 'Tokens' : 'Keys'} onPointerLeave={leave}>
        {groups.keys.map((positions, at) => token(positions, at, true, sameText))}
      </div>
      {pointing && shaded && chosenKeys.size > 0 && (
        <p class="text-sum">
          {several === 1 ? 'This query gives' : `These ${several} queries give, on average,`}{' '}
          <strong>{short(sumOf(chosenKeys), 4)}</strong> of {several === 1 ? 'its' : 'their'}{' '}
          attention to the {chosenKeys.size} chosen {chosenKeys.size === 1 ? 'key' : 'keys'}.
        </p>
      )}
    </div>
  );
}
