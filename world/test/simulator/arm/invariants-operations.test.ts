/** Invariants of operations and of time: an accepted operation can be polled, ends once, and everything uses one clock. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  UNTHROTTLED,
  anyAction,
  clientAction,
  settle,
  snapshot,
  waiting,
  withActions,
  worldAction,
  type Action,
} from './random-actions.ts';
import { MINUTE, RG, VERSION, poolPath, setPath, type Answer, type Rig } from './harness.ts';

const knobs = UNTHROTTLED;
const AT_REST = ['Succeeded', 'Failed', 'Canceled'];

describe('invariants of operations', () => {
  it('an operation ends once and for good, and its resource is at rest before it says so', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyAction, { minLength: 2, maxLength: 14 }), async (actions) => {
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
        await withActions(
          actions,
          { knobs },
          (rig) => look(rig),
          (rig) => {
            for (let second = 0; second < 300; second += 15) {
              rig.clock.advance(15_000);
              look(rig);
            }
            settle(rig);
            expect(rig.arm.control.state().operations.filter(({ status }) => status === 'InProgress')).toEqual([]);
          },
        );
      }),
      { numRuns: 25, seed: 5 },
    );
  });

  it('what begins an operation says where to follow it, absolute, on the host that was called; it can be read', async () => {
    const onHost: fc.Arbitrary<Action> = fc.oneof(clientAction, waiting);
    await fc.assert(
      fc.asyncProperty(
        fc.array(onHost, { minLength: 1, maxLength: 10 }),
        fc.constantFrom(undefined, 'arm.proxy.example:8443'),
        async (actions, host) => {
          const begun: { readonly url: URL; readonly monitor: URL | undefined }[] = [];
          await withActions(
            actions,
            { knobs, ...(host === undefined ? {} : { host }) },
            (rig, { action, answer, before }) => {
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
            async (rig) => {
              const read = (url: URL): Promise<Answer> => rig.call('GET', url.pathname + url.search);
              settle(rig);
              for (const { url, monitor } of begun) {
                expect(['Succeeded', 'Failed', 'Canceled']).toContain((await read(url)).json['status']);
                const told = monitor === undefined ? undefined : await read(monitor);
                if (told?.status === 200 || told?.status === 204) expect(told.text).toBe('');
                else if (told !== undefined) expect(told).toMatchObject({ json: { error: {} } });
              }
            },
          );
        },
      ),
      { numRuns: 25, seed: 16 },
    );
  });

  it('nothing waits for an operation, and every read is answered at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyAction, { minLength: 1, maxLength: 8 }), async (actions) => {
        await withActions(actions, { knobs }, async (rig, { action }) => {
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
        });
      }),
      { numRuns: 12, seed: 24 },
    );
  });

  it('one clock: dates, operations, tokens and machines agree with it, however it moves', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(clientAction, worldAction, waiting), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 0, max: 90 * MINUTE }),
        async (actions, jump) => {
          await withActions(actions, { knobs, startMs: Date.UTC(2031, 0, 1) + jump }, async (rig, { answer }) => {
            const now = rig.clock.now();
            const read = await rig.call('GET', `${setPath(rig, 'a', '/virtualMachines')}?${VERSION}`);
            expect(Date.parse(String(read.headers['date']))).toBe(Math.floor(now / 1_000) * 1_000);
            const created = (read.json['value'] as unknown as readonly { readonly properties: { readonly timeCreated: string } }[]).map(
              ({ properties }) => Date.parse(properties.timeCreated),
            );
            expect(created.every((ms) => ms <= now)).toBe(true);
            expect(rig.arm.control.journal().at(-1)?.at).toBe(now);
            const url = answer?.headers['azure-asyncoperation'];
            if (answer === undefined || url === undefined) return;
            const { pathname, search } = new URL(String(url));
            const document = (await rig.call('GET', pathname + search)).json;
            expect(Date.parse(String(document['startTime']))).toBe(now);
            const token = await rig.call(
              'GET',
              '/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com',
              {
                token: false,
                headers: { metadata: 'true' },
              },
            );
            expect(Number(token.json['expires_on'])).toBe(Math.floor(now / 1_000) + knobs.tokenLifetimeSeconds);
          });
        },
      ),
      { numRuns: 12, seed: 15 },
    );
  });

  it('the same seed and the same calls give the same answers, byte for byte', async () => {
    const run = async (actions: readonly Action[]): Promise<string> => {
      const told: unknown[] = [];
      await withActions(
        actions,
        { startMs: Date.UTC(2031, 5, 1) },
        (rig, { answer }) => {
          const own = (text: string): string => text.replaceAll(new URL(rig.arm.url).host, 'HOST');
          if (answer !== undefined) told.push([answer.status, own(JSON.stringify(answer.headers)), own(answer.text)]);
        },
        (rig) => {
          settle(rig);
          told.push(snapshot(rig), rig.arm.control.journal());
        },
      );
      return JSON.stringify(told);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(anyAction, { minLength: 1, maxLength: 12 }), async (actions) => {
        expect(await run(actions)).toBe(await run(actions));
      }),
      { numRuns: 10, seed: 19 },
    );
  });
});
