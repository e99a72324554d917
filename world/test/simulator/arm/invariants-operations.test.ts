/** Invariants of operations and of time: an accepted operation can be polled, ends once, and everything uses one clock. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { casesOf } from '../../../../test/support/property-runs.ts';
import {
  UNTHROTTLED,
  anyAction,
  clientAction,
  holds,
  settle,
  snapshot,
  waiting,
  withActions,
  worldAction,
  type Action,
} from './random-actions.ts';
import { RG, VERSION, poolPath, setPath, type Answer, type Rig } from './harness.ts';

const AT_REST = ['Succeeded', 'Failed', 'Canceled'];

describe('invariants of operations', () => {
  holds('an operation ends once and for good, and its resource is at rest before it says so', { seed: 5, few: 25, most: 14 }, () => {
    const ends = new Map<string, string>();
    const look = (rig: Rig): void => {
      const { operations, sets, agentPools } = rig.arm.control.state();
      for (const { id, status, startMs, endMs, kind, pool } of operations) {
        expect(endMs === undefined).toBe(status === 'InProgress');
        if (endMs === undefined) continue;
        expect(endMs).toBeGreaterThanOrEqual(startMs);
        expect(ends.get(id) ?? `${status} ${endMs}`).toBe(`${status} ${endMs}`);
        ends.set(id, `${status} ${endMs}`);
        const ofPool = kind === 'agent-pool';
        const busy = operations.some(
          (other) => other.pool === pool && (other.kind === 'agent-pool') === ofPool && other.endMs === undefined,
        );
        const resource = ofPool ? agentPools.find(({ name }) => name === pool) : sets.find((set) => set.pool === pool);
        if (busy || resource === undefined || resource.provisioningState === 'Upgrading') continue;
        expect(AT_REST).toContain(resource.provisioningState);
      }
    };
    const atEnd = (rig: Rig): void => {
      for (let second = 0; second < 300; second += 15) {
        rig.clock.advance(15_000);
        look(rig);
      }
      settle(rig);
      const { operations, sets, stock } = rig.arm.control.state();
      expect(operations.filter(({ status }) => status === 'InProgress')).toEqual([]);
      for (const { instances, capacity, provisioningState } of sets) {
        expect(new Set(instances.map(({ id }) => id)).size).toBe(capacity);
        expect(instances).toHaveLength(capacity);
        expect(AT_REST).toContain(provisioningState);
      }
      expect(stock['standard_d4s_v5/2']).toBeGreaterThanOrEqual(0);
    };
    return { after: look, atEnd };
  });

  describe.each([undefined, 'arm.proxy.example:8443'])('called as %s', (host) => {
    const of = fc.oneof(clientAction, waiting);
    const proxy = host === undefined ? {} : { host };
    holds(
      'what begins an operation says where to follow it, absolute, on that host; it can be read',
      { seed: 16, few: 8, most: 10, of, ...proxy },
      () => {
        const begun: { readonly url: URL; readonly monitor: URL | undefined }[] = [];
        return {
          after: (rig, { action, answer, before }) => {
            if (answer === undefined || answer.status >= 300) return;
            const moved = JSON.parse(before) as { readonly operations: readonly unknown[] };
            if (rig.arm.control.state().operations.length === moved.operations.length) return;
            const isAction = action.kind !== 'put' && action.kind !== 'pool-put';
            const url = new URL(String(answer.headers['azure-asyncoperation']));
            const location = answer.headers['location'];
            expect(`${url.protocol}//${url.host}`).toBe(host === undefined ? rig.arm.url : `https://${host}`);
            expect(location === undefined).toBe(!isAction);
            expect(answer.status).toBe(isAction ? 202 : 200);
            const isOfCompute = action.kind === 'put' || action.kind === 'post' || action.kind === 'delete-vm';
            // AKS names no time to wait.
            if (isOfCompute) expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
            else expect(answer.headers['retry-after']).toBeUndefined();
            expect(url.searchParams.get('api-version')).toMatch(isOfCompute ? /^2025/ : /^2025-03-01$/);
            begun.push({ url, monitor: location === undefined ? undefined : new URL(String(location)) });
          },
          atEnd: async (rig) => {
            const read = (url: URL): Promise<Answer> => rig.call('GET', url.pathname + url.search);
            settle(rig);
            for (const { url, monitor } of begun) {
              expect(AT_REST).toContain((await read(url)).json['status']);
              const told = monitor === undefined ? undefined : await read(monitor);
              if (told?.status === 200 || told?.status === 204) expect(told.text).toBe('');
              else if (told !== undefined) expect(told).toMatchObject({ json: { error: {} } });
            }
          },
        };
      },
    );
  });

  holds('nothing waits for an operation, and every read is answered at once', { seed: 24, few: 8, most: 8 }, () => ({
    after: async (rig, { action }) => {
      const pool = 'pool' in action && action.pool !== 'v' ? action.pool : 'a';
      const paths = [
        `${setPath(rig, pool)}?${VERSION}`,
        `${setPath(rig, pool, '/instanceView')}?${VERSION}`,
        `${setPath(rig, pool, '/virtualMachines')}?${VERSION}&$expand=instanceView`,
        `/subscriptions/${rig.spec.subscriptionId}/resourceGroups/${RG}/providers/Microsoft.Compute/virtualMachines?${VERSION}`,
        poolPath(rig, pool),
        poolPath(rig, 'v', '/machines'),
      ];
      const answers = await Promise.all(paths.map((path) => rig.call('GET', path)));
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
      expect(rig.arm.delayedRequests()).toBe(0);
    },
  }));

  const written = fc.oneof(clientAction, worldAction, waiting);
  const startMs = Date.UTC(2031, 0, 1, 0, 47, 11, 250);
  holds(
    'one clock: dates, operations, tokens and machines agree with it, however it moves',
    { seed: 15, few: 10, most: 8, of: written, startMs },
    () => ({
      after: async (rig, { answer }) => {
        const now = rig.clock.now();
        const read = await rig.call('GET', `${setPath(rig, 'a', '/virtualMachines')}?${VERSION}`);
        expect(Date.parse(String(read.headers['date']))).toBe(Math.floor(now / 1_000) * 1_000);
        const machines = read.json['value'] as unknown as readonly { readonly properties: { readonly timeCreated: string } }[];
        expect(machines.every(({ properties }) => Date.parse(properties.timeCreated) <= now)).toBe(true);
        expect(rig.arm.control.journal().at(-1)?.at).toBe(now);
        const url = answer?.headers['azure-asyncoperation'];
        if (answer === undefined || url === undefined) return;
        const { pathname, search } = new URL(String(url));
        const document = (await rig.call('GET', pathname + search)).json;
        expect(Date.parse(String(document['startTime']))).toBe(now);
        const path = '/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com';
        const token = await rig.call('GET', path, { token: false, headers: { metadata: 'true' } });
        expect(Number(token.json['expires_on'])).toBe(Math.floor(now / 1_000) + UNTHROTTLED.tokenLifetimeSeconds);
      },
    }),
  );

  it('the same seed and the same calls give the same answers, byte for byte', async () => {
    const run = async (actions: readonly Action[]): Promise<string> => {
      const told: unknown[] = [];
      await withActions(
        actions,
        { startMs: Date.UTC(2031, 5, 1) },
        {
          after: (rig, { answer }) => {
            const own = (text: string): string => text.replaceAll(new URL(rig.arm.url).host, 'HOST');
            if (answer !== undefined) told.push([answer.status, own(JSON.stringify(answer.headers)), own(answer.text)]);
          },
          atEnd: (rig) => {
            settle(rig);
            told.push(snapshot(rig), rig.arm.control.journal());
          },
        },
      );
      return JSON.stringify(told);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(anyAction, { minLength: 1, maxLength: 12 }), async (actions) => {
        expect(await run(actions)).toBe(await run(actions));
      }),
      casesOf(19, 8),
    );
  });
});
