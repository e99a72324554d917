/** Sentences about pods that start together. */
import { membershipOf, type PodGroups } from '../../domain/workloads.ts';
import type { Pod } from '../../domain/pod.ts';
import type { GangShortfall } from '../../domain/reasons.ts';

/** `pod group train starts with 4 pods together, and 3 have a place`. */
export function describeShortfall({ title, needs, placed }: GangShortfall): string {
  return `${title} starts with ${needs} pods together, and ${placed} ${placed === 1 ? 'has' : 'have'} a place`;
}

/** Said with an increase, thus not in each loop. Empty for a pod that starts alone. */
export function describeMembership(pod: Pod, podGroups: PodGroups | undefined): string {
  const { gang: title } = pod.shape;
  if (title === undefined) return '';
  if (podGroups === undefined) return `; planned as an ordinary pod although it belongs to ${title}`;
  const membership = membershipOf(pod, podGroups);
  return membership.kind === 'gang' ? `; ${title} starts with ${membership.gang.minCount} pods together` : '';
}
