import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseVmSize } from '../../../src/adapters/azure/vm-size-name.ts';

/** Name without `Standard_`, family, subfamily, number, constrained, features, accelerator, variant, version, flags. */
const NAMES: readonly string[] = [
  'A4 A . 4 . . . . . .',
  'A2m_v2 A . 2 . m . . v2 .',
  'B1ls B . 1 . ls . . . .',
  'B2ats_v2 B . 2 . ats . . v2 .',
  'D15_v2 D . 15 . . . . v2 .',
  'D3_v2_Promo D . 3 . . . . v2 promo',
  'D4s_v3 D . 4 . s . . v3 .',
  'd4s_v3 D . 4 . s . . v3 .',
  'D4plds_v5 D . 4 . plds . . v5 .',
  'D2s_v10 D . 2 . s . . v10 .',
  'D16nlds_v6 D . 16 . nlds . . v6 .',
  'DC16ads_cc_v5 D C 16 . ads . . v5 cc',
  'DS11-1_v2 D S 11 1 . . . v2 .',
  'DS14_v2_Promo D S 14 . . . . v2 promo',
  'E4-2s_v3 E . 4 2 s . . v3 .',
  'E112ibds_v5 E . 112 . ibds . . v5 .',
  'FX4mds F X 4 . mds . . . .',
  'GS5-16 G S 5 16 . . . . .',
  'HB120-16rs_v3 H B 120 16 rs . . v3 .',
  'L8aos_v4 L . 8 . aos . . v4 .',
  'M8-2ms M . 8 2 ms . . . .',
  'M416-208ms_v2 M . 416 208 ms . . v2 .',
  'M416s_8_v2 M . 416 . s . 8 v2 .',
  'M96bds_1_v3 M . 96 . bds . 1 v3 .',
  'NC24r_Promo N C 24 . r . . . promo',
  'NC4as_T4_v3 N C 4 . as T4 . v3 .',
  'NCC40ads_H100_v5 N CC 40 . ads H100 . v5 .',
  'ND96amsr_A100_v4 N D 96 . amsr A100 . v4 .',
  'ND96isr_MI300X_v5 N D 96 . isr MI300X . v5 .',
  'ND96is_flex_H100_v5 N D 96 . is H100 flex v5 .',
  'ND128isr_NDR_GB200_v6 N D 128 . isr GB200 NDR v6 .',
  'NV36adms_A10_v5 N V 36 . adms A10 . v5 .',
  'NV4ads_V710_v5 N V 4 . ads V710 . v5 .',
  'NC24lds_xl_RTXPRO6000BSE_v6 N C 24 . lds RTXPRO6000BSE xl v6 .',
];

describe('names of VM sizes', () => {
  it.each(NAMES)('%s', (row) => {
    const [name = '', ...expected] = row.split(' ');
    for (const prefix of ['', 'Standard_', 'STANDARD_']) {
      const read = parseVmSize(`${prefix}${name}`);
      const flags = [...(read.confidentialChild ? ['cc'] : []), ...(read.promo ? ['promo'] : [])].join();
      const { family, subfamily, number, constrained, features, accelerator, variant, version } = read;
      const shown = [family, subfamily, number ?? '', constrained ?? '', features.join(''), accelerator, variant, version, flags];
      expect(shown.map((part) => (part === '' ? '.' : String(part)))).toEqual(expected);
      expect(read.exact).toBe(true);
    }
  });

  it('caching 49: a feature letter that nobody explained is kept and told', () => {
    expect(parseVmSize('Standard_D2zs_v9')).toMatchObject({ features: ['z', 's'], unknownFeatures: ['z'], version: 'v9', exact: false });
  });

  it('is not understood, and says so with the name as it was given', () => {
    expect(parseVmSize('inValid')).toMatchObject({ raw: 'inValid', number: undefined, exact: false });
    fc.assert(
      fc.property(fc.string(), (text) => parseVmSize(text).raw === text),
      { seed: 1, numRuns: 300 },
    );
  });
});
