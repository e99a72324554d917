/** The world agrees with itself, and every way to differ from it is found. */
import { beforeAll, describe, expect, it } from 'vitest';
import { jsonOf } from '../../src/azure/arm/error-bodies.ts';
import type { JudgedAnswer } from './adapter/adapter-check.ts';
import type { Finding } from './finding.ts';
import type { Interaction } from './recordings/interaction.ts';
import { wireCallOf, type WireCall } from './recordings/wire-call.ts';
import { checkShapes } from './world/shape-check.ts';
import type { WorldAnswer } from './world/world-client.ts';
import { worldExamples } from './world/world-examples.ts';
import { isRecord } from '../../src/lib/json.ts';

let examples: readonly WorldAnswer[] = [];

beforeAll(async () => {
  examples = await worldExamples();
});

type Kind = WireCall['kind'];
type Change = Partial<Pick<Interaction, 'status' | 'headers' | 'body' | 'scrubbed'>>;

/** What a recorder would have written of the world. */
function recorded(answer: WorldAnswer, change: Change = {}): readonly JudgedAnswer[] {
  const call = wireCallOf(answer);
  const about = { file: 'world.yaml', index: 0, form: 'powershell', requestBody: '', dateMs: 0, scrubbed: new Set<string>() } as const;
  return call === undefined ? [] : [{ call, route: '', interaction: { ...answer, ...about, ...change } }];
}

function exampleOf(kind: Kind, matches: (answer: WorldAnswer) => boolean = ({ status }) => status < 300): WorldAnswer {
  const found = examples.find((each) => wireCallOf(each)?.kind === kind && matches(each));
  if (found === undefined) throw new Error(`the world gave no answer to ${kind}`);
  return found;
}

function found(answer: WorldAnswer, change: Change): readonly Finding[] {
  return checkShapes(recorded(answer, change), examples).findings;
}

function whats(answer: WorldAnswer, change: Change): readonly string[] {
  return found(answer, change).map(({ what }) => what);
}

/** The answer with one field of its properties changed, or left out. */
function withProperty({ body }: WorldAnswer, name: string, value: unknown): Change {
  const document = jsonOf(body);
  if (!isRecord(document)) throw new Error('the body is no document');
  return { body: JSON.stringify({ ...document, properties: { ...(document['properties'] as object), [name]: value } }) };
}

function withHeader({ headers }: WorldAnswer, name: string, value: string | undefined): Change {
  const changed = new Map(headers);
  if (value === undefined) changed.delete(name);
  else changed.set(name, value);
  return { headers: changed };
}

