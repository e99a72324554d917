/** Where pods are to run before a scenario begins. */
import { MERGE } from '../../world/simulator/real-control-plane/api-client.ts';
import type { E2eWorld } from './world.ts';

/** Puts each pod of a workload where the scenario needs it: the others' nodes are cordoned meanwhile. */
export async function placeOn(world: E2eWorld, nodeIndex: number, action: () => Promise<unknown>): Promise<string> {
  const names = (await world.nodes('general')).map(({ metadata }) => metadata.name).sort();
  const chosen = names[nodeIndex] ?? '';
  const cordon = async (unschedulable: boolean | null): Promise<void> => {
    for (const name of names.filter((other) => other !== chosen)) {
      await world.api.must('PATCH', `/api/v1/nodes/${name}`, { spec: { unschedulable } }, MERGE);
    }
  };
  await cordon(true);
  await action();
  await cordon(null);
  return chosen;
}
