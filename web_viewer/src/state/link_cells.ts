/** Where the address names cells that the map on screen does not have. */

import type { Viewport } from '../draw/viewport';
import { shownAt, type Axis } from '../model/axis';
import { absentCells, absentTokens, otherWindow } from '../model/link_words';
import { keyAxis, queryAxis } from './cells';
import { comparedView, pairing } from './compare';
import { held, keyTexts, queryTexts, viewport } from './focus';
import type { Discrepancy } from './link';
import { headMap } from './map';
import { view } from './view';

/** What is asked of the map on screen, by position. */
export function ofCells(): Discrepancy[] {
  if (view.screen.value === 'compare' && pairing.value) return ofWindow(comparedView.value);
  if (view.screen.value !== 'head' || !headMap.value) return ofPrompt();
  const out: Discrepancy[] = [];
  const [query, key] = view.cell.value;
  if (query !== undefined && view.view.value === 'map' && !held.value) {
    out.push({ words: absentCells(`query ${query} with key ${key}`), patch: { cell: [] } });
  }
  if (view.view.value !== 'map') out.push(...ofHeldCell());
  // Texts may be longer than what a map holds of them.
  const beyond = (chosen: readonly number[], texts: readonly string[], axis: Axis) =>
    chosen.filter((at) => at >= texts.length && shownAt(axis, at) < 0);
  const queries = beyond(view.queries.value, queryTexts.value, queryAxis.value);
  const keys = beyond(view.keys.value, keyTexts.value, keyAxis.value);
  const without = (all: readonly number[], some: readonly number[]) =>
    all.filter((at) => !some.includes(at));
  if (queries.length > 0) {
    const patch = { queries: without(view.queries.value, queries) };
    out.push({ words: absentCells(`query ${queries[0]}`), patch });
  }
  if (keys.length > 0) {
    const patch = { keys: without(view.keys.value, keys) };
    out.push({ words: absentCells(`key ${keys[0]}`), patch });
  }
  return [...out, ...ofWindow(viewport.value)];
}

/** Whether the prompt is known and ends before a token. */
const isBeyond = (texts: readonly string[], at: number | undefined): boolean =>
  at !== undefined && texts.length > 0 && at >= texts.length;

function ofHeldCell(): Discrepancy[] {
  const [query, key] = view.cell.value;
  if (!isBeyond(queryTexts.value, query) && !isBeyond(keyTexts.value, key)) return [];
  return [{ words: absentTokens(`query ${query} with key ${key}`), patch: { cell: [] } }];
}

/** Where no map is on screen: what no map of the prompt has. */
function ofPrompt(): Discrepancy[] {
  const out = ofHeldCell();
  const outside = (chosen: readonly number[], texts: readonly string[]) =>
    chosen.find((at) => isBeyond(texts, at));
  const { queries, keys, zoom } = view;
  const [query, key] = [
    outside(queries.value, queryTexts.value),
    outside(keys.value, keyTexts.value),
  ];
  const inside = (chosen: readonly number[], texts: readonly string[]) =>
    chosen.filter((at) => !isBeyond(texts, at));
  if (query !== undefined) {
    const patch = { queries: inside(queries.value, queryTexts.value) };
    out.push({ words: absentTokens(`query ${query}`), patch });
  }
  if (key !== undefined) {
    const patch = { keys: inside(keys.value, keyTexts.value) };
    out.push({ words: absentTokens(`key ${key}`), patch });
  }
  const [x, y] = zoom.value;
  // Of two texts the other one may be longer.
  const isOne = view.screen.value !== 'compare';
  if (isOne && (isBeyond(keyTexts.value, x) || isBeyond(queryTexts.value, y))) {
    out.push({ words: absentTokens(`window ${zoom.value.join(',')}`), patch: { zoom: [] } });
  }
  return out;
}

/** Less than this is rounding of the address. */
const WINDOW_SLACK = 1e-3;

function ofWindow({ x, y, width, height }: Viewport): Discrepancy[] {
  const wanted = view.zoom.value;
  const shown = [x, y, width, height];
  const isSame = shown.every((at, i) => Math.abs(at - (wanted[i] ?? at)) < WINDOW_SLACK);
  return isSame ? [] : [{ words: otherWindow(wanted), patch: { zoom: shown } }];
}
