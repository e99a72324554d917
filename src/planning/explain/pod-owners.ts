/** Pods by the workload that they belong to, for people, and so what an increase is for. */
import type { Increase } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import { compareText } from '../../lib/comparison.ts';

type OwnedPod = Pick<Pod, 'namespace' | 'name' | 'controller' | 'shape'>;

/** `namespace/name` of the workload: the Deployment instead of its ReplicaSet, and the pod itself if nothing controls it. */
export function ownerName({ namespace, name, controller, shape }: OwnedPod): string {
  return `${namespace}/${deploymentOf({ controller, shape }) ?? controller?.name ?? name}`;
}

/** The kind of what {@link ownerName} names. */
export function ownerKind(pod: Pick<OwnedPod, 'controller' | 'shape'>): string {
  return deploymentOf(pod) === undefined ? (pod.controller?.kind ?? 'Pod') : 'Deployment';
}

/** A Deployment names its ReplicaSets after itself and the hash that it puts on their pods. */
function deploymentOf({ controller, shape }: Pick<OwnedPod, 'controller' | 'shape'>): string | undefined {
  const suffix = `-${shape.labels['pod-template-hash'] ?? ''}`;
  const isOne = controller?.kind === 'ReplicaSet' && suffix !== '-' && controller.name.endsWith(suffix);
  return isOne ? controller.name.slice(0, -suffix.length) : undefined;
}

/** `14 pods of checkout/web`, `118 pods of checkout/web and 9 others`. The most pods come first. */
export function countByOwner(pods: readonly OwnedPod[]): string {
  const counts = new Map<string, number>();
  for (const pod of pods) counts.set(ownerName(pod), (counts.get(ownerName(pod)) ?? 0) + 1);
  const [[owner, count] = ['', 0]] = [...counts].sort((one, other) => other[1] - one[1] || compareText(one[0], other[0]));
  if (count === 0) return 'no pods';
  const rest = pods.length - count;
  const others = rest === 0 ? '' : ` and ${rest} ${rest === 1 ? 'other' : 'others'}`;
  return `${count} ${count === 1 ? 'pod' : 'pods'} of ${owner}${others}`;
}

const PURPOSES: Readonly<Record<Exclude<Increase['cause'], 'pods'>, string>> = {
  'min-size': 'its minimum size',
  repack: 'a repack',
  'sick-nodes': 'the replacement of sick nodes',
  'make-room': 'pods that make room',
};

/** What an increase is for, a noun that reads after `for`: `12 pods of etl/transform`, `its minimum size`. */
export function describePurpose({ cause, pods }: Pick<Increase, 'cause' | 'pods'>): string {
  return cause === 'pods' ? countByOwner(pods) : PURPOSES[cause];
}
