import { describe, expect, it } from 'vitest';
import { ResourceNames } from '../../../../src/domain/resources.ts';
import { createScoring } from '../../../../src/planning/scale-up/packing/option-score.ts';
import { aCluster, aGroup } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';

describe('groups that are planned as one', () => {
  const groups = [aGroup({ id: 'a', vmSize: 'Standard_D4s_v5' }), aGroup({ id: 'b', vmSize: 'Standard_D4as_v5' })];
  const table = { standard_d4s_v5: { perHour: { linux: 0.2 }, readAtMs: 0 }, standard_d4as_v5: { perHour: { linux: 0.1 }, readAtMs: 0 } };
  const preferences = (part: object) => {
    const { scaleUp } = aPolicy({ scaleUp: { listPrices: { table, remarks: [], ...part } } });
    return new Set(groups.map(createScoring(scaleUp, new ResourceNames(), aCluster()).preferenceOf)).size;
  };

  it('have the same price, unless prices are only shown', () => {
    expect(preferences({})).toBe(2);
    expect(preferences({ onlyShown: true })).toBe(1);
  });
});
