import { describe, expect, it } from 'vitest';
import { AZURE_ROLES } from '../../../src/tools/doctor/azure-roles.ts';
import {
  AGENT_POOL_READ,
  AGENT_POOL_WRITE,
  AKS_OPERATIONS_READ,
  MAINTENANCE_READ,
  NODE_GROUP_ACTIONS,
  OPERATIONS_READ,
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
