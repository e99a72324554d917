import * as fc from 'fast-check';
import { knownSize } from '../../../src/azure/sizes/known-sizes.ts';
import { describe, expect, it } from 'vitest';
import { parseVmSize } from '../../../src/azure/sizes/size-names.ts';

/** Name without `Standard_`, family, subfamily, number, constrained, features, accelerator, variant, version, flags, series. */
const NAMES: readonly string[] = [
  'A4 A . 4 . . . . . . A',
  'A2m_v2 A . 2 . m . . v2 . Am_v2',
  'B1ls B . 1 . ls . . . . Bls',
  'B2ats_v2 B . 2 . ats . . v2 . Bats_v2',
  'B2pts_v2 B . 2 . pts . . v2 . Bpts_v2',
  'B16als_v2 B . 16 . als . . v2 . Bals_v2',
  'D1 D . 1 . . . . . . D',
  'D15_v2 D . 15 . . . . v2 . D_v2',
  'D3_v2_Promo D . 3 . . . . v2 promo D_v2',
  'D2_v3 D . 2 . . . . v3 . D_v3',
  'D16a_v4 D . 16 . a . . v4 . Da_v4',
  'D4s_v3 D . 4 . s . . v3 . Ds_v3',
  'D2ads_v5 D . 2 . ads . . v5 . Dads_v5',
  'D8lds_v5 D . 8 . lds . . v5 . Dlds_v5',
  'D4pds_v5 D . 4 . pds . . v5 . Dpds_v5',
  'D4plds_v5 D . 4 . plds . . v5 . Dplds_v5',
  'DC8_v2 D C 8 . . . . v2 . DC_v2',
  'DC1s_v3 D C 1 . s . . v3 . DCs_v3',
  'DC2ads_v5 D C 2 . ads . . v5 . DCads_v5',
  'DC8eds_v5 D C 8 . eds . . v5 . DCeds_v5',
  'DC16ads_cc_v5 D C 16 . ads . . v5 cc DCads_v5',
  'DS2_v2 D S 2 . . . . v2 . DS_v2',
  'DS14_v2_Promo D S 14 . . . . v2 promo DS_v2',
  'DS11-1_v2 D S 11 1 . . . v2 . DS_v2',
  'E4-2s_v3 E . 4 2 s . . v3 . Es_v3',
  'E64is_v3 E . 64 . is . . v3 . Eis_v3',
  'E80ids_v4 E . 80 . ids . . v4 . Eids_v4',
  'E104i_v5 E . 104 . i . . v5 . Ei_v5',
  'E96-24ads_v5 E . 96 24 ads . . v5 . Eads_v5',
  'E64bds_v5 E . 64 . bds . . v5 . Ebds_v5',
  'E112ibds_v5 E . 112 . ibds . . v5 . Eibds_v5',
  'E112iads_v5 E . 112 . iads . . v5 . Eiads_v5',
  'EC48as_cc_v5 E C 48 . as . . v5 cc ECas_v5',
  'EC96iads_v5 E C 96 . iads . . v5 . ECiads_v5',
  'F16s F . 16 . s . . . . Fs',
  'F2s_v2 F . 2 . s . . v2 . Fs_v2',
  'FX4mds F X 4 . mds . . . . FXmds',
  'GS5-16 G S 5 16 . . . . . GS',
  'HB60-15rs H B 60 15 rs . . . . HBrs',
  'HB120-16rs_v3 H B 120 16 rs . . v3 . HBrs_v3',
  'HC44-32rs H C 44 32 rs . . . . HCrs',
  'HX176-24rs H X 176 24 rs . . . . HXrs',
  'L8as_v3 L . 8 . as . . v3 . Las_v3',
  'L80s_v3 L . 80 . s . . v3 . Ls_v3',
  'M8-2ms M . 8 2 ms . . . . Mms',
  'M192ims_v2 M . 192 . ims . . v2 . Mims_v2',
  'M416-208ms_v2 M . 416 208 ms . . v2 . Mms_v2',
  'M416s_8_v2 M . 416 . s . 8 v2 . Ms_v2',
  'NC24r_Promo N C 24 . r . . . promo NCr',
  'NC4as_T4_v3 N C 4 . as T4 . v3 . NCas_v3',
  'NC24ads_A100_v4 N C 24 . ads A100 . v4 . NCads_v4',
  'ND96asr_v4 N D 96 . asr . . v4 . NDasr_v4',
  'ND96amsr_A100_v4 N D 96 . amsr A100 . v4 . NDamsr_v4',
  'NP10s N P 10 . s . . . . NPs',
  'NV36adms_A10_v5 N V 36 . adms A10 . v5 . NVadms_v5',
  'PB6s P B 6 . s . . . . PBs',
  'ND96isr_H100_v5 N D 96 . isr H100 . v5 . NDisr_v5',
  'NCC40ads_H100_v5 N CC 40 . ads H100 . v5 . NCCads_v5',
  'M96bds_1_v3 M . 96 . bds . 1 v3 . Mbds_v3',
  'ND96isr_MI300X_v5 N D 96 . isr MI300X . v5 . NDisr_v5',
  'd4s_v3 D . 4 . s . . v3 . Ds_v3',
  'D2s_v10 D . 2 . s . . v10 . Ds_v10',
  'D16nlds_v6 D . 16 . nlds . . v6 . Dnlds_v6',
  'L8aos_v4 L . 8 . aos . . v4 . Laos_v4',
  'ND96is_flex_H100_v5 N D 96 . is H100 flex v5 . NDis_v5',
  'ND128isr_NDR_GB200_v6 N D 128 . isr GB200 NDR v6 . NDisr_v6',
  'NV4ads_V710_v5 N V 4 . ads V710 . v5 . NVads_v5',
  'NC24lds_xl_RTXPRO6000BSE_v6 N C 24 . lds RTXPRO6000BSE xl v6 . NClds_v6',
];

