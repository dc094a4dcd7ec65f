/** The text itself: point at a token, and what it attends to is shaded; select some for sums. */

import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { isStale } from '../io/errors';
import { placeOf } from '../draw/scale';
import { transformed } from '../draw/transform';
import { short } from '../model/numbers';
import { positionOf } from '../model/positions';
import { tokenText } from '../model/tokens';
import { rowOfQuery } from '../state/focus';
import { headMap, mapScale, transform } from '../state/map';
import { choose, view } from '../state/view';
import { failWith, mainRun, prompt, stack } from '../state/workspace';

/** More tokens than this as elements of the page would make it slow. */
const MAX_TOKENS = 3000;
const MAX_QUERIES = 64;

/** Mean weights of some queries on every key, from the stored map. */
async function meanRow(queries: readonly number[]): Promise<Float32Array | null> {
  const at = headMap.peek();
  const run = mainRun.peek();
  if (!at || !run || queries.length === 0) return null;
  const stored = at.map.shape[2];
  const { keyPositions } = at.map;
  const length = keyPositions ? Math.max(...keyPositions) + 1 : stored;
  const mean = new Float32Array(length);
  // Queries whose rows are not stored have nothing to show.
  const used = queries
    .map(rowOfQuery)
    .filter((row) => row >= 0)
    .slice(0, MAX_QUERIES);
  const rows = await Promise.all(
    used.map((row) =>
      run.file.numbers(
        at.map.path,
        { start: [at.index, row, 0], count: [1, 1, stored] },
        { lane: 'text', priority: 4 },
      ),
    ),
  );
  rows.forEach(({ values }, i) => {
    for (let k = 0; k < stored; ++k) {
      const weight = transformed(transform.peek(), values[k]!, used[i]!, k);
      mean[positionOf(keyPositions, k)]! += weight / used.length;
    }
  });
  return mean;
}

export function HeadText() {
  const pointed = useSignal(-1);
  const weights = useSignal<Float32Array | null>(null);
  const queries = useComputed<readonly number[]>(() =>
    pointed.value >= 0 ? [pointed.value] : view.queries.value,
  );
  useSignalEffect(() => {
    const wanted = queries.value;
    headMap.value;
    transform.value;
    let current = true;
    meanRow(wanted).then(
      (row) => {
        if (current) weights.value = row;
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
  if (!name || !data) return null;
  const keyTexts = data.keyTokens[name]?.texts ?? [];
  const queryTexts = data.queryTokens[name]?.texts ?? [];
  const sameText = data.keyTokens[name] === data.queryTokens[name];
  const selected = new Set(view.queries.value);
  const keys = new Set(view.keys.value);
  const sum =
    weights.value && keys.size > 0
      ? [...keys].reduce((total, k) => total + (weights.value?.[k] ?? 0), 0)
      : null;

  const toggle = (at: number, extend: boolean) => {
    const next = extend
      ? selected.has(at)
        ? view.queries.value.filter((q) => q !== at)
        : [...view.queries.value, at]
      : [at];
    choose({ queries: next });
  };
  const toggleKey = (at: number) => {
    choose({
      keys: keys.has(at) ? view.keys.value.filter((k) => k !== at) : [...view.keys.value, at],
    });
  };
  const shade = (at: number) => {
    const weight = weights.value?.[at];
    if (weight === undefined) return undefined;
    // At most this much of the accent, so that text stays readable on it.
    const share = 55 * placeOf(mapScale.value, weight);
    return { background: `color-mix(in srgb, var(--accent) ${share.toFixed(1)}%, transparent)` };
  };
  const token = (text: string, at: number, asKey: boolean, asQuery: boolean) => (
    <button
      key={at}
      type="button"
      class={`token${asQuery && queries.value.includes(at) ? ' query' : ''}${asKey && keys.has(at) ? ' key' : ''}`}
      style={asKey ? shade(at) : undefined}
      title={asKey && weights.value ? `${at}: ${short(weights.value[at]!)}` : `${at}`}
      onPointerEnter={() => {
        if (asQuery) pointed.value = at;
      }}
      onFocus={() => {
        if (asQuery) pointed.value = at;
      }}
      onClick={(event) => {
        if (event.altKey || !asQuery) toggleKey(at);
        else toggle(at, event.shiftKey || event.ctrlKey || event.metaKey);
      }}
    >
      {tokenText(text)}
    </button>
  );
  const shown = keyTexts.slice(0, MAX_TOKENS);
  return (
    <div class="text-view">
      <p class="small">
        Point at a token to shade what it attends to. Click to keep it, shift-click to add one,
        alt-click to choose keys and sum them.
        {keyTexts.length > MAX_TOKENS && ` The first ${MAX_TOKENS} of ${keyTexts.length} tokens.`}
        {view.queries.value.length > MAX_QUERIES &&
          ` The first ${MAX_QUERIES} queries are averaged.`}
      </p>
      {!sameText && (
        <div class="flow" onPointerLeave={() => (pointed.value = -1)}>
          {queryTexts.slice(0, MAX_TOKENS).map((text, at) => token(text, at, false, true))}
        </div>
      )}
      <div class="flow" onPointerLeave={() => (pointed.value = -1)}>
        {shown.map((text, at) => token(text, at, true, sameText))}
      </div>
      {sum !== null && (
        <p>
          {queries.value.length === 1
            ? 'This query gives'
            : `These ${queries.value.length} queries give, on average,`}{' '}
          <strong>{short(sum)}</strong> of {queries.value.length === 1 ? 'its' : 'their'} attention
          to the {keys.size} chosen {keys.size === 1 ? 'key' : 'keys'}.
        </p>
      )}
    </div>
  );
}
