import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstanceId, parseProviderId, providerIdOf } from '../../../src/azure/arm/resource-ids.ts';

const UNIFORM =
  '/subscriptions/0a1B/resourceGroups/MC_rg_Aks_westeurope/providers/Microsoft.Compute/virtualMachineScaleSets/aks-User1-vmss/virtualMachines/12';
const MACHINE = '/subscriptions/0a1B/resourceGroups/MC_rg_Aks_westeurope/providers/Microsoft.Compute/virtualMachines/aks-user2-vm0';

describe('arm ids', () => {
  it.each([
    ['empty', ''],
    ['no id', 'invalid-id'],
    ['prefix only', 'azure://invalid-id'],
    ['another cloud', 'aws:///eu-west-1a/i-0abc'],
    ['a scale set, not an instance', `azure://${UNIFORM.split('/virtualMachines')[0]}`],
    ['an instance of another provider', 'azure:///subscriptions/s/resourceGroups/r/providers/Microsoft.Other/virtualMachines/x'],
    ['an empty segment', 'azure:///subscriptions//resourceGroups/r/providers/Microsoft.Compute/virtualMachines/x'],
    ['a trailing segment', `azure://${MACHINE}/extensions`],
    ['a trailing slash', `azure://${MACHINE}/`],
    ['the wrong child type', `azure://${UNIFORM.replace('virtualMachines', 'disks')}`],
  ])('is an error value for %s', (_what, text) => {
    expect(parseProviderId(text)).toMatchObject({ ok: false, reason: expect.stringMatching(/.+/) });
  });

  it('parses a Uniform instance', () => {
    expect(parseProviderId(`azure://${UNIFORM}`)).toEqual({
      ok: true,
      ref: {
        key: '0a1b|mc_rg_aks_westeurope|vmss|aks-user1-vmss|12',
        kind: 'vmss',
        subscription: '0a1B',
        resourceGroup: 'MC_rg_Aks_westeurope',
        set: 'aks-User1-vmss',
        instance: '12',
      },
    });
  });

  it('parses a machine with an id of its own', () => {
    expect(parseInstanceId(MACHINE)).toMatchObject({ ok: true, ref: { key: '0a1b|mc_rg_aks_westeurope|vm||aks-user2-vm0', set: '' } });
  });

  it('an id without prefix is the same machine, and its key has no prefix either', () => {
    const [bare, prefixed] = [parseInstanceId(MACHINE), parseProviderId(`azure://${MACHINE}`)];
    expect(bare).toEqual(prefixed);
    expect(bare.ok && bare.ref.key).toBe('0a1b|mc_rg_aks_westeurope|vm||aks-user2-vm0');
    expect(parseProviderId(MACHINE)).toMatchObject({ ok: false });
  });

  it('only the resource group is lower-cased in the published spelling', () => {
    const parsed = parseInstanceId(UNIFORM);
    expect(parsed.ok && providerIdOf(parsed.ref)).toBe(`azure://${UNIFORM.replace('MC_rg_Aks_westeurope', 'mc_rg_aks_westeurope')}`);
  });

  it.each([
    ['a part of the subscription', 'ABCD', 'aABCDb'],
    ['the subscription', 'SUB-1', 'SUB-1'],
    ['a word of every id', 'virtualMachines', '0a1B'],
    ['the key before it', 'ResourceGroups', '0a1B'],
    ['the name of the machine', 'Node-1', '0a1B'],
    ['with a dot and brackets', 'My.Group_(x)', '0a1B'],
  ])('a resource group that is spelled like %s is lower-cased where it stands, and nothing else is', (_what, group, subscription) => {
    const rest = 'providers/Microsoft.Compute/virtualMachines/Node-1';
    const parsed = parseInstanceId(`/subscriptions/${subscription}/resourceGroups/${group}/${rest}`);
    expect(parsed.ok && providerIdOf(parsed.ref)).toBe(
      `azure:///subscriptions/${subscription}/resourceGroups/${group.toLowerCase()}/${rest}`,
    );
  });

  it('every case variant of an id has the same key', () => {
    const variant = fc.constantFrom(UNIFORM, MACHINE).chain((id) =>
      fc.array(fc.boolean(), { minLength: id.length, maxLength: id.length }).map((ups) => ({
        id,
        text: Array.from(id, (letter, index) => (ups[index] === true ? letter.toUpperCase() : letter.toLowerCase())).join(''),
      })),
    );
    fc.assert(
      fc.property(variant, ({ id, text }) => {
        const [left, right] = [parseProviderId(`azure://${text}`), parseInstanceId(id)];
        return left.ok && right.ok && left.ref.key === right.ref.key;
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => typeof parseProviderId(`azure://${text}`).ok === 'boolean'),
      { seed: 2 },
    );
  });
});
