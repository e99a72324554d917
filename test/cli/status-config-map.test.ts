import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { requiredAccesses } from '../../src/tools/doctor/cluster-checks.ts';
import { toYaml } from '../../src/cli/connect/config-map-stores.ts';
import type { StatusValue } from '../../src/domain/ports/records.ts';

describe('the notation of the status', () => {
  it('is block style with sorted keys', () => {
    const text = toYaml({
      time: '2026-01-02 03:04:05 +0000 UTC',
      nodeGroups: [{ name: 'aks-a', health: { status: 'Healthy', minSize: 1 } }, { name: 'null' }],
      autoscalerStatus: 'Running',
      none: [],
    });
    expect(text).toBe(
      [
        'autoscalerStatus: Running',
        'nodeGroups:',
        '- health:',
        '    minSize: 1',
        '    status: Healthy',
        '  name: aks-a',
        '- name: "null"',
        'none: []',
        'time: 2026-01-02 03:04:05 +0000 UTC',
        '',
      ].join('\n'),
    );
  });

  it('reads back as what was written, whatever the texts are', () => {
    const { value } = fc.letrec<{ value: StatusValue; map: { [key: string]: StatusValue } }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string({ unit: 'binary' }),
        fc.constantFrom('yes', 'Null', '1e3', '0x1f', '- a', 'a: b', 'a #b', '~', '.inf', 'a ', '2026-01-02', 'y'),
        fc.integer(),
        fc.boolean(),
        fc.array(tie('value'), { maxLength: 3 }),
        tie('map'),
      ),
      map: fc.dictionary(
        fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
        tie('value'),
        { maxKeys: 4 },
      ),
    }));
    const map = fc.dictionary(
      fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
      value,
      { minKeys: 1, maxKeys: 4 },
    );
    fc.assert(
      fc.property(map, (document) => {
        expect(parse(toYaml(document))).toEqual(document);
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});

it('checks the permission to write it under its configured name', () => {
  const names = { namespace: 'n', leaseName: 'l', configMapPrefix: 'l', leaseNamespace: 'n' };
  const asked = (statusConfigMapName: string): readonly string[] =>
    requiredAccesses({ ...names, statusConfigMapName }).flatMap(({ resource, verb, name }) =>
      resource === 'configmaps' && name.includes('status') ? [`${verb} ${name}`] : [],
    );
  expect(asked('second-status')).toEqual(['get second-status', 'update second-status', 'delete second-status']);
  expect(asked('cluster-autoscaler-status')).toHaveLength(3);
});

it('checks the permission to write the ConfigMaps whose names follow from the lease, without the suffix of a dry run', () => {
  const names = { namespace: 'n', leaseNamespace: 'n', statusConfigMapName: 's' };
  const written = (leaseName: string, configMapPrefix: string): readonly string[] =>
    requiredAccesses({ ...names, leaseName, configMapPrefix }).flatMap(({ resource, verb, name }) =>
      resource === 'configmaps' && verb === 'update' ? [name] : [],
    );
  expect(written('second-dry-run', 'second')).toEqual(['s', 'second-templates', 'second-memory']);
  expect(written('aks-autoscaler', 'aks-autoscaler')).toEqual(['s', 'aks-autoscaler-templates', 'aks-autoscaler-memory']);
});
