/** What the extension that makes a node of a machine says went wrong, and when that counts. */
import { describe, expect, it } from 'vitest';
import type { ClusterView } from '../../src/domain/observation.ts';
import { aCluster, aNode, START_MS } from '../support/builders.ts';
import { NODE_GROUP, SUBSCRIPTION } from '../azure/scripted-arm.ts';
import { rig, USER_POOL } from '../azure/rig.ts';

const HOUR = 3_600_000;
const ERROR = [{ name: 'vmssCSE', statuses: [{ level: 'Error', message: 'exit status=50' }] }];

interface Machine {
  readonly provisioningState?: string;
  readonly power?: string;
  readonly ageMs?: number;
  readonly extensions?: readonly object[];
}

/** One machine as described; what it is to us with and without its node is asked of the answer. */
async function withMachine({ provisioningState = 'Succeeded', power = 'running', ageMs = 60_000, extensions = ERROR }: Machine) {
  const r = await rig();
  r.arm.addSet(USER_POOL, 1);
  r.arm.intercept = (request) => {
    if (request.method !== 'GET' || !request.path.endsWith('/virtualmachines')) return undefined;
    const reply = r.arm.route(request) as { body: { value: { properties: object }[] } };
    const instanceView = { statuses: [{ code: `PowerState/${power}` }], extensions };
    const timeCreated = new Date(START_MS - ageMs).toISOString();
    for (const item of reply.body.value) item.properties = { ...item.properties, provisioningState, timeCreated, instanceView };
    return reply;
  };
  await r.azure.start(r.signal);
  const state = (cluster: ClusterView): string | undefined => {
    const [instance] = r.group(USER_POOL, cluster).instances ?? [];
    return instance?.error === undefined ? instance?.state : `${instance.state}: ${instance.error.message}`;
  };
  return { r, state };
}

const scope = `/subscriptions/${SUBSCRIPTION}/resourceGroups/${NODE_GROUP}/providers/Microsoft.Compute`;
const ITS_NODE = aCluster({ nodes: [aNode({ providerId: `azure://${scope}/virtualMachineScaleSets/${USER_POOL}/virtualMachines/0` })] });
const NO_NODE = aCluster();

describe('a machine whose bootstrap failed', () => {
  it('counts as failed with the message while it is no node, and as the node it is once it is one', async () => {
    const { state } = await withMachine({});
    expect(state(NO_NODE)).toBe('failed: exit status=50');
    expect(state(ITS_NODE)).toBe('running');
  });

  it('and that was a node is not given up for it when its node is away for a while', async () => {
    const { r, state } = await withMachine({});
    expect(state(ITS_NODE)).toBe('running');
    expect(state(NO_NODE)).toBe('running');
    await r.pass(310_000);
    expect(state(NO_NODE)).toBe('running');
  });

  it.each<[string, Machine, string, string]>([
    ['a failed update on a running machine', { provisioningState: 'Failed', extensions: [] }, 'running', 'running'],
    ['a failed update whose extension fails', { provisioningState: 'Failed' }, 'running', 'failed: exit status=50'],
    ['an extension that fails on a machine of yesterday', { ageMs: 24 * HOUR }, 'running', 'running'],
    ['the same on a machine that failed and runs', { ageMs: 24 * HOUR, provisioningState: 'Failed' }, 'running', 'running'],
    ['an update that runs', { provisioningState: 'Updating', extensions: [] }, 'running', 'running'],
    ['one that is going', { provisioningState: 'Deleting' }, 'deleting', 'deleting'],
  ])('%s', async (_what, machine, asNode, asNone) => {
    const fresh = await withMachine(machine);
    expect(fresh.state(NO_NODE)).toBe(asNone);
    expect(fresh.state(ITS_NODE)).toBe(asNode);
  });
});
