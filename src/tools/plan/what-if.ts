/** Applies the options `--add-pods`, `--set-max` and `--cordon` to a copy of the observation. */
import { configError } from '../../lib/errors.ts';
import type { Observation } from '../../domain/observation.ts';
import type { Pod } from '../../domain/pod.ts';
import { hasTaint, type Taint } from '../../domain/taints.ts';

const CORDON: Taint = { key: 'node.kubernetes.io/unschedulable', value: '', effect: 'NoSchedule' };

export interface WhatIf {
  readonly addPods: readonly Pod[];
  /** `pool=N`. */
  readonly setMax: readonly string[];
  readonly cordon: readonly string[];
}

export function hasChanges({ addPods, setMax, cordon }: WhatIf): boolean {
  return addPods.length + setMax.length + cordon.length > 0;
}

/** @throws AutoscalerError `config` if a pool or a node does not exist. */
export function applyWhatIf(observation: Observation, { addPods, setMax, cordon }: WhatIf): Observation {
  const withMax = setMax.reduce(withMaximum, observation);
  const cordoned = cordon.reduce(withCordon, withMax);
  const pendingPods = addPods.length === 0 ? cordoned.cluster.pendingPods : [...cordoned.cluster.pendingPods, ...addPods];
  return { ...cordoned, cluster: { ...cordoned.cluster, pendingPods } };
}

function withMaximum(observation: Observation, text: string): Observation {
  const [, name = '', digits = ''] = /^(.+)=(\d{1,9})$/.exec(text) ?? [];
  if (name === '') throw configError(`--set-max is "${text}"; it must be POOL=N, for example gpu=8.`);
  const { groups } = observation.cloud;
  if (!groups.some(({ id }) => id === name))
    throw configError(`--set-max is "${text}": pool ${name} not found; pools: ${groups.map(({ id }) => id).join(', ')}.`);
  const changed = groups.map((group) => (group.id === name ? { ...group, maxSize: Number(digits) } : group));
  return { ...observation, cloud: { ...observation.cloud, groups: changed } };
}

function withCordon(observation: Observation, name: string): Observation {
  const node = observation.cluster.nodes.get(name);
  if (node === undefined) throw configError(`--cordon is "${name}": node not found.`);
  // As after `kubectl cordon`: the node controller adds the taint at once.
  const taints = hasTaint(node.taints, CORDON.key) ? node.taints : [...node.taints, CORDON];
  const nodes = new Map(observation.cluster.nodes).set(name, { ...node, unschedulable: true, taints });
  return { ...observation, cluster: { ...observation.cluster, nodes } };
}
