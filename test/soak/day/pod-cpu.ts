/** CPU that the containers of a pod request, in millicores. The pods of the soak write it in millicores or in cores. */
import type { PodObject } from '../../../world/simulator/cluster/store/objects.ts';

export function cpuMillisOf({ spec }: Pick<PodObject, 'spec'>): number {
  return spec.containers.reduce((sum, { resources }) => sum + millis(String(resources?.requests?.['cpu'] ?? 0)), 0);
}

function millis(text: string): number {
  return text.endsWith('m') ? Number(text.slice(0, -1)) : Number(text) * 1_000;
}
