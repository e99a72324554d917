/** `doctor --experiment POOL`: what it does, what it costs, and when it refuses. Must not know how Azure is asked. */
import { diagnoseAzure } from './azure/diagnosis.ts';
import { findPool, refusalOf, type PoolBefore, type TestedPool } from './azure/experiment-pool.ts';
import { createRawRequests, type RawRequests } from './azure/experiment-requests.ts';
import type { ExperimentDeps, Fact } from './azure/experiment-watch.ts';
import { measureReads, runExperiment } from './azure/experiment.ts';
import { findSubscriptionAndRegion } from '../../azure/instance-metadata.ts';
import { RetailPriceClient } from '../../azure/prices/retail-prices-api.ts';
import { EXIT_FAILED, EXIT_OK, stopSignals, systemClock, type Terminal } from '../../cli/process/process.ts';
import type { Config } from '../../config/types/config.ts';
import { asAutoscalerError } from '../../lib/errors.ts';
import { shell } from '../../lib/shown-text.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { maskReport, reportJson, reportLines, type ExperimentReport } from './experiment-report.ts';

export interface ExperimentRequest {
  readonly pool: string;
  /** Without it nothing is written. */
  readonly yes: boolean;
  readonly asJson: boolean;
}

/** Prints a report. @returns 0: planned, or measured and cleaned up. 1: refused, failed, or a node is left. */
export async function experiment(config: Config, request: ExperimentRequest, terminal: Terminal): Promise<number> {
  const clock = terminal.clock ?? systemClock;
  const { stopped, release } = stopSignals(terminal.signals);
  const stopping = new AbortController();
  void stopped.then(() => stopping.abort());
  try {
    const { metadataEndpoint: endpoint } = config.azure;
    const options = { ...config.azure, ...(await findSubscriptionAndRegion(config.azure, { endpoint, clock, signal: stopping.signal })) };
    const requests = createRawRequests(options, clock);
    const onAdding = (command: string): void =>
      terminal.err(`Adding one node, and deleting it at the end. If this process is killed before, delete the newest one:\n  ${command}\n`);
    const visit = await visitPool({ options, requests, clock, request, dryRun: config.dryRun, onAdding, signal: stopping.signal });
    const report = maskReport({ ...visit.report, requests: { ...requests.sent } }, visit.secretNames);
    terminal.out(request.asJson ? reportJson(report) : reportLines(report));
    // Beside the report, since it names resources.
    if (visit.command !== undefined) terminal.err(`Delete it yourself:\n  ${visit.command}\n`);
    return report.refused === undefined && report.failure === undefined && report.removed !== false ? EXIT_OK : EXIT_FAILED;
  } catch (thrown) {
    terminal.err(`The experiment could not begin, and nothing was written: ${asAutoscalerError(thrown).message}\n`);
    return EXIT_FAILED;
  } finally {
    release();
  }
}

interface VisitDeps {
  readonly options: Parameters<typeof createRawRequests>[0];
  readonly requests: RawRequests;
  readonly clock: Parameters<typeof createRawRequests>[1];
  readonly request: ExperimentRequest;
  /** Nothing may be written. */
  readonly dryRun: boolean;
  readonly onAdding: ExperimentDeps['onAdding'];
  readonly signal: AbortSignal;
}

interface Visit {
  readonly report: Omit<ExperimentReport, 'requests'>;
  readonly secretNames: readonly string[];
  readonly command?: string;
}

/** @throws AutoscalerError if a read before the first write got no usable response. */
async function visitPool({ options, requests, clock, request, dryRun, onAdding, signal }: VisitDeps): Promise<Visit> {
  const pool = await findPool({ requests, options, signal }, request.pool);
  if (typeof pool === 'string') return { report: { pool: undefined, facts: [], plan: [], refused: pool }, secretNames: [] };
  const { secretNames } = pool;
  const facts: Fact[] = [];
  const deps: ExperimentDeps = { requests, clock, pool, note: (fact) => void facts.push(fact), onAdding };
  const shown = { pool: { name: pool.name, type: pool.type, vmSize: pool.vmSize }, facts };
  await measureReads(deps, signal);
  const before: PoolBefore = {
    pool: await pool.readPool(signal),
    size: await pool.readSize(signal),
    instances: (await pool.listInstances(signal)).instances,
    max: await maximumOf(options, pool, signal),
  };
  const refused = dryRun && request.yes ? 'the configuration asks for a dry run' : refusalOf(pool, before);
  if (refused !== undefined) return { report: { ...shown, plan: [], refused }, secretNames };
  if (!request.yes) return { report: { ...shown, plan: await planOf({ options, pool, before, clock }, signal) }, secretNames };
  const { failure, removal } = await runExperiment(deps, signal);
  const report = { ...shown, plan: [], failure, removed: removal?.removed };
  return removal === undefined || removal.removed
    ? { report, secretNames }
    : { report: { ...report, left: removal.why }, secretNames, command: removal.command };
}

/** The maximum of the node group, if the configuration makes one of the pool. */
async function maximumOf(options: VisitDeps['options'], { name, vmSize }: TestedPool, signal: AbortSignal): Promise<number | undefined> {
  const pools = await diagnoseAzure({ options, clock: systemClock, metrics: createMetrics() }).pools(signal);
  if ('error' in pools) throw pools.error;
  const folded = name.toLowerCase();
  return pools.value.pools.find((each) => each.agentPool?.toLowerCase() === folded && each.vmSize.toLowerCase() === vmSize.toLowerCase())
    ?.max;
}

const WRITES = 7;

interface PlanDeps {
  readonly options: VisitDeps['options'];
  readonly pool: TestedPool;
  readonly before: PoolBefore;
  readonly clock: VisitDeps['clock'];
}

async function planOf({ options, pool, before, clock }: PlanDeps, signal: AbortSignal): Promise<readonly string[]> {
  const { size } = before.size;
  const rate = await priceOf({ options, pool, clock }, signal);
  return [
    `Nothing was written. With --yes, it sends up to ${WRITES} writes and about 100 reads in 5 to 20 minutes:`,
    '  1. It writes the agent pool unchanged, with a wrong entity tag, its own (twice at once), and its own in other quotes.',
    '     AKS brings a pool in step with what is pending in it at every write: choose a pool that nothing depends on.',
    '     Stop every autoscaler of the cluster first: it could change the size between a read and a write.',
    `  2. It adds one node, ${size ?? 0} to ${(size ?? 0) + 1}, and repeats this write with the old entity tag.`,
    '  3. It deletes this node again, also after a failure or Ctrl-C, and no other one. Nothing is drained: pods that came to it end with it.',
    `Cost: one ${pool.vmSize} for these minutes; ${rate}.`,
    shell`To go on: aks-autoscaler doctor --experiment ${pool.name} --yes, with the same settings.`,
  ];
}

/** Never rejects: a price is not needed to go on. */
async function priceOf({ options, pool, clock }: Omit<PlanDeps, 'before'>, signal: AbortSignal): Promise<string> {
  const elsewhere = 'its price: https://azure.microsoft.com/pricing/details/virtual-machines/linux/';
  const { retailPrices, location, caPem, requestTimeoutMs: timeoutMs } = options;
  if (retailPrices === undefined) return elsewhere;
  try {
    const { perHour } = await new RetailPriceClient({ options: retailPrices, location, caPem, timeoutMs, clock }).read(pool.vmSize, signal);
    return perHour.linux === undefined ? elsewhere : `its list price is ${perHour.linux} ${retailPrices.currency} an hour`;
  } catch {
    // The list is of no other use here.
    return elsewhere;
  }
}
