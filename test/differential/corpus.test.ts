/**
 * Questions on which the planner and a real kube-scheduler once did not agree, each as small as it could be made, with
 * the real scheduler's answer. `npm run test:e2e` finds new ones; here neither a control plane nor Go is needed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { KubeObject, NodeObject, PodObject } from '../../world/simulator/cluster/store/objects.ts';
import { roomWith, toyReasons } from './both-sides.ts';
import { knownDifference } from './known-differences.ts';
import { askPlanner, disagreements, type ParityCase } from './parity-case.ts';

const FOLDER = join(import.meta.dirname, 'corpus');
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
/** What the planner knows better than one attempt of the scheduler, and devices, the toy scheduler is not asked about. */
const AGREED = FILES.filter((file) => {
  const { difference, cluster } = JSON.parse(textOf(file)) as ParityCase;
  return difference === undefined && !cluster.some(({ kind }) => kind.startsWith('ResourceClaim'));
});
const STORAGES: Readonly<Record<string, string>> = {
  PersistentVolumeClaim: 'persistentvolumeclaims',
  PersistentVolume: 'persistentvolumes',
  StorageClass: 'storageclasses',
  CSINode: 'csinodes',
};

/** The same case in the toy scheduler's words. */
interface ToyCase {
  readonly cluster: readonly KubeObject[];
  readonly pod: PodObject;
}

function textOf(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8');
}

describe("a real kube-scheduler's answers of old", () => {
  it.each(FILES)('%s: the planner agrees, or the difference is known', (file) => {
    const { cluster, pod, scheduler, message, difference, minor } = JSON.parse(textOf(file)) as ParityCase;
    const answer = askPlanner(cluster, pod);
    if (difference === undefined) expect(disagreements(cluster, scheduler, answer)).toEqual([]);
    else
      expect(knownDifference({ cluster, pod, scheduler, minor, ...(message === undefined ? {} : { message }) }, answer)?.name).toBe(
        difference,
      );
  });

  it.each(AGREED)('%s: the toy scheduler of the simulated cluster agrees', (file) => {
    const { cluster, pod, scheduler } = JSON.parse(textOf(file)) as ToyCase & Pick<ParityCase, 'scheduler'>;
    const nodes = cluster.filter((object): object is NodeObject => object.kind === 'Node');
    const bound = cluster.filter((object): object is PodObject => object.kind === 'Pod');
    const stored = cluster
      .filter(({ kind }) => STORAGES[kind] !== undefined)
      .map((each) => [`${STORAGES[each.kind] ?? ''} ${each.metadata.namespace ?? ''}/${each.metadata.name}`, each] as const);
    const room = roomWith(nodes, bound, new Map(stored));
    const fits = room.nodes.filter((seat) => toyReasons(pod, seat, room).length === 0).map(({ node }) => node.metadata.name);
    expect(fits.sort()).toEqual(scheduler);
  });
});
