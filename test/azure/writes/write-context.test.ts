import { describe, expect, it } from 'vitest';
import { assertNotLower } from '../../../src/azure/writes/write-context.ts';

describe('the last guard before a capacity write', () => {
  it.each<[number, number]>([
    [6, 5],
    [6, 6],
  ])('sends %i if %s was read', (to, read) => {
    expect(() => assertNotLower('aks-user1-vmss', to, read)).not.toThrow();
  });

  it('sends nothing over a size that is unknown', () => {
    expect(() => assertNotLower('aks-user1-vmss', 5, undefined)).toThrow('its size is unknown');
  });

  it('sends no number below the size that was just read, as while deletions run', () => {
    expect(() => assertNotLower('aks-user1-vmss', 5, 6)).toThrow('A write of aks-user1-vmss from 6 to 5 was not sent');
  });
});
