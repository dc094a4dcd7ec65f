/** What is in the files, as it stands: tree, attributes, provenance. Works for any HDF5 file. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Attributes, AttributeValue, NodeInfo, NodeList } from '../format/types';
import { surveyFile, type Survey } from '../io/survey';
import { bytes, plural } from '../model/numbers';
import { missingInExperiment, missingInStack, roundingOf } from '../model/warnings';
import { safeText } from '../model/tokens';
import {
  closeRun,
  failWith,
  mainRun,
  prompt,
  runs,
  type OpenPart,
  type OpenRun,
} from '../state/workspace';

function shownValue(value: AttributeValue): string {
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  return safeText(text, 160);
}

function AttributeTable({ attributes, label }: { attributes: Attributes; label: string }) {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return null;
  return (
    <table class="attributes" aria-label={label}>
      <tbody>
        {entries.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{safeText(name)}</th>
            <td>{shownValue(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function datasetWords(node: NodeInfo): string {
  const info = node.dataset;
  if (!info) return '';
  const shape = info.shape.length === 0 ? 'one value' : info.shape.join(' × ');
  const chunks = info.chunks ? `, chunks ${info.chunks.join(' × ')}` : '';
  const filters = info.filters.map(({ name, id }) => name || `filter ${id}`).join(', ');
  return `${info.dtype}, ${shape}${chunks}${filters ? `, ${safeText(filters)}` : ''}`;
}

const MAX_SHOWN = 500;
const NOTHING: NodeList = { nodes: [], total: 0 };

function Branch({ run, path, node }: { run: OpenRun; path: string; node: NodeInfo }) {
  const open = useSignal(false);
  const members = useSignal<NodeList | null>(null);
  const attributes = useSignal<Attributes>({});
  const load = async () => {
    open.value = !open.value;
    if (!open.value || members.value) return;
    try {
      const [list, found] = await Promise.all([
        node.kind === 'group' ? run.file.list(path) : NOTHING,
        run.file.attributes(path),
      ]);
      attributes.value = found;
      members.value = list;
    } catch (error) {
      failWith(run.summary.name, error);
      members.value = NOTHING;
    }
  };
  const name = safeText(node.name);
  if (node.kind === 'link') {
    return (
      <li>
        <span class="leaf">{name}</span>{' '}
        <span class="muted">link to {safeText(node.target ?? '')}, not followed</span>
      </li>
    );
  }
  return (
    <li>
      <button type="button" class="twig" aria-expanded={open.value} onClick={load}>
        {name}
        {node.kind === 'group' ? '/' : ''}
      </button>{' '}
      <span class="muted">{datasetWords(node)}</span>
      {open.value && (
        <>
          <AttributeTable attributes={attributes.value} label={`Attributes of ${name}`} />
          {members.value && members.value.total > 0 && (
            <ul>
              <Members run={run} path={path} list={members.value} />
            </ul>
          )}
        </>
      )}
    </li>
  );
}

function Members({ run, path, list }: { run: OpenRun; path: string; list: NodeList }) {
  const shown = list.nodes.slice(0, MAX_SHOWN);
  return (
    <>
      {shown.map((node) => (
        <Branch
          key={node.name}
          run={run}
          node={node}
          path={path === '/' ? `/${node.name}` : `${path}/${node.name}`}
        />
      ))}
      {list.total > shown.length && <li class="muted">… and {list.total - shown.length} more</li>}
    </>
  );
}

function Tree({ run }: { run: OpenRun }) {
  const root = useSignal<NodeList>(NOTHING);
  useEffect(() => {
    run.file.list('/').then(
      (list) => (root.value = list),
      (error: unknown) => failWith(run.summary.name, error),
    );
  }, [run.id]);
  return (
    <ul class="tree">
      <Members run={run} path="/" list={root.value} />
    </ul>
  );
}

/** What is at hand of a longer run, and what becomes of it. */
function partWarnings(parts: readonly OpenPart[]): string[] {
  const { total, kind } = parts[0]!.shard;
  const numbers = parts.map(({ shard }) => shard.index + 1).join(', ');
  const out = [
    parts.length === 1
      ? `This is part ${numbers} of ${total} of a longer run.`
      : `These are parts ${numbers} of ${total} of one run; the tree is that of the first.`,
  ];
  if (kind === 'measurements') {
    out.push(
      'They hold measurements of a sweep that was interrupted. Effects are estimated when all are there: the same command with --resume goes on.',
    );
  }
  if (kind === 'cells') {
    out.push(
      'Effects and their pointwise intervals are final; intervals and p over all units need all parts: attnscope merge makes them.',
    );
  }
  return out;
}

