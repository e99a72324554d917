import { rootCertificates } from 'node:tls';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FLAGS } from '../../src/config/sources/flag-table.ts';
import { errorsOf, type Given } from './support.ts';

const yaml = (text: string): Given => ({ argv: ['--config=c.yaml'], files: { 'c.yaml': text } });
const json = (content: object): Given => ({ argv: ['--cloud-config=azure.json'], files: { 'azure.json': JSON.stringify(content) } });
const flag = (...argv: readonly string[]): Given => ({ argv });
const env = (name: string, value: string): Given => ({ env: { [name]: value } });

const PEM = rootCertificates[0] ?? '';
const caFile = (text: string): Given => ({ env: { AZURE_CA_FILE: 'ca.pem' }, files: { 'ca.pem': text } });

/** Each line holds the one before it, so the last value is as deep as the file is long. */
function chainOfAliases(length: number): string {
  return Array.from({ length }, (_, at) => `k${at}: &k${at} [${at === 0 ? '' : `*k${at - 1}`}]`).join('\n');
}

/** Each mistake alone gives exactly one sentence, with these words in it. */
const ROWS: readonly (readonly [string, Given, readonly string[]])[] = [
  ['text for a TTL', env('AZURE_VMSS_CACHE_TTL', 'abc'), ['AZURE_VMSS_CACHE_TTL', '"abc"', 'whole number of seconds']],
  ['a unit where seconds are meant', env('AZURE_VMSS_VMS_CACHE_TTL', '5m'), ['AZURE_VMSS_VMS_CACHE_TTL', '"5m"', 'seconds']],
  ['negative jitter', env('AZURE_VMSS_VMS_CACHE_JITTER', '-5'), ['AZURE_VMSS_VMS_CACHE_JITTER', '"-5"', 'from 0 to 4294967295']],
  ['fractional seconds', env('AZURE_VMSS_CACHE_TTL_IN_SECONDS', '1.5'), ['AZURE_VMSS_CACHE_TTL_IN_SECONDS', '"1.5"']],
  ['text for a boolean', env('AZURE_ENABLE_VMSS_ETAG', 'maybe'), ['AZURE_ENABLE_VMSS_ETAG', '"maybe"', 'true or false']],
  ['number for a boolean', env('AZURE_ENABLE_FORCE_DELETE', '2'), ['AZURE_ENABLE_FORCE_DELETE', '"2"', 'true or false']],
  ['text for a number', flag('--scale-down-utilization-threshold=half'), ['--scale-down-utilization-threshold', '"half"', '0 to 1']],
  ['text for an integer', flag('--max-nodes-total=many'), ['--max-nodes-total', '"many"', 'whole number']],
  ['a TTL of nothing', yaml('azure: {cache: {vmssTtl: 0s}}'), ['azure.cache.vmssTtl', '"0s"', 'at least 1000 ms']],
  [
    'jitter longer than its TTL',
    env('AZURE_VMSS_VMS_CACHE_JITTER', '301'),
    ['AZURE_VMSS_VMS_CACHE_JITTER', '"301"', 'not longer than the TTL'],
  ],
  ['unknown cloud', env('ARM_CLOUD', 'MoonCloud'), ['ARM_CLOUD', '"MoonCloud"', 'AzurePublicCloud']],
  [
    'availability sets, without the parameters of a deployment',
    env('ARM_VM_TYPE', 'standard'),
    ['ARM_VM_TYPE', '"standard"', 'vmss', 'POOL/SIZE'],
  ],
  [
    'availability sets of a deployment, which is not even looked for',
    { argv: ['--cloud-config=a.json'], files: { 'a.json': '{"vmType": "standard", "deployment": "not-there"}' } },
    ['key vmType of a.json', '"standard"', 'scale set', 'POOL/SIZE'],
  ],
  ['authority that is no URL', env('AZURE_AUTHORITY_HOST', 'login'), ['AZURE_AUTHORITY_HOST', '"login"', 'URL']],

  ['unknown key, near a known one', yaml('scaleDwn: {enabled: true}'), ['scaleDwn', 'c.yaml', 'did you mean scaleDown?']],
  ['unknown key below', yaml('loop: {scanIntervall: 10s}'), ['loop.scanIntervall', 'c.yaml', 'did you mean loop.scanInterval?']],
  ['unknown key, near none', yaml('loop: {zzz: 1}'), ['loop.zzz', 'c.yaml', 'the accepted keys are scanInterval']],
  ['wrong type: a number for a duration', yaml('loop: {scanInterval: 10}'), ['loop.scanInterval', 'c.yaml', '10', 'duration such as']],
  ['wrong type: text for a boolean', yaml('scaleDown: {enabled: "yes"}'), ['scaleDown.enabled', '"yes"', 'true or false']],
  ['wrong type: a list for a map', yaml('loop: [1]'), ['key loop of c.yaml', '[1]', 'a map of settings']],
  ['wrong type: a map for a number', yaml('scaleUp: {maxNodesTotal: {a: 1}}'), ['scaleUp.maxNodesTotal', 'whole number']],
  ['threshold out of range', yaml('scaleDown: {utilizationThreshold: 1.5}'), ['scaleDown.utilizationThreshold', '1.5', 'from 0 to 1']],
  ['a share below none', flag('--memory-difference-ratio=-0.1'), ['--memory-difference-ratio', '"-0.1"', 'from 0 to 1']],
  ['a share above all', yaml('scaleUp: {maxFreeDifferenceRatio: 1.5}'), ['scaleUp.maxFreeDifferenceRatio', '1.5', 'from 0 to 1']],
  ['a share in words', flag('--max-allocatable-difference-ratio=5%'), ['--max-allocatable-difference-ratio', '"5%"', 'from 0 to 1']],
  [
    'no devices',
    yaml('nodeGroupOptions: [{name: a, devices: [{driver: gpu.example.com, count: 0}]}]'),
    ['nodeGroupOptions[0].devices', 'count is 0', 'from 1 to 128'],
  ],
  ['first back-off above the last', yaml('backoff: {initial: 40m}'), ['backoff.initial', '"40m"', 'backoff.max']],
  ['batch idle above batch max', yaml('loop: {batchIdle: 3s}'), ['loop.batchIdle', '"3s"', 'loop.batchMax']],
  [
    'a lease that another takes before its leader gives up',
    flag('--leader-elect-lease-duration=10s'),
    ['--leader-elect-lease-duration', '"10s"', 'longer than kubernetes.leaseRenewDeadline'],
  ],
  [
    'no time for a second try of a renewal',
    flag('--leader-elect-renew-deadline=2s'),
    ['--leader-elect-renew-deadline', '"2s"', '1.2 times kubernetes.leaseRetryPeriod'],
  ],
  [
    'a lease of broken seconds',
    flag('--leader-elect-lease-duration=15500ms'),
    ['--leader-elect-lease-duration', 'a whole number of seconds'],
  ],
  ['a retry of nothing', flag('--leader-elect-retry-period=0s'), ['--leader-elect-retry-period', '"0s"', 'at least 100 ms']],
  ['cluster without its resource group', env('CLUSTER_NAME', 'c'), ['azure.clusterResourceGroup is missing', 'ARM_CLUSTER_RESOURCE_GROUP']],
  [
    'both identities',
    yaml('azure: {credential: {useManagedIdentity: true, useWorkloadIdentity: true}}'),
    ['useWorkloadIdentity', 'only one'],
  ],
  [
    'an alias of nothing, which may be a secret',
    yaml('azure:\n  credential: {clientSecret: *sesame}'),
    ['c.yaml', 'alias without an anchor (*...) at line 2', 'put quotes around text that starts with *'],
  ],
  [
    'aliases that stand for gigabytes',
    yaml(
      `a: &a [x,x]\n${'bcdefghijk'
        .split('')
        .map((name, at) => `${name}: &${name} [*${'abcdefghij'[at]}, *${'abcdefghij'[at]}]`)
        .join('\n')}`,
    ),
    ['c.yaml', 'expand to too much', '1000'],
  ],
  ['an alias inside of its own list', yaml('discovery: &a\n  - *a'), ['c.yaml', 'alias (*...) at line 2 inside of the value']],
  ['an alias inside of its own map', yaml('loop: &a\n  x:\n    y: *a'), ['c.yaml', 'line 3 inside of the value']],
  ['an alias as a key of its own map', yaml('&a\n? *a\n: 1'), ['c.yaml', 'line 2 inside of the value']],
  ['a merge of its own map', yaml('loop: &a\n  <<: *a'), ['c.yaml', 'line 2 inside of the value']],
  ['a merge of a text', yaml('loop:\n  <<: x'), ['c.yaml', 'a merge key (<<) whose value is neither a map']],
  ['a merge of an alias of a number', yaml('scaleUp: {maxNodesTotal: &a 1}\nloop:\n  <<: *a'), ['c.yaml', 'a merge key (<<)']],
  ['a flow list without end', yaml('['.repeat(10_000)), ['c.yaml', 'nested too deeply', '100 levels']],
  ['a flow map of a thousand levels', yaml(`${'{a: '.repeat(1_000)}1${'}'.repeat(1_000)}`), ['c.yaml', 'nested too deeply']],
  ['a block list of a thousand levels', yaml('- '.repeat(1_000)), ['c.yaml', 'nested too deeply']],
  ['a chain of aliases of three hundred levels', yaml(chainOfAliases(300)), ['c.yaml', 'nested too deeply']],
  ['a huge file', yaml(`logLevel: debug\n#${'x'.repeat(300_000)}`), ['c.yaml', 'too large: 293 KiB', '256 KiB']],
  ['a key twice', yaml('logLevel: debug\nloop: {}\nlogLevel: info'), ['c.yaml', 'Map keys must be unique at line 3']],
  ['two documents', yaml('logLevel: debug\n---\nlogLevel: info'), ['c.yaml', 'multiple documents', 'line 2']],
  ['tabs', yaml('loop:\n\tscanInterval: 5s'), ['c.yaml', 'Tabs', 'line 2']],
  ['not a number', yaml('scaleUp: {maxNodesTotal: .nan}'), ['scaleUp.maxNodesTotal', 'is NaN']],
  ['a tag value that YAML reads as a boolean', yaml('discovery: [{selectors: {a: true}}]'), ['selectors.a', 'is true', 'in quotes']],
  ['broken YAML', yaml('a: [1'), ['c.yaml', 'neither valid YAML nor JSON']],
  ['a file of text', yaml('hello'), ['c.yaml', 'does not hold a map']],
  ['missing file', flag('--config=nowhere.yaml'), ['--config', '"nowhere.yaml"', 'does not exist']],
  ['missing cloud file', flag('--cloud-config=nowhere.json'), ['--cloud-config', '"nowhere.json"', 'does not exist']],
  ['missing certificate file', env('AZURE_CA_FILE', 'ca.pem'), ['azure.caFile', '"ca.pem"', 'does not exist']],
  ['a key in place of certificates', caFile(PEM.replaceAll('CERTIFICATE', 'PRIVATE KEY')), ['azure.caFile', '"ca.pem"', 'contains none']],
  ['a certificate that is cut off', caFile(PEM.slice(0, 400)), ['azure.caFile', '"ca.pem"', 'PEM certificates', 'cut off']],
  ['a certificate of other bytes', caFile(`${PEM}\n${PEM.replace(/MII../, 'AAAA')}`), ['"ca.pem"', 'certificate 2 of 2 cannot be read']],
  ['a certificate that is none', { env: { AZURE_CA_FILE: 'ca.pem' }, files: { 'ca.pem': 'hi' } }, ['azure.caFile', '"ca.pem"', 'PEM']],
  ['broken JSON', { argv: ['--cloud-config=a.json'], files: { 'a.json': '{' } }, ['a.json', 'not valid JSON']],
  ['cloud file that is a list', { argv: ['--cloud-config=a.json'], files: { 'a.json': '[]' } }, ['a.json', 'JSON object']],
  ['cloud file: text for a TTL', json({ vmssCacheTTL: 'soon' }), ['vmssCacheTTL', 'azure.json', '"soon"', 'seconds']],
  ['cloud file: unknown method', json({ authMethod: 'oauth' }), ['authMethod', 'azure.json', 'principal or cli']],

  ['unknown flag, near a known one', flag('--scan-intervall=3s'), ['--scan-intervall', 'did you mean --scan-interval?']],
  ['unknown flag with a value apart', flag('--frobnicate', 'hard'), ['--frobnicate', 'run --help']],
  ['flag without a value', flag('--scan-interval'), ['--scan-interval has no value']],
  ['flag followed by a flag', flag('--log-level', '--leader-elect=false'), ['--log-level has no value']],
  ['stray argument', flag('now'), ['"now" is not expected']],
  ['another provider', flag('--cloud-provider=gce'), ['--cloud-provider', '"gce"', 'azure']],
  ['duration without unit', flag('--scan-interval=10'), ['--scan-interval', '"10"', 'duration such as']],
  ['negative duration', flag('--scale-down-delay-after-add=-5m'), ['--scale-down-delay-after-add', '"-5m"']],
  ['unknown expander', flag('--expander=least-waste,cheapest'), ['--expander', '"least-waste,cheapest"', 'most-pods']],
  ['expander twice', flag('--expander=random,random'), ['--expander', 'a list that names each expander once']],
  ['an expander after random', flag('--expander=random,least-waste'), ['--expander', 'random last']],
  [
    'a bypassed scheduler that is not allowed',
    flag('--allowed-scheduler-names=a', '--bypassed-scheduler-names=a,b'),
    ['--bypassed-scheduler-names', 'scaleUp.allowedSchedulers'],
  ],
  ['a price list by a flag that is neither on nor off', flag('--retail-prices=yes'), ['--retail-prices', '"yes"', 'true, false or auto']],
  ['price without prices', flag('--expander=price', '--retail-prices=false'), ['--expander', 'scaleUp.prices']],
  [
    'a price list that is neither on nor off',
    yaml('scaleUp: {retailPrices: {enabled: sometimes}}'),
    ['"sometimes"', 'true, false or auto'],
  ],
  ['a priority that is no number', yaml('scaleUp: {priorities: {high: [a]}}'), ['scaleUp.priorities', 'whole numbers']],
  ['a pattern that is none', yaml('scaleUp: {priorities: {5: ["a["]}}'), ['scaleUp.priorities', '"a["', 'regular expression']],
  ['a price that is none', yaml('scaleUp: {prices: {Standard_D4s_v5: cheap}}'), ['Standard_D4s_v5', '"cheap"', 'price per hour']],
  [
    'a currency that is none',
    yaml('scaleUp: {retailPrices: {currency: dollars}}'),
    ['scaleUp.retailPrices.currency', '"dollars"', 'three letters'],
  ],
  ['a discount above all', yaml('scaleUp: {priceDiscounts: [{sizes: "*", percent: 100}]}'), ['priceDiscounts', '100', 'from 0 to 99']],
  ['a discount below zero', yaml('scaleUp: {priceDiscounts: [{sizes: "*", percent: -1}]}'), ['priceDiscounts', '-1', 'from 0 to 99']],
  ['a discount of nothing', yaml('scaleUp: {priceDiscounts: [{percent: 5}]}'), ['priceDiscounts', 'a VM size, or a pattern']],
  [
    'a discount for a priority that is none',
    yaml('scaleUp: {priceDiscounts: [{sizes: "*", percent: 5, priority: Low}]}'),
    ['"Low"', 'Regular, Spot'],
  ],
  ['a budget without a size', yaml('scaleDown: {budgets: [{per: pool}]}'), ['budgets', '{percent: 10}']],
  ['a budget with two sizes', yaml('scaleDown: {budgets: [{nodes: 1, percent: 10}]}'), ['budgets', '{percent: 10}']],
  ['a budget of more than everything', yaml('scaleDown: {budgets: [{percent: 101}]}'), ['budgets', '101', '100']],
  ['a budget for an unknown reason', yaml('scaleDown: {budgets: [{nodes: 1, reasons: [drifted]}]}'), ['reasons', 'underutilized']],
  ['a budget for no reason', yaml('scaleDown: {budgets: [{nodes: 1, reasons: []}]}'), ['reasons', 'underutilized']],
  ['a wait for load balancers that is too long', yaml('drain: {loadBalancerWait: 6m}'), ['loadBalancerWait', '5m']],
  ['a wait for volumes that is too long', yaml('drain: {volumeDetachTimeout: 1h}'), ['volumeDetachTimeout', '5m']],
  ['paid nodes without a count', yaml('scaleUp: {paidNodes: [{size: Standard_D8s_v5}]}'), ['paidNodes', 'a whole number']],
  ['no paid node', yaml('scaleUp: {paidNodes: [{size: Standard_D8s_v5, count: 0}]}'), ['paidNodes', '0', 'at least 1']],
  [
    'paid nodes of a size twice',
    yaml('scaleUp: {paidNodes: [{size: a, count: 1}, {size: A, count: 2}]}'),
    ['paidNodes', 'each VM size once'],
  ],
  ['a price below zero', yaml('scaleUp: {prices: {Standard_D4s_v5: -1}}'), ['Standard_D4s_v5', '-1', 'of at least 0']],
  ['bad address', flag('--address=8085'), ['--address', '"8085"', 'HOST:PORT']],
  ['port out of range', flag('--address=:70000'), ['--address', '":70000"', 'HOST:PORT']],
  ['bad address of the probes', flag('--probe-address=8086'), ['--probe-address', '"8086"', 'HOST:PORT']],
  ['one port for two listeners', flag('--probe-address=:8085'), ['--probe-address', '":8085"', 'other than that of http.address']],
  ['bad log level', flag('--log-level=loud'), ['--log-level', '"loud"', 'debug']],
  ['bad cores', flag('--cores-total=10'), ['--cores-total', '"10"', 'MIN:MAX']],

  ['nodes: two parts', flag('--nodes=1:3'), ['--nodes', '"1:3"', 'MIN:MAX:NAME']],
  ['nodes: no name', flag('--nodes=1:3:'), ['--nodes', '"1:3:"', 'MIN:MAX:NAME']],
  ['nodes: not numbers', flag('--nodes=a:3:x'), ['--nodes', '"a:3:x"']],
  ['nodes: negative', flag('--nodes=-1:3:x'), ['--nodes', '"-1:3:x"']],
  ['nodes: min above max', flag('--nodes=5:3:x'), ['--nodes', '"5:3:x"', 'minimum 5 is above its maximum 3']],
  ['nodes: same group twice', flag('--nodes=0:3:x', '--nodes=0:4:X'), ['--nodes', '"0:4:X"', 'a name that no other node group has']],
  ['no discoverer', flag('--node-group-auto-discovery=a=b'), ['--node-group-auto-discovery', '"a=b"', 'exactly one colon']],
  ['no key and no value', flag('--node-group-auto-discovery=label:='), ['"label:="', 'not KEY=VALUE']],
  ['assignment operator', flag('--node-group-auto-discovery=label:=v'), ['"label:=v"', 'not KEY=VALUE']],
  ['discovery: other discoverer', flag('--node-group-auto-discovery=asg:a=b'), ['"asg"', 'is not a discovery method']],
  ['min is text', flag('--node-group-auto-discovery=label:a=b,min=random'), ['min=random', 'whole number']],
  ['max is text', flag('--node-group-auto-discovery=label:a=b,max=random'), ['max=random', 'whole number']],
  ['max is negative', flag('--node-group-auto-discovery=label:a=b,max=-5'), ['max=-5', 'at least 0']],
  ['min above max', flag('--node-group-auto-discovery=label:a=b,min=5,max=1'), ['min=5 is above max=1']],
  ['nodes: a name of spaces', flag('--nodes=1:3:  '), ['"1:3:  "', 'MIN:MAX:NAME']],
  ['nodes: a broken number', flag('--nodes=1.5:3:x'), ['"1.5:3:x"', 'MIN:MAX:NAME']],
  ['nodes: a number beyond reason', flag('--nodes=0:99999999999999999999:x'), ['"0:99999999999999999999:x"', 'whole number']],
  ['discovery: nothing at all', flag('--node-group-auto-discovery=label'), ['"label"', 'exactly one colon']],
  ['discovery: nothing after the colon', flag('--node-group-auto-discovery=label:'), ['"label:"', 'not KEY=VALUE']],
  ['discovery: two colons', flag('--node-group-auto-discovery=label:a=b:c'), ['"label:a=b:c"', 'exactly one colon']],
  ['discovery: a key alone', flag('--node-group-auto-discovery=label:a'), ['"label:a"', 'not KEY=VALUE']],
  ['discovery: two signs', flag('--node-group-auto-discovery=label:a==b'), ['"label:a==b"', 'not KEY=VALUE']],
  ['discovery: a comma too many', flag('--node-group-auto-discovery=label:a=b,'), ['"label:a=b,"', 'not KEY=VALUE']],
  ['discovery: min is negative', flag('--node-group-auto-discovery=label:a=b,min=-5'), ['min=-5', 'at least 0']],
  ['discovery: a limit without a number', flag('--node-group-auto-discovery=label:a=b,max='), ['max=', 'not KEY=VALUE']],
  ['discovery: a limit twice', flag('--node-group-auto-discovery=label:a=b,min=1,min=2'), ['names min twice']],
  ['discovery: a tag with two values', flag('--node-group-auto-discovery=label:a=b,a=c'), ['names a twice', 'a rule of its own']],
  ['discovery: a limit beyond reason', flag('--node-group-auto-discovery=label:a=b,max=99999999999999999999'), ['whole number']],
  ['discovery: sizes alone', flag('--node-group-auto-discovery=label:min=1,max=2'), ['it has no tag']],
];

