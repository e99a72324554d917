/** Why other pods' places keep a pod off a new node, asked of the snapshot as it stands: with the counts of the moment. */
import type { Pod } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import type { ClusterSnapshot } from '../../scheduling/cluster-snapshot.ts';
import { fitsStatically } from '../../scheduling/static-fit.ts';
import { copyOf, plannedName, type GroupTemplate } from './template-node.ts';

/** Asking costs a node in and out of the snapshot; a plan full of refusals is told in general words beyond these. */
const MOST_QUESTIONS = 500;
/** One name for all: the snapshot remembers every host name that it has met. */
const NAME = plannedName('asked');

/** Reasons that depend on who else is there. */
const ASKED: ReadonlySet<FitReason['kind']> = new Set(['topology-spread', 'pod-affinity', 'volume', 'device']);

export type AskPlaces = (pod: Pod, template: GroupTemplate) => readonly FitReason[];

/** Leaves the snapshot as found. An empty answer: nothing refuses one single pod on one new node, or too much was asked. */
export function askPlaces(snapshot: ClusterSnapshot): AskPlaces {
  let asked = 0;
  return (pod, template) => {
    for (const variant of template.variants) {
      if (!fitsStatically(pod.shape, variant) || asked >= MOST_QUESTIONS) continue;
      asked += 1;
      snapshot.fork();
      snapshot.addNode(copyOf(variant, NAME), template.daemonPods);
      const reasons = snapshot.check(pod, NAME).filter(({ kind }) => ASKED.has(kind));
      snapshot.revert();
      if (reasons.length > 0) return reasons;
    }
    return [];
  };
}