function warnings(run: OpenRun): string[] {
  const { summary } = run;
  const out: string[] = [];
  if (run.foreign) {
    out.push(
      'This is no file of attnscope: the root attribute “schema” is missing. Only its tree can be shown.',
    );
  }
  if (run.parts) out.push(...partWarnings(run.parts));
  if (summary.unknown.length > 0) {
    out.push(
      `Not known to this version: ${summary.unknown.map((name) => safeText(name)).join(', ')}.`,
    );
  }
  return out;
}

/** What is worth knowing and no fault: missing values, rounding. */
function remarks(run: OpenRun): string[] {
  const out = run.experiments.map(missingInExperiment);
  const shown = prompt.value;
  if (run === mainRun.value && shown) {
    for (const stack of shown.stacks) {
      out.push(missingInStack(stack, shown.id), ...roundingOf(stack));
    }
  }
  return out.filter(Boolean);
}

function Counts({ run }: { run: OpenRun }) {
  const survey = useSignal<Survey | null>(null);
  const look = () =>
    surveyFile(run.file).then(
      (found) => (survey.value = found),
      (error: unknown) => failWith(run.summary.name, error),
    );
  const found = survey.value;
  if (!found) {
    return (
      <button type="button" onClick={look}>
        Count datasets and filters
      </button>
    );
  }
  const filters = [...found.filters].map(([name, count]) => `${safeText(name)} on ${count}`);
  return (
    <>
      <p class="small">
        {found.complete ? '' : 'More than '}
        {plural(found.datasets, 'dataset')} in {plural(found.groups, 'group')}
        {found.links > 0 && `, ${plural(found.links, 'link')} not followed`}. Filters:{' '}
        {filters.join(', ') || 'none'}.
      </p>
      {found.unreadable.length > 0 && (
        <p class="warning">
          Cannot be read here, for a filter that is not built in:{' '}
          {safeText(found.unreadable.slice(0, 20).join(', '), 600)}
          {found.unreadable.length > 20 && ` and ${found.unreadable.length - 20} more`}. This makes
          a copy that can: h5repack -f GZIP=1 IN.h5 OUT.h5
        </p>
      )}
    </>
  );
}

/** What is chosen in the header, then the rest as it was opened. */
function mainFirst(): OpenRun[] {
  const main = mainRun.value;
  return main ? [main, ...runs.value.filter((run) => run !== main)] : [...runs.value];
}

export function FileScreen() {
  return (
    <div class="files">
      {mainFirst().map((run) => {
        const { summary } = run;
        const prompts = summary.promptIds.length || summary.packedPrompts;
        return (
          <section key={run.id} class="file" aria-label={safeText(summary.name)}>
            <header>
              <h2>{safeText(summary.name)}</h2>
              <span class="muted">
                {bytes(summary.size)}
                {run.foreign
                  ? ''
                  : `, ${shownValue(summary.root.kind ?? '')}, ${plural(prompts, 'prompt')}`}
                {summary.experiments.length > 0 &&
                  `, ${plural(summary.experiments.length, 'experiment')}`}
              </span>
              <span class="spring" />
              <button type="button" onClick={() => closeRun(run.id)}>
                Close file
              </button>
            </header>
            {warnings(run).map((text) => (
              <p key={text} class="warning">
                {text}
              </p>
            ))}
            <div class="file-columns">
              <div>
                {remarks(run).length > 0 && <h3>Good to know</h3>}
                {remarks(run).map((text) => (
                  <p key={text} class="small">
                    {safeText(text, 1500)}
                  </p>
                ))}
                <h3>Provenance</h3>
                <AttributeTable attributes={summary.root} label="Root attributes" />
                {Object.keys(summary.model).length > 0 && <h3>Model</h3>}
                <AttributeTable attributes={summary.model} label="Model" />
                {Object.keys(summary.run).length > 0 && <h3>Run</h3>}
                <AttributeTable attributes={summary.run} label="Run" />
              </div>
              <div>
                <h3>Content</h3>
                <Counts run={run} />
                <Tree run={run} />
              </div>
            </div>
          </section>
        );
      })}
    </div>
  );
}
