/** Operations of AKS: addresses, documents, results, and the entity tag at their end (recorded by Azure's CLI, September 2024 to July 2026). */
import { describe, expect, it } from 'vitest';
import { pickText, type JsonObject } from '../../simulator/arm/http/json.ts';
import { MINUTE, aPool, aWorld, operationOf, poolPath, startRig, type Answer, type Rig } from '../simulator/arm/harness.ts';

const SECOND = 1_000;

async function grown(rig: Rig): Promise<Answer> {
  return rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 3 } } });
}

async function etagOf(rig: Rig, pool: string): Promise<string | undefined> {
  return pickText((await rig.call('GET', poolPath(rig, pool))).json, 'properties', 'eTag');
}

describe('an operation of AKS', () => {
  it('has one signed address of about 4,000 characters after a PUT, and any version reads it', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const put = await grown(rig);
    expect([put.headers['location'], put.headers['azure-asyncnotification']]).toEqual([undefined, undefined]);
    const url = new URL(String(put.headers['azure-asyncoperation']));
    expect([...url.searchParams.keys()]).toEqual(['api-version', 't', 'c', 's', 'h']);
    expect(url.searchParams.get('api-version')).toBe('2025-03-01');
    expect(url.href.length).toBeGreaterThan(3_500);
    expect((await rig.call('GET', url.pathname + url.search)).status).toBe(200);
    url.searchParams.set('api-version', '2026-06-01');
    expect((await rig.call('GET', url.pathname + url.search)).status).toBe(200);
  });

  it('shows its name, a word and its times, and nothing else', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const put = await grown(rig);
    const shown: JsonObject[] = [];
    for (let left = 3; left > 0; left--) {
      const answer = await operationOf(rig, put);
      expect(answer.headers['content-type']).toBe('application/json');
      shown.push(answer.json);
      rig.clock.advance(left === 3 ? 25 * SECOND : 10 * MINUTE);
    }
    expect(shown.map((document) => document['status'])).toEqual(['InProgress', 'ReconcilingAppSecurityGroup', 'Succeeded']);
    expect(Object.keys(shown[0] ?? {})).toEqual(['name', 'status', 'startTime']);
    expect(Object.keys(shown[2] ?? {})).toEqual(['name', 'status', 'startTime', 'endTime']);
    const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z$/;
    expect([shown[2]?.['startTime'], shown[2]?.['endTime']]).toEqual([expect.stringMatching(time), expect.stringMatching(time)]);
  });

  it('on the cluster works at the control plane and at DNS', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const cluster = poolPath(rig, '').replace('/agentPools/', '');
    await rig.call('PUT', poolPath(rig, 'a'), { body: { properties: { count: 3 } } });
    rig.clock.advance(10 * MINUTE);
    rig.arm.control.addFault({ id: 'stuck', match: {}, effect: { kind: 'birth', how: 'stuck' } });
    const body = { location: 'westeurope', properties: { agentPoolProfiles: [{ name: 'a', count: 4 }] } };
    const put = await rig.call('PUT', cluster, { body });
    const words: unknown[] = [];
    for (let left = 4; left > 0; left--) {
      words.push((await operationOf(rig, put)).json['status']);
      rig.clock.advance(20 * SECOND);
    }
    expect(words).toEqual(['InProgress', 'ProvisioningControlPlane', 'ReconcilingDNS', 'ReconcilingAppSecurityGroup']);
  });

  it('that was an action has a result, which ends with 204, and the real client waits for it', async () => {
    const rig = await startRig(aWorld([aPool('a', { count: 4 })]));
    const names = rig.arm.machines.list().map(({ hostName }) => hostName);
    const deletion = await rig.call('POST', poolPath(rig, 'a', '/deleteMachines'), { body: { machineNames: names.slice(0, 2) } });
    expect([deletion.status, deletion.text]).toEqual([202, '']);
    const url = new URL(String(deletion.headers['location']));
    expect(url.pathname).toContain('/operationresults/');
    const result = (): Promise<Answer> => rig.call('GET', url.pathname + url.search);
    expect((await result()).status).toBe(202);
    rig.clock.advance(10 * MINUTE);
    const ended = await result();
    expect([ended.status, ended.text, ended.headers['location'] !== undefined]).toEqual([204, '', true]);
    expect((await rig.aks.agentPools.get('rg', 'aks', 'a')).count).toBe(2);
  });

  it('moves the tag of its pool when it begins and once more when it ends', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    const before = await etagOf(rig, 'a');
    const answered = pickText((await grown(rig)).json, 'properties', 'eTag') ?? '';
    expect(await etagOf(rig, 'a')).toBe(answered);
    rig.clock.advance(10 * MINUTE);
    const after = await etagOf(rig, 'a');
    expect(new Set([before, answered, after]).size).toBe(3);
    const stale = await rig.call('PUT', poolPath(rig, 'a'), {
      body: { properties: { count: 4 } },
      headers: { 'if-match': answered },
    });
    expect(stale.status).toBe(412);
  });
});
