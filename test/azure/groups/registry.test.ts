import { describeBlock } from '../../../src/domain/group-blocks.ts';
import { describe, expect, it } from 'vitest';
import { groupsAddedAndRemoved } from '../../../src/azure/view/cloud-events.ts';
import { blockAgainstChange, inputOfRows } from '../../../src/azure/groups/group-rules.ts';
import { registerGroups, type Registration, type RegistrationInput } from '../../../src/azure/groups/registry.ts';
import { projectAgentPool, type AgentPoolRow } from '../../../src/azure/rows/agent-pool.ts';
import { projectScaleSet } from '../../../src/azure/rows/scale-set.ts';

const RAW = { name: 'p', location: 'l', sku: { name: 'x', capacity: 1 } };
const RULE = { selectors: [{ key: 'auto', value: 'yes' }], min: undefined, max: undefined };

describe('a group', () => {
  const group = { id: 'p' as never, key: 'p', kind: 'scale-set' as const, min: 0, max: 1, explicit: true };
  const row = projectScaleSet({ ...RAW, orchestrationMode: 'Uniform' });
  const pool = { provisioningState: 'Succeeded', managedAutoscaler: false };

  it.each([
    ['a healthy one', row, pool, undefined],
    ['a missing set', undefined, undefined, /no scale set/],
    ['a set on its way out', { ...row, provisioningState: 'Deleting' }, undefined, /being deleted/],
    ['an upgrading pool', row, { provisioningState: 'Upgrading' }, /Upgrading/],
    ['a pool in the middle of something else', row, { provisioningState: 'ReconcilingClusterETCDCertificates' }, /Reconciling/],
    ['a stopped pool', row, { provisioningState: 'Succeeded', stopped: true }, /stopped/],
    ['a set whose last operation failed', { ...row, provisioningState: 'Failed' }, pool, undefined],
    ['a set in the middle of an operation', { ...row, provisioningState: 'Updating' }, pool, undefined],
    ['a pool that is being deleted', row, { provisioningState: 'Deleting' }, /agent pool is in state Deleting/],
    ["AKS's own autoscaler", row, { provisioningState: 'Succeeded', managedAutoscaler: true }, /own autoscaler/],
    ['a pool that AKS hosts, in any letter case', row, { ...pool, mode: 'hostedSystem' }, /hosted and scaled by AKS/],
    ['a set that is there without its pool', row, undefined, undefined],
    ['an unknown orchestration mode', { ...row, orchestration: 'Quantum' }, undefined, /"Quantum"; supported are/],
    ['no orchestration at all', projectScaleSet({ ...RAW, orchestrationMode: '' }), undefined, /""; supported are/],
    ['its orchestration in other letter case', projectScaleSet({ ...RAW, orchestrationMode: 'UNIFORM' }), undefined, undefined],
    ['a set without an orchestration mode is Uniform', projectScaleSet(RAW), undefined, undefined],
    ['a pool in place of a set', undefined, { type: 'VirtualMachines' }, /is of type VirtualMachines: .* as p\/SIZE$/],
    [
      'a pool of another kind in place of a set',
      undefined,
      { type: 'AvailabilitySet' },
      /of type AvailabilitySet, which the autoscaler does not support/,
    ],
  ])('%s', (_name, set, pool, reason) => {
    const rows = inputOfRows(group, { row: set as never, pool: pool as never });
    const frozen = describeBlock(blockAgainstChange('view', rows));
    if (reason === undefined) expect(frozen).toBeUndefined();
    else expect(frozen).toMatch(reason);
  });
});

type Sets = Readonly<Record<string, Readonly<Record<string, string>>>>;

function rowsOf(sets: Sets) {
  const rows = Object.entries(sets).flatMap(([name, tags]) => {
    const value = projectScaleSet({ ...RAW, name, tags });
    return value === undefined ? [] : [[name.toLowerCase(), { value }] as const];
  });
  return new Map(rows);
}

function registered(
  sets: Sets,
  options: Partial<RegistrationInput['options']>,
  pools: readonly Parameters<typeof projectAgentPool>[0][] = [],
) {
  const agentPools = new Map<string, AgentPoolRow>();
  for (const raw of pools) {
    const row = projectAgentPool(raw);
    if (row !== undefined) agentPools.set(row.name.toLowerCase(), row);
  }
  const { groups, skipped } = registerGroups({
    options: { nodeGroups: [], discovery: [], ...options },
    scaleSets: rowsOf(sets),
    agentPools,
  });
  const shown = [...groups.values()].map(({ id, key, kind, min, max }) => `${id} = ${kind} ${key} ${min}:${max}`);
  return { shown, skipped: Object.fromEntries(skipped) };
}

