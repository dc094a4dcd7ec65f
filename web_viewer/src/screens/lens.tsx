/** What each layer would answer at each position, as the lens read it. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ExperimentData } from '../format/types';
import { readExperiment } from '../io/read_experiment';
import { h5pyLens, lensCommand } from '../model/commands';
import { findExperiment } from '../model/experiment_names';
import { modelName } from '../model/join';
import { namesOf } from '../state/effect_prompts';
import { WHOLE_MAP } from '../state/hash';
import { choose, view } from '../state/view';
import {
  experiments,
  failWith,
  mainRun,
  ofChosenFile,
  prompt,
  say,
  type NamedExperiment,
} from '../state/workspace';
import { Absent, copyText, Pick, Snippet } from '../ui/controls';
import { useKeys } from '../ui/use_keys';
import { ExportMenu } from './export_menu';
import { lensActions, lensPicture, type ShownLens } from './lens_export';
import { LensAttribution, LensMeans } from './lens_means';
import {
  COLOURS,
  gridOf,
  lastPage,
  lensCell,
  LensChoices,
  LensTable,
  type Colour,
} from './lens_table';
import { savePng } from './pictures';

const isLens = ({ data }: NamedExperiment): boolean => data.attributes.kind === 'lens';

/** Place among the positions with attribution, and the position itself: where the chosen cell is,
 *  else the last one, which the answer follows. */
function readAt(record: ExperimentData): { read: number; position: number } {
  const reads = Array.from(record.numbers.reads?.values ?? []);
  const wanted = reads.indexOf(lensCell.value?.position ?? -1);
  const read = wanted >= 0 ? wanted : Math.max(0, reads.length - 1);
  return { read, position: reads[read] ?? NaN };
}

function NoLens() {
  const command = lensCommand(modelName(mainRun.value!.summary), prompt.value?.text);
  return (
    <Absent title="No lens is open">
      <p>The lens reads the residual stream after each layer as if it were the last one:</p>
      <Snippet text={command} what="Command" />
    </Absent>
  );
}

export function LensScreen() {
  const all = experiments.value.filter(isLens);
  const read = useSignal<{ of: string; record: ExperimentData } | null>(null);
  const first = useSignal(0);
  const shown = useRef<ShownLens | 'reading' | null>(null);
  useKeys({
    e: () => {
      if (shown.current === 'reading') say('The lens is still being read.');
      else if (shown.current) void savePng(lensPicture(shown.current), 2);
      else say('There is no lens here to export.');
    },
  });
  const lens = findExperiment(all, view.experiment.value) ?? ofChosenFile(all)[0] ?? all[0];
  const records = lens?.data.records ?? [];
  const id = records.includes(view.prompt.value) ? view.prompt.value : records[0];
  const of = lens && id !== undefined ? `${lens.run.id}/${lens.data.name}/${id}` : '';
  useEffect(() => {
    if (!lens || id === undefined) return;
    let wanted = true;
    readExperiment(lens.run.file, `${lens.data.name}/${id}`).then(
      (record) => {
        if (!wanted) return;
        const grid = gridOf(record);
        first.value = grid ? lastPage(grid) : 0;
        read.value = { of, record };
      },
      (error: unknown) => failWith(lens.run.summary.name, error),
    );
    return () => {
      wanted = false;
    };
  }, [of]);
  // What was read of another file or prompt is nothing to show, not even for a frame.
  const record = read.value?.of === of ? read.value.record : null;
  shown.current = null;
  if (!lens) return <NoLens />;
  const known = Object.keys(COLOURS) as Colour[];
  const colour = view.stage.value;
  const grid = record && gridOf(record);
  const table = grid && { run: lens.run, grid, first: first.value };
  shown.current = table ?? (record || of === '' ? null : 'reading');
  return (
    <div class="overview">
      <div class="toolbar lens-tools">
        {all.length > 1 && (
          <Pick
            label="Lens"
            value={lens.id}
            options={namesOf(all).map(({ id: value, name }) => ({ value, label: name }))}
            onPick={(experiment) => choose({ experiment })}
          />
        )}
        {records.length > 1 && (
          <Pick
            label="Prompt"
            value={id ?? ''}
            options={records.map((value) => ({ value, label: value }))}
            onPick={(name) => choose({ prompt: name, ...WHOLE_MAP })}
          />
        )}
        <Pick
          label="Colour"
          value={colour}
          options={known.map((value) => ({ value, label: COLOURS[value] }))}
          onPick={(stage) => choose({ stage: stage as Colour })}
        />
        <span class="spring" />
        {grid && (
          <button
            type="button"
            title="Python lines that read this table"
            onClick={() => copyText(h5pyLens(lens.run.summary.name, grid.data.name), 'Code')}
          >
            Copy h5py
          </button>
        )}
        {table && <ExportMenu actions={lensActions(table)} />}
        <span class="small">
          bright is {colour === 'prob' ? 'sure' : 'close'}; click a cell for its choices
        </span>
      </div>
      <div class="columns">
        <div class="stage">
          {grid && <LensTable key={grid.data.name} grid={grid} colour={colour} first={first} />}
        </div>
        <aside>
          {grid && <LensChoices grid={grid} />}
          <LensMeans data={lens.data} />
          {record && (
            <LensAttribution
              data={record}
              read={readAt(record).read}
              title={`What adds to the answer at position ${readAt(record).position}`}
            />
          )}
          {records.length > 1 && (
            <LensAttribution
              data={lens.data}
              read={0}
              title={`What adds to the answer, mean over ${records.length} prompts`}
            />
          )}
        </aside>
      </div>
    </div>
  );
}
