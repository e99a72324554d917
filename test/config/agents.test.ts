/** Which agents keep Azure's answers: named in the configuration, checked at the start, changed while the process runs. */
import { describe, expect, it } from 'vitest';
import { isLive, overlaid } from '../../src/config/live-keys.ts';
import { configOf, errorsOf, type Given } from './support.ts';

const yaml = (agents: string, argv: readonly string[] = []): Given => ({
  argv: ['--config=c.yaml', ...argv],
  files: { 'c.yaml': `azure: {agents: ${agents}}` },
});

describe('agents', () => {
  it('all run', () => {
    expect(configOf({}).azure.agents).toEqual({ enabled: ['*'], disabled: [], allowDegraded: false });
  });

  it.each([
    ['one that decisions can do without', '{disabled: [usage]}'],
    ['a pattern of them', '{disabled: ["p*", "usag?"]}'],
    ['only some', '{enabled: [scaleSets, agentPools, skus, vms, "instances/*"]}'],
  ])('%s may be left out', (_what, agents) => {
    expect(errorsOf(yaml(agents))).toEqual([]);
  });

  it.each<[string, string, readonly string[]]>([
    [
      'an unknown name',
      '{disabled: [prizes]}',
      ['azure.agents.disabled[0] of c.yaml', '"prizes"', 'scaleSets, agentPools, skus, vms', 'prices'],
    ],
    ['a name in another letter case', '{disabled: [Usage]}', ['"Usage"', 'usage']],
    ['a scale set without a name', '{disabled: ["instances/"]}', ['"instances/"', 'instances/SCALE-SET']],
    ['one that is required', '{disabled: [scaleSets]}', ['azure.agents.disabled', 'keeps scaleSets', '--allow-degraded']],
    ['a pattern with one that is required', '{disabled: ["s*"]}', ['azure.agents.disabled', 'allowDegraded']],
    ['the machines of every set', '{disabled: ["instances/*"]}', ['azure.agents.disabled', 'instances/*']],
    ['the machines of one set', '{disabled: ["instances/aks-user1-12345678-vmss"]}', ['azure.agents.disabled', 'instances/*']],
    ['no list', '{disabled: usage}', ['azure.agents.disabled', '"usage"', 'a list of agents']],
  ])('%s is refused', (_what, agents, words) => {
    const errors = errorsOf(yaml(agents));
    expect(errors).toHaveLength(1);
    for (const word of words) expect(errors[0]).toContain(word);
  });

  it('none of the required ones among those that are enabled is refused', () => {
    expect(errorsOf(yaml('{enabled: [usage]}')).join()).toContain('--allow-degraded');
  });

  it.each([
    ['in the file', yaml('{disabled: [skus], allowDegraded: true}')],
    ['by the flag', yaml('{disabled: [skus]}', ['--allow-degraded'])],
  ])('a required one may be left out when that is allowed %s', (_where, given) => {
    expect(configOf(given).azure.agents).toMatchObject({ disabled: ['skus'], allowDegraded: true });
  });

  it('may change while the process runs, and nothing else of Azure does', () => {
    const [running, next] = [configOf({}), configOf({ ...yaml('{disabled: [usage]}'), env: { AZURE_VMSS_CACHE_TTL: '99' } })];
    expect(isLive('azure.agents.disabled', running, next)).toBe(true);
    expect(isLive('azure.cache.vmssTtl', running, next)).toBe(false);
    expect(overlaid(running, next).azure).toEqual({ ...running.azure, agents: next.azure.agents });
  });
});
