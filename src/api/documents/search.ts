/** Pods, nodes, pools and decisions by parts of their names, each with one line about it. What needs an answer comes first. */
import { podName } from '../../domain/ids.ts';
import { needOf } from '../../planning/explain/verdicts.ts';
import { rawClasses } from './pending-classes.ts';
import { nodeRows } from './blockers.ts';
import type { DocumentInput } from './document-input.ts';
import { poolDocuments } from './pools.ts';

export interface FoundSubject {
  readonly kind: 'pod' | 'node' | 'pool' | 'decision';
  /** As `/api/v1/<kind>s/ID` takes it. */
  readonly id: string;
  readonly line: string;
}

/** Of each kind. */
const MOST = 6;
/** Shorter texts match almost everything. */
const SHORTEST = 2;

export function searchAll(input: DocumentInput, q: string): readonly FoundSubject[] {
  const text = q.trim().toLowerCase();
  if (text.length < SHORTEST) return [];
  return [
    ...pools(input, text),
    ...pendingPods(input, text),
    ...nodes(input, text),
    ...runningPods(input, text),
    ...decisions(input, text),
  ];
}

function pools(input: DocumentInput, text: string): readonly FoundSubject[] {
  return poolDocuments(input)
    .filter(({ name }) => name.toLowerCase().includes(text))
    .slice(0, MOST)
    .map(({ name, ready, max, sentence }) => ({ kind: 'pool', id: name, line: sentence ?? `${ready} of at most ${max} nodes ready.` }));
}

const LINES = {
  change: 'Pending, needs a change.',
  azure: 'Pending, waits for a pool.',
  coming: 'Pending, a node is coming.',
  ignored: 'Causes no scale-up.',
};

function pendingPods(input: DocumentInput, text: string): readonly FoundSubject[] {
  const found: FoundSubject[] = [];
  for (const { pods, kind } of rawClasses(input)) {
    for (const pod of pods) {
      if (found.length >= MOST) return found;
      if (podName(pod).toLowerCase().includes(text)) found.push({ kind: 'pod', id: podName(pod), line: LINES[needOf(kind)] });
    }
  }
  return found;
}

function runningPods({ report: { observation } }: DocumentInput, text: string): readonly FoundSubject[] {
  const found: FoundSubject[] = [];
  for (const [node, pods] of observation.cluster.podsByNode) {
    for (const pod of pods) {
      if (found.length >= MOST) return found;
      if (podName(pod).toLowerCase().includes(text)) found.push({ kind: 'pod', id: podName(pod), line: `Runs on ${node}.` });
    }
  }
  return found;
}

function nodes(input: DocumentInput, text: string): readonly FoundSubject[] {
  const names = [...input.report.observation.cluster.nodes.keys()].filter((name) => name.toLowerCase().includes(text)).slice(0, MOST);
  if (names.length === 0) return [];
  const rows = new Map(nodeRows(input, {}).map((row) => [row.name, row]));
  return names.map((name) => ({ kind: 'node', id: name, line: rows.get(name)?.sentence ?? 'Removals were not decided.' }));
}

function decisions({ history }: DocumentInput, text: string): readonly FoundSubject[] {
  return history.decisions({ text, limit: MOST }).map(({ id, sentence }) => ({ kind: 'decision', id, line: sentence }));
}