describe('bad input is one clear sentence', () => {
  it.each(ROWS)('%s', (_what, given, words) => {
    const errors = errorsOf(given);
    expect(errors).toHaveLength(1);
    for (const word of words) expect(errors[0]).toContain(word);
    expect(errors[0]).toMatch(/[.?]$/);
    expect(errors[0]).not.toMatch(/\n| {4}at /);
  });

  const signs = fc.constantFrom(...'abk:- \n\t{}[]"\'#&*!|>%@?,01~\u0000'.split(''));
  const word = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.constantFrom('', '-1', '1:3:p', 'NaN', '1e999', '\n', '__proto__', '9'.repeat(3_000)),
  );
  const argument = fc.tuple(fc.constantFrom(...FLAGS.map(({ name }) => name)), fc.constantFrom('=', ' '), word);
  it.each<[string, fc.Arbitrary<Given>]>([
    ['file', fc.string({ maxLength: 60, unit: signs }).map(yaml)],
    ['azure.json', fc.string({ maxLength: 60, unit: signs }).map((text) => ({ argv: ['--cloud-config=a'], files: { a: text } }))],
    ['command line', argument.map(([name, between, text]) => flag(...(between === '=' ? [`--${name}=${text}`] : [`--${name}`, text])))],
  ])('whatever stands in the %s: sentences of one line, of bearable length, and no exception', (_what, inputs) => {
    const check = (given: Given): void => {
      for (const sentence of errorsOf(given)) expect(sentence).toMatch(/^[^\n]{1,1010}[.?]$/);
    };
    fc.assert(fc.property(inputs, check), { numRuns: 300, seed: 11 });
  });

  it('reports every error at once, whatever its source', () => {
    const errors = errorsOf({
      argv: ['--config=c.yaml', '--scan-interval=1', '--bogus=1', '--nodes=9:1:x'],
      env: { AZURE_VMSS_CACHE_TTL: 'abc' },
      files: { 'c.yaml': 'drain: {cordon: 7}\nnope: 1' },
      bare: true,
    });
    const text = errors.join('\n');
    const keys = ['--scan-interval', '--bogus', '9:1:x', 'AZURE_VMSS_CACHE_TTL', 'drain.cordon', 'nope', 'resourceGroup', 'credential'];
    for (const key of keys) expect(text).toContain(key);
  });

  it('says a bad list entry by its place in the file', () => {
    const nodeGroups = '{name: a, min: 3, max: 1}, {name: b, min: x, max: 1}';
    const file = { argv: ['--config=c.yaml'], files: { 'c.yaml': `discovery: [{selectors: {}}]\nnodeGroups: [${nodeGroups}]` } };
    // The flag of the other tests would replace the file's list.
    const errors = errorsOf({ ...file, argv: [...file.argv] }).join('\n');
    expect(errors).toContain('discovery[0].selectors of c.yaml');
  });

  it('never shows a secret', () => {
    const errors = errorsOf({ argv: ['--config=c.yaml'], files: { 'c.yaml': 'x: 1' }, env: { ARM_CLIENT_SECRET: 'hunter2' } });
    expect(errors.join()).not.toContain('hunter2');
  });
});
