import type { ClusterView } from '../domain/observation.ts';

/**
 * Why the cluster is too little known to decide on, or undefined. A watch that has gone silent, or that we may no longer
 * read, shows pods as pending that run and nodes as missing that joined, however well everything else is known.
 */
export function tooStale(cluster: ClusterView, limitMs: number | undefined): string | undefined {
  if (limitMs === undefined || cluster.stalenessMs <= limitMs) return undefined;
  const seconds = (ms: number): number => Math.round(ms / 1000);
  return `a watch of the cluster was last heard ${seconds(cluster.stalenessMs)} s ago; the limit is ${seconds(limitMs)} s`;
}
