import { describe, expect, it } from 'vitest';
import { configOf } from '../../config/support.ts';
import { AZURE_ROLES } from '../../../src/tools/doctor/azure-roles.ts';
import {
  AGENT_POOL_READ,
  AGENT_POOL_WRITE,
  AKS_OPERATIONS_READ,
  MAINTENANCE_READ,
  NODE_GROUP_ACTIONS,
  OPERATIONS_READ,
  reimageCheck,
  RESERVATION_READS,
} from '../../../src/tools/doctor/role-checks.ts';

describe('the actions that doctor asks for', () => {
  it.each([
    ['nodes', NODE_GROUP_ACTIONS],
    ['pools', [...AGENT_POOL_READ, ...MAINTENANCE_READ, ...AGENT_POOL_WRITE]],
    ['pools-read', [...AGENT_POOL_READ, ...MAINTENANCE_READ]],
    [
      'subscription',
      [
        'Microsoft.Compute/skus/read',
        'Microsoft.Compute/locations/usages/read',
        OPERATIONS_READ,
        AKS_OPERATIONS_READ,
        ...RESERVATION_READS,
      ],
    ],
  ])('are those of the custom role of the %s, but for its own', (key, actions) => {
    const role = AZURE_ROLES.find((candidate) => candidate.key === key);
    const needed = role?.actions.filter(({ why }) => !why.startsWith('doctor:')).map(({ action }) => action);
    expect([...actions].sort()).toEqual([...(needed ?? [])].sort());
  });
});

describe('the right to reimage', () => {
  const checks = (remedy: string, actions: readonly string[]) => {
    const yaml = `nodeGroupOptions: [{ name: gpu, sickNodes: { presets: [gpu], remedy: ${remedy} } }]`;
    const { azure } = configOf({ argv: ['--config=c'], files: { c: yaml } });
    return reimageCheck({ value: [{ actions, notActions: [] }] }, { resourceGroup: 'MC' }, azure, 'me');
  };

  it('is asked for where sick nodes are reimaged, and its lack is a warning with a role that has it', () => {
    expect(checks('replace', [])).toEqual([]);
    expect(checks('reimage', ['Microsoft.Compute/virtualMachineScaleSets/*'])).toMatchObject([{ status: 'ok' }]);
    const [found] = checks('reimage', NODE_GROUP_ACTIONS);
    expect([found?.status, found?.message]).toEqual([
      'warning',
      'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/reimage/action is not allowed on resource group MC, so sick nodes of gpu are replaced, not reimaged',
    ]);
    expect(found?.fix).toContain('"Microsoft.Compute/virtualMachineScaleSets/virtualMachines/reimage/action"],');
    expect(found?.fix).toMatch(/; az role assignment create .* --role aks-autoscaler-instances-/);
  });
});
