import { describe, expect, it } from 'vitest';
import { AZURE_ROLES } from '../../../deploy/azure-roles.ts';
import { AGENT_POOL_READ, AGENT_POOL_WRITE, NODE_GROUP_ACTIONS } from '../../../src/cli/doctor/azure-checks.ts';

describe('the actions that doctor asks for', () => {
  it.each([
    ['nodes', NODE_GROUP_ACTIONS],
    ['pools', [...AGENT_POOL_READ, ...AGENT_POOL_WRITE]],
  ])('are those of the custom role of the %s, but for its own', (key, actions) => {
    const role = AZURE_ROLES.find((candidate) => candidate.key === key);
    const needed = role?.actions.filter(({ why }) => !why.startsWith('doctor:')).map(({ action }) => action);
    expect([...actions].sort()).toEqual([...(needed ?? [])].sort());
    expect(role?.name).toBe(`aks-autoscaler-${key}`);
  });
});
