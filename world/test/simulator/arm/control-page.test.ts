/** The page of the world, and the list that it offers for a click. */
import { Script } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { aPool, aWorld, sharedRig } from './harness.ts';

describe('the page at /_emu/', () => {
  const rig = sharedRig(aWorld([aPool('a')]));

  it.each(['/_emu', '/_emu/'])('%s is HTML that reads the control surface, without a token', async (path) => {
    const page = await rig().call('GET', path, { token: false });
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html']);
    for (const part of ['/_emu/state', '/_emu/journal', '/_emu/incidents', '/_emu/faults', '/_emu/events'])
      expect(page.text).toContain(part);
  });

  it('has a script that a browser can read', async () => {
    const page = await rig().call('GET', '/_emu/');
    const script = /<script>([\s\S]*)<\/script>/.exec(page.text)?.[1] ?? '';
    expect(script).toContain('refresh');
    expect(() => new Script(script)).not.toThrow();
  });

  it('every incident that it offers is raised by its number, or says why not', async () => {
    const { incidents: offered } = JSON.parse((await rig().call('GET', '/_emu/incidents')).text) as {
      readonly incidents: readonly { readonly number: number; readonly name: string }[];
    };
    expect(offered.length).toBeGreaterThan(60);
    expect(offered[0]).toMatchObject({ number: 1 });
    const raised = await rig().call('POST', '/_emu/faults', { body: { catalogue: offered.at(-1)?.number, match: { pool: 'a' } } });
    expect([201, 400]).toContain(raised.status);
    expect((await rig().call('GET', '/_emux', { token: false })).status).not.toBe(200);
  });
});
