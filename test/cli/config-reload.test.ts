import { describe, expect, it } from 'vitest';
import { ConfigReload, type ReloadOutcome } from '../../src/cli/config-reload.ts';
import type { Config } from '../../src/config/types/config.ts';
import { loadSettings } from '../../src/config/load.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { GOOD_ENV } from '../config/support.ts';
import { valueOf } from '../loop/support.ts';
import { START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** What the file holds when it is not there. */
const GONE = 'gone';
const FILE = '/etc/aks-autoscaler/config.yaml';

/** What the file holds when the loader itself has an error. */
const BUG = 'bug';

/** A process that was started with this file. */
function started(text: string) {
  let content = text;
  const clock = new FakeClock(START_MS);
  const metrics = createMetrics();
  const lines: { readonly level: string; readonly msg: string; readonly [fact: string]: unknown }[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const applied: Config[] = [];
  const outcomes: ReloadOutcome[] = [];
  const readFile = (): string => {
    if (content === GONE) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
    return content;
  };
  const load = () => {
    if (content === BUG) throw new RangeError('Maximum call stack size exceeded');
    return loadSettings({ argv: [`--config=${FILE}`, '--nodes=0:3:pool'], env: GOOD_ENV, readFile, refuseEmptyFiles: true });
  };
  const settings = load();
  if ('errors' in settings) throw new Error(settings.errors.join(' '));
  const reload = new ConfigReload(
    {
      clock,
      log,
      metrics: metrics.config,
      content: () => content,
      load,
      apply: ({ config }) => void applied.push(config),
      announce: (outcome) => void outcomes.push(outcome),
    },
    settings,
  );
  const write = (next: string): void => {
    content = next;
    reload.checkFiles();
  };
  return { clock, metrics, lines, applied, outcomes, reload, write, change: (next: string) => void (content = next) };
}

describe('a changed configuration file', () => {
  it('that is valid is live, and says which keys changed', async () => {
    const process = started('scaleDown:\n  unneededTime: 10m\n');
    process.write('scaleDown:\n  unneededTime: 5m\nlogLevel: debug\n');
    expect(await valueOf(process.metrics.config.reloads, { outcome: 'refused' })).toBe(0);
    expect(process.applied.map(({ policy, logLevel }) => [policy.scaleDown.unneededForMs, logLevel])).toEqual([[300_000, 'debug']]);
    expect(process.lines).toMatchObject([{ level: 'info', generation: 2, changed: ['logLevel', 'scaleDown.unneededTime'] }]);
    expect(process.outcomes).toEqual([{ kind: 'applied', message: 'Generation 2 applied: logLevel, scaleDown.unneededTime changed.' }]);
    expect(await valueOf(process.metrics.config.generation)).toBe(2);
    expect(await valueOf(process.metrics.config.reloads, { outcome: 'applied' })).toBe(1);
  });

  it('refuses an invalid file once, with line and reason, and the running configuration stays', async () => {
    const process = started('scaleDown:\n  unneededTime: 10m\n');
    const bad = 'scaleDown:\n  unneededTime: soon\n  maxParallelism: 0\n';
    process.write(bad);
    process.reload.checkFiles();
    expect(process.applied).toEqual([]);
    expect(process.lines.map((line) => line['what'])).toEqual([
      expect.stringMatching(new RegExp(`^key scaleDown.unneededTime of ${FILE}, line 2 is "soon"; it must be `)),
      expect.stringMatching(new RegExp(`^key scaleDown.maxParallelism of ${FILE}, line 3 is 0; it must be `)),
    ]);
    expect(process.outcomes).toHaveLength(1);
    expect(process.outcomes[0]?.message).toContain('refused; generation 1 stays: key scaleDown.unneededTime');
    expect(await valueOf(process.metrics.config.refused)).toBe(1);
    expect(await valueOf(process.metrics.config.generation)).toBe(1);
    // Put back as it was: nothing is wrong any more, and nothing is new.
    process.write('scaleDown:\n  unneededTime: 10m\n');
    expect(await valueOf(process.metrics.config.refused)).toBe(0);
    expect(process.applied).toEqual([]);
  });

  it.each([
    ['a file that is gone', GONE, /--config is ".*": the file does not exist/],
    ['a file that is being written', '', /--config is ".*": the file is empty; write \{\} for a file without settings/],
    ['a file of blanks', ' \n\n', /the file is empty/],
    ['a key twice', 'logLevel: warn\nlogLevel: error\n', /Map keys must be unique at line 2/],
    ['an alias without an anchor', 'logLevel: *x\n', /alias without an anchor \(\*\.\.\.\) at line 1/],
    ['an alias inside of its own map', 'loop: &a\n  x: *a\n', /The file of --config, \S+, has an alias \(\*\.\.\.\) at line 2 inside of/],
    ['a merge of a text', 'loop:\n  <<: x\n', /The file of --config, \S+, has a merge key \(<<\) whose value is neither/],
    ['a file without end of nesting', '['.repeat(10_000), /The file of --config, \S+, is nested too deeply/],
    ['a file that the loader fails on', BUG, /The configuration cannot be loaded: Unexpected failure: Maximum call stack size exceeded/],
    ['a huge file', `logLevel: warn\n#${'x'.repeat(300_000)}`, /too large: 293 KiB/],
    ['a wrong type', 'loop:\n  scanInterval: 10\n', /key loop.scanInterval of \S+, line 2 is 10; it must be a duration/],
    ['half of a file', 'scaleDown:\n  unneededTime: "5', /line \d/],
    [
      'an unknown key',
      'scaleDown:\n  unneedTime: 5m\n',
      /key scaleDown.unneedTime of \S+, line 2 is not known; did you mean scaleDown.unneededTime\?/,
    ],
    [
      'a mistake inside a list',
      'discovery:\n  - selectors:\n      a: b\n    min: 4\n    max: 1\n',
      /key discovery\[0\].min of \S+, line 4/,
    ],
  ])('%s is refused with its line, and a good one after it is taken', async (_, text, sentence) => {
    const process = started('scaleDown:\n  unneededTime: 10m\n');
    process.write(text);
    expect(process.applied).toEqual([]);
    expect(String(process.lines[0]?.['what'])).toMatch(sentence);
    expect(process.outcomes).toMatchObject([{ kind: 'refused', message: expect.stringMatching(sentence) }]);
    expect(await valueOf(process.metrics.config.reloads, { outcome: 'refused' })).toBe(1);
    // The same file once more, as an editor or a second ConfigMap update leaves it: it works at once.
    process.write('scaleDown:\n  unneededTime: 5m\n');
    expect(process.applied.map(({ policy }) => policy.scaleDown.unneededForMs)).toEqual([300_000]);
  });

  it.each([
    ['nodeGroupOptions', 'nodeGroupOptions:\n  - name: pool\n    scaleDownUnneededTime: 1m\n', true],
    ['discovery', 'discovery:\n  - selectors: {a: b}\n    max: 4\n', true],
    ['health', 'health:\n  maxInactivity: 5m\n', true],
    ['shutdown', 'loop:\n  shutdownTimeout: 5s\n', true],
    ['start of nodes', 'cluster:\n  maxNodeStartupTime: 5m\n', true],
    ['prices', 'scaleUp:\n  retailPrices: {enabled: true}\n', false],
    ['priorities that bring another chain', 'scaleUp:\n  priorities: {1: [a]}\n', false],
    ['prices that bring another chain', 'scaleUp:\n  prices: {Standard_D4s_v5: 1}\n', true],
    ['paid nodes', 'scaleUp:\n  paidNodes: [{size: a, count: 5}]\n', true],
    ['discounts', 'scaleUp:\n  priceDiscounts: [{sizes: "*", percent: 5}]\n', true],
    ['proactive', 'scaleUp:\n  proactive: true\n', false],
    ['capacity objects', 'capacity:\n  quotas: true\n', false],
    ['identity', 'azure:\n  userAgentSuffix: me\n', false],
    ['metrics', 'metrics:\n  clusterAutoscalerNames: false\n', false],
    ['journal', 'dumpDirectory: /tmp\n', false],
    ['history', 'historyDirectory: /tmp\n', false],
    ['dry run', 'dryRun: true\n', false],
  ])('that changes %s is live at once, or names it as waiting for a restart', async (_, text, isLive) => {
    const process = started('logLevel: info\n');
    process.write(`logLevel: info\n${text}`);
    expect(process.applied).toHaveLength(isLive ? 1 : 0);
    expect(await valueOf(process.metrics.config.awaitingRestart)).toBe(isLive ? 0 : 1);
    expect(process.outcomes[0]?.message).toMatch(
      isLive ? /^Generation 2 applied: \S+ changed\.$/ : /^Generation 1 stays; restart needed for: \S+\.$/,
    );
  });

  it('puts what is live into what runs, and nothing of what is not', () => {
    const process = started('logLevel: info\n');
    process.write(
      'discovery:\n  - selectors: {a: b}\n    max: 4\nhealth:\n  maxInactivity: 5m\nloop:\n  shutdownTimeout: 5s\ncluster:\n  maxNodeStartupTime: 5m\n' +
        'scaleUp:\n  retailPrices: {enabled: true}\n',
    );
    expect(process.applied[0]).toMatchObject({
      azure: { discovery: [{ selectors: [{ key: 'a', value: 'b' }], min: undefined, max: 4 }], retailPrices: { byDefault: true } },
      health: { maxInactivityMs: 300_000, maxFailingMs: 900_000 },
      loop: { shutdownTimeoutMs: 5_000 },
      policy: { cluster: { maxStartupMs: 300_000 } },
    });
  });

  it('names settings that need a restart, leaves them unchanged, and forgets them when they are restored', async () => {
    const process = started('http:\n  address: 127.0.0.1:8085\n');
    process.write('http:\n  address: 127.0.0.1:9000\nscaleUp:\n  maxNodesTotal: 7\n  proactive: true\ncluster:\n  startupTaints: [a]\n');
    expect(process.applied[0]).toMatchObject({
      http: { port: 8085 },
      policy: { scaleUp: { maxNodesTotal: 7, proactive: false }, cluster: { taints: { startup: [] } } },
    });
    expect(process.lines.at(-1)).toMatchObject({ level: 'warn', keys: ['cluster.startupTaints', 'http.address', 'scaleUp.proactive'] });
    expect(process.outcomes[0]?.message).toContain('restart needed for: cluster.startupTaints, http.address, scaleUp.proactive.');
    expect(await valueOf(process.metrics.config.awaitingRestart)).toBe(3);
    process.write('scaleUp:\n  maxNodesTotal: 7\nhttp:\n  address: 127.0.0.1:8085\n');
    expect(await valueOf(process.metrics.config.awaitingRestart)).toBe(0);
    expect(await valueOf(process.metrics.config.generation)).toBe(2);
  });

  it('a chain that comes with what waits for a restart waits with it', () => {
    const process = started('logLevel: info\n');
    process.write('scaleUp: {retailPrices: {enabled: true}, maxNodesTotal: 7}\n');
    expect(process.applied.at(-1)?.policy.scaleUp).toMatchObject({ expanders: ['least-waste'], maxNodesTotal: 7 });
    process.write('scaleUp: {priorities: {1: [a]}, maxNodesTotal: 8}\n');
    expect(process.applied.at(-1)?.policy.scaleUp).toMatchObject({ expanders: ['least-waste'], maxNodesTotal: 8 });
    expect(process.applied.at(-1)?.policy.scaleUp.priorities).toBeUndefined();
    expect(process.outcomes.at(-1)?.message).toContain('restart needed for: scaleUp.priorities.');
  });

  it('configured prices bring their chain at once, although list prices were read by default', () => {
    const process = started('logLevel: info\n');
    process.write('scaleUp: {prices: {Standard_D4s_v5: 1}}\n');
    expect(process.applied.at(-1)?.policy.scaleUp).toMatchObject({ expanders: ['price', 'least-waste'], prices: { standard_d4s_v5: 1 } });
  });

  it('with ineffective settings is reported once', () => {
    const process = started('logLevel: info\n');
    const both = 'scaleUp: {balancingLabels: [a], balancingIgnoreLabels: [b]}\n';
    process.write(both);
    process.write(`${both}loop: {scanInterval: 20s}\n`);
    const warnings = process.lines.flatMap(({ warning }) => (warning === undefined ? [] : [warning]));
    expect(warnings).toEqual([expect.stringContaining('balancingIgnoreLabels')]);
  });

  it('shares by which similar groups may differ are live', () => {
    const process = started('logLevel: info\n');
    process.write('scaleUp: {memoryDifferenceRatio: 0.2}\n');
    expect(process.applied.at(-1)?.policy.scaleUp.differenceRatios).toEqual({ memory: 0.2, allocatable: 0.05, free: 0.05 });
  });

  it('rules of a chain that has priority already are live', () => {
    const process = started('scaleUp: {priorities: {1: [a]}}\n');
    process.write('scaleUp: {priorities: {2: [b]}}\n');
    expect(process.applied.at(-1)?.policy.scaleUp.priorities).toEqual([{ priority: 2, patterns: ['b'] }]);
  });

  it('groups, limits and what holds for some of them are live, everything else of Azure is not', () => {
    const process = started('discovery: [{selectors: {team: x}, max: 2}]\n');
    process.write(
      'discovery: [{selectors: {team: x}, max: 5}]\n' +
        'nodeGroupOptions: [{name: a, scaleDownUnneededTime: 5m}]\nazure: {cache: {vmssTtl: 2m}}\n',
    );
    const [applied] = process.applied;
    expect(applied?.azure.discovery).toMatchObject([{ selectors: [{ key: 'team', value: 'x' }], max: 5 }]);
    expect(applied?.azure.nodeGroupOptions).toMatchObject([{ name: 'a', options: { unneededForMs: 300_000 } }]);
    expect(applied?.azure.vmssCacheTtlMs).toBe(60_000);
    expect(process.outcomes[0]?.message).toBe(
      'Generation 2 applied: discovery, nodeGroupOptions changed; restart needed for: azure.cache.vmssTtl.',
    );
    // What a flag says wins over the file as ever.
    process.write('nodeGroups: [{name: a, min: 1, max: 5}]\n');
    expect(process.applied.at(-1)?.azure.nodeGroups).toEqual(applied?.azure.nodeGroups);
  });

  it('never shows values: a changed secret waits for a restart by its name, a bad one is refused without it', () => {
    const process = started('azure:\n  credential:\n    clientSecret: hush-one\n');
    process.write('azure:\n  credential:\n    certificatePassword: hush-two\n');
    process.write('azure:\n  credential:\n    clientSecret: [hush-three]\n');
    const output = JSON.stringify([process.lines, process.outcomes]);
    expect(output).toContain('azure.credential.certificatePassword');
    for (const secret of ['hush-one', 'hush-two', 'hush-three']) expect(output).not.toContain(secret);
  });

  it('is looked at every ten seconds, and a look that throws ends nothing', async () => {
    const process = started('logLevel: info\n');
    const stop = new AbortController();
    const watching = process.reload.watch(stop.signal);
    process.change('logLevel: warn\n');
    await process.clock.advance(9_000);
    expect(process.applied).toEqual([]);
    await process.clock.advance(1_000);
    expect(process.applied.map(({ logLevel }) => logLevel)).toEqual(['warn']);
    stop.abort();
    await watching;
  });
});
