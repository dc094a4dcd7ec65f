/** One head: what it attends to here, and what is known of what it causes. */

import { verdictCommand } from '../model/commands';
import { nameOf } from '../model/heads';
import { modelName } from '../model/join';
import { found, showWords, stepFound } from '../state/focus';
import { table } from '../state/heads';
import { after } from '../state/keys';
import { hasLayerRange, isSpread } from '../state/colors';
import { blendName, drawnMaps, headMap, isBlend, trayMaps } from '../state/map';
import { canHideFirst, means, wantsMeans } from '../state/map_means';
import { currentRows } from '../state/rows';
import { chosenPromptsWords } from '../state/effect_prompts';
import { shownHead, stepHead, trayHeads } from '../state/selection';
import { adjust, choose, view } from '../state/view';
import { mainRun, prompt, results } from '../state/workspace';
import { Check, copyText, Pick, Switch } from '../ui/controls';
import { useKeys } from '../ui/use_keys';
import { HeadAside } from './head_aside';
import { BlendBanner } from './head_blend';
import { exportHead } from './head_actions';
import { HeadLines } from './head_lines';
import { HeadMap } from './head_map';
import { MeansPick, MeansSentence, NoMeanNote } from './head_means';
import { HeadText } from './head_text';
import { effectSentence, rangeTitle, verdictTitle, verdictWords } from './head_words';
import { NoMap } from './no_map';
import { ColorPicks, StackPick } from './overview';

function Banner({ index }: { index: number }) {
  const effect = table.value.effects[index];
  const run = mainRun.value!;
  return (
    <p class="banner">
      <strong>Attention is not effect.</strong> <MeansSentence />
      {effect ? (
        <>
          For head {nameOf(table.value.heads[index]!)},{' '}
          <span title={rangeTitle(index)}>{effectSentence(index)}</span>
          {effect.verdict && (
            <>
              ; verdict: <b title={verdictTitle(effect)}>{verdictWords(effect)}</b>
            </>
          )}
          . {chosenPromptsWords.value}
        </>
      ) : results.value.length > 0 ? (
        'The open files hold no causal result of this head.'
      ) : (
        <>
          No causal result is stored.{' '}
          <button
            type="button"
            class="link"
            onClick={() => copyText(verdictCommand(modelName(run.summary)), 'Command')}
          >
            Copy the command that makes one
          </button>
        </>
      )}
    </p>
  );
}

/** How many heads of the tray there are, and of how many of them a map is at hand. */
function trayLabel(): string {
  const [all, drawn] = [trayHeads.value.length, trayMaps.value.length];
  return drawn === all ? `Tray (${all})` : `Tray (${drawn} of ${all})`;
}

const BLENDS: Record<string, string> = { mean: 'Mean', largest: 'Largest' };

/** What the ends of the colours stand for, and the choice of coarse levels where they are seen. */
function RangePick() {
  const fixed = view.domain.value === 'fixed';
  const weighed = view.valueWeighted.value || isSpread.value;
  const [low = 0, high = 1] = view.range.value;
  const end = (at: number, value: string) => {
    const next = [low, high];
    next[at] = Number(value);
    if (value !== '' && Number.isFinite(next[at])) choose({ range: next });
  };
  const levels = headMap.value?.map.levels;
  return (
    <>
      {levels && levels.max.length > 0 && levels.mean.length > 0 && (
        <Pick
          label="Coarse levels"
          hideLabel
          title="What a pixel shows that stands for many cells"
          value={view.pool.value}
          options={[
            { value: 'max', label: 'largest' },
            { value: 'mean', label: 'mean' },
          ]}
          onPick={(pool) => choose({ pool: pool as 'max' })}
        />
      )}
      <Pick
        label="Range"
        hideLabel
        title="What the strongest colour stands for"
        // Weighed by value, one is no bound; a spread is far below it.
        value={weighed && view.domain.value !== 'fixed' ? 'head' : view.domain.value}
        options={[
          ...(weighed ? [] : [{ value: 'unit', label: '0 – 1' }]),
          { value: 'head', label: '0 – largest', title: 'to the largest weight of this head' },
          ...(hasLayerRange.value || (!weighed && ['layer', 'all'].includes(view.domain.value))
            ? [
                {
                  value: 'layer',
                  label: '0 – layer’s',
                  title: 'to the largest weight of the heads of this layer',
                },
                {
                  value: 'all',
                  label: '0 – all heads’',
                  title: 'to the largest weight of all heads',
                },
              ]
            : []),
          { value: 'fixed', label: 'fixed …', title: 'between two numbers' },
        ]}
        onPick={(domain) => choose({ domain: domain as 'unit' })}
      />
      {fixed &&
        [low, high].map((value, at) => (
          <input
            key={at}
            class="range-end"
            type="number"
            step="any"
            aria-label={at === 0 ? 'Lowest value' : 'Highest value'}
            value={value}
            onChange={(event) => end(at, event.currentTarget.value)}
          />
        ))}
    </>
  );
}

