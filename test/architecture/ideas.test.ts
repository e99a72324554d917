/** A new file of the planner's memory, of the inventory, of the templates or of the promises, and a new part of the loop's state or of a node group, says which idea it is an instance of. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LoopState } from '../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../src/domain/node-group.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const FOLDERS = ['src/planning/state', 'src/azure/inventory', 'src/azure/templates', 'src/planning/promises'];

/** A new part of the state does not compile until its idea is named here. */
const STATE: Readonly<Record<keyof LoopState, string>> = {
  unneededSince: 'unneeded node',
  unremovable: 'unremovable node',
  backoffs: 'closure',
  stockouts: 'closure',
  increases: 'increase',
  knowsAccepted: 'increase',
  readyTimes: 'increase',
  startTimes: 'increase',
  broken: 'broken promise',
  brokenZones: 'broken promise',
  deleting: 'drain',
  lastScaleUpMs: 'cooldown',
  lastScaleDownMs: 'cooldown',
  lastScaleDownFailureMs: 'cooldown',
  groupTimes: 'cooldown',
  requests: 'buffer and request',
  removals: 'removal window',
  emptyRemovals: 'removal window',
  budgetedRemovals: 'removal window',
  unregisteredSince: 'instance',
  heldGroups: 'block',
  deletionTaints: 'deletion taint',
  repacks: 'repack',
  stopped: 'stopped plan',
  targets: 'target size',
  evictions: 'closure',
};

/** The same of a node group. */
const GROUP: Readonly<Record<keyof NodeGroup, string>> = {
  id: 'node group',
  kind: 'node group',
  minSize: 'node group',
  maxSize: 'node group',
  poolLimit: 'quota',
  configuredMax: 'quota',
  sharedPool: 'quota',
  maxFrom: 'node group',
  agentPool: 'node group',
  target: 'target size',
  instances: 'instance',
  instancesObservedAtMs: 'instance',
  template: 'template',
  vmSize: 'template',
  priority: 'template',
  sizeFamily: 'closure',
  zones: 'template',
  placementScore: 'evidence',
  options: 'node group',
  stopped: 'overlay',
  blocks: 'block',
  schedule: 'schedule',
  aksCount: 'count of AKS',
};

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const words = new Set([...textOf('docs/how-it-is-built.md').matchAll(/^\| \*\*([^*]+)\*\* \|/gm)].map(([, word = '']) => word));

/** The words behind `Idea:`, which ends with the line. */
function ideasIn(text: string): readonly string[] {
  return [...text.matchAll(/\bIdea: ([^\n]+)\.$/gm)].flatMap(([, named = '']) => named.split(', '));
}

function headerOf(source: string): string {
  return /^\/\*\*[\s\S]*?\*\//.exec(source)?.[0] ?? '';
}

describe('the ideas', () => {
  it('each have one word in the documents', () => {
    const rows = [...textOf('docs/how-it-is-built.md').matchAll(/^\| \*\*([^*]+)\*\* \|/gm)];
    expect(rows.length).toBeGreaterThan(30);
    // A new idea takes the place of one that it makes an instance of itself.
    expect(rows.length).toBeLessThanOrEqual(55);
    expect(words.size).toBe(rows.length);
  });

  it('are named in the header of each file of the memory, of the inventory, of the templates and of the promises', () => {
    const files = FOLDERS.flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${folder}/${file}`),
    );
    expect(files.length).toBeGreaterThan(20);
    const wrong = files.filter((file) => {
      const ideas = ideasIn(headerOf(textOf(file)));
      return ideas.length === 0 || ideas.some((idea) => !words.has(idea));
    });
    expect(wrong).toEqual([]);
  });

  it('of the parts of the state and of a node group have a word', () => {
    expect([...Object.values(STATE), ...Object.values(GROUP)].filter((idea) => !words.has(idea))).toEqual([]);
  });
});