describe('names of VM sizes', () => {
  it.each(NAMES)('%s', (row) => {
    const [name = '', ...expected] = row.split(' ');
    for (const prefix of ['', 'Standard_', 'STANDARD_']) {
      const read = parseVmSize(`${prefix}${name}`);
      const flags = [...(read.confidentialChild ? ['cc'] : []), ...(read.promo ? ['promo'] : [])].join();
      const { family, subfamily, number, constrained, features, accelerator, variant, version, series } = read;
      const shown = [family, subfamily, number ?? '', constrained ?? '', features.join(''), accelerator, variant, version, flags, series];
      expect(shown.map((part) => (part === '' ? '.' : String(part)))).toEqual(expected);
      expect(read.exact).toBe(true);
    }
  });

  it.each([
    ['Standard_NC24ads_A100_v4', 'NCads_v4', 'NCads_A100_v4'],
    ['Standard_NC24ads_A10_v4', 'NCads_v4', 'NCads_A10_v4'],
    ['Standard_D4s_v5', 'Ds_v5', 'Ds_v5'],
  ])('%s is of series %s, and of the same make as no other than %s', (name, series, groupKey) => {
    expect(parseVmSize(name)).toMatchObject({ series, groupKey });
  });

  it.each([
    ['Basic_A4', 'Basic'],
    ['basic_a4', 'Basic'],
    ['Standard_A4', 'Standard'],
    ['A4', 'Standard'],
  ])('%s is of tier %s', (name, tier) => {
    expect(parseVmSize(name)).toMatchObject({ tier, family: 'A', number: 4, exact: true });
  });

  it('keeps and reports an unknown feature letter', () => {
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

describe('VM sizes known by name', () => {
  it.each<[string, readonly [number, number, number, string] | undefined]>([
    ['Standard_D4s_v5', [4, 16, 0, 'amd64']],
    ['standard_d8pds_v5', [8, 32, 0, 'arm64']],
    ['Standard_D4ls_v5', [4, 8, 0, 'amd64']],
    ['Standard_D4pls_v5', [4, 8, 0, 'arm64']],
    ['Standard_E16ads_v5', [16, 128, 0, 'amd64']],
    ['Standard_F8s_v2', [8, 16, 0, 'amd64']],
    ['Standard_NC4as_T4_v3', [4, 28, 1, 'amd64']],
    ['STANDARD_DS2_V2', [2, 7, 0, 'amd64']],
    ['Standard_D4s_v3_Promo', [4, 16, 0, 'amd64']],
    ['Standard_D2als_v6', [2, 4, 0, 'amd64']],
    ['Standard_B4pls_v2', [4, 8, 0, 'arm64']],
    // Has a quarter of the memory that the others of its series have.
    ['Standard_B2ats_v2', undefined],
    // Has less memory per core than its smaller siblings.
    ['Standard_E96s_v5', undefined],
    ['Standard_E8-4s_v5', undefined],
    ['Standard_M416ms_v2', undefined],
  ])('%s', (name, expected) => {
    const sku = knownSize(name);
    expect(sku === undefined ? undefined : [sku.vcpus, sku.memoryBytes / 2 ** 30, sku.gpus, sku.arch]).toEqual(expected);
  });
});
