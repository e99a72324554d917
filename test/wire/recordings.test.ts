/** Recordings of every form are read alike, and what cannot be read is reported. */
import { describe, expect, it } from 'vitest';
import { readRecordings } from './recordings/read-recordings.ts';
import { wireCallOf } from './recordings/wire-call.ts';
import {
  AKS_LOCATION,
  aPool,
  aSet,
  cliYaml,
  CLUSTER,
  compressed,
  getPool,
  getSet,
  goYaml,
  NODES,
  powerShellJson,
  proxyJson,
  recordingsIn,
  SET,
  SUBSCRIPTION,
} from './synthetic.ts';

const ANSWERS = [getSet(aSet(), { ETag: '"3"' }), getPool(aPool(), { 'X-Ms-Request-Id': 'one' })];

describe('the forms of recordings', () => {
  it.each([
    ['azure-cli', 'cli.yaml', cliYaml(ANSWERS)],
    ['go-vcr', 'go1.yaml', goYaml(ANSWERS, 1)],
    ['go-vcr', 'go2.yml', goYaml(ANSWERS, 2)],
    ['test-proxy', 'proxy.json', proxyJson(ANSWERS)],
    ['powershell', 'session.json', `\uFEFF${powerShellJson(ANSWERS)}`],
  ])('reads requests and answers of %s in %s', (form, file, text) => {
    const { interactions, broken, files } = readRecordings(recordingsIn({ [file]: text }));
    expect({ broken, files }).toEqual({ broken: [], files: 1 });
    expect(interactions.map(({ form: each, index, method, status }) => ({ form: each, index, method, status }))).toEqual([
      { form, index: 0, method: 'GET', status: 200 },
      { form, index: 1, method: 'GET', status: 200 },
    ]);
    const [set] = interactions;
    expect(set?.uri.pathname).toBe(SET);
    expect(set?.headers.get('etag')).toBe('"3"');
    expect(JSON.parse(set?.body ?? '')).toEqual(aSet());
    expect(new Date(set?.dateMs ?? 0).toISOString()).toBe('2026-07-14T09:30:00.000Z');
  });

  it('reads compressed bodies, in base64 and as bytes of YAML', () => {
    const text = cliYaml([getSet(aSet())]);
    const folder = recordingsIn({
      'base64.json': proxyJson([{ path: SET, body: compressed(aSet()) }]),
      'bytes.yaml': text.replace(/string: .*$/m, `string: !!binary ${compressed(aSet())}`),
    });
    expect(readRecordings(folder).interactions.map(({ body }) => JSON.parse(body) as unknown)).toEqual([aSet(), aSet()]);
  });

  it('counts headers that the recorder removed as neither present nor absent', () => {
    const folder = recordingsIn({ 'cli.yaml': cliYaml(ANSWERS), 'go.yaml': goYaml(ANSWERS) });
    const scrubbed = (file: string): readonly string[] => [
      ...(readRecordings(folder).interactions.find((each) => each.file === file)?.scrubbed ?? []),
    ];
    expect(scrubbed('cli.yaml')).toEqual(expect.arrayContaining(['retry-after', 'x-ms-request-id']));
    expect(scrubbed('go.yaml')).toContain('retry-after');
    expect(scrubbed('go.yaml')).not.toContain('x-ms-request-id');
    expect(scrubbed('go.yaml')).not.toContain('date');
  });

  it('reports broken files and entries, and reads the others', () => {
    const folder = recordingsIn({
      'broken.json': '{"Entries": [',
      'notes.yaml': 'a: 1\n',
      'pointer.yaml': 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n',
      'half.json': JSON.stringify({ Entries: [{ RequestUri: SET, RequestMethod: 'GET' }] }),
      'whole.yaml': goYaml(ANSWERS),
      'readme.md': 'not read',
    });
    const { interactions, broken } = readRecordings(folder);
    expect(interactions).toHaveLength(2);
    expect(broken.map(({ file, index }) => [file, index])).toEqual([
      ['broken.json', undefined],
      ['half.json', 0],
      ['notes.yaml', undefined],
      ['pointer.yaml', undefined],
    ]);
    expect(broken.find(({ file }) => file === 'half.json')?.reason).toBe('an entry has no status');
  });
});

describe('the calls of recordings', () => {
  it.each([
    ['GET', `${NODES}/virtualMachineScaleSets`, 'listScaleSets', 'compute'],
    ['GET', SET.toLowerCase(), 'getScaleSet', 'compute'],
    ['PUT', SET, 'putScaleSet', 'compute'],
    ['POST', `${SET}/delete`, 'deleteInstances', 'compute'],
    ['GET', `${SET}/virtualMachines?$expand=instanceView`, 'listInstances', 'compute'],
    ['GET', `${SET}/virtualMachines/4`, 'getInstance', 'compute'],
    ['GET', `${NODES}/virtualMachines/mill-1`, 'getVm', 'compute'],
    ['GET', `${SUBSCRIPTION}/providers/Microsoft.Compute/skus`, 'listSkus', 'compute'],
    ['GET', `${SUBSCRIPTION}/providers/Microsoft.Compute/locations/northeurope/usages`, 'listUsages', 'compute'],
    ['GET', `${SUBSCRIPTION}/providers/Microsoft.Compute/locations/x/operations/1?monitor=true`, 'getOperationResult', 'compute'],
    ['GET', `${CLUSTER}/agentPools`, 'listAgentPools', 'aks'],
    ['PUT', `${CLUSTER}/agentPools/flour`, 'putAgentPool', 'aks'],
    ['POST', `${CLUSTER}/agentPools/flour/deleteMachines`, 'deleteMachines', 'aks'],
    ['GET', `${AKS_LOCATION}/operations/1?t=1`, 'getOperation', 'aks'],
    ['GET', `${AKS_LOCATION}/operationresults/1`, 'getOperationResult', 'aks'],
  ])('%s %s', (method, path, kind, provider) => {
    expect(wireCallOf({ method, uri: new URL(path, 'https://management.azure.com') })).toMatchObject({ kind, provider });
  });

  it.each([
    ['DELETE', SET],
    ['PATCH', `${CLUSTER}/agentPools/flour`],
    ['GET', `${SUBSCRIPTION}/resourceGroups/shop`],
    ['GET', `${SUBSCRIPTION}/providers/Microsoft.Network/locations/x/operations/1`],
  ])('skips %s %s, which the daemon does not send', (method, path) => {
    expect(wireCallOf({ method, uri: new URL(path, 'https://management.azure.com') })).toBeUndefined();
  });

  it('takes the names and the expansion from the address', () => {
    const uri = new URL(`https://management.azure.com${SET}/virtualMachines/4?$expand=instanceView`);
    expect(wireCallOf({ method: 'GET', uri })).toMatchObject({
      names: { rg: 'MC_shop_mill_northeurope', set: 'aks-flour-20406080-vmss', instance: '4' },
      expand: 'instanceview',
    });
  });
});