describe('the examples of the world', () => {
  it('have every call that the daemon reads or writes', () => {
    const kinds = new Set(examples.map((each) => wireCallOf(each)?.kind));
    const wanted: readonly Kind[] = [
      ...(['listScaleSets', 'getScaleSet', 'putScaleSet', 'deleteInstances', 'countInstances', 'listInstances', 'getInstance'] as const),
      ...(['listVms', 'getVm', 'listSkus', 'listUsages', 'getReservationGroup', 'listReservations', 'getOperation'] as const),
      ...(['listAgentPools', 'getAgentPool', 'putAgentPool', 'deleteMachines', 'getCluster', 'getOperationResult'] as const),
    ];
    expect(wanted.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  it('differ in nothing from themselves', () => {
    const { findings, notCompared } = checkShapes(
      examples.flatMap((each) => recorded(each)),
      examples,
    );
    expect({ findings, notCompared }).toEqual({ findings: [], notCompared: [] });
  });
});

describe('a recording', () => {
  it('with a header more or less than the world is a difference', () => {
    const set = exampleOf('getScaleSet');
    expect(whats(set, withHeader(set, 'x-ms-oven', 'hot'))).toEqual(['the world lacks header x-ms-oven']);
    expect(whats(set, withHeader(set, 'etag', undefined))).toEqual(['only the world has header etag']);
  });

  it('does not differ in a header that its recorder removed', () => {
    const set = exampleOf('getScaleSet');
    const lacking = withHeader(set, 'x-ms-request-id', undefined);
    expect(whats(set, lacking)).toEqual(['only the world has header x-ms-request-id']);
    expect(whats(set, { ...lacking, scrubbed: new Set(['x-ms-request-id']) })).toEqual([]);
    const unlimited = withHeader(set, 'x-ms-ratelimit-remaining-resource', undefined);
    expect(whats(set, { ...unlimited, scrubbed: new Set(['x-ms-ratelimit-remaining-resource']) })).toEqual([]);
  });

  it('is compared without the headers of the transport', () => {
    const set = exampleOf('getScaleSet');
    expect(whats(set, withHeader(withTransport(set), 'keep-alive', undefined))).toEqual([]);
  });

  it('with other rate limits is a difference', () => {
    const set = exampleOf('getScaleSet');
    expect(whats(set, withHeader(set, 'x-ms-ratelimit-remaining-resource', 'Microsoft.Compute/BakeSetResource;3'))).toEqual(
      expect.arrayContaining(['the world lacks limit BakeSetResource', 'only the world has limit GetVMScaleSetResource']),
    );
  });

  it('with another content type is a difference', () => {
    const pool = exampleOf('getAgentPool');
    expect(whats(pool, withHeader(pool, 'content-type', 'text/bread'))).toEqual([
      expect.stringMatching(/^content type is written as text\/bread, in the world as application\/json/),
    ]);
  });

  it('with a field more or less than the world is a difference, without those below it', () => {
    const pool = exampleOf('getAgentPool');
    expect(whats(pool, withProperty(pool, 'yeast', { kind: 'Dry' }))).toEqual(['the world lacks body properties.yeast']);
    expect(whats(pool, withProperty(pool, 'powerState', undefined))).toEqual(['only the world has body properties.powerState']);
  });

  it('with another type is a difference', () => {
    const pool = exampleOf('getAgentPool');
    expect(whats(pool, withProperty(pool, 'count', null))).toEqual(['body properties.count is null, in the world number']);
  });

  it('with another form of a word or an id is a difference', () => {
    const pool = exampleOf('getAgentPool');
    expect(whats(pool, withProperty(pool, 'mode', 'user'))).toEqual(['body properties.mode is written as word, in the world as Word']);
    const spelled = pool.body.replace('/agentPools/', '/AGENTPOOLS/');
    expect(whats(pool, { body: spelled })).toEqual([
      expect.stringMatching(/^body id is written as .*\/AGENTPOOLS\/\*, in the world as .*\/agentPools\/\*$/),
    ]);
    expect(whats(pool, withProperty(pool, 'mode', 'Reader'))).toEqual([]);
  });

  it('weighs more where the daemon reads the field', () => {
    const set = exampleOf('getScaleSet');
    const weights = (name: string): readonly string[] => found(set, withProperty(set, name, null)).map(({ weight }) => weight);
    expect(weights('provisioningState')).toEqual(['read']);
    expect(weights('uniqueId')).toEqual(['form']);
  });

  it('of a list is compared item by item, with items of the same type', () => {
    const list = exampleOf('listAgentPools');
    const body = list.body.replace('"type":"VirtualMachines"', '"yeast":1,"type":"VirtualMachines"');
    expect(found(list, { body }).map(({ route, what }) => `${route}: ${what}`)).toEqual([
      'listAgentPools 200 item (VirtualMachines): the world lacks body properties.yeast',
    ]);
  });

  it('of a set that AKS did not make is compared in what Azure adds', () => {
    const set = exampleOf('getScaleSet');
    const document = jsonOf(set.body);
    const properties = isRecord(document) ? { ...(document['properties'] as object), yeast: 1 } : {};
    const foreign = { ...(document as object), tags: {}, properties: { ...properties, provisioningState: 4 } };
    expect(whats(set, { body: JSON.stringify(foreign) })).toEqual(['body properties.provisioningState is number, in the world text']);
  });

  it('of a kind that the world never gave is named and not compared', () => {
    const set = exampleOf('getScaleSet');
    const { findings, notCompared } = checkShapes(recorded(set, { status: 299 }), examples);
    expect({ findings, notCompared }).toEqual({ findings: [], notCompared: ['getScaleSet 299 (Uniform)'] });
  });
});

function withTransport(answer: WorldAnswer): WorldAnswer {
  return {
    ...answer,
    headers: new Map([...answer.headers, ['connection', 'keep-alive'], ['vary', 'Accept-Encoding'], ['content-length', '1']]),
  };
}
