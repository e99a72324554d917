/** Schemas of the kinds of `resource.k8s.io/v1` in a file. They check only fields that a decision reads. */
import * as z from 'zod';
import { quantity } from './pools-file.ts';

const loose = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.looseObject(shape, { error: 'a map' });
const listOf = <Item extends z.ZodType>(item: Item, what: string) => z.array(item, { error: `a list of ${what}` });
const mapOf = <Item extends z.ZodType>(item: Item) => z.record(z.string(), item, { error: 'a map' });
const word = z.string({ error: 'a text' }).nullish();
const text = z.string({ error: 'a text' });
const flag = z.boolean({ error: 'true or false' }).nullish();
const whole = z.int({ error: 'a whole number' }).min(0, { error: 'a whole number that is not negative' });
const count = whole.nullish();
const counters = mapOf(loose({ value: quantity })).nullish();
const taints = listOf(loose({ key: text, effect: text }), 'taints').nullish();
const tolerations = listOf(loose({ key: word, operator: word, value: word, effect: word }), 'tolerations').nullish();
const policy = loose({
  default: quantity.nullish(),
  validRange: loose({ min: quantity.nullish(), max: quantity.nullish(), step: quantity.nullish() }).nullish(),
  validValues: listOf(quantity, 'quantities').nullish(),
}).nullish();
const selectors = listOf(loose({ cel: loose({ expression: text }).nullish() }), 'selectors').nullish();
const nodeSelector = loose({
  nodeSelectorTerms: listOf(
    loose({
      matchExpressions: listOf(loose({ key: text, operator: text, values: listOf(text, 'texts').nullish() }), 'requirements').nullish(),
      matchFields: listOf(loose({ key: text, operator: text, values: listOf(text, 'texts').nullish() }), 'requirements').nullish(),
    }),
    'terms',
  ),
}).nullish();
const request = loose({
  name: word,
  deviceClassName: text,
  selectors,
  allocationMode: word,
  count,
  adminAccess: flag,
  tolerations,
  capacity: loose({ requests: mapOf(quantity).nullish() }).nullish(),
});
const claimSpec = loose({
  devices: loose({
    requests: listOf(
      loose({ name: text, exactly: request.nullish(), firstAvailable: listOf(request, 'requests').nullish() }),
      'requests',
    ).nullish(),
    constraints: listOf(loose({ requests: listOf(text, 'texts').nullish(), matchAttribute: word }), 'constraints').nullish(),
  }).nullish(),
});

/** Schemas by kind. @param metadata the schema of every object's metadata. */
export function deviceSchemas(metadata: z.ZodType): Readonly<Record<string, z.ZodType>> {
  return {
    ResourceSlice: loose({
      metadata,
      spec: loose({
        driver: text,
        pool: loose({ name: text, generation: count, resourceSliceCount: count }),
        nodeName: word,
        nodeSelector,
        allNodes: flag,
        perDeviceNodeSelection: flag,
        devices: listOf(
          loose({
            name: text,
            attributes: mapOf(
              loose({ string: word, int: z.int({ error: 'a whole number' }).nullish(), bool: flag, version: word }),
            ).nullish(),
            capacity: mapOf(loose({ value: quantity, requestPolicy: policy })).nullish(),
            allowMultipleAllocations: flag,
            nodeName: word,
            nodeSelector,
            allNodes: flag,
            consumesCounters: listOf(loose({ counterSet: text, counters }), 'counter sets').nullish(),
            taints,
          }),
          'devices',
        ).nullish(),
        sharedCounters: listOf(loose({ name: text, counters }), 'counter sets').nullish(),
      }),
    }),
    DeviceClass: loose({ metadata, spec: loose({ selectors }).nullish() }),
    ResourceClaim: loose({
      metadata,
      spec: claimSpec,
      status: loose({
        allocation: loose({
          devices: loose({
            results: listOf(
              loose({
                driver: text,
                pool: text,
                device: text,
                adminAccess: flag,
                shareID: word,
                consumedCapacity: mapOf(quantity).nullish(),
              }),
              'results',
            ).nullish(),
          }).nullish(),
          nodeSelector,
        }).nullish(),
        reservedFor: listOf(loose({ uid: word }), 'users').nullish(),
      }).nullish(),
    }),
    ResourceClaimTemplate: loose({ metadata, spec: loose({ spec: claimSpec }) }),
  };
}
