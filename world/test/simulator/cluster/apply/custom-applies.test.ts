/** Server-side apply of a custom kind, with the schema of its definition. Recorded from Kubernetes 1.35. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aDefinition, aWidget, DEFINITIONS_PATH, WIDGETS_PATH } from '../schemas/widget.ts';
import { startStage, type Stage } from '../stage.ts';

const MERGE = { contentType: 'application/merge-patch+json' };
const APPLY = { contentType: 'application/apply-patch+yaml' };
const CONFIG = aWidget('one', { size: 9, parts: [{ id: 'b', n: 2 }] });

let stage: Stage;
const patch = (query: string, body: unknown, options: { readonly contentType: string }) =>
  stage.client.call('PATCH', `${WIDGETS_PATH}/one${query}`, body, options);

beforeAll(async () => {
  stage = await startStage();
  await stage.client.call('POST', DEFINITIONS_PATH, aDefinition());
  stage.clock.advance(1_000);
  const widget = aWidget('one', { size: 2, parts: [{ id: 'a' }], free: { any: { thing: 1 } } });
  await stage.client.call('POST', `${WIDGETS_PATH}?fieldManager=m`, widget);
  await patch('?fieldManager=p', { spec: { size: 3 } }, MERGE);
  await patch('/scale?fieldManager=probe', { spec: { replicas: 5 } }, MERGE);
});
afterAll(() => stage.stop());

describe('a custom object that others wrote', () => {
  it('refuses the field that another manager scaled', async () => {
    const refused = await patch('?fieldManager=q', CONFIG, APPLY);
    const message = 'Apply failed with 1 conflict: conflict with "probe" with subresource "scale" using example.com/v1: .spec.size';
    expect([refused.status, refused.body['message']]).toEqual([409, message]);
  });

  it('refuses a field outside of its schema', async () => {
    const refused = await patch('?fieldManager=q&force=true', aWidget('one', { size: 9, blah: 1 }), APPLY);
    const message = 'failed to create typed patch object (/one; example.com/v1, Kind=Widget): .spec.blah: field not declared in schema';
    expect([refused.status, refused.body['message']]).toEqual([500, message]);
  });

  it('takes it by force, adds an item by its key, and keeps what others have', async () => {
    const { status, body } = await patch('?fieldManager=q&force=true', CONFIG, APPLY);
    expect([status, body['spec']]).toEqual([
      200,
      {
        color: 'red',
        free: { any: { thing: 1 } },
        parts: [
          { id: 'a', n: 7 },
          { id: 'b', n: 2 },
        ],
        size: 9,
      },
    ]);
    const entries = body['metadata']?.['managedFields'] as unknown as readonly { readonly manager: string; readonly fieldsV1: unknown }[];
    expect(entries.map(({ manager, fieldsV1 }) => [manager, fieldsV1])).toEqual([
      ['q', { 'f:spec': { 'f:parts': { 'k:{"id":"b"}': { '.': {}, 'f:id': {}, 'f:n': {} } }, 'f:size': {} } }],
      [
        'm',
        {
          'f:spec': {
            '.': {},
            'f:color': {},
            'f:free': { '.': {}, 'f:any': { '.': {}, 'f:thing': {} } },
            'f:parts': { '.': {}, 'k:{"id":"a"}': { '.': {}, 'f:id': {}, 'f:n': {} } },
          },
        },
      ],
    ]);
  });

  it('loses an item that its manager no longer applies', async () => {
    const { body } = await patch('?fieldManager=q', aWidget('one', { size: 9 }), APPLY);
    expect(body['spec']).toMatchObject({ parts: [{ id: 'a', n: 7 }] });
  });

  it('is applied as YAML, too', async () => {
    const yaml = 'apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: one\nspec:\n  size: 8\n';
    const applied = await patch('?fieldManager=q', yaml, APPLY);
    expect([applied.status, applied.body['spec']?.['size']]).toEqual([200, 8]);
  });
});