function Toolbar() {
  const head = shownHead.value!;
  const rows = currentRows.value;
  const name = nameOf(head);
  return (
    <div class="toolbar">
      <span class="stepper">
        <button
          type="button"
          aria-label="Previous head"
          title="Previous head (←)"
          onClick={() => stepHead(0, -1)}
        >
          ‹
        </button>
        <h2>
          {isBlend.value ? `${BLENDS[blendName()]} of ${drawnMaps.value.length}` : `Head ${name}`}
        </h2>
        <button
          type="button"
          aria-label="Next head"
          title="Next head (→)"
          onClick={() => stepHead(0, 1)}
        >
          ›
        </button>
      </span>
      <StackPick />
      <Switch
        label="View"
        value={view.view.value}
        options={[
          { value: 'map', label: 'Map', title: 'Heat map (m)' },
          { value: 'lines', label: 'Lines', title: 'Strongest keys of each query (b)' },
          { value: 'text', label: 'Text', title: 'Tokens in reading order (v)' },
        ]}
        onPick={(value) => choose({ view: value as 'map' })}
      />
      <Check
        label="hide first token"
        title="Leave out what goes to the first token and rescale the rest of each row to sum to one; over prompts in each of them, before the mean (k)"
        checked={!view.sink.value}
        disabled={
          isBlend.value ||
          (wantsMeans.value && !canHideFirst.value) ||
          (rows !== null && !rows.columns.has('sink'))
        }
        onChange={(hide) => choose({ sink: !hide })}
      />
      <Check
        label="weigh by value"
        title="Each weight times the length of what its key’s value adds to the residual stream"
        checked={view.valueWeighted.value}
        disabled={isBlend.value || (rows !== null && !rows.valueNorm)}
        onChange={(valueWeighted) => choose({ valueWeighted })}
      />
      <Check
        label="words"
        title={
          means.value
            ? 'Prompts have different words, so that means over prompts are of tokens'
            : 'Merge the pieces of each word: sums over keys, means over queries (w)'
        }
        checked={view.words.value}
        disabled={means.value !== null}
        onChange={showWords}
      />
      <MeansPick />
      {trayMaps.value.length > 1 && view.view.value === 'map' && !wantsMeans.value && (
        <Pick
          label={trayLabel()}
          title="The mean, or the largest, of the stored maps of the heads in the tray (h)"
          value={view.trayMode.value}
          options={[
            { value: 'off', label: 'off' },
            { value: 'mean', label: 'mean' },
            { value: 'max', label: 'largest' },
          ]}
          onPick={(trayMode) => choose({ trayMode: trayMode as 'off' })}
        />
      )}
      <label class="filter">
        <span>Find</span>
        <input
          type="search"
          class="find"
          placeholder="token"
          value={view.search.value}
          onInput={(event) => adjust({ search: event.currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === 'Enter') stepFound(event.shiftKey ? -1 : 1);
          }}
        />
      </label>
      {view.search.value && <span class="small">{found.value.columns.length} found</span>}
      <span class="picks">
        <RangePick />
        <ColorPicks />
      </span>
    </div>
  );
}

export function HeadScreen() {
  useKeys({
    e: exportHead,
    '/': () => document.querySelector<HTMLInputElement>('.find')?.focus(),
    h: () => choose({ trayMode: after(['off', 'mean', 'max'] as const, view.trayMode.peek()) }),
    w: () => showWords(!view.words.peek()),
    k: () => choose({ sink: !view.sink.peek() }),
  });
  const head = shownHead.value;
  if (!head) return <NoMap />;
  const index = table.value.index.get(nameOf(head)) ?? -1;
  const views = { map: HeadMap, lines: HeadLines, text: HeadText };
  const View = views[view.view.value];
  // Lines are drawn of the strongest keys of a prompt.
  const needsMap = view.view.value !== 'lines' || prompt.value === null;
  return (
    <div class="head-screen">
      <Toolbar />
      {isBlend.value ? <BlendBanner /> : <Banner index={index} />}
      <NoMeanNote />
      <div class="columns head-columns">
        <div class="stage">{needsMap && !headMap.value ? <NoMap /> : <View />}</div>
        <HeadAside index={index} />
      </div>
    </div>
  );
}
