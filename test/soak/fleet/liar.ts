/** A program with full rights on the store that clusters share: it writes lies, wipes, and takes the memory away. */
import { writeUsageText } from '../../../src/azure/sizes/usage-list.ts';
import { buildCatalog } from '../../../src/azure/sizes/sku-catalog.ts';
import { writeCatalog } from '../../../src/azure/sizes/sku-text.ts';
import { RedisConnection } from '../../../src/store/redis/redis-connection.ts';
import type { RedisClient } from '../../../src/store/redis/redis-client.ts';
import { gzipSync } from 'node:zlib';
import { createLog } from '../../../src/telemetry/log.ts';
import { systemClock } from '../../../src/cli/process/process.ts';

const PATIENCE_MS = 60_000;
const MINUTE_MS = 60_000;
const MEGABYTE = 2 ** 20;

export class Liar {
  readonly #connection: RedisConnection;
  readonly #clock: { now(): number };
  readonly #prefix: string;
  readonly #scope: { readonly subscriptionId: string; readonly location: string };

  /** `clock`: the time of those who are lied to. */
  constructor(url: string, subscriptionId: string, clock: { now(): number }) {
    this.#connection = new RedisConnection({ options: { url, commandMs: PATIENCE_MS }, clock: systemClock, log: createLog('silent') });
    this.#connection.start();
    this.#clock = clock;
    this.#prefix = `soak:${subscriptionId}`;
    this.#scope = { subscriptionId, location: 'westeurope' };
  }

  wipe(): Promise<void> {
    return this.#send((client) => client.flushAll());
  }

  fill(isFull: boolean): Promise<void> {
    return this.#send((client) => client.configSet('maxmemory', isFull ? '1' : '0'));
  }

  stop(): void {
    this.#connection.stop();
  }

  /** `kind`: from 0 to 1. */
  async lie(kind: number): Promise<void> {
    const lies = [() => this.#hints(), () => this.#sizes(), () => this.#usage(), () => this.#nonsense(), () => this.#lock()];
    await lies[Math.floor(kind * lies.length)]?.();
  }

  /** Azure throttles everything and has nothing, and hundreds of clusters want all of it, reported this second. */
  async #hints(): Promise<void> {
    const nowMs = this.#clock.now();
    const value = JSON.stringify({ by: 'liar', atMs: nowMs, untilMs: nowMs + 599_000, count: { left: 0, of: 1_000 } });
    const reads = ['HighCostGetVMScaleSet', 'GetVMScaleSet', 'GetVMScaleSetVM', 'Skus', 'Usages'];
    const families = [...reads, 'CreateVMScaleSet', 'VMScaleSetActions', 'subscription-global-writes'];
    const fields = [...families.flatMap((name) => [`throttled|${name}`, `remaining|${name}`]), 'stockout|standard_d4s_v5/regular/*'];
    const turns = ['wanted|nothing/regular/*', 'tried|standard_d4s_v5/regular/*', 'stockout|standard_d16s_v5/regular/*'];
    await this.#send((client) => client.hSet(this.#key('hints'), Object.fromEntries([...fields, ...turns].map((field) => [field, value]))));
    const process = JSON.stringify({ version: '1', atMs: nowMs });
    const processes = Array.from({ length: 900 }, (_, at) => [`invented-${at}|p`, process] as const);
    await this.#send((client) => client.hSet(this.#key('clusters'), Object.fromEntries(processes)));
  }

  /** Small sizes are huge, and nothing may be used. */
  async #sizes(): Promise<void> {
    const raw = ['Standard_D4s_v5', 'Standard_D16s_v5'].map((name) => ({
      resourceType: 'virtualMachines',
      name,
      capabilities: [
        { name: 'vCPUs', value: '400' },
        { name: 'MemoryGB', value: '4000' },
      ],
      restrictions: [{ type: 'Location' as const, reasonCode: 'NotAvailableForSubscription' as const }],
    }));
    await this.#publish('skus', writeCatalog(buildCatalog(raw, 'westeurope', this.#clock.now()), this.#scope));
  }

  async #usage(): Promise<void> {
    const nowMs = this.#clock.now();
    // Used up, or with room for two nodes, in turns.
    const used = Math.floor(nowMs / MINUTE_MS) % 2 === 0 ? 20 : 12;
    const rows = [{ name: 'cores', used, limit: 20 }];
    await this.#publish('usage', writeUsageText({ atMs: nowMs, rows }, this.#scope));
  }

  async #nonsense(): Promise<void> {
    await this.#send(async (client) => {
      await client.del(this.#key('usage'));
      await client.set(this.#key('usage'), 'no hash');
      await client.hSet(this.#key('skus'), { epoch: '1e300', text: 'x' });
      await client.hSet(this.#key('skus').replace(':v2:', ':v3:'), { epoch: '1', text: 'x' });
      await client.hSet(this.#key('hints'), 'without end', 'x'.repeat(MEGABYTE));
    });
  }

  /** Both locks, without an end. */
  async #lock(): Promise<void> {
    await this.#send((client) => client.set(`${this.#key('skus')}:lock`, 'liar'));
    await this.#send((client) => client.set(`${this.#key('hints')}:try`, 'liar'));
  }

  #publish(kind: string, text: string): Promise<void> {
    const packed = gzipSync(text).toString('base64');
    return this.#send(async (client) => {
      await client.del(this.#key(kind));
      await client.hSet(this.#key(kind), { epoch: String(1 + Math.floor(this.#clock.now() / 1_000)), text: packed, by: 'liar' });
    });
  }

  #key(kind: string): string {
    return `${this.#prefix}:v2:{${kind}:westeurope}`;
  }

  async #send(work: (client: RedisClient) => Promise<unknown>): Promise<void> {
    await this.#connection.command('write', work, PATIENCE_MS).catch(() => undefined);
  }
}