const VMSS = 'aks-General-1-vmss';
const OF_POOL = { 'aks-managed-poolName': 'General' };

describe('groups that the user names', () => {
  const named = (...names: readonly string[]) => ({ nodeGroups: names.map((name, index) => ({ name, min: 0, max: 3 + index })) });

  it.each<[string, readonly string[], readonly string[]]>([
    ['by the scale set', [VMSS], [`${VMSS} = scale-set aks-general-1-vmss 0:3`]],
    [
      'in another letter case, which is how they are shown',
      ['AKS-GENERAL-1-VMSS'],
      ['AKS-GENERAL-1-VMSS = scale-set aks-general-1-vmss 0:3'],
    ],
    ['by the agent pool', ['general'], ['general = scale-set aks-general-1-vmss 0:3']],
    ['that are not there', ['other'], ['other = scale-set other 0:3']],
    ['a size of a pool of machines', ['Pool/Standard_D2s_v5'], ['Pool/Standard_D2s_v5 = vms-pool pool/standard_d2s_v5 0:3']],
    ['colons and more slashes are of a name', ['a/b/c', 'd:e'], ['a/b/c = scale-set a/b/c 0:3', 'd:e = scale-set d:e 0:4']],
  ])('%s', (_what, names, shown) => {
    expect(registered({ [VMSS]: OF_POOL }, named(...names))).toEqual({ shown, skipped: {} });
  });

  it('a set that is named twice, by itself and by its pool, is one group, and that is said', () => {
    const { shown, skipped } = registered({ [VMSS]: OF_POOL }, named('general', VMSS));
    expect(shown).toEqual([`${VMSS} = scale-set aks-general-1-vmss 0:4`]);
    expect(skipped).toEqual({ general: `its scale set is already the node group "${VMSS}"` });
  });

  it("a scale set that has the name of another one's pool is meant itself", () => {
    const { shown } = registered({ [VMSS]: OF_POOL, general: {} }, named('general'));
    expect(shown).toEqual(['general = scale-set general 0:3']);
  });

  it('go before what a rule selects', () => {
    const tags = { ...OF_POOL, auto: 'yes', min: '1', max: '9' };
    expect(registered({ [VMSS]: tags }, { ...named('general'), discovery: [RULE] }).shown).toEqual([
      'general = scale-set aks-general-1-vmss 0:3',
    ]);
  });
});

describe('groups that a rule selects', () => {
  const discovery = [RULE];

  it('and the rules that select nothing, one that another makes superfluous not among them', () => {
    const rule = (value: string) => ({ ...RULE, selectors: [{ key: 'auto', value }] });
    const value = projectScaleSet({ ...RAW, name: VMSS, tags: { auto: 'yes' } });
    if (value === undefined) throw new Error('not a scale set');
    const pool = projectAgentPool({ name: 'old', typePropertiesType: 'AvailabilitySet', tags: { auto: 'old' } });
    if (pool === undefined) throw new Error('not a pool');
    const { idleRules } = registerGroups({
      options: { nodeGroups: [{ name: VMSS, min: 0, max: 3 }], discovery: ['no', 'yes', 'old', 'YES'].map(rule) },
      scaleSets: new Map([[VMSS.toLowerCase(), { value }]]),
      agentPools: new Map([['old', pool]]),
    });
    expect(idleRules).toEqual([0, 3]);
    const byDefault = { ...rule('no'), byDefault: true as const };
    expect(registerGroups({ options: { nodeGroups: [], discovery: [byDefault] }, scaleSets: new Map() }).idleRules).toEqual([]);
  });

  it("by the tags of the agent pool as well, the set's own before them", () => {
    const pool = { name: 'general', typePropertiesType: 'VirtualMachineScaleSets', tags: { auto: 'yes', min: '1', max: '4' } };
    expect(registered({ [VMSS]: OF_POOL }, { discovery }, [pool]).shown).toEqual([`${VMSS} = scale-set aks-general-1-vmss 1:4`]);
    expect(registered({ [VMSS]: { ...OF_POOL, max: '6' } }, { discovery }, [pool]).shown).toEqual([
      `${VMSS} = scale-set aks-general-1-vmss 1:6`,
    ]);
    expect(registered({ other: {} }, { discovery }, [pool]).shown).toEqual([]);
  });

  it('skips a pool of an unsupported kind with its reason, and an unselected one without', () => {
    const old = { name: 'old', typePropertiesType: 'AvailabilitySet', tags: { auto: 'yes' } };
    expect(registered({}, { discovery }, [old, { ...old, name: 'older', tags: {} }])).toEqual({
      shown: [],
      skipped: { old: 'its agent pool is of type AvailabilitySet, which the autoscaler does not support' },
    });
  });
});

