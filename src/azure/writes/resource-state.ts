/** What the resource of an operation says about itself, in case the operation's own document is wrong or cannot be read. */
import { getAgentPool } from '../arm/agent-pool-api.ts';
import type { ResourceState } from '../arm/operations.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { isSettled, readAgentPool } from '../rows/agent-pool.ts';
import type { WriteDeps } from './write-context.ts';

/** The state of a Uniform scale set. A set of another kind may be at rest while its VMs change. @throws AutoscalerError */
export async function scaleSetState({ inventory }: WriteDeps, { key }: RegisteredGroup, signal: AbortSignal): Promise<ResourceState> {
  const set = (await inventory.reads.readScaleSet(key, signal))?.set;
  return set?.orchestration === 'Uniform' ? stateOf(set.provisioningState) : 'running';
}

/** The state of an agent pool. @throws AutoscalerError */
export async function poolState(deps: WriteDeps, pool: string, signal: AbortSignal): Promise<ResourceState> {
  return stateOf(readAgentPool(await getAgentPool(deps, pool, signal))?.provisioningState ?? '');
}

function stateOf(provisioningState: string): ResourceState {
  if (provisioningState.toLowerCase() === 'succeeded') return 'succeeded';
  return provisioningState !== '' && isSettled(provisioningState) ? 'failed' : 'running';
}
