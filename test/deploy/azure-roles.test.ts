/** The custom roles allow what a daemon calls in Azure: not less, and not more. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AZURE_ROLES, type RoleKey } from '../../src/tools/doctor/azure-roles.ts';
import {
  AGENT_POOL_READ,
  AGENT_POOL_WRITE,
  MAINTENANCE_READ,
  NODE_GROUP_ACTIONS,
  REIMAGE_ACTION,
  START_MACHINE_ACTION,
  STOP_ACTIONS,
} from '../../src/tools/doctor/role-checks.ts';
import { aPool, bound, deployment, MINUTE, worldOf } from '../scenarios/support.ts';
import { startedWorld } from '../support/virtual-world.ts';

/** Asked by `doctor` alone, which is not run here. */
const DOCTOR = new Set([
  'Microsoft.Insights/autoscaleSettings/read',
  'Microsoft.Network/virtualNetworks/subnets/read',
  'Microsoft.Authorization/permissions/read',
]);

/**
 * The action that Azure asks its authorizer for: the types of the path, and what is done to the last. A POST to a type's
 * verb is `<types>/<verb>/action`.
 */
function actionOf(method: string, path: string): string {
  const [provider = '', ...segments] = (path.split('?')[0] ?? '').split('/providers/').at(-1)?.split('/') ?? [];
  const types = segments.filter((_segment, index) => index % 2 === 0).join('/');
  const verbs: Readonly<Record<string, string>> = { GET: 'read', PUT: 'write', PATCH: 'write', DELETE: 'delete', POST: 'action' };
  return `${provider}/${types}/${verbs[method] ?? method}`;
}

const onPool = (pool: string): { readonly nodeSelector: Readonly<Record<string, string>> } => ({
  nodeSelector: { 'kubernetes.azure.com/agentpool': pool },
});

/** Grows and shrinks a scale set of each kind, and a pool that AKS scales; one set cannot grow, and gives its capacity back. */
async function actionsOfALife(): Promise<ReadonlySet<string>> {
  const pools = [
    aPool({ name: 'general', count: 1, capacityReservationGroup: 'crg' }),
    aPool({ name: 'flexible', kind: 'vmss-flexible', count: 1 }),
    aPool({ name: 'mixed', kind: 'vms-pool', count: 1, min: 0, max: 6, sizes: [{ vmSize: 'Standard_D16s_v5', count: 0 }] }),
  ];
  const flags = [
    '--scan-interval=30s',
    '--scale-down-unneeded-time=1m',
    '--scale-down-delay-after-add=30s',
    '--balance-similar-node-groups',
  ];
  const rare = aPool({ name: 'rare', vmSize: 'Standard_E4s_v5', count: 0 });
  const folder = await mkdtemp(join(tmpdir(), 'roles-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'config.yaml');
  await writeFile(file, 'schedules: {maintenance: avoid}\n');
  const run = await startedWorld({
    spec: worldOf([...pools, rare], { stock: { 'Standard_E4s_v5/0': 0 }, capacityReservationGroups: [{ name: 'crg', reservations: [] }] }),
    flags: [...flags, `--config=${file}`],
    knobs: { listFailedInstances: false },
  });
  const wanted = pools.map(({ name }) => deployment({ name, replicas: 8, cpu: '1500m', spec: onPool(name) }));
  wanted.push(deployment({ name: 'rare', replicas: 1, cpu: '1500m', spec: onPool('rare') }));
  for (const draft of wanted) run.world.cluster.apply(draft);
  await run.until('bound', () => pools.every(({ name }) => bound(run, name) === 8), 20 * MINUTE);
  for (const { name } of pools) run.world.cluster.apply(deployment({ name, replicas: 1, cpu: '1500m', spec: onPool(name) }));
  await run.advance(15 * MINUTE);
  expect(run.world.violations()).toEqual([]);
  const entries = run.world.arm.control.journal();
  return new Set(entries.filter(({ path }) => path.startsWith('/subscriptions/')).map(({ method, path }) => actionOf(method, path)));
}

describe('least privilege in Azure', () => {
  const actionsOf = (roles: typeof AZURE_ROLES) => roles.flatMap(({ actions }) => actions.map(({ action }) => action));
  const granted = actionsOf(AZURE_ROLES);
  const usual = actionsOf(AZURE_ROLES.filter(({ key }) => key !== 'instances'));

  it('reads paths in the way of Azure', () => {
    const group = '/subscriptions/s/resourceGroups/g/providers';
    expect([
      actionOf('GET', `${group}/Microsoft.Compute/virtualMachineScaleSets?api-version=1`),
      actionOf('PUT', `${group}/Microsoft.Compute/virtualMachineScaleSets/a`),
      actionOf('POST', `${group}/Microsoft.Compute/virtualMachineScaleSets/a/delete`),
      actionOf('GET', '/subscriptions/s/providers/Microsoft.Compute/locations/westeurope/operations/1'),
    ]).toEqual([
      'Microsoft.Compute/virtualMachineScaleSets/read',
      'Microsoft.Compute/virtualMachineScaleSets/write',
      'Microsoft.Compute/virtualMachineScaleSets/delete/action',
      'Microsoft.Compute/locations/operations/read',
    ]);
  });

  it('grants every call of a daemon, and nothing that is never called', async () => {
    const called = await actionsOfALife();
    expect([...called].toSorted()).toEqual([...new Set(usual)].filter((action) => !DOCTOR.has(action)).toSorted());
  });

  it('grants what doctor checks in the role that it names', () => {
    const reads = [...AGENT_POOL_READ, ...MAINTENANCE_READ];
    const instances = [...STOP_ACTIONS, START_MACHINE_ACTION, REIMAGE_ACTION];
    expect(actionsOf(AZURE_ROLES.filter(({ key }) => key === 'instances'))).toEqual(instances);
    const asked = { nodes: NODE_GROUP_ACTIONS, pools: [...reads, ...AGENT_POOL_WRITE], 'pools-read': reads };
    for (const [key, actions] of Object.entries(asked)) {
      const role = AZURE_ROLES.find((role) => role.key === (key as RoleKey));
      expect(role?.actions.map(({ action }) => action)).toEqual(expect.arrayContaining([...actions]));
    }
  });

  it('has no wildcard, and no right to create or delete a pool or to grant permissions', () => {
    expect(granted.filter((action) => action.includes('*') || /\/delete$|roleAssignments|listKeys|Credential/i.test(action))).toEqual([]);
  });
});