describe("groups that AKS's own autoscaler scales", () => {
  const pool = (change: object = {}) => ({ name: 'general', enableAutoScaling: true, minCount: 2, maxCount: 5, ...change });
  const shown = `${VMSS} = scale-set aks-general-1-vmss 2:5`;
  const tags = { ...OF_POOL, auto: 'yes', min: '1', max: '9' };

  it.each<[string, Partial<RegistrationInput['options']>, object, Readonly<Record<string, string>>, readonly string[]]>([
    ['in a dry run', { adoptsManagedPools: true }, {}, OF_POOL, [shown]],
    ['in a dry run, whatever its tags say', { adoptsManagedPools: true, discovery: [RULE] }, {}, tags, [shown]],
    ['in a dry run that selects others', { adoptsManagedPools: true, discovery: [RULE] }, {}, OF_POOL, [shown]],
    [
      'in a dry run that names it',
      { adoptsManagedPools: true, nodeGroups: [{ name: VMSS, min: 0, max: 3 }] },
      {},
      OF_POOL,
      [`${VMSS} = scale-set aks-general-1-vmss 0:3`],
    ],
    ['in a dry run, without its own autoscaler', { adoptsManagedPools: true }, { enableAutoScaling: false }, OF_POOL, []],
    ['without any selection', {}, {}, OF_POOL, [shown]],
    ['beside selected ones', { discovery: [RULE] }, {}, OF_POOL, []],
    ['beside ones that a rule by default selects', { discovery: [{ ...RULE, byDefault: true }] }, {}, OF_POOL, [shown]],
    ['and a rule selects', { discovery: [RULE] }, {}, tags, [`${VMSS} = scale-set aks-general-1-vmss 1:9`]],
  ])('%s', (_what, options, change, ofSet, expected) => {
    expect(registered({ [VMSS]: ofSet }, options, [pool(change)]).shown).toEqual(expected);
  });

  it('need both limits', () => {
    const { skipped } = registered({ [VMSS]: OF_POOL }, { adoptsManagedPools: true }, [pool({ maxCount: null })]);
    expect(Object.values(skipped)).toEqual([
      'AKS runs its own autoscaler over its agent pool, and returned no usable minCount and maxCount',
    ]);
  });

  it('are frozen, except where nothing is ever written', () => {
    const { groups } = registerGroups({
      options: { nodeGroups: [], discovery: [] },
      scaleSets: rowsOf({ [VMSS]: OF_POOL }),
      agentPools: new Map([['general', projectAgentPool(pool()) as AgentPoolRow]]),
    });
    const [group] = groups.values();
    const row = projectScaleSet({ ...RAW, orchestrationMode: 'Uniform' });
    const reasons = [false, true].map((adopted) =>
      describeBlock(blockAgainstChange('view', inputOfRows(group as never, { row, pool: projectAgentPool(pool()), adopted }))),
    );
    expect(reasons).toEqual(['AKS runs its own autoscaler over its agent pool (enableAutoScaling)', undefined]);
  });
});

describe('a group that is no longer managed', () => {
  const tags = { auto: 'yes', min: '1', max: '9' };
  const registration = (sets: Sets, nodeGroups: RegistrationInput['options']['nodeGroups'] = []) =>
    registerGroups({ options: { nodeGroups, discovery: [RULE] }, scaleSets: rowsOf(sets), agentPools: new Map() });

  it.each<[string, Registration, boolean, string]>([
    ['its set is gone', registration({}), false, 'Azure no longer lists it'],
    ['its tags are gone', registration({ [VMSS]: OF_POOL }), true, 'it is neither named nor selected by a rule'],
    [
      'a limit cannot be read',
      registration({ [VMSS]: { ...tags, min: 'abc' } }),
      true,
      'tag "min" is "abc"; it must be a whole number of 0 or more',
    ],
    [
      'it is named by its pool now',
      registration({ [VMSS]: { ...OF_POOL, ...tags } }, [{ name: 'general', min: 0, max: 3 }]),
      true,
      'its instances belong to the node group "general"',
    ],
  ])('%s: the event says so', (_what, after, isListed, because) => {
    const events = groupsAddedAndRemoved(registration({ [VMSS]: { ...OF_POOL, ...tags } }), after, 5, () => isListed);
    expect(events.filter(({ kind }) => kind === 'group-vanished')).toEqual([{ kind: 'group-vanished', group: VMSS, because, atMs: 5 }]);
  });
});
